//! Journals and documents in files.

mod disk;
mod documents;
mod journal;
mod line;
mod log;
mod name;
mod runs;
mod seal;

pub use documents::FileDocumentStore;
pub use journal::FileJournal;
pub use runs::FileJournals;

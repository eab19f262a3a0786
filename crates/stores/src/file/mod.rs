//! Journals and documents in files.

mod checksum;
mod disk;
mod documents;
mod garbage;
mod journal;
mod line;
mod log;
mod name;
mod runs;

pub use documents::FileDocumentStore;
pub use journal::FileJournal;
pub use runs::FileJournals;

//! Journals and documents in files.

mod checksum;
mod collect;
mod disk;
mod documents;
mod journal;
mod line;
mod log;
mod name;
mod owners;
mod renewing;
mod runs;

pub use documents::FileDocumentStore;
pub use journal::FileJournal;
pub use owners::Collection;
pub use runs::FileJournals;

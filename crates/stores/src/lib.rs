//! Where runs and documents are kept, so that a run outlives its process.
//!
//! - [`FileJournal`] keeps the log of a run in a file, [`FileJournals`] the logs of many runs in a folder.
//! - [`FileDocumentStore`] keeps the bytes of documents in a folder.
//!
//! - [`SqliteStore`](https://docs.rs/attache-stores) keeps sessions in a SQLite file.
//!
//! All hold through a crash at any moment: what a call has answered is on the disk, and what a crash cut off is
//! understood when the file is opened again.
//!
//! | feature | what it adds |
//! | --- | --- |
//! | `file` (default) | journals and documents in files |
//! | `sqlite` | sessions in SQLite, which is compiled in |

#[cfg(feature = "file")]
mod file;
#[cfg(feature = "sqlite")]
mod sql;
#[cfg(feature = "sqlite")]
mod sqlite;

#[cfg(feature = "file")]
pub use file::{FileDocumentStore, FileJournal, FileJournals};
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;

//! Where runs and documents are kept, so that a run outlives its process.
//!
//! - [`FileJournal`] keeps the log of a run in a file, [`FileJournals`] the logs of many runs in a folder.
//! - [`FileDocumentStore`] keeps the bytes of documents in a folder.
//!
//! - `SqliteStore` keeps sessions in a file, `PostgresStore` in a database that many machines share; `SqliteFacts` and
//!   `PostgresFacts` are long-term memory beside them.
//!
//! All hold through a crash at any moment: what a call has answered is on the disk, and what a crash cut off is
//! understood when the file is opened again.
//!
//! | feature | what it adds |
//! | --- | --- |
//! | `file` (default) | journals and documents in files |
//! | `sqlite` | sessions and facts in SQLite, which is compiled in |
//! | `postgres` | sessions and facts in PostgreSQL |
//! | `object` | documents in object storage: [`ObjectDocumentStore`] |
//! | `s3` | the same in S3 and what speaks its protocol |

#[cfg(feature = "file")]
mod file;
#[cfg(feature = "object")]
mod object;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(any(feature = "file", feature = "object"))]
mod references;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod sql;
#[cfg(feature = "sqlite")]
mod sqlite;

#[cfg(feature = "file")]
pub use file::{Collection, FileDocumentStore, FileJournal, FileJournals};
#[cfg(feature = "object")]
pub use object::ObjectDocumentStore;
#[cfg(feature = "object")]
pub use object_store;
#[cfg(feature = "postgres")]
pub use postgres::{PostgresFacts, PostgresStore};
#[cfg(any(feature = "file", feature = "object"))]
pub use references::{Collected, References};
#[cfg(feature = "sqlite")]
pub use sqlite::{SqliteFacts, SqliteStore};

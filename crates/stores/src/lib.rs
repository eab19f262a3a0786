//! Storage for runs and documents, so that a run survives its process.
//!
//! - [`FileJournal`] stores the log of a run in a file, [`FileJournals`] the logs of many runs in a folder.
//! - [`FileDocumentStore`] stores the bytes of documents in a folder.
//!
//! - `SqliteStore` stores sessions in a file, `PostgresStore` in a database shared by many machines; `SqliteFacts` and
//!   `PostgresFacts` are long-term memory in the same databases.
//!
//! All of them survive a crash at any moment: when a call has returned, its effect is on the disk, and partial writes
//! of a crash are handled when the file is opened again.
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

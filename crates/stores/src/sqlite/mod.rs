//! Sessions in SQLite.

// The same statements as over PostgreSQL, for this one's connections.
#[allow(clippy::duplicate_mod, reason = "it is compiled for each database")]
#[path = "../sql/ops/append.rs"]
mod append;
#[allow(clippy::duplicate_mod, reason = "it is compiled for each database")]
#[path = "../sql/ops/clear.rs"]
mod clear;
mod dialect;
#[allow(clippy::duplicate_mod, reason = "it is compiled for each database")]
#[path = "../sql/ops/lease.rs"]
mod lease;
#[allow(clippy::duplicate_mod, reason = "it is compiled for each database")]
#[path = "../sql/ops/read.rs"]
mod read;
mod store;

pub use store::SqliteStore;

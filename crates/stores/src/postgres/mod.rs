//! Sessions in PostgreSQL.

// The same statements as over SQLite, for this one's connections.
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
mod listen;
#[allow(clippy::duplicate_mod, reason = "it is compiled for each database")]
#[path = "../sql/ops/read.rs"]
mod read;
mod store;

pub use store::PostgresStore;

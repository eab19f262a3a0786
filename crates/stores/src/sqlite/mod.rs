//! Sessions and facts in SQLite.

#![allow(clippy::duplicate_mod, reason = "what both databases say is compiled for each")]

// The same statements as over PostgreSQL, for this one's connections.
#[path = "../sql/ops/append.rs"]
mod append;
#[path = "../sql/ops/clear.rs"]
mod clear;
mod dialect;
#[path = "../sql/ops/facts.rs"]
mod facts;
#[path = "../sql/ops/fork.rs"]
mod fork;
#[path = "../sql/ops/lease.rs"]
mod lease;
#[path = "../sql/migrate.rs"]
mod migrate;
#[path = "../sql/ops/nodes.rs"]
mod nodes;
mod one_round_trip;
#[path = "../sql/ops/read.rs"]
mod read;
#[cfg(any(feature = "file", feature = "object"))]
#[path = "../sql/ops/references.rs"]
mod references;
#[path = "../sql/ops/search.rs"]
mod search;
#[path = "../sql/ops/sessions.rs"]
mod sessions;
mod store;
#[cfg(all(test, any(feature = "file", feature = "object")))]
mod tests;
mod writer;

pub use facts::Facts as SqliteFacts;
pub use store::SqliteStore;

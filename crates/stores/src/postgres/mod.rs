//! Sessions and facts in PostgreSQL.

#![allow(clippy::duplicate_mod, reason = "what both databases say is compiled for each")]

// The same statements as over SQLite, for this one's connections.
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
mod listen;
#[path = "../sql/migrate.rs"]
mod migrate;
#[path = "../sql/ops/nodes.rs"]
mod nodes;
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

pub use facts::Facts as PostgresFacts;
pub use store::PostgresStore;

//! Sessions and facts in PostgreSQL.

// The same statements as over SQLite, for this one's connections.
#[allow(clippy::duplicate_mod, reason = "it is compiled for each database")]
#[path = "../sql/ops/append.rs"]
mod append;
#[allow(clippy::duplicate_mod, reason = "it is compiled for each database")]
#[path = "../sql/ops/clear.rs"]
mod clear;
mod dialect;
#[allow(clippy::duplicate_mod, reason = "it is compiled for each database")]
#[path = "../sql/ops/facts.rs"]
mod facts;
#[allow(clippy::duplicate_mod, reason = "it is compiled for each database")]
#[path = "../sql/ops/fork.rs"]
mod fork;
#[allow(clippy::duplicate_mod, reason = "it is compiled for each database")]
#[path = "../sql/ops/lease.rs"]
mod lease;
mod listen;
#[allow(clippy::duplicate_mod, reason = "it is compiled for each database")]
#[path = "../sql/migrate.rs"]
mod migrate;
#[allow(clippy::duplicate_mod, reason = "it is compiled for each database")]
#[path = "../sql/ops/nodes.rs"]
mod nodes;
#[allow(clippy::duplicate_mod, reason = "it is compiled for each database")]
#[path = "../sql/ops/read.rs"]
mod read;
#[cfg(any(feature = "file", feature = "object"))]
#[allow(clippy::duplicate_mod, reason = "it is compiled for each database")]
#[path = "../sql/ops/references.rs"]
mod references;
#[allow(clippy::duplicate_mod, reason = "it is compiled for each database")]
#[path = "../sql/ops/search.rs"]
mod search;
#[allow(clippy::duplicate_mod, reason = "it is compiled for each database")]
#[path = "../sql/ops/sessions.rs"]
mod sessions;
mod store;

pub use facts::Facts as PostgresFacts;
pub use store::PostgresStore;

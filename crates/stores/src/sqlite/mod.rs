//! Sessions and facts in SQLite.

// The same statements as over PostgreSQL, for this one's connections.
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
#[allow(clippy::duplicate_mod, reason = "it is compiled for each database")]
#[path = "../sql/migrate.rs"]
mod migrate;
#[allow(clippy::duplicate_mod, reason = "it is compiled for each database")]
#[path = "../sql/ops/nodes.rs"]
mod nodes;
mod one_round_trip;
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
#[cfg(all(test, any(feature = "file", feature = "object")))]
mod tests;
mod writer;

pub use facts::Facts as SqliteFacts;
pub use store::SqliteStore;

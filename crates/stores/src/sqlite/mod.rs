//! Sessions in SQLite.

mod append;
mod clear;
mod lease;
mod read;
mod store;

pub use store::SqliteStore;

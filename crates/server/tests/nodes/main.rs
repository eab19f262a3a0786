//! Servers as processes of their own: two over one PostgreSQL, and one over SQLite that is killed again and again.
//!
//! The number of kills is 100, or that of the variable `ATTACHE_KILLS`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a broken expectation is a failed test"
)]

mod client;
mod kills;
mod node;
mod pair;
#[allow(dead_code, reason = "no database is copied here")]
#[path = "../../../stores/tests/sessions/server.rs"]
mod postgres;
mod process;
mod script;

/// The process of a node. Without an order it does nothing.
#[test]
fn node() {
    if let Some(order) = node::Order::given() {
        node::serve(&order);
    }
}

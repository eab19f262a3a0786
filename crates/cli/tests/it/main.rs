//! The command as people and scripts use it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

mod ask;
#[cfg(all(unix, feature = "chat"))]
mod chat;
mod command;
mod common;
mod doctor;
mod explain;
#[cfg(feature = "mcp")]
mod logins;
mod models;
mod outside;
#[cfg(unix)]
mod screen;
#[cfg(feature = "postgres")]
#[path = "../../../stores/tests/sessions/server.rs"]
#[allow(dead_code, reason = "nothing is copied here")]
mod server;
#[cfg(feature = "mcp")]
mod serving;
#[cfg(feature = "chat")]
mod sessions;
#[cfg(all(unix, feature = "mcp"))]
mod signals;
mod stumbles;
#[cfg(unix)]
mod terminal;

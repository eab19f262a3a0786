//! Servers of the Model Context Protocol that are scripted: kind ones, odd ones and hostile ones.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a broken expectation is a failed test"
)]

mod agents;
mod asking;
mod common;
mod faults;
mod fetching;
mod hostile;
mod listing;
mod logins;
mod renewals;
mod results;
mod serving;
mod sessions;
#[cfg(unix)]
mod stdio;
mod tasks;

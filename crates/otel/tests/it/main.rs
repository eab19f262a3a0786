//! The telemetry of runs as exporters get it.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a broken expectation is a failed test"
)]

mod attempts;
mod content;
mod http;
mod kit;
mod metrics;
mod spans;

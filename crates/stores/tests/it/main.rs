//! Journals and document stores in files, from outside.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

mod approvals;
mod collecting;
mod common;
mod damage;
mod documents;
mod journal;
mod model;
mod owners;
mod processes;
mod runs;

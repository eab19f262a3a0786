//! Sessions, over each store: one body of tests, which each of them passes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

mod adopting;
mod backup;
mod body;
mod cleaning;
mod closing;
mod collecting;
mod crashes;
mod delivering;
mod erasing;
mod facts;
mod forking;
mod formats;
mod going_on;
mod isolation;
mod kit;
mod line;
mod load;
mod migrating;
mod overtaking;
mod place;
mod searching;
mod server;
mod single;

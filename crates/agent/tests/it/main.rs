//! The agent as its users see it: runs, journals, windows, interruptions.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a broken expectation is a failed test"
)]

mod admitting;
mod agents;
mod agents_wait;
mod approvals;
mod asking;
mod budgets;
mod catalogs;
mod chat_loop;
mod checked;
mod citing;
mod closing;
mod common;
mod counting;
mod deferred;
mod entering;
mod exporting;
mod forgetting;
mod gates;
mod handoffs;
mod handoffs_hold;
mod hooks;
mod ids;
mod interrupting;
mod journals;
mod landing;
mod layers;
mod limits;
mod liveness;
mod losses;
mod manual;
mod memory;
mod names;
mod nested;
mod observers;
mod options;
mod outcomes;
mod outside;
mod overdue;
mod preflight;
mod progress;
mod references;
mod resume;
mod resuming;
mod rules;
mod running;
mod saying;
mod sessions;
mod spending;
mod steering;
mod streaming;
mod summaries;
mod telling;
mod tokens;
mod typed;
mod unknown;
mod waiting;
mod windows;

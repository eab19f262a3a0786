//! All that crosses crates and needs neither another program nor a process of its own. One program, since each links all of
//! attache.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

mod caching;
mod capability_table;
mod citations;
mod compaction;
mod documents;
mod emitters;
mod empty;
mod end_to_end;
mod external;
mod generations;
mod handoffs;
mod options;
mod parity;
mod preflight;
mod recording;
mod references;
mod registry;
mod servers;
mod state;
mod status;
mod strict;
mod switching;
mod uploads;
mod viability;
mod wire;

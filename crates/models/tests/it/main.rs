//! The registry, what it makes of configurations, and the layers around models.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

mod costs;
mod guide;
mod http;
mod layers;
mod names;
mod registry;
mod spent;
mod text_replies;
mod text_tools;
mod text_tools_apis;

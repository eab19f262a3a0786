//! Agents of others as tools.

pub(crate) mod agent;
pub(crate) mod answer;
pub(crate) mod asking;
pub(crate) mod conclude;
mod failure;
pub(crate) mod fetcher;
pub(crate) mod file;
pub(crate) mod follow;
pub(crate) mod gather;
pub(crate) mod handle;
pub(crate) mod link;
pub(crate) mod listing;
pub(crate) mod output;
mod progress;
pub(crate) mod request;
pub(crate) mod results;
pub(crate) mod send;
pub(crate) mod stream;
pub(crate) mod update;

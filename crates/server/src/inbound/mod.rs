//! Bodies of requests, read into what a run takes.

pub(crate) mod body;
pub(crate) mod chat;
pub(crate) mod parts;
pub(crate) mod tools;
pub(crate) mod turn;

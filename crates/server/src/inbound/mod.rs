//! Bodies of requests, read into what a run takes.

pub(crate) mod ag_ui;
pub(crate) mod body;
pub(crate) mod chat;
pub(crate) mod conversation;
pub(crate) mod files;
pub(crate) mod known_documents;
pub(crate) mod messages;
pub(crate) mod parts;
pub(crate) mod place;
pub(crate) mod responses;
mod settings;
pub(crate) mod tools;
pub(crate) mod turn;
pub(crate) mod vercel_ui;

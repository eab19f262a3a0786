//! Chat Completions.

mod client;
mod errors;
mod options;
mod prefix;
mod replay;
mod replies;
mod requests;

//! The Responses API.

mod client;
mod errors;
mod events;
mod options;
mod prefix;
mod replay;
mod replies;
mod requests;

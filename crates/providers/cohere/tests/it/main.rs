//! The provider: its requests, replies, errors and recordings, and the page of the guide that shows its code.

#![cfg(test)]

mod client;
mod common;
mod errors;
mod guide;
mod options;
mod prefix;
mod recordings;
mod replies;
mod requests;

//! Tests of the crate as its users see it, in one program.

#![cfg(test)]

mod breakages_of_replies;
mod breakages_of_requests;
mod client;
mod common;
mod options;
mod prefix;
mod recordings;
mod replies;
mod requests;

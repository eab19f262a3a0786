//! Tests of the crate as its users see it, in one program.

#![cfg(test)]

mod addresses;
mod breakages_of_replies;
mod breakages_of_requests;
mod client;
mod common;
mod container;
mod documents;
mod options;
mod prefix;
mod replies;
mod requests;

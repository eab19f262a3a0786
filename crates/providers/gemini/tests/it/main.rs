//! Tests of the crate as its users see it, in one program.

#![cfg(test)]

mod breakages_of_replies;
mod breakages_of_requests;
mod caching;
mod candidates;
mod client;
mod common;
mod documents;
mod made;
mod options;
mod prefix;
mod recordings;
mod requests;

//! Tests of the crate as its users see it, in one program.

#![cfg(test)]

mod breakages_of_replies;
mod breakages_of_requests;
mod client;
mod common;
mod decoding;
mod options;
mod prefix;
mod tolerance;
mod wire;

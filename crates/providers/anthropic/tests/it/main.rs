//! Tests of the crate as its users see it, in one program.

#![cfg(test)]

mod breakages_of_replies;
mod breakages_of_requests;
mod client;
mod common;
mod container;
mod decoding;
mod documents;
mod options;
mod platforms;
mod prefix;
mod wire;

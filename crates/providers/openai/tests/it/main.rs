//! Tests of the crate as its users see it, in one program.

#![cfg(test)]

mod breakages;
mod client;
mod common;
mod errors;
mod made;
mod ollama;
mod options;
mod prefix;
mod profiles;
mod quirks;
mod replay;
mod replies;
mod requests;
mod responses_client;
mod responses_errors;
mod responses_events;
mod responses_options;
mod responses_prefix;
mod responses_replay;
mod responses_replies;
mod responses_requests;
mod wholes;

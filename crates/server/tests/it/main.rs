//! The server, asked as clients ask it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

mod attacks;
mod chat;
mod chatting;
mod cited;
mod client_calls;
mod coming_back;
mod common;
mod cut;
mod elsewhere;
mod expiring;
mod front;
mod full;
mod guide;
mod hidden;
mod inbound;
mod jwt;
mod kept;
mod later;
mod leaving;
mod logged;
mod made;
mod messages;
mod naming;
mod native;
mod nested_calls;
mod openapi;
mod overdue;
mod pages;
mod partial_answers;
mod record;
mod responded;
mod responses;
mod retrying;
mod sockets;
mod spent;
mod storms;
mod threads;
mod typed;
mod watching;
mod web;
mod withdrawn;

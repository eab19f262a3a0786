//! Tests of the crate as its users see it, in one program.

#![cfg(test)]

mod breakages;
mod chat;
mod common;
mod gateways;
mod hosted;
mod made;
mod ollama;
mod profiles;
mod quirks;
mod responses;
mod wholes;

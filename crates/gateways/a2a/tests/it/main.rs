//! Agents of others as tools, against agents that are made up on this machine.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

#[cfg(test)]
mod answering;
#[cfg(test)]
mod cards;
#[cfg(test)]
mod hooked;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod mounting;
mod notifying;
#[cfg(test)]
mod patience;
#[cfg(test)]
mod server;
#[cfg(test)]
mod shapes;
#[cfg(test)]
mod states;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod support;

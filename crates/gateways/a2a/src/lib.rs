//! A2A agents as tools of agents, with their documents.
//!
//! | need | type |
//! | --- | --- |
//! | an agent of somebody else as a tool | [`A2aAgent`] |
//! | the state of a task that a run waits for | [`A2aUpdate`], [`A2aQuestion`], [`A2aHandle`] |
//! | notifications of such tasks | [`A2aPush`] |
//! | the files that agents name by their addresses | [`A2aFetcher`] |
//! | what an agent says of itself, and keys that it signs with | [`A2aCard`], [`A2aSkill`], [`A2aKey`] |
//! | an agent of ours, served to others; feature `server` | `A2aServer`, `A2aProfile`, `A2aSigner` |
//! | time limits and bounds | [`A2aLimits`] |
//! | the result of a call | [`A2aOutput`], [`A2aBlock`], [`A2aContent`] |
//!
//! It speaks version 1.0 of the protocol as JSON-RPC and as HTTP+JSON, and version 0.3 as JSON-RPC; gRPC is not spoken.
//! Decisions are in `docs/adr/0032-a2a-on-own-types.md`.

mod address;
mod card;
mod client;
mod config;
mod push;
#[cfg(feature = "server")]
mod server;
mod wire;

pub use card::{A2aBinding, A2aCard, A2aKey, A2aKeyError, A2aSkill};
pub use client::agent::A2aAgent;
pub use client::fetcher::A2aFetcher;
pub use client::handle::{A2aHandle, A2aHandleError};
pub use client::output::{A2aBlock, A2aContent, A2aOutput};
pub use client::update::{A2aQuestion, A2aUpdate};
pub use config::{A2aLimits, A2aQuestions};
pub use push::{A2aPush, A2aPushError};
#[cfg(feature = "server")]
pub use server::{A2aAbility, A2aProfile, A2aServer, A2aSigner, A2aSignerError, A2aTargets};
pub use wire::{A2aState, A2aVersion};

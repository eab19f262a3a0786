//! Agents over HTTP.
//!
//! A [`Server`] makes an axum router of [`Sessions`](attache_agent::Sessions): OpenAI's Chat Completions, streams of
//! events that can be taken up again, sessions, approvals and documents. It adds HTTP to the agent's own sessions, runs
//! and approvals, and nothing to what they mean.
//!
//! ```
//! use std::sync::Arc;
//! use attache_agent::{Agent, MemorySessions, Sessions};
//! use attache_server::{ApiKey, ApiKeys, Server};
//! # use attache_testkit::ScriptedModel;
//!
//! # let model = ScriptedModel::new([]);
//! let agent = Agent::builder(model).system("You answer briefly.").build()?;
//! let sessions = Sessions::new(agent, Arc::new(MemorySessions::new()));
//! let (key, secret) = ApiKey::fresh("ann@example.org");
//! let server = Server::new("papers", sessions).keys(ApiKeys::new().with_key(key));
//! // Part of a program that has routes of its own:
//! let router = server.router();
//! # let _ = (router, secret);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Server::serve`] opens a port by itself. A server that asks nobody for a key takes requests from this machine alone.

mod address;
mod agents;
mod app;
mod auth;
mod causes;
mod dialect;
mod documents;
mod fault;
mod inbound;
mod json;
mod limits;
mod live;
mod middleware;
mod openapi;
mod paused_runs;
#[cfg(feature = "previews")]
mod preview;
mod rate_limit;
mod record;
mod request;
mod resuming;
mod routes;
mod self_waking;
mod serve;
mod server;
mod sse;
mod web;
mod write_time;

pub use agents::{Agents, Introduction};
pub use auth::{ApiKey, ApiKeys, KeyRing, KeysError, Principal, Scope};
#[cfg(feature = "jwt")]
pub use auth::{Jwt, JwtAlgorithm};
pub use dialect::Dialect;
pub use limits::ServerLimits;
pub use live::OnDisconnect;
pub use record::{AuditEntry, Audited};
pub use serve::ServeError;
pub use server::Server;

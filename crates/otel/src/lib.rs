//! Spans, metrics and events of agents, by the OpenTelemetry conventions for generative AI.
//!
//! [`Telemetry`] looks on at the runs of an agent and tells OpenTelemetry of them:
//!
//! ```
//! use attache_agent::Agent;
//! use attache_otel::Telemetry;
//! # use attache_testkit::{ScriptedModel, Turn};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! # let model = ScriptedModel::new([Turn::text("Hello.")]);
//! // It takes the providers that the program has set as the global ones.
//! let telemetry = Telemetry::new();
//! let agent = Agent::builder(model).observer(telemetry.agent("greeter")).build()?;
//! agent.run("Hi").outcome().await?;
//! # Ok::<(), Box<dyn std::error::Error>>(()) })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A run is a span `invoke_agent`, and has spans of each request to the model (`chat`) and each tool that runs
//! (`execute_tool`) beside one another. They are current while their work is polled, so that spans which a tool or an
//! agent inside makes, by OpenTelemetry or by `tracing-opentelemetry`, stand below them.
//!
//! No content is exported, unless [`Telemetry::with_content`] says so: no message, no argument, no result, no text of an
//! error.

mod chat;
mod content;
mod events;
#[cfg(feature = "http")]
mod http;
mod mcp;
mod metrics;
mod model;
mod names;
mod run;
mod telemetry;
mod tool;

#[cfg(feature = "http")]
pub use self::http::TelemetryHook;
pub use content::{Content, ContentField};
pub use telemetry::{ConversationId, Telemetry};

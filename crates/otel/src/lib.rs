//! Spans, metrics and events of agents, according to the OpenTelemetry conventions for generative AI.
//!
//! [`Telemetry`] observes the runs of an agent and reports them to OpenTelemetry:
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
//! A run is a span `invoke_agent` with child spans for each request to the model (`chat`) and each tool execution
//! (`execute_tool`). They are current while their work is polled, so that spans created by a tool or a nested agent,
//! with OpenTelemetry or `tracing-opentelemetry`, become their children.
//!
//! No content is exported unless it is enabled with [`Telemetry::with_content`]: no messages, arguments, results or
//! error texts.

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

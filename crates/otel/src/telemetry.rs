//! The telemetry of a program.

use std::sync::Arc;

use opentelemetry::global::{self, BoxedTracer};
use opentelemetry::logs::LoggerProvider;
use opentelemetry::metrics::Meter;
use opentelemetry::trace::{Tracer, TracerProvider};
use opentelemetry::{InstrumentationScope, KeyValue};

use crate::content::Content;
use crate::events::Events;
use crate::metrics::Metrics;
use crate::names::attribute;

/// Reports the runs of agents to OpenTelemetry. Clones share it.
///
/// Add it to an agent with [`AgentBuilder::observer`](attache_agent::AgentBuilder::observer), which also covers agents
/// inside its tools. A program that calls models itself wraps them with [`model`](Self::model).
#[derive(Clone)]
#[must_use]
pub struct Telemetry {
    pub(crate) tracer: Arc<BoxedTracer>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) events: Option<Arc<Events>>,
    pub(crate) content: Option<Arc<Content>>,
    agent: Vec<KeyValue>,
}

/// The conversation that a run belongs to, such as a session. Pass it to a run with
/// `RunInput::with_context(ConversationId::new("…"))`; it appears in the spans as `gen_ai.conversation.id`. A run of a
/// [session](attache_agent::Session) has the session's id by default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConversationId(Arc<str>);

impl ConversationId {
    /// Creates a conversation id.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    /// The id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The scope of all that is told.
pub(crate) fn scope() -> InstrumentationScope {
    InstrumentationScope::builder("attache").with_version(env!("CARGO_PKG_VERSION")).build()
}

impl Default for Telemetry {
    fn default() -> Self {
        Self::new()
    }
}

impl Telemetry {
    /// Uses the current global tracer and meter providers of the program. Events are not reported.
    pub fn new() -> Self {
        Self {
            tracer: Arc::new(global::tracer_with_scope(scope())),
            metrics: Arc::new(Metrics::new(&global::meter_with_scope(scope()))),
            events: None,
            content: None,
            agent: Vec::new(),
        }
    }

    /// Sets the provider for spans.
    pub fn with_tracer_provider<P>(mut self, provider: &P) -> Self
    where
        P: TracerProvider,
        P::Tracer: Send + Sync + 'static,
        <P::Tracer as Tracer>::Span: Send + Sync + 'static,
    {
        self.tracer = Arc::new(BoxedTracer::new(Box::new(provider.tracer_with_scope(scope()))));
        self
    }

    /// Sets the meter for metrics.
    pub fn with_meter(mut self, meter: &Meter) -> Self {
        self.metrics = Arc::new(Metrics::new(meter));
        self
    }

    /// Sets the provider for events: `gen_ai.client.inference.operation.details` for each reply, and
    /// `gen_ai.client.operation.exception` for each request that fails.
    pub fn with_logger_provider<P>(mut self, provider: &P) -> Self
    where
        P: LoggerProvider,
        P::Logger: Send + Sync + 'static,
    {
        self.events = Some(Arc::new(Events::new(provider.logger_with_scope(scope()))));
        self
    }

    /// Exports content too: messages, instructions, tools, arguments and results. See [`Content`].
    pub fn with_content(mut self, content: Content) -> Self {
        self.content = Some(Arc::new(content));
        self
    }

    /// Telemetry with these settings for an agent of that name.
    pub fn agent(&self, name: impl Into<String>) -> Self {
        self.clone().with(attribute::AGENT_NAME, name.into())
    }

    /// Sets the agent's id.
    pub fn with_agent_id(self, id: impl Into<String>) -> Self {
        self.with(attribute::AGENT_ID, id.into())
    }

    /// Sets the agent's version.
    pub fn with_agent_version(self, version: impl Into<String>) -> Self {
        self.with(attribute::AGENT_VERSION, version.into())
    }

    /// Sets a one-line description of the agent.
    pub fn with_agent_description(self, description: impl Into<String>) -> Self {
        self.with(attribute::AGENT_DESCRIPTION, description.into())
    }

    fn with(mut self, name: &'static str, value: String) -> Self {
        self.agent.retain(|known| known.key.as_str() != name);
        self.agent.push(KeyValue::new(name, value));
        self
    }

    pub(crate) fn agent_attributes(&self) -> &[KeyValue] {
        &self.agent
    }

    /// The agent's name.
    pub(crate) fn agent_name(&self) -> Option<&KeyValue> {
        self.agent.iter().find(|known| known.key.as_str() == attribute::AGENT_NAME)
    }
}

impl std::fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Telemetry").field("agent", &self.agent_name()).finish_non_exhaustive()
    }
}

//! The APIs that every scenario is rendered for.

use std::sync::Arc;

use attache_anthropic::MessagesCodec;
use attache_core::{ChatRequest, ModelCapabilities, ProviderConfig, ProviderError, ToolSet, Transcript};
use attache_documents::{Materials, RoutingReport, route};
use attache_openai::ChatCodec;
use attache_testkit::{Violation, validate_chat, validate_messages};
use attache_transport::Codec;
use serde_json::Value;

use crate::scenario::Scenario;

/// An API and the model that scenarios are rendered for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a test that forgets an API must not compile")]
pub enum Api {
    /// Chat Completions.
    OpenAiChat,
    /// Messages.
    Anthropic,
}

/// Every API.
pub const APIS: [Api; 2] = [Api::OpenAiChat, Api::Anthropic];

/// What a scenario becomes on the wire.
#[derive(Debug)]
pub struct Wire {
    /// The URL.
    pub url: String,
    /// The body.
    pub body: Value,
    /// The body as sent.
    pub bytes: Vec<u8>,
    /// What became of the documents.
    pub report: RoutingReport,
}

impl Api {
    /// The word in file names.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
            Self::Anthropic => "anthropic",
        }
    }

    /// The codec of the model that scenarios are rendered for.
    pub fn codec(self) -> Box<dyn Codec> {
        match self {
            Self::OpenAiChat => Box::new(ChatCodec::from("gpt-4o")),
            Self::Anthropic => Box::new(MessagesCodec::from("claude-sonnet-4-5")),
        }
    }

    /// What the model takes.
    pub fn capabilities(self) -> ModelCapabilities {
        self.codec().capabilities().clone()
    }

    /// Routes and renders a scenario.
    ///
    /// # Errors
    /// What routing or the codec says.
    pub fn wire(self, scenario: &Scenario, transcript: Option<&Transcript>) -> Result<Wire, ProviderError> {
        let tools = Arc::new(scenario.tool_set());
        self.wire_with(scenario, &tools, transcript)
    }

    /// The same with tools that are shared between the requests of a conversation.
    ///
    /// # Errors
    /// What routing or the codec says.
    pub fn wire_with(
        self,
        scenario: &Scenario,
        tools: &Arc<ToolSet>,
        transcript: Option<&Transcript>,
    ) -> Result<Wire, ProviderError> {
        let capabilities = self.capabilities();
        let routing = route(&scenario.messages, &capabilities, tools, &Materials::new(), &scenario.routing)?;
        let mut request = ChatRequest::new(routing.messages)
            .with_tools(Arc::clone(tools))
            .with_tool_choice(scenario.tool_choice.clone())
            .with_options(scenario.options.clone());
        request.whole = !scenario.stream;
        request.transcript = transcript.cloned();
        let config = ProviderConfig::new().merged(&request.options);
        let parts = self.codec().encode(&request, &config, None)?.parts;
        let bytes = parts.body.to_vec();
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Ok(Wire { url: parts.url, body, bytes, report: routing.report })
    }

    /// What the real API would say to a body.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn judge(self, body: &Value) -> Result<(), Violation> {
        match self {
            Self::OpenAiChat => validate_chat(body),
            Self::Anthropic => validate_messages(body),
        }
    }

    /// The same API for the testkit.
    pub fn testkit(self) -> attache_testkit::Api {
        match self {
            Self::OpenAiChat => attache_testkit::Api::ChatCompletions,
            Self::Anthropic => attache_testkit::Api::Messages,
        }
    }
}

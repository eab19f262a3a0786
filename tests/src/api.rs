//! The APIs that every scenario is rendered for.

use std::sync::{Arc, LazyLock};

use attache_anthropic::MessagesCodec;
use attache_bedrock::ConverseCodec;
use attache_cohere::CohereCodec;
use attache_conformance::{
    Rules, Violation, validate_chat, validate_cohere, validate_converse, validate_gemini,
    validate_messages_with, validate_ollama, validate_responses,
};
use attache_core::capability::Matrix;
use attache_core::settings::Unsupported;
use attache_core::{
    ChatRequest, Effort, ModelCapabilities, ModelHandle, ModelSettings, ProviderError, Reasoning, ToolSet,
    Transcript,
};
use attache_documents::{Materials, RoutingReport, route};
use attache_gemini::GenerateCodec;
use attache_openai::{ChatCodec, OllamaCodec, ResponsesCodec};
use attache_transport::{Ask, Codec, HttpClient, HttpModel, RetryPolicy};
use serde_json::{Value, json};

use crate::scenario::Scenario;

/// An API and the model that scenarios are rendered for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a test that forgets an API must not compile")]
pub enum Api {
    /// Responses.
    OpenAi,
    /// Chat Completions.
    OpenAiChat,
    /// Messages.
    Anthropic,
    /// generateContent.
    Gemini,
    /// Converse.
    Bedrock,
    /// Cohere's chat.
    Cohere,
    /// Ollama's own API.
    Ollama,
}

/// Every API.
pub const APIS: [Api; 7] = {
    let [one, two, three, four, five] = PDF_APIS;
    [one, two, three, four, five, Api::Cohere, Api::Ollama]
};

/// Those whose models read PDFs.
pub const PDF_APIS: [Api; 5] = [Api::OpenAi, Api::OpenAiChat, Api::Anthropic, Api::Gemini, Api::Bedrock];

/// Those that hold the calls of a single strict tool to its schema.
pub const STRICT_APIS: [Api; 5] = [Api::OpenAi, Api::OpenAiChat, Api::Anthropic, Api::Gemini, Api::Bedrock];

/// The table of Cohere's models, which their crate keeps for itself.
static COHERE: LazyLock<Option<Matrix>> =
    LazyLock::new(|| Matrix::parse(include_str!("../../crates/providers/cohere/src/capabilities.toml")).ok());

/// A scenario on the wire.
#[derive(Debug)]
pub struct Wire {
    /// The URL.
    pub url: String,
    /// The body.
    pub body: Value,
    /// The body as sent.
    pub bytes: Vec<u8>,
    /// The outcomes of the documents.
    pub report: RoutingReport,
}

impl Api {
    /// The word in file names.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai-responses",
            Self::OpenAiChat => "openai-chat",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Bedrock => "bedrock-converse",
            Self::Cohere => "cohere",
            Self::Ollama => "ollama",
        }
    }

    /// The model's name: one that reads images and calls tools.
    pub fn model(self) -> &'static str {
        match self {
            Self::OpenAi => "gpt-5.1",
            Self::OpenAiChat => "gpt-4o",
            Self::Anthropic => "claude-sonnet-4-5",
            Self::Gemini => "gemini-3-pro-preview",
            Self::Bedrock => "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            Self::Cohere => "command-a-plus-05-2026",
            Self::Ollama => "qwen3-vl:4b",
        }
    }

    /// The codec of the model that scenarios are rendered for.
    pub fn codec(self) -> Box<dyn Codec> {
        self.codec_of(self.model())
    }

    /// The codec of a model.
    pub fn codec_of(self, model: &str) -> Box<dyn Codec> {
        match self {
            Self::OpenAi => Box::new(ResponsesCodec::from(model)),
            Self::OpenAiChat => Box::new(ChatCodec::from(model)),
            Self::Anthropic => Box::new(MessagesCodec::from(model)),
            Self::Gemini => Box::new(GenerateCodec::from(model)),
            Self::Bedrock => Box::new(ConverseCodec::new(model).with_region("us-east-1")),
            Self::Cohere => Box::new(CohereCodec::new(model)),
            Self::Ollama => Box::new(OllamaCodec::new(model)),
        }
    }

    /// The model at a mock provider's URL, with the key `sk-canary`.
    ///
    /// # Errors
    /// The problem with the settings.
    pub fn connected(self, url: &str, config: ModelSettings) -> Result<ModelHandle, ProviderError> {
        self.reached_through(self.model(), url, config, HttpClient::shared(), RetryPolicy::default())
    }

    /// The same for any model, through connections of its own, asking again as `retry` says.
    ///
    /// # Errors
    /// The problem with the settings.
    pub fn reached_through(
        self,
        model: &str,
        url: &str,
        config: ModelSettings,
        http: HttpClient,
        retry: RetryPolicy,
    ) -> Result<ModelHandle, ProviderError> {
        let at = |path: &str| format!("{url}{path}");
        match self {
            Self::OpenAi => reached::<ResponsesCodec>(model, at("/v1"), config, http, retry),
            Self::OpenAiChat => reached::<ChatCodec>(model, at("/v1"), config, http, retry),
            Self::Anthropic => reached::<MessagesCodec>(model, at(""), config, http, retry),
            Self::Gemini => reached::<GenerateCodec>(model, at(""), config, http, retry),
            Self::Bedrock => {
                let codec = ConverseCodec::new(model).with_region("us-east-1");
                reached::<ConverseCodec>(codec, at(""), config, http, retry)
            }
            Self::Cohere => reached::<CohereCodec>(model, at(""), config, http, retry),
            Self::Ollama => reached::<OllamaCodec>(model, at(""), config, http, retry),
        }
    }

    /// The capabilities of the model.
    pub fn capabilities(self) -> ModelCapabilities {
        self.codec().capabilities().clone()
    }

    /// The table with the rows of its models.
    pub fn matrix(self) -> &'static Matrix {
        match (self, &*COHERE) {
            (Self::Cohere, Some(own)) => own,
            _ => Matrix::bundled(),
        }
    }

    /// Routes and renders a scenario. Cohere and Ollama leave out the options that they do not know.
    ///
    /// # Errors
    /// The refusal of routing or of the codec.
    pub fn wire(self, scenario: &Scenario, transcript: Option<&Transcript>) -> Result<Wire, ProviderError> {
        let tools = Arc::new(scenario.tool_set());
        self.wire_with(scenario, &tools, transcript)
    }

    /// The same with tools that are shared between the requests of a conversation.
    ///
    /// # Errors
    /// The refusal of routing or of the codec.
    pub fn wire_with(
        self,
        scenario: &Scenario,
        tools: &Arc<ToolSet>,
        transcript: Option<&Transcript>,
    ) -> Result<Wire, ProviderError> {
        let capabilities = self.capabilities();
        let routing = route(&scenario.messages, &capabilities, tools, &Materials::new(), &scenario.routing)?;
        let mut options = scenario.options.clone();
        if matches!(self, Self::Cohere | Self::Ollama) {
            options = options.with_unsupported(Unsupported::Degrade);
        }
        let mut request = ChatRequest::new(routing.messages)
            .with_tools(Arc::clone(tools))
            .with_tool_choice(scenario.tool_choice.clone())
            .with_settings(options);
        request.streaming = scenario.stream;
        if let Some(names) = &scenario.allowed_tools {
            request = request.with_allowed_tools(names.iter().copied());
            request.narrow(&capabilities);
        }
        request.transcript = transcript.cloned();
        // Metadata that users attach to a request has another name on every API.
        if let Some(metadata) = request.settings.extra_body.remove("metadata")
            && let Some(name) = self.metadata()
        {
            request.settings.extra_body.insert(name.to_owned(), metadata);
        }
        let config = ModelSettings::new().merged(&request.settings);
        let parts = self.codec().encode(Ask::new(&request, &config, None))?.parts;
        let bytes = parts.body.to_vec();
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Ok(Wire { url: parts.url, body, bytes, report: routing.report })
    }

    /// The content blocks of a body in order, without cache markers, each with its role.
    pub fn blocks(self, body: &Value) -> Vec<Value> {
        let list = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
        let at = |path: &str| list(body.pointer(path));
        let (heads, messages, content): (&[&str], &str, &str) = match self {
            Self::OpenAi => (&["/tools"], "/input", ""),
            Self::OpenAiChat => (&["/tools"], "/messages", ""),
            Self::Anthropic => (&["/tools", "/system"], "/messages", "content"),
            Self::Gemini => (&["/tools", "/systemInstruction/parts"], "/contents", "parts"),
            Self::Bedrock => (&["/toolConfig/tools", "/system"], "/messages", "content"),
            Self::Cohere | Self::Ollama => (&["/tools"], "/messages", ""),
        };
        let mut blocks: Vec<Value> = heads.iter().flat_map(|head| at(head)).collect();
        for message in at(messages) {
            match message.get(content) {
                Some(Value::Array(parts)) => {
                    blocks.extend(
                        parts.iter().map(|block| json!({ "role": message.get("role"), "block": block })),
                    );
                }
                _ => blocks.push(message),
            }
        }
        blocks.iter_mut().for_each(strip);
        blocks.retain(|block| {
            block.get("cachePoint").is_none() && block.pointer("/block/cachePoint").is_none()
        });
        blocks
    }

    /// The conversation in a body.
    pub fn messages(self, body: &Value) -> Value {
        let member = match self {
            Self::OpenAi => "input",
            Self::Gemini => "contents",
            _ => "messages",
        };
        body.get(member).cloned().unwrap_or_default()
    }

    /// The member for what users attach to a request.
    fn metadata(self) -> Option<&'static str> {
        match self {
            Self::OpenAi | Self::OpenAiChat | Self::Anthropic => Some("metadata"),
            Self::Gemini => Some("labels"),
            Self::Bedrock => Some("requestMetadata"),
            Self::Cohere | Self::Ollama => None,
        }
    }

    /// True if caching is asked for inside the request, and by no request of its own.
    pub fn marks_cache(self) -> bool {
        !matches!(self, Self::Gemini)
    }

    /// True if a reply can be of several generations.
    pub fn has_choices(self) -> bool {
        matches!(self, Self::OpenAiChat | Self::Gemini)
    }

    /// True if reasoning comes with something that proves its origin and goes back with it.
    pub fn signs_reasoning(self) -> bool {
        !matches!(self, Self::OpenAiChat | Self::Cohere | Self::Ollama)
    }

    /// Options under which the model reasons.
    pub fn reasoning(self) -> ModelSettings {
        let config = ModelSettings::new();
        match self {
            Self::OpenAiChat | Self::Cohere | Self::Ollama => config,
            Self::OpenAi => config.with_reasoning(Reasoning::Effort(Effort::Medium)),
            Self::Anthropic | Self::Bedrock => config.with_reasoning(Reasoning::Budget(2048)),
            Self::Gemini => config.with_reasoning(Reasoning::Effort(Effort::High)),
        }
    }

    /// The type of the error that a wrong key gets; empty where errors have none.
    pub fn refusal_of_a_key(self) -> &'static str {
        match self {
            Self::OpenAi | Self::OpenAiChat => "invalid_request_error",
            Self::Anthropic => "authentication_error",
            Self::Gemini => "UNAUTHENTICATED",
            Self::Bedrock => "UnrecognizedClientException",
            Self::Cohere | Self::Ollama => "",
        }
    }

    /// The type of the error inside a stream when the provider is overloaded.
    pub fn overload(self) -> &'static str {
        match self {
            Self::Gemini => "UNAVAILABLE",
            Self::Bedrock => "serviceUnavailableException",
            // The finish reason; Ollama has words alone.
            Self::Cohere => "ERROR",
            _ => "overloaded_error",
        }
    }

    /// True if files in requests can have names.
    pub fn names_files(self) -> bool {
        // Those of Converse are made of ids, since they are read by the model and hold few characters.
        !matches!(self, Self::Gemini | Self::Bedrock)
    }

    /// The real API's verdict on a body.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn judge(self, body: &Value) -> Result<(), Violation> {
        self.judge_of(self.model(), body)
    }

    /// The same for a model, which not every body names.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn judge_of(self, model: &str, body: &Value) -> Result<(), Violation> {
        match self {
            Self::OpenAi => validate_responses(body),
            Self::OpenAiChat => validate_chat(body),
            Self::Anthropic => {
                // The codec sends that flag with the member that needs it, and no other one.
                let binding = body.pointer("/thinking/block_binding");
                let flag = binding.map(|_| "thinking-binding-controls-2026-08-01");
                validate_messages_with(body, &Rules::new().with_anthropic_betas(flag))
            }
            Self::Gemini => validate_gemini(model, body),
            Self::Bedrock => validate_converse(model, body),
            Self::Cohere => validate_cohere(body),
            Self::Ollama => validate_ollama(body),
        }
    }

    /// The same API as the conformance crate names it.
    pub fn conformance(self) -> attache_conformance::Api {
        match self {
            Self::OpenAi => attache_conformance::Api::Responses,
            Self::OpenAiChat => attache_conformance::Api::ChatCompletions,
            Self::Anthropic => attache_conformance::Api::Messages,
            Self::Gemini => attache_conformance::Api::Gemini,
            Self::Bedrock => attache_conformance::Api::Converse,
            Self::Cohere => attache_conformance::Api::Cohere,
            Self::Ollama => attache_conformance::Api::Ollama,
        }
    }
}

fn reached<C: Codec + Clone>(
    codec: impl Into<C>,
    url: String,
    config: ModelSettings,
    http: HttpClient,
    retry: RetryPolicy,
) -> Result<ModelHandle, ProviderError> {
    let model = HttpModel::<C>::new(codec, "sk-canary")?.with_base_url(url);
    Ok(model.with_settings(config).with_http(http).with_retry(retry).into())
}

fn strip(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.remove("cache_control");
            object.values_mut().for_each(strip);
        }
        Value::Array(list) => list.iter_mut().for_each(strip),
        _ => {}
    }
}

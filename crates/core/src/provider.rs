//! The provider trait, its handle, and what a request holds.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use futures_core::Stream;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::capability::ModelCapabilities;
use crate::chunk::{Completion, StreamChunk};
use crate::compiled::OutputSchema;
use crate::error::{ErrorKind, ProviderError};
use crate::files::FileReferences;
use crate::json::merge_members;
use crate::message::Message;
use crate::secret::Secret;
use crate::tool::{SchemaReport, ToolSet};
use crate::transcript::Transcript;
use crate::usage::Usage;

/// A boxed future, for traits that are used as `dyn`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The chunks of one reply. Lazy: nothing is sent before the first poll. The first item may be an error; after an
/// error or [`StreamChunk::Done`] the stream has ended.
///
/// # Cancellation
/// Dropping the stream aborts the request at the provider.
pub type ChunkStream = Pin<Box<dyn Stream<Item = Result<StreamChunk, ProviderError>> + Send + 'static>>;

/// One model at one provider.
///
/// Authors implement it; users hold a [`ModelHandle`]. There is one way to call: [`stream`](Self::stream). Whether
/// the wire streams is an option of the request.
pub trait LlmProvider: Send + Sync + 'static {
    /// The registry name of the provider and the model's id there, `provider/model`.
    fn model_id(&self) -> &str;

    /// The media that the model takes in each place, and its abilities.
    fn capabilities(&self) -> &ModelCapabilities;

    /// A snapshot of the settings that apply where a request sets none.
    fn settings(&self) -> Arc<ModelSettings>;

    /// Replaces those settings for later requests; one under way keeps its snapshot.
    fn set_settings(&self, settings: ModelSettings);

    /// A snapshot of what was used so far; it may be called while a reply streams.
    fn state(&self) -> ProviderState;

    /// Says what becomes of the schemas of `tools` in this provider's dialect, and which of them it cannot be offered.
    /// Nothing is sent. `options` are those of the requests to come. By default there is nothing to say.
    fn check_tools(&self, tools: &ToolSet, options: &ModelSettings) -> SchemaReport {
        let _ = (tools, options);
        SchemaReport::new()
    }

    /// Asks the model. The stream is `'static` and lazy; its first item may be an error.
    fn stream(&self, request: ChatRequest) -> ChunkStream;
}

/// A cloneable handle on a model, without type parameters.
#[derive(Clone)]
pub struct ModelHandle(Arc<dyn LlmProvider>);

impl ModelHandle {
    /// The handle of `provider`.
    pub fn new(provider: impl LlmProvider) -> Self {
        Self(Arc::new(provider))
    }

    /// `provider/model`.
    pub fn id(&self) -> &str {
        self.0.model_id()
    }

    /// The media that the model takes in each place, and its abilities.
    pub fn capabilities(&self) -> &ModelCapabilities {
        self.0.capabilities()
    }

    /// A snapshot of the default settings.
    pub fn settings(&self) -> Arc<ModelSettings> {
        self.0.settings()
    }

    /// Replaces the default settings for later requests.
    pub fn set_settings(&self, settings: ModelSettings) {
        self.0.set_settings(settings);
    }

    /// A snapshot of what was used so far.
    pub fn state(&self) -> ProviderState {
        self.0.state()
    }

    /// Says what becomes of the schemas of `tools` in the provider's dialect; see [`LlmProvider::check_tools`].
    pub fn check_tools(&self, tools: &ToolSet, options: &ModelSettings) -> SchemaReport {
        self.0.check_tools(tools, options)
    }

    /// Asks the model and streams the reply.
    pub fn stream(&self, request: ChatRequest) -> ChunkStream {
        self.0.stream(request)
    }

    /// Asks with one user text and streams the reply.
    pub fn chat(&self, prompt: impl Into<String>) -> ChunkStream {
        self.stream(ChatRequest::new([Message::user(prompt).shared()]))
    }

    /// Asks the model and waits for the whole reply.
    ///
    /// # Errors
    /// The provider's error.
    ///
    /// # Cancellation
    /// Dropping the future aborts the request.
    pub async fn complete(&self, request: ChatRequest) -> Result<Completion, ProviderError> {
        Self::collect(self.stream(request)).await
    }

    /// Waits for the end of a stream.
    ///
    /// # Errors
    /// The stream's error, or [`ErrorKind::StreamCut`] if it ended without one and without its last chunk.
    pub async fn collect(mut stream: ChunkStream) -> Result<Completion, ProviderError> {
        while let Some(chunk) = std::future::poll_fn(|context| stream.as_mut().poll_next(context)).await {
            if let StreamChunk::Done(completion) = chunk? {
                return Ok(*completion);
            }
        }
        Err(ProviderError::new(ErrorKind::StreamCut, "the reply ended without its last chunk"))
    }
}

impl<P: LlmProvider> From<P> for ModelHandle {
    fn from(provider: P) -> Self {
        Self::new(provider)
    }
}

impl fmt::Debug for ModelHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ModelHandle").field(&self.id()).finish()
    }
}

/// One request: messages that routing has looked at, tools, and settings.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChatRequest {
    /// The messages in order.
    pub messages: Vec<Arc<Message>>,
    /// The tools that the model may call.
    pub tools: Arc<ToolSet>,
    /// True if and which tool it must call.
    pub tool_choice: ToolChoice,
    /// Settings; each one that is set wins over the provider's.
    pub settings: ModelSettings,
    /// False if the wire answers in one piece instead of streaming. The chunks are the same either way.
    pub streaming: bool,
    /// The provider's store of what it rendered of this conversation.
    pub transcript: Option<Transcript>,
    /// Documents that the provider holds already, which the request may refer to.
    pub files: FileReferences,
}

impl Default for ChatRequest {
    fn default() -> Self {
        Self {
            messages: Vec::new(),
            tools: Arc::default(),
            tool_choice: ToolChoice::default(),
            settings: ModelSettings::default(),
            streaming: true,
            transcript: None,
            files: FileReferences::default(),
        }
    }
}

impl ChatRequest {
    /// A request of messages alone.
    pub fn new(messages: impl IntoIterator<Item = Arc<Message>>) -> Self {
        Self { messages: messages.into_iter().collect(), ..Self::default() }
    }

    /// Offers tools.
    #[must_use]
    pub fn with_tools(mut self, tools: impl Into<Arc<ToolSet>>) -> Self {
        self.tools = tools.into();
        self
    }

    /// Says whether and which tool must be called.
    #[must_use]
    pub fn with_tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = choice;
        self
    }

    /// Sets settings.
    #[must_use]
    pub fn with_settings(mut self, settings: ModelSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Says whether the wire streams the reply, as it does by default, or answers in one piece.
    #[must_use]
    pub fn streaming(mut self, streaming: bool) -> Self {
        self.streaming = streaming;
        self
    }

    /// Keeps what is rendered for the next request of the same conversation.
    #[must_use]
    pub fn with_transcript(mut self, transcript: Transcript) -> Self {
        self.transcript = Some(transcript);
        self
    }

    /// Refers to documents that the provider holds already.
    #[must_use]
    pub fn with_files(mut self, files: FileReferences) -> Self {
        self.files = files;
        self
    }
}

/// True if and which tool the model must call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No tool, although tools are offered.
    None,
    /// At least one tool.
    Required,
    /// This tool, by internal name.
    Tool(String),
}

/// Options of model calls. Every field is optional; what is not set is not sent.
///
/// A model or API that cannot honour an option that was set answers with [`ErrorKind::Unsupported`] before
/// anything is sent, unless [`unsupported`](Self::unsupported) allows to leave it out, which is then recorded in
/// [`Completion::degradations`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ModelSettings {
    /// Instructions that stand before those in the messages.
    pub system: Option<String>,
    /// The most tokens to write, reasoning included where the API counts it so.
    pub max_tokens: Option<u32>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Nucleus sampling.
    pub top_p: Option<f64>,
    /// Sampling among the best `k`.
    pub top_k: Option<u32>,
    /// Texts that end the reply.
    pub stop: Option<Vec<String>>,
    /// Seed for repeatable sampling.
    pub seed: Option<i64>,
    /// Penalty for tokens that occurred.
    pub presence_penalty: Option<f64>,
    /// Penalty for tokens by how often they occurred.
    pub frequency_penalty: Option<f64>,
    /// The way in which the model reasons.
    pub reasoning: Option<Reasoning>,
    /// True if several calls may come in one reply.
    pub parallel_tool_calls: Option<bool>,
    /// The form of the answer text.
    pub response_format: Option<ResponseFormat>,
    /// Prompt caching.
    pub cache: Option<CachePolicy>,
    /// Members merged into the request body last, for what has no option here.
    pub extra_body: Map<String, Value>,
    /// Headers added to the request.
    pub extra_headers: RequestHeaders,
    /// The treatment of options that cannot be honoured.
    pub unsupported: Option<Unsupported>,
}

impl ModelSettings {
    /// No option set.
    pub fn new() -> Self {
        Self::default()
    }

    /// These options where `over` sets none. Extra members are merged at every depth and headers united, `over`
    /// winning by name.
    #[must_use]
    pub fn merged(&self, over: &ModelSettings) -> Self {
        let mut extra_body = self.extra_body.clone();
        merge_members(&mut extra_body, &over.extra_body);
        let mut extra_headers = self.extra_headers.clone();
        extra_headers.0.retain(|(name, _)| !over.extra_headers.0.iter().any(|(other, _)| other == name));
        extra_headers.0.extend(over.extra_headers.0.iter().cloned());
        Self {
            system: over.system.clone().or_else(|| self.system.clone()),
            max_tokens: over.max_tokens.or(self.max_tokens),
            temperature: over.temperature.or(self.temperature),
            top_p: over.top_p.or(self.top_p),
            top_k: over.top_k.or(self.top_k),
            stop: over.stop.clone().or_else(|| self.stop.clone()),
            seed: over.seed.or(self.seed),
            presence_penalty: over.presence_penalty.or(self.presence_penalty),
            frequency_penalty: over.frequency_penalty.or(self.frequency_penalty),
            reasoning: over.reasoning.clone().or_else(|| self.reasoning.clone()),
            parallel_tool_calls: over.parallel_tool_calls.or(self.parallel_tool_calls),
            response_format: over.response_format.clone().or_else(|| self.response_format.clone()),
            cache: over.cache.or(self.cache),
            extra_body,
            extra_headers,
            unsupported: over.unsupported.or(self.unsupported),
        }
    }
}

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident = $field:ident: $type:ty;)*) => {
        impl ModelSettings {
            $($(#[$doc])* #[must_use]
            pub fn $name(mut self, value: $type) -> Self {
                self.$field = Some(value.into());
                self
            })*
        }
    };
}

setters! {
    /// Sets the instructions.
    with_system = system: impl Into<String>;
    /// Sets the most tokens to write.
    with_max_tokens = max_tokens: u32;
    /// Sets the temperature.
    with_temperature = temperature: f64;
    /// Sets nucleus sampling.
    with_top_p = top_p: f64;
    /// Sets sampling among the best `k`.
    with_top_k = top_k: u32;
    /// Sets the texts that end the reply.
    with_stop = stop: Vec<String>;
    /// Sets the seed.
    with_seed = seed: i64;
    /// Sets the presence penalty.
    with_presence_penalty = presence_penalty: f64;
    /// Sets the frequency penalty.
    with_frequency_penalty = frequency_penalty: f64;
    /// Sets how the model reasons.
    with_reasoning = reasoning: Reasoning;
    /// Allows or forbids several calls in one reply.
    with_parallel_tool_calls = parallel_tool_calls: bool;
    /// Sets the form of the answer text.
    with_response_format = response_format: ResponseFormat;
    /// Sets prompt caching.
    with_cache = cache: CachePolicy;
    /// Says what to do about options that cannot be honoured.
    with_unsupported = unsupported: Unsupported;
}

impl ModelSettings {
    /// Adds a member to the request body.
    #[must_use]
    pub fn with_extra_body(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra_body.insert(key.into(), value.into());
        self
    }

    /// Adds a header to the request. Its value is treated as a secret.
    #[must_use]
    pub fn with_extra_header(mut self, name: &str, value: impl Into<Secret>) -> Self {
        self.extra_headers.0.push((name.to_ascii_lowercase(), value.into()));
        self
    }
}

/// Header names in lower case with their values, which are treated as secrets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestHeaders(Vec<(String, Secret)>);

impl RequestHeaders {
    /// Names and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Secret)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

/// The effort with which a model reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Effort {
    /// As little as the API knows.
    Minimal,
    /// Little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// More.
    XHigh,
    /// As much as the API knows.
    Max,
}

impl Effort {
    /// The word that the APIs use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
        }
    }
}

/// The way in which the model reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reasoning {
    /// Not at all.
    Off,
    /// As the model sees fit, with an effort.
    Effort(Effort),
    /// With a budget in tokens, where the API takes one.
    Budget(u32),
}

/// The form of the answer text.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ResponseFormat {
    /// Plain text.
    Text,
    /// Any JSON object.
    JsonObject,
    /// JSON that follows a schema.
    JsonSchema {
        /// A name of letters, digits, `_` and `-`.
        name: String,
        /// The JSON Schema, such as a `json!` value `.into()` it.
        schema: OutputSchema,
        /// True if the provider must enforce it. It gets the schema in the subset that it enforces, and the answer comes
        /// back as this schema has it. Either way the answer is held against the schema; see
        /// [`Completion::structured`].
        strict: bool,
    },
}

impl ResponseFormat {
    /// The schema that answers are held to, if there is one.
    pub fn schema(&self) -> Option<&OutputSchema> {
        match self {
            Self::JsonSchema { schema, .. } => Some(schema),
            Self::Text | Self::JsonObject => None,
        }
    }
}

/// Prompt caching.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CachePolicy {
    /// Place no markers. (What a provider caches by itself, it caches.)
    Off,
    /// Place markers so that the stable prefix is read from the cache; kept for the provider's short time.
    Short,
    /// The same, kept for the provider's long time.
    Long,
}

/// The treatment of options that the model or API cannot honour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unsupported {
    /// Fail before anything is sent.
    #[default]
    Error,
    /// Leave the option out, or take the nearest, and record it.
    Degrade,
}

/// The use of a provider so far.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ProviderState {
    /// Requests started, failed ones included.
    pub requests: u64,
    /// Replies that came to their end.
    pub turns: u64,
    /// Requests that failed.
    pub failures: u64,
    /// The sum of what was reported.
    pub usage: Usage,
    /// The time at which the last reply ended.
    pub last_time: Option<SystemTime>,
}

/// Keeps settings and state of a provider; for authors of providers.
#[derive(Debug, Default)]
pub struct StateCell {
    settings: Mutex<Arc<ModelSettings>>,
    state: Mutex<ProviderState>,
}

impl StateCell {
    /// A cell with default settings.
    pub fn new(settings: ModelSettings) -> Self {
        Self { settings: Mutex::new(Arc::new(settings)), state: Mutex::default() }
    }

    /// The settings now.
    pub fn settings(&self) -> Arc<ModelSettings> {
        Arc::clone(&self.settings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the settings.
    pub fn set_settings(&self, settings: ModelSettings) {
        *self.settings.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
    }

    /// The state now.
    pub fn state(&self) -> ProviderState {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts a request that starts.
    pub fn started(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).requests += 1;
    }

    /// Counts a reply that ended, in one step.
    pub fn finished(&self, outcome: Result<&Usage, &ProviderError>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match outcome {
            Ok(usage) => {
                state.turns += 1;
                state.usage.add(usage);
            }
            Err(_) => state.failures += 1,
        }
        state.last_time = Some(crate::fresh::now());
    }
}

//! The provider trait, its handle, and the request type.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::SystemTime;

use futures_core::Stream;

use crate::capability::ModelCapabilities;
use crate::chunk::{Completion, StreamChunk};
use crate::error::{ErrorKind, ProviderError};
use crate::files::FileReferences;
use crate::future::BoxFuture;
use crate::message::Message;
use crate::settings::{ModelSettings, ToolChoice};
use crate::tool::{SchemaReport, ToolSet};
use crate::transcript::Transcript;
use crate::usage::Usage;

/// The chunks of one reply. The stream is lazy: nothing is sent before the first poll. The first item may be an error;
/// the stream ends after an error or [`StreamChunk::Done`].
///
/// # Cancellation
/// Dropping the stream aborts the request at the provider.
pub type ChunkStream = Pin<Box<dyn Stream<Item = Result<StreamChunk, ProviderError>> + Send + 'static>>;

/// One model of one provider.
///
/// Provider authors implement this trait; users hold a [`ModelHandle`]. There is a single call,
/// [`stream`](Self::stream). Streaming on the wire is an option of the request.
///
/// A run does not catch panics of a provider: they reach whoever polls the run.
pub trait LlmProvider: Send + Sync + 'static {
    /// The registry name of the provider and its id of the model, `provider/model`.
    fn model_id(&self) -> &str;

    /// The media types that the model accepts in each place, and its other capabilities.
    fn capabilities(&self) -> &ModelCapabilities;

    /// A snapshot of the default settings, which apply where a request sets none.
    fn settings(&self) -> Arc<ModelSettings>;

    /// Replaces the default settings for later requests; a running request keeps its snapshot.
    fn set_settings(&self, settings: ModelSettings);

    /// A snapshot of the usage so far; may be called while a reply is streaming.
    fn state(&self) -> ProviderState;

    /// The models that may answer in the place of this one, each `provider/model`, as behind a fallback. None by default.
    fn fallbacks(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Reports how the schemas of `tools` change in this provider's dialect, and which tools cannot be offered to it.
    /// Nothing is sent. `options` are those of the later requests. The default report is empty.
    fn check_tools(&self, tools: &ToolSet, options: &ModelSettings) -> SchemaReport {
        let _ = (tools, options);
        SchemaReport::new()
    }

    /// Asks the provider to count the input tokens of a request. Returns `None` if the provider does not support this,
    /// which is the default. The model does not answer the request, and the provider stores nothing.
    ///
    /// # Cancellation
    /// Dropping the future aborts the request.
    fn count_tokens(&self, request: ChatRequest) -> Option<BoxFuture<'static, Result<u64, ProviderError>>> {
        let _ = request;
        None
    }

    /// Sends the request and returns the reply. The stream is `'static` and lazy; its first item may be an error.
    fn stream(&self, request: ChatRequest) -> ChunkStream;
}

/// A cloneable handle to a model, without type parameters.
#[derive(Clone)]
pub struct ModelHandle(Arc<dyn LlmProvider>);

impl ModelHandle {
    /// Creates a handle to `provider`.
    pub fn new(provider: impl LlmProvider) -> Self {
        Self(Arc::new(provider))
    }

    /// `provider/model`.
    pub fn id(&self) -> &str {
        self.0.model_id()
    }

    /// The media types that the model accepts in each place, and its other capabilities.
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

    /// A snapshot of the usage so far.
    pub fn state(&self) -> ProviderState {
        self.0.state()
    }

    /// The models that may answer in the place of this one; see [`LlmProvider::fallbacks`].
    pub fn fallbacks(&self) -> Vec<&str> {
        self.0.fallbacks()
    }

    /// Reports how the schemas of `tools` change in the provider's dialect; see [`LlmProvider::check_tools`].
    pub fn check_tools(&self, tools: &ToolSet, options: &ModelSettings) -> SchemaReport {
        self.0.check_tools(tools, options)
    }

    /// Asks the provider to count the tokens of a request; see [`LlmProvider::count_tokens`].
    pub fn count_tokens(
        &self,
        request: ChatRequest,
    ) -> Option<BoxFuture<'static, Result<u64, ProviderError>>> {
        self.0.count_tokens(request)
    }

    /// Sends the request and streams the reply.
    pub fn stream(&self, request: ChatRequest) -> ChunkStream {
        self.0.stream(request)
    }

    /// Sends one user text and streams the reply.
    pub fn chat(&self, prompt: impl Into<String>) -> ChunkStream {
        self.stream(ChatRequest::new([Message::user(prompt).shared()]))
    }

    /// Sends the request and waits for the whole reply.
    ///
    /// # Errors
    /// The provider's error.
    ///
    /// # Cancellation
    /// Dropping the future aborts the request.
    pub async fn complete(&self, request: ChatRequest) -> Result<Completion, ProviderError> {
        Self::collect(self.stream(request)).await
    }

    /// Reads a stream to its end.
    ///
    /// # Errors
    /// The stream's error, or [`ErrorKind::StreamCut`] if it ended with neither an error nor its last chunk.
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

/// One request: routed messages, tools, and settings.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChatRequest {
    /// The messages in order.
    pub messages: Vec<Arc<Message>>,
    /// The tools that the model may call.
    pub tools: Arc<ToolSet>,
    /// Defines if the model may or must call tools, or a certain tool.
    pub tool_choice: ToolChoice,
    /// The internal names of the tools that the model may call now; `None` for all. The other tools are still offered,
    /// so that the prefix that contains them stays in the provider's cache.
    pub allowed_tools: Option<Arc<[String]>>,
    /// The settings; each one that is set overrides the provider's default.
    pub settings: ModelSettings,
    /// False to receive the response in one piece instead of streaming it. The chunks are of the same kinds either way.
    pub streaming: bool,
    /// The provider's cache of what it has rendered of this conversation.
    pub transcript: Option<Transcript>,
    /// Documents that are already stored at the provider and that the request may reference.
    pub files: FileReferences,
}

/// The tools of requests that have none.
static NO_TOOLS: LazyLock<Arc<ToolSet>> = LazyLock::new(Arc::default);

impl Default for ChatRequest {
    fn default() -> Self {
        Self {
            messages: Vec::new(),
            tools: Arc::clone(&NO_TOOLS),
            tool_choice: ToolChoice::default(),
            allowed_tools: None,
            settings: ModelSettings::default(),
            streaming: true,
            transcript: None,
            files: FileReferences::default(),
        }
    }
}

impl ChatRequest {
    /// Creates a request with only messages.
    pub fn new(messages: impl IntoIterator<Item = Arc<Message>>) -> Self {
        Self { messages: messages.into_iter().collect(), ..Self::default() }
    }

    /// Sets the tools to offer.
    #[must_use]
    pub fn with_tools(mut self, tools: impl Into<Arc<ToolSet>>) -> Self {
        self.tools = tools.into();
        self
    }

    /// Sets if a tool must be called, and which.
    #[must_use]
    pub fn with_tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = choice;
        self
    }

    /// Sets which of the tools may be called now, by internal name.
    #[must_use]
    pub fn with_allowed_tools(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.allowed_tools = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Removes the tools that may not be called, if the model's API does not support a list of allowed tools.
    pub fn narrow(&mut self, capabilities: &ModelCapabilities) {
        if !capabilities.allowed_tools
            && let Some(allowed) = self.allowed_tools.take()
        {
            self.tools = Arc::new(self.tools.subset(|name| allowed.iter().any(|allowed| allowed == name)));
        }
    }

    /// Sets the settings.
    #[must_use]
    pub fn with_settings(mut self, settings: ModelSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets if the response is streamed, which is the default, or received in one piece.
    #[must_use]
    pub fn streaming(mut self, streaming: bool) -> Self {
        self.streaming = streaming;
        self
    }

    /// Caches rendered messages for the next request of the same conversation.
    #[must_use]
    pub fn with_transcript(mut self, transcript: Transcript) -> Self {
        self.transcript = Some(transcript);
        self
    }

    /// Sets the documents that are already stored at the provider.
    #[must_use]
    pub fn with_files(mut self, files: FileReferences) -> Self {
        self.files = files;
        self
    }
}

/// The usage of a provider so far.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ProviderState {
    /// Requests started, including failed ones.
    pub requests: u64,
    /// Completed replies.
    pub turns: u64,
    /// Requests that failed.
    pub failures: u64,
    /// The sum of the reported usage, including that of failed requests.
    pub usage: Usage,
    /// The time at which the last reply ended.
    pub last_time: Option<SystemTime>,
}

/// Holds the settings and state of a provider; for provider authors.
#[derive(Debug, Default)]
pub struct StateCell {
    settings: Mutex<Arc<ModelSettings>>,
    state: Mutex<ProviderState>,
}

impl StateCell {
    /// Creates a cell with default settings.
    pub fn new(settings: ModelSettings) -> Self {
        Self { settings: Mutex::new(Arc::new(settings)), state: Mutex::default() }
    }

    /// The current settings.
    pub fn settings(&self) -> Arc<ModelSettings> {
        Arc::clone(&self.settings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the settings.
    pub fn set_settings(&self, settings: ModelSettings) {
        *self.settings.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
    }

    /// The current state.
    pub fn state(&self) -> ProviderState {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Counts a request that starts.
    pub fn started(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).requests += 1;
    }

    /// Counts a finished reply, atomically.
    pub fn finished(&self, outcome: Result<&Usage, &ProviderError>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match outcome {
            Ok(usage) => {
                state.turns += 1;
                state.usage.add(usage);
            }
            Err(error) => {
                state.failures += 1;
                error.usage().into_iter().for_each(|usage| state.usage.add(usage));
            }
        }
        // The clock may be set back meanwhile.
        state.last_time = state.last_time.max(Some(crate::fresh::now()));
    }
}

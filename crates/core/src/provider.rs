//! The provider trait, its handle, and what a request holds.

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

/// The chunks of one reply. Lazy: nothing is sent before the first poll. The first item may be an error; after an
/// error or [`StreamChunk::Done`] the stream has ended.
///
/// # Cancellation
/// Dropping the stream aborts the request at the provider.
pub type ChunkStream = Pin<Box<dyn Stream<Item = Result<StreamChunk, ProviderError>> + Send + 'static>>;

/// One model at one provider.
///
/// Authors implement it; users hold a [`ModelHandle`]. There is one way to call: [`stream`](Self::stream). Streaming on
/// the wire is an option of the request.
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

    /// Has the provider count the tokens that the model would read of a request; nothing where it counts none, as by
    /// default. The request is not answered, and nothing is kept at the provider.
    ///
    /// # Cancellation
    /// Dropping the future aborts the request.
    fn count_tokens(&self, request: ChatRequest) -> Option<BoxFuture<'static, Result<u64, ProviderError>>> {
        let _ = request;
        None
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

    /// Has the provider count the tokens of a request; see [`LlmProvider::count_tokens`].
    pub fn count_tokens(
        &self,
        request: ChatRequest,
    ) -> Option<BoxFuture<'static, Result<u64, ProviderError>>> {
        self.0.count_tokens(request)
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
    /// The tools that it must call, or may.
    pub tool_choice: ToolChoice,
    /// The tools, by internal name, that it may call now; `None` for all. The other tools are offered all the
    /// same, so that the prefix with them stays in the provider's cache.
    pub allowed_tools: Option<Arc<[String]>>,
    /// Settings; each one that is set wins over the provider's.
    pub settings: ModelSettings,
    /// False if the wire answers in one piece instead of streaming. The chunks are the same either way.
    pub streaming: bool,
    /// The provider's store of what it rendered of this conversation.
    pub transcript: Option<Transcript>,
    /// Documents that the provider holds already, which the request may refer to.
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

    /// Says which of the tools may be called now, by internal name.
    #[must_use]
    pub fn with_allowed_tools(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.allowed_tools = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Leaves out the tools that may not be called, where the model's API takes no list of allowed ones.
    pub fn narrow(&mut self, capabilities: &ModelCapabilities) {
        if !capabilities.allowed_tools
            && let Some(allowed) = self.allowed_tools.take()
        {
            self.tools = Arc::new(self.tools.subset(|name| allowed.iter().any(|allowed| allowed == name)));
        }
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

//! Tools for models that call none natively: through Thought, Action, Observation and Answer.

pub(super) mod action;
mod history;
pub(super) mod json;
mod marker;
pub(super) mod parser;
mod prompt;
mod refusal;
mod reply;
mod request;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use attache_core::capability::{PlaceCapabilities, StructuredOutput};
use attache_core::tool::SchemaReport;
use attache_core::{
    BoxFuture, ChatRequest, ChunkStream, ModelCapabilities, ModelHandle, ModelSettings, ProviderError,
    StreamChunk, ToolSet,
};
use futures_util::StreamExt;

use super::Layer;
use super::leaked_calls::{Asked, recovered};
use reply::in_text;
use request::{Options, allowed_alone, native, request_in_text};

/// Lets a model without native tools use them: the tools and a format stand in its instructions, calls are read out of
/// its text, and results go back as observations. The agent around it notices nothing: the same tools, approvals, limits
/// and events.
///
/// A model whose capabilities say that it calls no tools is asked in text. Any other is asked natively, until its server
/// refuses the tools; from then on this layer asks in text. Until then it takes calls out of texts as
/// [`LeakedCalls`](super::LeakedCalls) does. [`always`](Self::always) asks in text from the beginning.
///
/// ```
/// use attache_agent::{Agent, tool_fn};
/// use attache_models::{TextTools, layered};
/// # use attache_testkit::{ScriptedModel, Turn};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # let model = ScriptedModel::new([
/// #     Turn::text("Thought: I look it up.\nAction: rent\nAction Input: {}"),
/// #     Turn::text("Thought: Now I know.\nFinal Answer: EUR 900 a month."),
/// # ]);
/// let rent = tool_fn("rent", "The rent of the flat.", || Ok("EUR 900"));
/// let agent = Agent::builder(layered(model, TextTools::new().always())).tool(rent).build()?;
/// let outcome = agent.run("What is the rent?").outcome().await?;
/// assert_eq!(outcome.text, "EUR 900 a month.");
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TextTools {
    options: Options,
    /// True once the server has refused tools.
    is_text: Arc<AtomicBool>,
    /// False once the API has refused stop sequences.
    takes_stop: Arc<AtomicBool>,
    capabilities: OnceLock<ModelCapabilities>,
}

impl Default for TextTools {
    fn default() -> Self {
        Self::new()
    }
}

impl TextTools {
    /// Text where the model has no tools or its server refuses them.
    pub fn new() -> Self {
        Self {
            options: Options {
                always: false,
                language: None,
                takes_plain_answers: false,
                is_lenient: false,
                hints: 2,
            },
            is_text: Arc::default(),
            takes_stop: Arc::new(AtomicBool::new(true)),
            capabilities: OnceLock::new(),
        }
    }

    /// Text from the beginning, whatever the model can.
    #[must_use]
    pub fn always(mut self) -> Self {
        self.options.always = true;
        self
    }

    /// Asks for answers in a language, such as `German`, however tools are called, and where there are none.
    #[must_use]
    pub fn with_language(mut self, language: impl Into<String>) -> Self {
        self.options.language = Some(language.into());
        self
    }

    /// Takes a reply without any marker for the answer, instead of asking for one with markers.
    #[must_use]
    pub fn with_plain_answers(mut self, takes: bool) -> Self {
        self.options.takes_plain_answers = takes;
        self
    }

    /// Takes arguments in single quotes and with the words of Python too.
    #[must_use]
    pub fn with_lenient_arguments(mut self, is_lenient: bool) -> Self {
        self.options.is_lenient = is_lenient;
        self
    }

    /// Sets how often the model is asked again after a reply that is neither action nor answer, in one step. 2 by
    /// default.
    #[must_use]
    pub fn with_hints(mut self, hints: u32) -> Self {
        self.options.hints = hints;
        self
    }

    fn asks_in_text(&self, inner: &ModelHandle) -> bool {
        self.options.always || !inner.capabilities().tools || self.is_text.load(Ordering::Relaxed)
    }
}

impl Layer for TextTools {
    /// The capabilities of a model whose results are texts, and documents follow in the next message.
    fn capabilities<'a>(&'a self, inner: &'a ModelHandle) -> &'a ModelCapabilities {
        if !self.asks_in_text(inner) {
            return inner.capabilities();
        }
        self.capabilities.get_or_init(|| {
            let mut capabilities = inner.capabilities().clone();
            let text = PlaceCapabilities::of(&["text"]);
            capabilities.tools = true;
            capabilities.parallel_tools = false;
            capabilities.forced_tools = false;
            capabilities.allowed_tools = false;
            capabilities.strict_tools = false;
            capabilities.structured_output = StructuredOutput::None;
            capabilities.tool_result = text.clone();
            capabilities.failed_result = text;
            capabilities.beside_result = capabilities.user.clone();
            capabilities
        })
    }

    fn check_tools(&self, inner: &ModelHandle, tools: &ToolSet, options: &ModelSettings) -> SchemaReport {
        match self.asks_in_text(inner) {
            true => SchemaReport::new(),
            false => inner.check_tools(tools, options),
        }
    }

    fn count_tokens(
        &self,
        inner: &ModelHandle,
        request: ChatRequest,
    ) -> Option<BoxFuture<'static, Result<u64, ProviderError>>> {
        let request = match self.asks_in_text(inner) {
            true => {
                let stops = self.takes_stop.load(Ordering::Relaxed);
                request_in_text(inner, &allowed_alone(request), &self.options, stops)
            }
            false => native(request, &self.options),
        };
        inner.count_tokens(request)
    }

    fn stream(&self, inner: &ModelHandle, request: ChatRequest) -> ChunkStream {
        let (inner, options) = (inner.clone(), self.options.clone());
        let takes_stop = Arc::clone(&self.takes_stop);
        if self.asks_in_text(&inner) {
            return in_text(inner, request, &options, takes_stop, None);
        }
        let is_text = Arc::clone(&self.is_text);
        let asked = Asked::of(&request);
        Box::pin(async_stream::stream! {
            let mut chunks = inner.stream(native(request.clone(), &options));
            let first = chunks.next().await;
            if let Some(Err(error)) = &first
                && !request.tools.is_empty()
                && refusal::is_of_tools(error)
            {
                tracing::warn!(model = inner.id(), %error, "the server refuses tools, and is asked in text");
                let note = format!("the server refuses tools ({}), and is asked in text from now on", error.kind());
                let mut chunks = in_text(inner, request, &options, takes_stop, Some(note));
                while let Some(chunk) = chunks.next().await {
                    // A request that fails in text too was not refused for its tools.
                    if matches!(chunk, Ok(StreamChunk::Done(_))) {
                        is_text.store(true, Ordering::Relaxed);
                    }
                    yield chunk;
                }
                return;
            }
            let rest = futures_util::stream::iter(first).chain(chunks);
            let mut chunks = recovered(Box::pin(rest), asked);
            while let Some(chunk) = chunks.next().await {
                yield chunk;
            }
        })
    }
}

//! An agent: a model, its tools, and how a run of them is bounded.

use std::sync::Arc;
use std::time::Duration;

use attache_core::{
    Content, Converter, DocumentStore, Extensions, Fetcher, Message, ModelHandle, ProviderConfig, Tool,
    ToolChoice, ToolHandler, UserMessage,
};
use attache_documents::RouteOptions;
use tokio::sync::OnceCell;

use crate::driver::AgentRun;
use crate::journal::{Journal, MemoryJournal};
use crate::limits::{EmptyReply, HistoryPolicy, Limits, Timing};
use crate::preflight::{Preflight, Screen};
use crate::reading::{self, ReadDocument};
use crate::store::MemoryDocumentStore;
use crate::tools::{Toolbox, Tools, ToolsError};
use crate::window::MessageWindow;

/// A model with tools. Cloning shares it; any number of runs may be under way at once.
///
/// ```no_run
/// # async fn example(model: attache_core::ModelHandle) -> Result<(), Box<dyn std::error::Error>> {
/// use attache_agent::{Agent, NoArguments, tool_fn};
/// use attache_core::{Document, ToolError};
///
/// let invoice = tool_fn("fetch_invoice", "Fetches the newest invoice", |_: NoArguments| async {
///     let bytes = std::fs::read("invoice.pdf")?;
///     Ok::<_, ToolError>(Document::from_bytes(bytes, "application/pdf").with_file_name("invoice.pdf"))
/// });
/// let agent = Agent::builder(model).system("You keep the books.").tool(invoice).build()?;
/// let outcome = agent.run("What is the total?").outcome().await?;
/// println!("{}", outcome.text);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Agent(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) model: ModelHandle,
    pub(crate) system: Option<String>,
    pub(crate) tools: Tools,
    pub(crate) known: Arc<Toolbox>,
    pub(crate) toolbox: OnceCell<Arc<Toolbox>>,
    pub(crate) tool_choice: ToolChoice,
    pub(crate) options: ProviderConfig,
    pub(crate) whole: bool,
    pub(crate) limits: Limits,
    pub(crate) timing: Timing,
    pub(crate) window: Option<MessageWindow>,
    pub(crate) history: HistoryPolicy,
    pub(crate) routing: RouteOptions,
    pub(crate) store: Arc<dyn DocumentStore>,
    pub(crate) fetcher: Option<Arc<dyn Fetcher>>,
    pub(crate) converters: Vec<Arc<dyn Converter>>,
    pub(crate) reads: bool,
    pub(crate) extensions: Extensions,
    pub(crate) principal: Option<String>,
}

/// A word for programs and a line for people.
type ToolWarning = (&'static str, String);

/// Builds an [`Agent`].
#[must_use]
pub struct AgentBuilder {
    inner: Inner,
}

/// Why an agent cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Its tools cannot be offered.
    #[error("the tools cannot be offered")]
    Tools(#[from] ToolsError),
    /// A limit makes no sense.
    #[error("{0} must be at least 1")]
    Zero(&'static str),
}

impl Agent {
    /// Starts building an agent of `model`.
    pub fn builder(model: impl Into<ModelHandle>) -> AgentBuilder {
        AgentBuilder {
            inner: Inner {
                model: model.into(),
                system: None,
                tools: Tools::new(),
                known: Arc::new(Toolbox::empty()),
                toolbox: OnceCell::new(),
                tool_choice: ToolChoice::Auto,
                options: ProviderConfig::new(),
                whole: false,
                limits: Limits::default(),
                timing: Timing::default(),
                window: Some(MessageWindow::default()),
                history: HistoryPolicy::default(),
                routing: RouteOptions::default(),
                store: Arc::new(MemoryDocumentStore::default()),
                fetcher: None,
                converters: Vec::new(),
                reads: false,
                extensions: Extensions::default(),
                principal: None,
            },
        }
    }

    /// The model.
    pub fn model(&self) -> &ModelHandle {
        &self.0.model
    }

    /// The tools, listed once, and what is to be told of those that were listed now. What a family that did not answer
    /// would have brought is asked for again by later runs.
    pub(crate) async fn toolbox(&self) -> Result<(Arc<Toolbox>, Vec<ToolWarning>), ToolsError> {
        if let Some(toolbox) = self.0.toolbox.get() {
            return Ok((Arc::clone(toolbox), Vec::new()));
        }
        let (toolbox, failures) = self.0.tools.list(self.0.screen()).await?;
        // The others were told of when the agent was built.
        let told = toolbox.preflight.told_of(|tool| !self.0.known.entries.contains_key(tool));
        let mut warnings: Vec<ToolWarning> =
            failures.iter().map(|failure| ("tools_unavailable", failure.to_string())).collect();
        warnings.extend(told.into_iter().map(|line| ("preflight", line)));
        let toolbox = Arc::new(toolbox);
        if failures.is_empty() {
            return Ok((Arc::clone(self.0.toolbox.get_or_init(|| async { toolbox }).await), warnings));
        }
        Ok((toolbox, warnings))
    }

    /// What is known of the tools that need not be asked for: what the model's dialect cannot say of their schemas, and
    /// what becomes of the documents that they declare.
    pub fn preflight(&self) -> &Preflight {
        &self.0.known.preflight
    }

    /// The same for all tools, those of families included, which are listed now.
    ///
    /// # Errors
    /// [`ToolsError`] if the tools cannot be offered. What a family alone cannot offer is said in the report.
    pub async fn preflight_all(&self) -> Result<Preflight, ToolsError> {
        Ok(self.toolbox().await?.0.preflight.clone())
    }

    /// A run over an input, recorded in memory. It is lazy: nothing happens until it is polled.
    pub fn run(&self, input: impl Into<RunInput>) -> AgentRun {
        self.run_in(Arc::new(MemoryJournal::new()), input)
    }

    /// A run recorded in `journal`. Over a journal that holds a run already, that run goes on from where it stopped,
    /// and `input` is not used.
    pub fn run_in(&self, journal: Arc<dyn Journal>, input: impl Into<RunInput>) -> AgentRun {
        AgentRun::new(self.clone(), journal, input.into())
    }
}

impl Inner {
    fn screen(&self) -> Screen<'_> {
        Screen { model: &self.model, options: &self.options, converters: &self.converters }
    }
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent")
            .field("model", &self.0.model)
            .field("tools", &self.0.tools)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for AgentBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentBuilder").field("model", &self.inner.model).finish_non_exhaustive()
    }
}

/// What a run starts from: the conversation so far, and what is new.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RunInput {
    /// The run's id; a random one is drawn where none is given.
    pub run_id: Option<String>,
    /// The conversation so far, without the agent's own system message.
    pub history: Vec<Arc<Message>>,
    /// What is new.
    pub messages: Vec<Arc<Message>>,
    /// Values for tools, on top of the agent's.
    pub extensions: Extensions,
}

impl RunInput {
    /// New messages without a history.
    pub fn new(messages: impl IntoIterator<Item = Arc<Message>>) -> Self {
        Self { messages: messages.into_iter().collect(), ..Self::default() }
    }

    /// Sets the conversation so far. A system message in it stands in for the agent's.
    #[must_use]
    pub fn with_history(mut self, history: impl IntoIterator<Item = Arc<Message>>) -> Self {
        self.history = history.into_iter().collect();
        self
    }

    /// Sets the run's id.
    #[must_use]
    pub fn with_run_id(mut self, id: impl Into<String>) -> Self {
        self.run_id = Some(id.into());
        self
    }

    /// Adds a value for tools to find by its type; it wins over the agent's of the same type.
    #[must_use]
    pub fn with_context<T: std::any::Any + Send + Sync>(mut self, value: T) -> Self {
        self.extensions.insert(value);
        self
    }
}

impl From<&str> for RunInput {
    fn from(text: &str) -> Self {
        Self::new([Message::user(text).shared()])
    }
}

impl From<String> for RunInput {
    fn from(text: String) -> Self {
        Self::new([Message::user(text).shared()])
    }
}

impl From<UserMessage> for RunInput {
    fn from(message: UserMessage) -> Self {
        Self::new([Message::User(message).shared()])
    }
}

impl From<Vec<Option<Content>>> for RunInput {
    fn from(parts: Vec<Option<Content>>) -> Self {
        UserMessage::new(parts).into()
    }
}

impl AgentBuilder {
    /// Sets the instructions.
    pub fn system(mut self, text: impl Into<String>) -> Self {
        self.inner.system = Some(text.into());
        self
    }

    /// Adds a tool.
    pub fn tool(mut self, tool: impl Tool + 'static) -> Self {
        self.inner.tools = self.inner.tools.with(tool);
        self
    }

    /// Adds tools.
    pub fn tools(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        self.inner.tools = self.inner.tools.with_all(tools);
        self
    }

    /// Adds a family of tools behind one door.
    pub fn handler(mut self, handler: impl ToolHandler) -> Self {
        self.inner.tools = self.inner.tools.with_handler(handler);
        self
    }

    /// Adds a whole set of tools.
    pub fn tool_set(mut self, tools: Tools) -> Self {
        self.inner.tools = self.inner.tools.merged(tools);
        self
    }

    /// Says whether and which tool the first model call must make; later ones are free, so that a forced call cannot
    /// repeat for ever.
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.inner.tool_choice = choice;
        self
    }

    /// Sets options of the model calls.
    pub fn options(mut self, options: ProviderConfig) -> Self {
        self.inner.options = options;
        self
    }

    /// Asks for replies in one piece on the wire instead of a stream; the events are the same.
    pub fn answered_whole(mut self, whole: bool) -> Self {
        self.inner.whole = whole;
        self
    }

    /// Sets the most model calls of a run. 20 by default.
    pub fn max_steps(mut self, steps: u32) -> Self {
        self.inner.limits.max_steps = steps;
        self
    }

    /// Sets the most tool calls of a run, those that the caller answers included; further ones are refused. 150 by
    /// default.
    pub fn max_tool_calls(mut self, calls: u32) -> Self {
        self.inner.limits.max_tool_calls = calls;
        self
    }

    /// Sets the most tokens of a run.
    pub fn max_tokens_per_run(mut self, tokens: u64) -> Self {
        self.inner.limits.max_tokens = Some(tokens);
        self
    }

    /// Says what a reply with neither text nor calls means. An error by default.
    pub fn empty_reply(mut self, policy: EmptyReply) -> Self {
        self.inner.limits.empty_reply = policy;
        self
    }

    /// Sets how long a tool may take that sets no timeout of its own. 60 s by default.
    pub fn tool_timeout(mut self, timeout: Duration) -> Self {
        self.inner.timing.tool_timeout = timeout;
        self
    }

    /// Sets how many calls of one reply run at once. 8 by default.
    pub fn parallel_calls(mut self, calls: usize) -> Self {
        self.inner.timing.parallel_calls = calls;
        self
    }

    /// Sets how long a run may take. Unlimited by default.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.inner.timing.deadline = Some(deadline);
        self
    }

    /// Sets how long calls wait for results that the caller delivers. Tools of the same reply come to their own end
    /// all the same; then the run ends as [`EndReason::PendingExternal`](crate::EndReason::PendingExternal). Unlimited
    /// by default.
    pub fn answer_deadline(mut self, deadline: Duration) -> Self {
        self.inner.timing.answer_deadline = Some(deadline);
        self
    }

    /// Sets the most characters of one result that the model reads. 50,000 by default.
    pub fn max_result_chars(mut self, chars: usize) -> Self {
        self.inner.timing.max_result_chars = chars;
        self
    }

    /// Sets the window of messages that the model sees; `None` shows all. [`MessageWindow::default`] by default.
    pub fn window(mut self, window: impl Into<Option<MessageWindow>>) -> Self {
        self.inner.window = window.into();
        self
    }

    /// Says what becomes of a history that not every provider takes. It is mended by default.
    pub fn history_policy(mut self, policy: HistoryPolicy) -> Self {
        self.inner.history = policy;
        self
    }

    /// Sets how documents are routed.
    pub fn routing(mut self, routing: RouteOptions) -> Self {
        self.inner.routing = routing;
        self
    }

    /// Sets where documents are kept. In memory by default.
    pub fn store(mut self, store: Arc<dyn DocumentStore>) -> Self {
        self.inner.store = store;
        self
    }

    /// Sets who fetches documents from their addresses. Nobody by default: then the model reads that they are not
    /// fetched. Tools return addresses too, so use one with guards, such as `GuardedFetcher` of `attache-transport`.
    ///
    /// What was fetched is put into the store, so that a run fetches it once, and so does whoever resumes the run.
    pub fn fetcher(mut self, fetcher: impl Fetcher + 'static) -> Self {
        self.inner.fetcher = Some(Arc::new(fetcher));
        self
    }

    /// Adds a converter for documents that the model cannot take as they are; the first that knows a type serves.
    pub fn converter(mut self, converter: impl Converter + 'static) -> Self {
        self.inner.converters.push(Arc::new(converter));
        self
    }

    /// Offers the model a tool, `read_document`, with which it asks for more of a document of the conversation: pages,
    /// sheets or slides, lines of its text, or the passages that match a query. It reads with the agent's converters;
    /// where no text can be had, a model that takes PDFs or images is shown the pages.
    pub fn read_document(mut self) -> Self {
        self.inner.reads = true;
        self
    }

    /// Adds a value for tools to find by its type in their [`ToolContext`](attache_core::ToolContext).
    pub fn context<T: std::any::Any + Send + Sync>(mut self, value: T) -> Self {
        self.inner.extensions.insert(value);
        self
    }

    /// Says on whose behalf the agent works; tools learn it.
    pub fn principal(mut self, principal: impl Into<String>) -> Self {
        self.inner.principal = Some(principal.into());
        self
    }

    /// The agent.
    ///
    /// # Errors
    /// [`BuildError`] if two tools have one name, if the model cannot be offered one of them, or if a limit is zero.
    /// Families of tools are listed, and checked, when a run first needs them. What is known of the others stands in
    /// [`Agent::preflight`], and is told once as a warning of `tracing`.
    pub fn build(self) -> Result<Agent, BuildError> {
        let mut inner = self.inner;
        if inner.reads {
            let tool = ReadDocument::of(&inner);
            inner.tools = inner.tools.with(tool);
            inner.routing.read_tool.get_or_insert_with(|| reading::NAME.to_owned());
        }
        inner.known = Arc::new(inner.tools.known(inner.screen())?);
        let preflight = &inner.known.preflight;
        if !preflight.is_clean() {
            tracing::warn!(model = preflight.model, %preflight, "tools are not all that they say, for this model");
        }
        if inner.limits.max_steps == 0 {
            return Err(BuildError::Zero("max_steps"));
        }
        if inner.timing.parallel_calls == 0 {
            return Err(BuildError::Zero("parallel_calls"));
        }
        Ok(Agent(Arc::new(inner)))
    }
}

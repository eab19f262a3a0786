//! The builder of an agent: its model, its tools, and how a run of them is bounded.

use std::sync::{Arc, Once};
use std::time::Duration;

use attache_core::fetcher::Fetcher;
use attache_core::tool::{Extensions, ToolSpec};
use attache_core::{
    Converter, DocumentStore, ModelHandle, ModelSettings, Tool, ToolChoice, ToolError, ToolHandler,
    ToolOutput,
};
use attache_documents::RouteOptions;

use crate::approval::ApprovalPolicy;
use crate::guard::{GuardedConverter, GuardedFetcher, GuardedStore};
use crate::hooks::RunHook;
use crate::limits::{EmptyReply, Limits};
use crate::memory::MessageWindow;
use crate::memory::look::Memory;
use crate::memory_documents::MemoryDocumentStore;
use crate::observe::Observer;
use crate::price::{Money, Prices};
use crate::setup::{HistoryPolicy, Setup, Timing};
use crate::tools::{
    Disclosure, Handling, Refusal, StepTools, StepView, ToolCatalog, Toolbox, Tools, ToolsError,
};

use super::Agent;

/// Builds an [`Agent`].
#[must_use]
pub struct AgentBuilder {
    pub(crate) inner: Setup,
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

impl std::fmt::Debug for AgentBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentBuilder").field("model", &self.inner.model).finish_non_exhaustive()
    }
}

impl AgentBuilder {
    pub(super) fn new(model: ModelHandle) -> Self {
        Self {
            inner: Setup {
                model,
                system: None,
                tools: Tools::new(),
                known: Arc::new(Toolbox::empty()),
                told: Arc::new(Toolbox::empty()),
                listed: Arc::default(),
                tool_choice: ToolChoice::Auto,
                handling: Arc::default(),
                settings: ModelSettings::new(),
                streaming: true,
                limits: Limits::default(),
                hooks: Arc::default(),
                observers: None,
                prices: None,
                timing: Timing::default(),
                approval: None,
                memory: Some(Arc::new(MessageWindow::default())),
                history: HistoryPolicy::default(),
                routing: RouteOptions::default(),
                store: Arc::new(MemoryDocumentStore::recent()),
                keeps: false,
                loss: Arc::new(Once::new()),
                fetcher: None,
                converters: Vec::new(),
                extensions: Extensions::default(),
                principal: None,
                handoffs: Vec::new(),
                #[cfg(feature = "citations")]
                citations: false,
            },
        }
    }

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

    /// Adds the tools of a catalog: it is listed when a run first needs it, and again when it has changed.
    pub fn catalog(mut self, catalog: impl ToolCatalog) -> Self {
        self.inner.tools = self.inner.tools.with_catalog(catalog);
        self
    }

    /// Looks up the names of tools in a catalog that the agent does not offer and the model calls all the same; after
    /// those that were added before. Nothing by default: whatever is in it may then be run by a model that makes up its
    /// name.
    pub fn fallback(mut self, catalog: impl ToolCatalog) -> Self {
        self.handling().fallback.push(Arc::new(catalog));
        self
    }

    /// Shows tools in layers where there are many: the model reads a line for each, and all of those that it asks for
    /// with `tool_detail` and `tool_search`, which are offered from the next step on. Tools that are
    /// [always visible](attache_core::tool::ToolMetadata::always_visible) are shown whole. By default all are.
    pub fn disclosure(mut self, disclosure: impl Into<Option<Disclosure>>) -> Self {
        self.handling().disclosure = disclosure.into();
        self
    }

    /// Says which tools each step may call, and whether it must call one. It decides by what it is given alone, so that
    /// a run that is resumed asks the same. It stands in for [`tool_choice`](Self::tool_choice), and a call that it
    /// forces in every step repeats for ever.
    ///
    /// ```
    /// use attache_agent::{Agent, StepTools};
    /// # use attache_testkit::ScriptedModel;
    /// # let model = ScriptedModel::new([]);
    /// let agent = Agent::builder(model).step_tools(|step| match step.number {
    ///     1 => StepTools::subset(["find_invoice"]),
    ///     _ => StepTools::all(),
    /// });
    /// # let _ = agent;
    /// ```
    pub fn step_tools(mut self, decide: impl Fn(StepView<'_>) -> StepTools + Send + Sync + 'static) -> Self {
        self.handling().step = Some(Arc::new(decide));
        self
    }

    /// Changes what comes of calls of all tools, after what a tool does for itself: another form of outputs, errors that
    /// say less or more, an error that ends the run ([`ToolErrorKind::Abort`](attache_core::ToolErrorKind::Abort)). It
    /// sees timeouts and panics too.
    ///
    /// ```
    /// use attache_agent::Agent;
    /// use attache_core::{ToolError, ToolErrorKind};
    /// # use attache_testkit::ScriptedModel;
    /// # let model = ScriptedModel::new([]);
    /// let agent = Agent::builder(model).tool_outcome(|tool, outcome| {
    ///     outcome.map_err(|error| match error.kind() {
    ///         ToolErrorKind::Unavailable => ToolError::abort(format!("{} is down", tool.definition.name())),
    ///         _ => error,
    ///     })
    /// });
    /// # let _ = agent;
    /// ```
    pub fn tool_outcome(
        mut self,
        change: impl Fn(&ToolSpec, Result<ToolOutput, ToolError>) -> Result<ToolOutput, ToolError>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.handling().outcome = Some(Arc::new(change));
        self
    }

    /// Changes the word to the model about calls that are not run: those that were denied, whose arguments do not fit,
    /// whose tool does not exist, that pass a limit. `None` leaves it; an error of the kind
    /// [`Abort`](attache_core::ToolErrorKind::Abort) ends the run in their place. The log has the changed word.
    ///
    /// Replies that are refused as a whole have words of their own: cut ones, filtered ones, and the last one of a run.
    ///
    /// ```
    /// use attache_agent::{Agent, RefusalReason};
    /// use attache_core::ToolError;
    /// # use attache_testkit::ScriptedModel;
    /// # let model = ScriptedModel::new([]);
    /// let agent = Agent::builder(model).tool_refusal(|refusal| match refusal.reason {
    ///     RefusalReason::UnknownTool => Some(ToolError::abort(format!("{} is made up", refusal.call.name))),
    ///     RefusalReason::Arguments => Some(ToolError::new(format!("{}. Ask the user.", refusal.text))),
    ///     _ => None,
    /// });
    /// # let _ = agent;
    /// ```
    pub fn tool_refusal(
        mut self,
        change: impl Fn(&Refusal<'_>) -> Option<ToolError> + Send + Sync + 'static,
    ) -> Self {
        self.handling().refusal = Some(Arc::new(change));
        self
    }

    /// Lets a tool that fails end the run, as [`EndReason::ToolAbort`](crate::EndReason::ToolAbort), where
    /// the model reads of it by default. A failure that the model can mend, such as arguments that do not
    /// fit, is told to it all the same, and a tool that waits for somebody has not failed.
    pub fn abort_on_tool_error(mut self, aborts: bool) -> Self {
        self.handling().aborts = aborts;
        self
    }

    fn handling(&mut self) -> &mut Handling {
        Arc::make_mut(&mut self.inner.handling)
    }

    /// Says whether and which tool the first model call must make; later ones are free, so that a forced call cannot
    /// repeat for ever.
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.inner.tool_choice = choice;
        self
    }

    /// Sets settings of the model calls.
    pub fn settings(mut self, settings: ModelSettings) -> Self {
        self.inner.settings = settings;
        self
    }

    /// Says whether the wire streams replies, as it does by default, or answers in one piece; the events are the same.
    pub fn streaming(mut self, streaming: bool) -> Self {
        self.inner.streaming = streaming;
        self
    }

    /// Sets the maximum number of model calls of a run. 20 by default. [`limits`](Self::limits) behind it sets them
    /// anew.
    pub fn max_steps(mut self, steps: u32) -> Self {
        self.inner.limits.max_steps = steps;
        self
    }

    /// Sets the maximum number of tool calls of a run, those that the caller answers included. Once they are made,
    /// tools are off and the model answers with what it has. 150 by default.
    pub fn max_tool_calls(mut self, calls: u32) -> Self {
        self.inner.limits.max_tool_calls = calls;
        self
    }

    /// Sets the maximum number of tokens of a run.
    pub fn max_tokens_per_run(mut self, tokens: u64) -> Self {
        self.inner.limits.max_tokens = Some(tokens);
        self
    }

    /// Sets the maximum cost of a run, by the [`prices`](Self::prices). A run fails at its start if its model has no price,
    /// or one that may answer in its place ([`LlmProvider::fallbacks`](attache_core::LlmProvider::fallbacks)); the dearest
    /// of them counts. The limit holds where replies are bounded by [`ModelSettings::max_tokens`]; else a run may pass it by
    /// one reply.
    ///
    /// ```
    /// use attache_agent::{Agent, Price, Prices};
    /// # use attache_core::Usage;
    /// # use attache_testkit::{ScriptedModel, Turn};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// # let model = ScriptedModel::new([Turn::text("Berlin.").costing(Usage::new(1_000, 200))]);
    /// # let name = attache_core::ModelHandle::from(model.clone()).id().to_owned();
    /// let prices = Prices::new("USD").with_model(name, Price::new(1.25, 10.0)).with_date("2026-11-01");
    /// let agent = Agent::builder(model).prices(prices).max_cost(0.50).build()?;
    /// let outcome = agent.run("What is the capital of Germany?").outcome().await?;
    /// assert_eq!(outcome.cost.known.to_string(), "0.00325");
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn max_cost(mut self, cost: impl Into<Money>) -> Self {
        self.inner.limits.max_cost = Some(cost.into());
        self
    }

    /// Adds a hook that looks at each run at fixed points; see [`RunHook`].
    pub fn hook(mut self, hook: impl RunHook + 'static) -> Self {
        Arc::make_mut(&mut self.inner.hooks).add(hook);
        self
    }

    /// Adds one who looks on at each run; see [`Observer`].
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.inner.observe(Arc::new(observer));
        self
    }

    /// Sets the prices of models. Without them nobody knows what a run costs.
    pub fn prices(mut self, prices: Prices) -> Self {
        self.inner.prices = Some(Arc::new(prices));
        self
    }

    /// Sets all limits of a run at once, in the place of those that were set before by methods of their own, such as
    /// [`max_steps`](Self::max_steps) and [`max_cost`](Self::max_cost): call it first.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.inner.limits = limits;
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

    /// Sets how long a run may take. Once a run is resumed, the time for which it had waited for somebody does not count;
    /// a drive that waits itself, for results of the caller, ends at the deadline. Unlimited by default.
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

    /// Sets how long a run that has nothing else to do waits for people, such as those who approve its calls. Then it
    /// ends, and [`resume`](Agent::resume) goes on with it once they have answered. It does not wait by default.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.inner.timing.patience = patience;
        self
    }

    /// Sets who says which calls run, which do not, and about which somebody is asked.
    pub fn approval_policy(mut self, policy: impl ApprovalPolicy + 'static) -> Self {
        self.inner.approval = Some(Arc::new(policy));
        self
    }

    /// Says whether no call of a reply runs until somebody has decided about all of its calls that need an approval. By
    /// default the others run meanwhile.
    pub fn hold_all(mut self, holds: bool) -> Self {
        self.handling().hold_all = holds;
        self
    }

    /// Sets the maximum number of characters of one result that the model reads. 50,000 by default.
    pub fn max_result_chars(mut self, chars: usize) -> Self {
        self.inner.limits.max_result_chars = chars;
        self
    }

    /// Sets the window of messages that the model sees; `None` shows all. [`MessageWindow::default`] by default. It takes
    /// the place of a [memory](Self::memory) that was set before: the last of the two holds.
    pub fn window(mut self, window: impl Into<Option<MessageWindow>>) -> Self {
        self.inner.memory = window.into().map(|window| Arc::new(window) as Arc<dyn Memory>);
        self
    }

    /// Sets what the model is shown of a conversation that grows long: a [`TokenWindow`](crate::TokenWindow), a
    /// [`Compaction`](crate::Compaction), or a memory of one's own. It takes the place of the
    /// [window](Self::window), whichever of the two was set last.
    pub fn memory(mut self, memory: impl Memory) -> Self {
        self.inner.memory = Some(Arc::new(memory));
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

    /// Sets where documents are kept. By default they stay in memory with the messages that hold them, and a store in
    /// memory keeps the newest 256 MiB: the log of a run that is resumed in another process then mentions documents that
    /// are gone, of which a `tracing` warning tells.
    ///
    /// Once the store has a document of a tool, the run and its messages hold a reference to it, and its bytes are
    /// loaded while the model is shown them.
    pub fn store(mut self, store: Arc<dyn DocumentStore>) -> Self {
        self.inner.store = Arc::new(GuardedStore(store));
        self.inner.keeps = true;
        self
    }

    /// Sets who fetches documents from their addresses. Nobody by default: then the model reads that they are not
    /// fetched. Tools return addresses too, so use one with guards, such as `GuardedFetcher` of `attache-transport`.
    ///
    /// A fetched document is put into the store, so that a run fetches it once, and so does whoever resumes the run.
    pub fn fetcher(mut self, fetcher: impl Fetcher + 'static) -> Self {
        self.inner.fetcher = Some(Arc::new(GuardedFetcher(fetcher)));
        self
    }

    /// Adds a converter for documents that the model cannot take as they are; the first that knows a type serves.
    pub fn converter(mut self, converter: impl Converter + 'static) -> Self {
        self.inner.converters.push(Arc::new(GuardedConverter::new(converter)));
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

    /// Says whether answers are held against what the model was shown, as they are not by default: the passages that they
    /// quote are in [`Outcome::citations`](crate::Outcome::citations), their figures in
    /// [`Outcome::figures`](crate::Outcome::figures).
    ///
    /// A model that cites documents itself (`citations` in the table of models: Claude at Anthropic and Bedrock) is told to,
    /// unless the run asks for a typed answer; [`ModelSettings::with_citations(false)`](ModelSettings::with_citations)
    /// leaves it to matching. Its citations are told while the reply comes.
    ///
    /// The check is done once, when the run ends, and recorded with the end. Documents that the model is shown as they are, such
    /// as a PDF, are read by the [converters](Self::converter); without one for them, figures are left unchecked.
    #[cfg(feature = "citations")]
    pub fn citations(mut self, checked: bool) -> Self {
        self.inner.citations = checked;
        self
    }

    /// The agent.
    ///
    /// # Errors
    /// [`BuildError`] if two tools have one name, if the model cannot be offered one of them, or if
    /// [`max_steps`](Self::max_steps) or [`parallel_calls`](Self::parallel_calls) is 0.
    /// Families of tools are listed, and checked, when a run first needs them. The facts about the others stand in
    /// [`Agent::preflight`], and are told once as a warning of `tracing`.
    pub fn build(self) -> Result<Agent, BuildError> {
        let mut inner = self.inner;
        inner.cite_natively();
        inner.settle()?;
        inner.settle_handoffs()?;
        inner.told = Arc::clone(&inner.known);
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

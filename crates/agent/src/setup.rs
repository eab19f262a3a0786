//! The parts of an agent, as its builder gathers them.

use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Duration;

use attache_core::capability::ReasoningExcludes;
use attache_core::fetcher::Fetcher;
use attache_core::tool::{DocumentView, Extensions, ToolSpec};
use attache_core::{Converter, DocumentStore, Message, ModelHandle, ModelSettings, ToolChoice};
use attache_documents::RouteOptions;
use futures_util::future::join_all;

use crate::approval::ApprovalPolicy;
use crate::hooks::Hooks;
use crate::inner_store::InnerStore;
use crate::limits::Limits;
use crate::log::{FamilyTools, Transfer};
use crate::memory::look::Memory;
use crate::observe::Observer;
use crate::options::RunOptions;
use crate::output::{OutputMode, OutputSpec, reasons};
use crate::preflight::Screen;
use crate::price::Prices;
use crate::tools::{Family, Handling, Listed, ToolWarning, Toolbox, Tools, ToolsError};

/// The treatment of a conversation that a run shall start from and that not every provider takes, such as one with a
/// call without its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum HistoryPolicy {
    /// It is mended as [`repair`](attache_core::repair::repair) does, and the run tells what was done.
    #[default]
    Repair,
    /// The run fails.
    Refuse,
}

/// Times and widths of one process; unlike [`Limits`] they are no part of the log.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Timing {
    /// The time for a tool that sets no timeout of its own. 60 s by default.
    pub(crate) tool_timeout: Duration,
    /// The maximum number of calls of one reply that run at once. 8 by default.
    pub(crate) parallel_calls: usize,
    /// The time for the whole run; unlimited by default.
    pub(crate) deadline: Option<Duration>,
    /// The time for which calls wait for results that the caller delivers; unlimited by default.
    pub(crate) answer_deadline: Option<Duration>,
    /// The time that a run with nothing else to do waits for people before it ends as pending; none by
    /// default.
    pub(crate) patience: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            tool_timeout: Duration::from_secs(60),
            parallel_calls: 8,
            deadline: None,
            answer_deadline: None,
            patience: Duration::ZERO,
        }
    }
}

/// An agent's model and tools, and how its runs are bounded.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) model: ModelHandle,
    pub(crate) system: Option<String>,
    pub(crate) tools: Tools,
    /// The tools that are known without asking anybody.
    pub(crate) known: Arc<Toolbox>,
    /// Those of which the remarks were told when the agent was built.
    pub(crate) told: Arc<Toolbox>,
    /// All tools, as they were last listed.
    pub(crate) listed: Arc<Mutex<Option<Listed>>>,
    pub(crate) tool_choice: ToolChoice,
    pub(crate) handling: Arc<Handling>,
    pub(crate) settings: ModelSettings,
    pub(crate) streaming: bool,
    pub(crate) limits: Limits,
    pub(crate) hooks: Arc<Hooks>,
    pub(crate) observers: Option<Arc<[Arc<dyn Observer>]>>,
    pub(crate) prices: Option<Arc<Prices>>,
    pub(crate) timing: Timing,
    /// The policy that says which calls run without asking; by default the tools say it.
    pub(crate) approval: Option<Arc<dyn ApprovalPolicy>>,
    pub(crate) memory: Option<Arc<dyn Memory>>,
    pub(crate) history: HistoryPolicy,
    pub(crate) routing: RouteOptions,
    pub(crate) store: Arc<dyn DocumentStore>,
    /// True if the store is the user's, and keeps what it is given.
    pub(crate) keeps: bool,
    /// Says once that documents of runs that are kept are not.
    pub(crate) loss: Arc<Once>,
    pub(crate) fetcher: Option<Arc<dyn Fetcher>>,
    pub(crate) converters: Vec<Arc<dyn Converter>>,
    pub(crate) extensions: Extensions,
    pub(crate) principal: Option<String>,
    /// The agents to which it may hand the conversation over.
    pub(crate) handoffs: Vec<Colleague>,
    /// True if answers are held against what the model was shown.
    #[cfg(feature = "citations")]
    pub(crate) citations: bool,
}

/// An agent to which another may hand the conversation over.
#[derive(Clone)]
pub(crate) struct Colleague {
    pub(crate) transfer: Transfer,
    pub(crate) setup: Arc<Setup>,
    /// The choice of the messages that it is given; all of them without one.
    pub(crate) history: Option<HistoryFilter>,
    /// The hand-off to the agent before.
    pub(crate) back: Option<Transfer>,
}

/// Makes the conversation that an agent is given of the one before.
pub(crate) type HistoryFilter = Arc<dyn Fn(&[Arc<Message>]) -> Vec<Arc<Message>> + Send + Sync>;

impl Setup {
    /// Adds one who looks on.
    pub(crate) fn observe(&mut self, observer: Arc<dyn Observer>) {
        let before = self.observers.iter().flat_map(|observers| observers.iter().cloned());
        self.observers = Some(before.chain([observer]).collect());
    }

    /// True if the model is asked for one call at a time.
    pub(crate) fn takes_one_call(&self) -> bool {
        let asked = self.settings.parallel_tool_calls;
        asked.or_else(|| self.model.settings().parallel_tool_calls) == Some(false)
    }

    /// Checks the tools of the agents that may hand the conversation back, which have one more than by themselves.
    pub(crate) fn settle_handoffs(&mut self) -> Result<(), ToolsError> {
        for colleague in self.handoffs.iter_mut().filter(|colleague| colleague.back.is_some()) {
            Arc::make_mut(&mut colleague.setup).settle()?;
        }
        Ok(())
    }

    /// True if the conversation can come to the agent of that name.
    pub(crate) fn hands_over_to(&self, name: &str) -> bool {
        let reaches =
            |colleague: &Colleague| colleague.transfer.agent == name || colleague.setup.hands_over_to(name);
        self.handoffs.iter().any(reaches)
    }

    /// The setup of this agent in a run that another one began: the run stays what it is, and this agent answers.
    pub(crate) fn within(
        &self,
        run: &Self,
        approval: Option<Arc<dyn ApprovalPolicy>>,
    ) -> Result<Self, ToolsError> {
        let mut setup = self.clone();
        setup.limits.clone_from(&run.limits);
        setup.hooks = Arc::new(run.hooks.and(&self.hooks));
        setup.prices = run.prices.clone().or(setup.prices);
        setup.timing = Timing {
            tool_timeout: self.timing.tool_timeout,
            parallel_calls: self.timing.parallel_calls,
            ..run.timing.clone()
        };
        setup.approval = approval;
        setup.history = run.history;
        setup.store = Arc::clone(&run.store);
        setup.keeps = run.keeps;
        setup.loss = Arc::clone(&run.loss);
        setup.fetcher = setup.fetcher.or_else(|| run.fetcher.clone());
        // A document that one of them could read is read still.
        setup.converters.extend(run.converters.iter().cloned());
        setup.extensions.extend(&run.extensions);
        setup.principal.clone_from(&run.principal);
        #[cfg(feature = "citations")]
        {
            if setup.citations && !run.citations && setup.routing.citations {
                // Its own checks asked for it.
                setup.settings.citations = None;
            }
            setup.citations = run.citations;
        }
        setup.cite_natively();
        setup.listed = Arc::default();
        setup.settle()?;
        setup.told = Arc::clone(&setup.known);
        Ok(setup)
    }

    /// The setup of a run inside a tool of one with that store: it reads that, too.
    pub(crate) fn inside(self: &Arc<Self>, outer: &Arc<dyn DocumentStore>) -> Arc<Self> {
        if Arc::ptr_eq(&self.store, outer) {
            return Arc::clone(self);
        }
        let mut setup = Self::clone(self);
        setup.store = Arc::new(InnerStore { own: Arc::clone(&self.store), outer: Arc::clone(outer) });
        Arc::new(setup)
    }

    /// Checks the tools that are known, and lets a tool that reads documents do it as the agent shows them.
    pub(crate) fn settle(&mut self) -> Result<(), ToolsError> {
        if let Some(reader) = self.tools.reader() {
            self.routing.read_tool.get_or_insert(reader);
            let mut view = DocumentView::new(self.model.clone());
            view.converters.clone_from(&self.converters);
            view.html_source = self.routing.html_source;
            view.max_text_bytes = self.routing.max_text_bytes;
            self.extensions.insert(view);
        }
        self.known = Arc::new(self.tools.known(self.screen())?);
        Ok(())
    }

    /// The setup of a run that has something otherwise than its agent.
    pub(crate) fn varied(&self, options: &RunOptions, limits: Option<&Limits>) -> Result<Self, ToolsError> {
        let mut setup = self.clone();
        if let Some(model) = &options.model {
            setup.model = model.clone();
        }
        if let Some(limits) = limits {
            setup.limits = limits.clone();
        }
        if let Some(settings) = &options.settings {
            setup.settings = (**settings).clone();
        }
        if options.instructions.is_some() {
            setup.system = options.instructions(setup.system.as_deref());
        }
        setup.streaming = options.streaming.unwrap_or(setup.streaming);
        setup.tools = setup.tools.merged(options.tools.clone());
        if options.principal.is_some() {
            setup.principal.clone_from(&options.principal);
        }
        if options.offers_anew() {
            setup.listed = Arc::default();
            if options.model.is_some() || options.settings.is_some() {
                setup.told = Arc::new(Toolbox::empty());
            }
            setup.settle()?;
        }
        setup.cite_natively();
        Ok(setup)
    }

    /// Has the model cite documents itself, where answers are checked, it can, and the answer is free text. It is so for
    /// a whole run: a switch within it would change what was sent. Documents are routed as the settings say in the end,
    /// whoever set them: an API refuses cited ones beside others.
    pub(crate) fn cite_natively(&mut self) {
        #[cfg(feature = "citations")]
        if self.citations && self.may_cite() {
            self.settings.citations = if self.has_form() { self.uncited_setting() } else { Some(true) };
        } else if self.citations && self.settings.citations == Some(true) {
            // Another model of the same agent could.
            self.settings.citations = None;
        }
        self.routing.citations = self.cites_wish() == Some(true) && self.model.capabilities().cites();
    }

    /// Says whether the model is to cite documents, as somebody set it.
    fn cites_wish(&self) -> Option<bool> {
        self.settings.citations.or(self.model.settings().citations)
    }

    /// The setting with which the model cites nothing: its own may say otherwise.
    fn uncited_setting(&self) -> Option<bool> {
        self.model.settings().citations.map(|_| false)
    }

    /// True if the model cites documents, and nobody has said that it must not.
    #[cfg(feature = "citations")]
    fn may_cite(&self) -> bool {
        self.cites_wish() != Some(false) && self.model.capabilities().cites()
    }

    /// True if a form is set for the answer.
    #[cfg(feature = "citations")]
    fn has_form(&self) -> bool {
        let own = self.model.settings();
        let format = self.settings.response_format.as_ref().or(own.response_format.as_ref());
        format.is_some_and(|format| *format != attache_core::ResponseFormat::Text)
    }

    /// The remark on a run whose answer has a form, so that the model does not cite documents itself.
    #[cfg(feature = "citations")]
    pub(crate) fn uncited(&self) -> Option<&'static str> {
        let why = "the answer has a set form, beside which the model cites no documents: its quotations were matched";
        (self.may_cite() && !self.routing.citations).then_some(why)
    }

    /// The setup of a run that is asked for a value.
    pub(crate) fn shaped(&self, output: &OutputSpec) -> Result<Self, ToolsError> {
        let mut setup = self.clone();
        if setup.routing.citations {
            // Beside a schema APIs refuse it, and marks of citations stand in values that a tool takes.
            (setup.settings.citations, setup.routing.citations) = (self.uncited_setting(), false);
        }
        match output.mode {
            OutputMode::Prompted => {
                let own = self.settings.system.clone().or_else(|| self.model.settings().system.clone());
                let texts = own.into_iter().chain([output.instructions()]).collect::<Vec<_>>();
                setup.settings.system = Some(texts.join("\n\n"));
            }
            OutputMode::Tool => {
                setup.tools = setup.tools.with_external(output.tool());
                setup.settings.response_format = None;
                setup.listed = Arc::default();
                setup.settle()?;
            }
            OutputMode::Auto | OutputMode::Native => setup.settings.response_format = Some(output.format()),
        }
        Ok(setup)
    }

    /// True if the model can be made to call a tool.
    pub(crate) fn forces_tools(&self) -> bool {
        let capabilities = self.model.capabilities();
        let excluded = [ReasoningExcludes::ForcedTools, ReasoningExcludes::Tools];
        capabilities.forced_tools
            && !(excluded.iter().any(|what| capabilities.reasoning_excludes(*what))
                && reasons(&self.model, &self.settings))
    }

    pub(crate) fn screen(&self) -> Screen<'_> {
        let disclosure = self.handling.disclosure;
        Screen { model: &self.model, settings: &self.settings, converters: &self.converters, disclosure }
    }

    /// The tools, and the warnings about those that are not as they should be. Families are listed side by side; one
    /// that fails or clashes costs its own tools, unless there are no others.
    pub(crate) async fn toolbox(&self) -> Result<(Arc<Toolbox>, Vec<ToolWarning>), ToolsError> {
        let listed = join_all(self.tools.families().map(Family::tools)).await;
        let mut failures = Vec::new();
        let mut keep = |listed: Result<_, ToolsError>| listed.map_err(|failure| failures.push(failure)).ok();
        let families: Vec<_> = listed.into_iter().map(&mut keep).collect();
        let same = |one: &Option<Arc<[ToolSpec]>>, other: &Option<Arc<[ToolSpec]>>| match (one, other) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (one, other) => one.is_none() && other.is_none(),
        };
        let warn = |failures: &[ToolsError]| -> Vec<ToolWarning> {
            failures.iter().map(|failure| ("tools_unavailable", failure.to_string())).collect()
        };
        if let Some(known) = &*self.listed.lock().unwrap_or_else(PoisonError::into_inner)
            && known.families.iter().zip(&families).all(|(known, now)| same(known, now))
        {
            return Ok((Arc::clone(&known.toolbox), warn(&failures)));
        }
        let (toolbox, left_out) = self.tools.toolbox(self.screen(), &families)?;
        failures.extend(left_out);
        if toolbox.entries.is_empty()
            && let Some(failure) = failures.pop()
        {
            return Err(failure);
        }
        let mut warnings = warn(&failures);
        // The others were told of when the agent was built.
        let told = toolbox.preflight.told_of(|tool| !self.told.entries.contains_key(tool));
        warnings.extend(told.into_iter().map(|line| ("preflight", line)));
        let toolbox = Arc::new(toolbox);
        let listed = Listed { toolbox: Arc::clone(&toolbox), families };
        *self.listed.lock().unwrap_or_else(PoisonError::into_inner) = Some(listed);
        Ok((toolbox, warnings))
    }

    /// The tools that a run was offered when it began: those of families as its log tells them, whatever their servers
    /// say now.
    pub(crate) fn toolbox_of(&self, recorded: &[FamilyTools]) -> Result<Arc<Toolbox>, ToolsError> {
        if let Some(known) = &*self.listed.lock().unwrap_or_else(PoisonError::into_inner)
            && known.toolbox.families == recorded
        {
            return Ok(Arc::clone(&known.toolbox));
        }
        let mut recorded: Vec<&FamilyTools> = recorded.iter().collect();
        let families: Vec<Option<Arc<[ToolSpec]>>> = self
            .tools
            .families()
            .map(|family| {
                let at = recorded.iter().position(|listed| listed.family == family.name())?;
                Some(recorded.remove(at).tools.iter().map(ToolSpec::from).collect())
            })
            .collect();
        let (toolbox, _) = self.tools.toolbox(self.screen(), &families)?;
        Ok(Arc::new(toolbox))
    }
}

//! An agent: a model with tools, and its runs.

mod builder;

pub use builder::{AgentBuilder, BuildError};

use std::sync::Arc;

use attache_core::tool::ConversationDocuments;
use attache_core::{MediaType, Message, ModelHandle};

use crate::driver::{AgentRun, Task};
use crate::input::RunInput;
use crate::journal::{Journal, Origin, Place, ambient};
use crate::no_model::nobody;
use crate::observe::Observer;
use crate::options::RunOptions;
use crate::preflight::{self, Preflight};
use crate::price::Prices;
use crate::setup::Setup;
use crate::token_count::{CountError, InputTokens, input_tokens};
use crate::tool_manager::ToolManager;
use crate::tools::ToolsError;

/// A model with tools. Cloning shares it; any number of runs may be under way at once.
///
/// ```no_run
/// # async fn example(model: attache_core::ModelHandle) -> Result<(), Box<dyn std::error::Error>> {
/// use attache_agent::{Agent, NoArguments, tool_fn};
/// use attache_core::{Document, ToolError};
///
/// let invoice = tool_fn("fetch_invoice", "Fetches the newest invoice", |_: NoArguments| async {
///     Ok::<_, ToolError>(Document::read("invoice.pdf").await?)
/// });
/// let agent = Agent::builder(model).system("You keep the books.").tool(invoice).build()?;
/// let outcome = agent.run("What is the total?").outcome().await?;
/// println!("{}", outcome.text);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Agent(Arc<Setup>);

impl Agent {
    /// Starts building an agent of `model`.
    pub fn builder(model: impl Into<ModelHandle>) -> AgentBuilder {
        AgentBuilder::new(model.into())
    }

    /// Starts building an agent that is never asked: its [tools](Self::tool_manager), and the policy that stands before
    /// them. Its runs fail.
    pub fn without_model() -> AgentBuilder {
        Self::builder(nobody())
    }

    /// The documents of messages of its runs, of which those that are not in memory are read from its store.
    pub fn documents_of(&self, messages: &[Arc<Message>]) -> ConversationDocuments {
        ConversationDocuments::of(messages).with_store(self.store())
    }

    /// The model.
    pub fn model(&self) -> &ModelHandle {
        &self.0.model
    }

    /// The prices that its runs are counted by, unless they bring their own.
    pub fn prices(&self) -> Option<&Prices> {
        self.0.prices.as_deref()
    }

    /// True if the model is shown documents of that type which a user attaches: as they are, in another encoding, or as
    /// text. A run with another one fails, unless its [routing](AgentBuilder::routing) says otherwise.
    pub fn reads(&self, media_type: &MediaType) -> bool {
        preflight::reads(media_type, self.model().capabilities(), &self.0.converters)
    }

    /// The facts about the tools that need not be asked for: the parts of their schemas that the model's dialect cannot
    /// say, and the fate of the documents that they declare.
    pub fn preflight(&self) -> &Preflight {
        &self.0.known.preflight
    }

    /// Lists the tools of families now, and yields the facts of [`preflight`](Self::preflight) about all tools.
    ///
    /// # Errors
    /// [`ToolsError`] if the tools cannot be offered. Tools that a family alone cannot offer are said in the report.
    pub async fn preflight_all(&self) -> Result<Preflight, ToolsError> {
        Ok(self.0.toolbox().await?.0.preflight.clone())
    }

    /// The tools, for a program that asks the model itself and has calls answered by hand. Those of families are listed
    /// now.
    ///
    /// # Errors
    /// [`ToolsError`] if the tools cannot be offered.
    pub async fn tool_manager(&self) -> Result<ToolManager, ToolsError> {
        ToolManager::new(Arc::clone(&self.0)).await
    }

    /// The [tools](Self::tool_manager) of a run with these options, which may bring more of them.
    ///
    /// # Errors
    /// [`ToolsError`] if the tools cannot be offered.
    pub async fn tool_manager_with(&self, options: &RunOptions) -> Result<ToolManager, ToolsError> {
        let setup = match options.vary() {
            true => Arc::new(self.0.varied(options, None)?),
            false => Arc::clone(&self.0),
        };
        ToolManager::new(setup).await
    }

    /// The same agent with one more who looks on at each run, such as one who sees the runs of one client alone; see
    /// [`Observer`]. The agents share their tools.
    #[must_use]
    pub fn observed_by(&self, observer: impl Observer + 'static) -> Self {
        let mut setup = Setup::clone(&self.0);
        setup.observe(Arc::new(observer));
        Self(Arc::new(setup))
    }

    /// The tokens of the first request of a run over that input, without asking the model anything: counted by the model's
    /// API, or estimated where it counts none or fails. Hooks and memory have no part in it, and nobody observes it.
    ///
    /// ```
    /// # use attache_agent::Agent;
    /// # use attache_testkit::{ScriptedModel, Turn};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// # let model = ScriptedModel::new([Turn::text("Hello.")]).unverified();
    /// let agent = Agent::builder(model).system("Be brief.").build()?;
    /// let short = agent.count_tokens("What is the capital of Germany?").await?;
    /// let long = agent.count_tokens("What is the capital of Germany? ".repeat(10)).await?;
    /// assert!(short.tokens < long.tokens && !short.is_counted);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`CountError`] if the tools cannot be offered, or the documents cannot be shown to the model.
    pub async fn count_tokens(&self, input: impl Into<RunInput>) -> Result<InputTokens, CountError> {
        input_tokens(&self.0, input.into()).await
    }

    /// The parts that it is made of.
    pub(crate) fn setup(&self) -> &Arc<Setup> {
        &self.0
    }

    /// A run over an input. It is lazy: nothing happens until it is polled. It cannot be resumed; see
    /// [`run_in`](Self::run_in). Started by a tool of a run that can, it can be resumed together with that run.
    pub fn run(&self, input: impl Into<RunInput>) -> AgentRun {
        let input = input.into();
        let origin = ambient(&input, self.0.system.as_deref());
        let setup = match origin.scope() {
            // Nobody delivers results by a log that nobody keeps.
            Some(scope) if !scope.is_volatile() => Setup::inside(&self.0, scope.shared().control.store()),
            _ => Arc::clone(&self.0),
        };
        AgentRun::new(setup, origin, Task::Start(Box::new(input)))
    }

    /// A run whose log `journal` keeps. The journal must be empty: a run that is in it already is
    /// [resumed](Self::resume).
    pub fn run_in(&self, journal: Arc<dyn Journal>, input: impl Into<RunInput>) -> AgentRun {
        AgentRun::new(
            Arc::clone(&self.0),
            Origin::Place(Place::of(journal)),
            Task::Start(Box::new(input.into())),
        )
    }

    /// Goes on with the run whose log `journal` holds, from where it stopped. Finished calls are not run again, and the
    /// model is asked just what it would have been asked. Another driver of the run is superseded. A run that has
    /// ended is told again.
    ///
    /// ```no_run
    /// # async fn example(agent: attache_agent::Agent, journal: std::sync::Arc<dyn attache_agent::Journal>) -> Result<(), Box<dyn std::error::Error>> {
    /// let outcome = agent.resume(journal).outcome().await?;
    /// println!("{}", outcome.text);
    /// # Ok(())
    /// # }
    /// ```
    pub fn resume(&self, journal: Arc<dyn Journal>) -> AgentRun {
        self.resume_with(journal, RunOptions::default())
    }

    /// [Resumes](Self::resume) a run whose tools, model, settings or values are other than the agent's, as `options` say: no
    /// log keeps them.
    pub fn resume_with(&self, journal: Arc<dyn Journal>, options: RunOptions) -> AgentRun {
        AgentRun::new(Arc::clone(&self.0), Origin::Place(Place::of(journal)), Task::Resume(options))
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

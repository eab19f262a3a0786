//! The traits of those who look on.

use std::any::Any;
use std::sync::Arc;

use attache_core::tool::{Extensions, ToolSpec};
use attache_core::{ChatRequest, ModelHandle, ProviderError, StreamChunk, ToolCall};

use crate::event::Event;
use crate::log::ToolOutcome;

/// Looks on while an agent runs, for telemetry and the like: it sees the events of each run, the chunks of each model
/// call and the calls of each tool, and can change nothing. [`AgentBuilder::observer`](crate::AgentBuilder::observer)
/// adds one to an agent. A [`RunHook`](crate::RunHook) decides; an observer does not.
///
/// Its methods are called while the run is polled, so they must not wait. One that panics looks on at that run, model
/// call or tool call no longer, and neither the run nor the others notice.
///
/// An agent inside a tool that has no observers is observed by those of the run around it.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use attache_agent::{Agent, ModelCall, ModelCallObserver, ObservedRun, Observer, RunObserver};
/// # use attache_testkit::{ScriptedModel, Turn};
///
/// #[derive(Clone, Default)]
/// struct Requests(Arc<AtomicUsize>);
///
/// impl Observer for Requests {
///     fn run(&self, _: &ObservedRun<'_>) -> Arc<dyn RunObserver> {
///         Arc::new(self.clone())
///     }
/// }
///
/// impl RunObserver for Requests {
///     fn model_call(&self, _: &ModelCall<'_>) -> Option<Box<dyn ModelCallObserver>> {
///         self.0.fetch_add(1, Ordering::Relaxed);
///         None
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// # let model = ScriptedModel::new([Turn::text("Hello.")]);
/// let requests = Requests::default();
/// let agent = Agent::builder(model).observer(requests.clone()).build()?;
/// agent.run("Hi").outcome().await?;
/// assert_eq!(requests.0.load(Ordering::Relaxed), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Observer: Send + Sync {
    /// Somebody asks for a run, or has one go on. Nothing happens before the run is first polled.
    fn run(&self, run: &ObservedRun<'_>) -> Arc<dyn RunObserver>;

    /// A tool is about to run that no run calls: a program calls it by hand ([`ToolManager`](crate::ToolManager)), or it is
    /// served over MCP. Nobody looks on by default.
    fn tool_call(&self, call: &ToolCallStart<'_>) -> Option<Arc<dyn ToolCallObserver>> {
        let _ = call;
        None
    }
}

/// Looks on at one run, from the first poll to the last.
pub trait RunObserver: Send + Sync {
    /// Called before each poll of the run; what it yields is dropped after the poll, on the same thread. Something that
    /// belongs to a thread for that time, such as the current span, is set and put back here.
    fn enter(&self) -> Option<Box<dyn Any>> {
        None
    }

    /// The log of the run is open.
    fn opened(&self, run: &OpenedRun<'_>) {
        let _ = run;
    }

    /// A line by which the run is found again when somebody resumes it, such as a trace context: it is recorded with the
    /// beginning of a run, and [`OpenedRun::mark`] has it from then on. It never reaches a model.
    fn mark(&self) -> Option<String> {
        None
    }

    /// An event, before whoever polls the run gets it. Exactly one is
    /// [`EventKind::Finished`](crate::EventKind::Finished), unless the run is dropped.
    fn event(&self, event: &Event) {
        let _ = event;
    }

    /// The model is about to be asked. A run asks again where the provider refuses a request as too long, and asks for
    /// summaries.
    fn model_call(&self, call: &ModelCall<'_>) -> Option<Box<dyn ModelCallObserver>> {
        let _ = call;
        None
    }

    /// A tool is about to run.
    fn tool_call(&self, call: &ToolCallStart<'_>) -> Option<Arc<dyn ToolCallObserver>> {
        let _ = call;
        None
    }

    /// The run is polled no more: it has come to its end, or is dropped. Told once.
    fn ended(&self) {}
}

/// Looks on at one request to a model.
pub trait ModelCallObserver: Send {
    /// The same as [`RunObserver::enter`], around each poll of the model's stream.
    fn enter(&self) -> Option<Box<dyn Any>> {
        None
    }

    /// A chunk of the reply or the error that ends it, before the run gets it.
    fn chunk(&mut self, chunk: Result<&StreamChunk, &ProviderError>) {
        let _ = chunk;
    }

    /// The stream is dropped, after its end or before. Told once.
    fn ended(&mut self) {}
}

/// Looks on at one call of a tool.
pub trait ToolCallObserver: Send + Sync {
    /// The same as [`RunObserver::enter`], around each poll of the tool's future; also on another thread, where the tool
    /// blocks its own.
    fn enter(&self) -> Option<Box<dyn Any>> {
        None
    }

    /// The call is over, for now at least. Told once.
    fn ended(&self, end: &ToolCallEnd<'_>) {
        let _ = end;
    }
}

/// A run that somebody asks for.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ObservedRun<'a> {
    /// The model that it asks.
    pub model: &'a ModelHandle,
    /// True if it goes on with a run whose log there is.
    pub is_resumed: bool,
    /// True if it stands inside a tool of another run, whose observers see its events as
    /// [`EventKind::Nested`](crate::EventKind::Nested).
    pub is_nested: bool,
    /// The principal, if the run or its agent has one.
    pub principal: Option<&'a str>,
    /// The values that the run was given for its tools.
    pub run_values: &'a Extensions,
    /// The values that the agent has for its tools; those of the run come first.
    pub agent_values: &'a Extensions,
}

impl<'a> ObservedRun<'a> {
    /// A value that tools find by its type.
    pub fn value<T: Any + Send + Sync>(&self) -> Option<&'a T> {
        self.run_values.get().or_else(|| self.agent_values.get())
    }
}

/// A run whose log is open.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct OpenedRun<'a> {
    /// The run.
    pub run_id: &'a str,
    /// The model that it asks: the run's own, if it was given one.
    pub model: &'a ModelHandle,
    /// The instructions.
    pub system: Option<&'a str>,
    /// The mark that an observer set when the run began.
    pub mark: Option<&'a str>,
}

/// A request to a model.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ModelCall<'a> {
    /// The model.
    pub model: &'a ModelHandle,
    /// The request.
    pub request: &'a ChatRequest,
    /// The step of the run that it belongs to, from 1.
    pub step: u32,
}

/// A tool that is about to run.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ToolCallStart<'a> {
    /// The call.
    pub call: &'a ToolCall,
    /// The tool.
    pub spec: &'a ToolSpec,
    /// The step of the run that it belongs to, from 1. For a call by hand the step of its context, which is 0 by default.
    pub step: u32,
}

/// The end of a tool's call.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum ToolCallEnd<'a> {
    /// It has its result.
    Result(&'a ToolOutcome),
    /// Its result comes later, from elsewhere.
    Deferred,
    /// A run inside the tool waits for somebody, was broken off, or belongs to another driver now.
    Paused,
    /// It was dropped: the run was cancelled, or is dropped itself.
    Dropped,
}

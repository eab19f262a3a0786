//! The work of a run while somebody looks on.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use attache_core::tool::ToolSpec;
use attache_core::{BoxFuture, ChatRequest, ChunkStream, ModelHandle, ProviderError, StreamChunk, ToolCall};
use futures_core::Stream;

use super::guarded::{Entered, Guarded, contained};
use super::observer::{
    ModelCall, ModelCallObserver, ObservedRun, Observer, OpenedRun, RunObserver, ToolCallEnd,
    ToolCallObserver, ToolCallStart,
};
use crate::event::Event;

/// A run that somebody looks on at.
pub(crate) struct Watched {
    observers: Vec<Guarded<Arc<dyn RunObserver>>>,
    /// The observers of the agent, for agents inside that have none.
    agents: Arc<[Arc<dyn Observer>]>,
    is_over: AtomicBool,
}

impl Watched {
    pub(crate) fn new(agents: &Arc<[Arc<dyn Observer>]>, run: &ObservedRun<'_>) -> Arc<Self> {
        let observers = agents.iter().filter_map(|observer| contained(|| observer.run(run)));
        Arc::new(Self {
            observers: observers.map(Guarded::new).collect(),
            agents: Arc::clone(agents),
            is_over: AtomicBool::new(false),
        })
    }

    pub(crate) fn agents(&self) -> &Arc<[Arc<dyn Observer>]> {
        &self.agents
    }

    fn enter(&self) -> Entered {
        Entered::new(self.observers.iter().filter_map(|observer| observer.tell(|observer| observer.enter())))
    }

    /// Polls the run, and tells what came.
    pub(crate) fn poll(&self, poll: impl FnOnce() -> Poll<Option<Event>>) -> Poll<Option<Event>> {
        let entered = self.enter();
        let polled = poll();
        if let Poll::Ready(Some(event)) = &polled {
            self.tell(|observer| observer.event(event));
        }
        drop(entered);
        if matches!(polled, Poll::Ready(None)) {
            self.end();
        }
        polled
    }

    pub(crate) fn opened(&self, run: &OpenedRun<'_>) {
        self.tell(|observer| observer.opened(run));
    }

    /// The first mark of an observer.
    pub(crate) fn mark(&self) -> Option<Box<str>> {
        let mark =
            |observer: &Guarded<Arc<dyn RunObserver>>| observer.tell(|observer| observer.mark()).flatten();
        self.observers.iter().find_map(mark).map(String::into_boxed_str)
    }

    /// The run is polled no more.
    pub(crate) fn end(&self) {
        if !self.is_over.swap(true, Ordering::Relaxed) {
            self.tell(|observer| observer.ended());
        }
    }

    /// Asks the model.
    pub(crate) fn ask(&self, model: &ModelHandle, request: ChatRequest, step: u32) -> ChunkStream {
        let call = ModelCall { model, request: &request, step };
        let look =
            |observer: &Guarded<Arc<dyn RunObserver>>| observer.tell(|observer| observer.model_call(&call));
        let observers: Vec<_> = self.observers.iter().filter_map(look).flatten().map(Guarded::new).collect();
        if observers.is_empty() {
            return model.stream(request);
        }
        let entered = enter_all(&observers);
        let chunks = model.stream(request);
        drop(entered);
        Box::pin(WatchedStream { chunks: Some(chunks), observers })
    }

    /// A tool is about to run.
    pub(crate) fn tool(&self, call: &ToolCall, spec: &ToolSpec, step: u32) -> Option<Arc<WatchedTool>> {
        let start = ToolCallStart { call, spec, step };
        let look =
            |observer: &Guarded<Arc<dyn RunObserver>>| observer.tell(|observer| observer.tool_call(&start));
        let observers: Vec<_> = self.observers.iter().filter_map(look).flatten().map(Guarded::new).collect();
        (!observers.is_empty()).then(|| Arc::new(WatchedTool { observers }))
    }

    fn tell(&self, tell: impl Fn(&Arc<dyn RunObserver>)) {
        for observer in &self.observers {
            observer.tell(&tell);
        }
    }
}

fn enter_all(observers: &[Guarded<Box<dyn ModelCallObserver>>]) -> Entered {
    Entered::new(observers.iter().filter_map(|observer| observer.tell(|observer| observer.enter())))
}

/// A model's reply that somebody looks on at.
struct WatchedStream {
    /// None once it is dropped.
    chunks: Option<ChunkStream>,
    observers: Vec<Guarded<Box<dyn ModelCallObserver>>>,
}

impl Stream for WatchedStream {
    type Item = Result<StreamChunk, ProviderError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Self { chunks, observers } = self.get_mut();
        let Some(chunks) = chunks else { return Poll::Ready(None) };
        let entered = enter_all(observers);
        let polled = chunks.as_mut().poll_next(context);
        drop(entered);
        if let Poll::Ready(Some(chunk)) = &polled {
            for observer in observers {
                observer.tell_mut(|observer| observer.chunk(chunk.as_ref()));
            }
        }
        polled
    }
}

impl Drop for WatchedStream {
    fn drop(&mut self) {
        let entered = enter_all(&self.observers);
        self.chunks = None;
        drop(entered);
        for observer in &mut self.observers {
            observer.tell_mut(|observer| observer.ended());
        }
    }
}

/// A tool's call that somebody looks on at.
pub(crate) struct WatchedTool {
    observers: Vec<Guarded<Arc<dyn ToolCallObserver>>>,
}

impl WatchedTool {
    /// A tool is about to run that no run calls.
    pub(crate) fn by_hand(
        agents: Option<&Arc<[Arc<dyn Observer>]>>,
        start: &ToolCallStart<'_>,
    ) -> Option<Arc<Self>> {
        let look = |observer: &Arc<dyn Observer>| contained(|| observer.tool_call(start)).flatten();
        let observers: Vec<_> = agents?.iter().filter_map(look).map(Guarded::new).collect();
        (!observers.is_empty()).then(|| Arc::new(Self { observers }))
    }

    fn enter(&self) -> Entered {
        Entered::new(self.observers.iter().filter_map(|observer| observer.tell(|observer| observer.enter())))
    }

    fn end(&self, end: &ToolCallEnd<'_>) {
        for observer in &self.observers {
            observer.tell(|observer| observer.ended(end));
        }
    }

    /// The tool's work, as `make` begins it.
    pub(crate) fn around<'a, T: 'a>(
        watched: Option<&Arc<Self>>,
        make: impl FnOnce() -> BoxFuture<'a, T>,
    ) -> BoxFuture<'a, T> {
        let Some(watched) = watched else { return make() };
        let entered = watched.enter();
        let work = make();
        drop(entered);
        let mut work = Entering { work: Some(work), watched: Arc::clone(watched) };
        Box::pin(poll_fn(move |context| work.poll(context)))
    }
}

/// A tool's future, whose observers are entered while it is polled and dropped.
struct Entering<'a, T> {
    work: Option<BoxFuture<'a, T>>,
    watched: Arc<WatchedTool>,
}

impl<T> Entering<'_, T> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<T> {
        let _entered = self.watched.enter();
        match &mut self.work {
            Some(work) => work.as_mut().poll(context),
            None => Poll::Pending,
        }
    }
}

impl<T> Drop for Entering<'_, T> {
    fn drop(&mut self) {
        let _entered = self.watched.enter();
        self.work = None;
    }
}

/// Tells the end of a tool's call, also if it is dropped.
pub(crate) struct Watching(Option<Arc<WatchedTool>>);

impl Watching {
    pub(crate) fn new(watched: Option<&Arc<WatchedTool>>) -> Self {
        Self(watched.cloned())
    }

    pub(crate) fn end(mut self, end: &ToolCallEnd<'_>) {
        if let Some(watched) = self.0.take() {
            watched.end(end);
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        if let Some(watched) = self.0.take() {
            watched.end(&ToolCallEnd::Dropped);
        }
    }
}

//! The things of a run that the runs inside its tools share.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use attache_core::ToolCallId;
use tokio::sync::mpsc;

use crate::control::Control;
use crate::event::EventKind;
use crate::observe::Observer;
use crate::price::Prices;
use crate::run::{Paused, Spent, Waiting};
use crate::spending::Account;

/// The maximum number of events of runs inside tools that wait for the consumer: a tool waits until there is room.
const EVENTS: usize = 32;

/// The things of a run that the runs inside its tools share.
pub(crate) struct Around {
    pub(crate) account: Option<Arc<Account>>,
    pub(crate) prices: Option<Arc<Prices>>,
    pub(crate) control: Control,
    /// The number of runs that stand around this one.
    pub(crate) depth: u32,
    pub(crate) max_depth: u32,
    /// The observers, for agents inside that nobody else looks on at.
    pub(crate) observers: Option<Arc<[Arc<dyn Observer>]>>,
    /// The time for which the run waits for people.
    pub(crate) patience: Duration,
    /// The run around this one shares its own.
    outer: Option<Arc<Around>>,
    events: OnceLock<mpsc::Sender<Inside>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The spending of runs inside that the run has not counted yet.
    spent: Vec<Spent>,
    /// The calls whose tools wait inside, and what they wait for.
    paused: Vec<Paused>,
}

/// An event of a run inside a tool, as the run around it tells it.
pub(crate) type Inside = Box<EventKind>;

impl Around {
    pub(crate) fn new(
        account: Option<Arc<Account>>,
        prices: Option<Arc<Prices>>,
        control: Control,
        max_depth: u32,
        outer: Option<Arc<Around>>,
    ) -> Self {
        let depth = outer.as_ref().map_or(0, |outer| outer.depth + 1);
        // A run inside cannot allow more than the one around it.
        let max_depth =
            outer.as_ref().map_or(max_depth, |outer| outer.max_depth.min(max_depth.saturating_add(depth)));
        Self {
            account,
            prices,
            control,
            depth,
            max_depth,
            observers: None,
            patience: Duration::ZERO,
            outer,
            events: OnceLock::new(),
            state: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has events of runs inside told here.
    pub(crate) fn listen(&self) -> Option<mpsc::Receiver<Inside>> {
        let (sender, receiver) = mpsc::channel(EVENTS);
        self.events.set(sender).ok().map(|()| receiver)
    }

    /// Tells an event of a run inside, when there is room for it.
    pub(crate) async fn tell(&self, event: Inside) {
        if let Some(events) = self.events.get() {
            // Nobody listens any more to a run that is dropped with its tools.
            let _ = events.send(event).await;
        }
    }

    /// Counts what a run inside has spent, here and further out.
    pub(crate) fn report(&self, spent: &Spent) {
        let mut next = Some(self);
        while let Some(around) = next {
            around.lock().spent.push(spent.clone());
            next = around.outer.as_deref();
        }
    }

    /// The spending that is not counted yet.
    pub(crate) fn spent(&self) -> Vec<Spent> {
        std::mem::take(&mut self.lock().spent)
    }

    /// Notes that the tool of a call waits for somebody inside.
    pub(crate) fn pause(&self, call: ToolCallId, waiting: Waiting) {
        self.lock().paused.push((call, waiting));
    }

    /// The calls whose tools wait inside, with what they wait for.
    pub(crate) fn paused(&self) -> Vec<Paused> {
        self.lock().paused.clone()
    }
}

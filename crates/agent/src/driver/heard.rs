//! The progress of calls, from their tools to whoever looks on.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::time::Duration;

use attache_core::ToolCallId;
use attache_core::tool::{Hears, Listening, Progress};
use tokio::time::Instant;

/// The time between two words about one call.
const PAUSE: Duration = Duration::from_millis(100);

/// Takes the progress of the calls of a run. Tools never wait for it, and it holds one word of each call.
#[derive(Clone)]
pub(super) struct Heard {
    calls: Arc<Mutex<Calls>>,
    hears: Arc<Hears>,
}

#[derive(Default)]
struct Calls {
    told_of: Vec<Call>,
    waker: Option<Waker>,
}

struct Call {
    id: ToolCallId,
    /// The newest word that nobody was told.
    news: Option<Progress>,
    told: Option<Instant>,
}

impl Call {
    /// True unless others were told a moment ago.
    fn may_tell(&self) -> bool {
        self.told.is_none_or(|told| told.elapsed() >= PAUSE)
    }

    fn take(&mut self) -> Option<Progress> {
        if !self.may_tell() {
            return None;
        }
        let news = self.news.take()?;
        self.told = Some(Instant::now());
        Some(news)
    }
}

fn lock(calls: &Mutex<Calls>) -> MutexGuard<'_, Calls> {
    calls.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Default for Heard {
    fn default() -> Self {
        let calls: Arc<Mutex<Calls>> = Arc::default();
        let heard = Arc::clone(&calls);
        let hears: Arc<Hears> = Arc::new(move |id, progress| {
            let mut calls = lock(&heard);
            let at = calls.told_of.iter().position(|call| call.id == *id).unwrap_or_else(|| {
                calls.told_of.push(Call { id: id.clone(), news: None, told: None });
                calls.told_of.len() - 1
            });
            let Some(call) = calls.told_of.get_mut(at) else { return };
            call.news = Some(progress);
            if call.may_tell()
                && let Some(waker) = calls.waker.take()
            {
                waker.wake();
            }
        });
        Self { calls, hears }
    }
}

impl Heard {
    /// The ear of a call that starts.
    pub(super) fn of(&self, call: &ToolCallId) -> Listening {
        Listening::of(Arc::clone(&self.hears), call.clone())
    }

    /// Forgets a call that is over. A task that its tool left behind may tell of it still: whoever takes the news looks at
    /// the call.
    pub(super) fn forget(&self, call: &ToolCallId) {
        lock(&self.calls).told_of.retain(|known| known.id != *call);
    }

    /// The next word that is to be told. If there is none, the task is woken when there is.
    pub(super) fn poll(&self, context: &mut Context<'_>) -> Option<(ToolCallId, Progress)> {
        let mut calls = lock(&self.calls);
        let next = calls.told_of.iter_mut().find_map(|call| call.take().map(|news| (call.id.clone(), news)));
        if next.is_none() {
            match &mut calls.waker {
                Some(waker) => waker.clone_from(context.waker()),
                none => *none = Some(context.waker().clone()),
            }
        }
        next
    }
}

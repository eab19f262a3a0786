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
#[derive(Default)]
pub(super) struct Heard(Arc<Ears>);

#[derive(Default)]
struct Ears(Mutex<Calls>);

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

impl Ears {
    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hears for Ears {
    fn hear(&self, id: &ToolCallId, progress: Progress) {
        let mut calls = self.lock();
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
    }
}

impl Heard {
    /// The ear of a call that starts.
    pub(super) fn of(&self, call: &ToolCallId) -> Listening {
        Listening::of(Arc::clone(&self.0) as Arc<dyn Hears>, call.clone())
    }

    /// Forgets a call that is over. A task that its tool left behind may tell of it still: whoever takes the news looks at
    /// the call.
    pub(super) fn forget(&self, call: &ToolCallId) {
        self.0.lock().told_of.retain(|known| known.id != *call);
    }

    /// The next word that is to be told. If there is none, the task is woken when there is.
    pub(super) fn poll(&self, context: &mut Context<'_>) -> Option<(ToolCallId, Progress)> {
        let mut calls = self.0.lock();
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

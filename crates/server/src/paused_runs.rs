//! Runs that wait for answers of clients that name no session.
//!
//! The client sends the conversation again, but it does not know what the agent's own tools did in between. A run without
//! a session in which they did something is kept until somebody has gone on with it; any other begins anew from what the
//! client sends. The session of a run that has one is found by its calls.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use attache_agent::{Journal, Session};
use attache_core::ToolCallId;
use tokio::time::Instant;

use crate::live::{CallState, CallView, Parking, View};

/// The time for which a run is kept.
const KEPT: Duration = Duration::from_secs(10 * 60);
/// The maximum number of runs that are kept.
const MOST: usize = 1024;

/// Runs that wait for the client's answers.
#[derive(Default)]
pub(crate) struct Parked {
    runs: Mutex<VecDeque<Waiting>>,
}

struct Waiting {
    principal: Arc<str>,
    agent: Arc<str>,
    calls: Vec<String>,
    kept: Kept,
    since: Instant,
}

/// The place of a run that waits.
#[derive(Clone)]
pub(crate) enum Kept {
    /// A run without a session, in its log.
    Log(Arc<dyn Journal>),
    Session(Session),
}

impl Parked {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a run that waits for its client; if not `always`, where the agent's own tools did something in it.
    pub(crate) fn parking(
        self: &Arc<Self>,
        principal: Arc<str>,
        agent: Arc<str>,
        kept: Kept,
        always: bool,
    ) -> Parking {
        let parked = Arc::clone(self);
        Box::new(move |view: &View, calls: &[ToolCallId]| {
            // A call whose result comes later has begun, too, and so has one in which an agent waits for the client.
            let has_begun = |call: &CallView| {
                matches!(call.state, CallState::Finished(_) | CallState::Deferred | CallState::Running)
            };
            if always || view.calls().any(has_begun) {
                let calls = calls.iter().map(|call| call.as_str().to_owned()).collect();
                parked.keep(Arc::clone(&principal), Arc::clone(&agent), calls, kept.clone());
            }
        })
    }

    /// Keeps a run until these calls are answered. That of a session is kept once, however often it goes on and fails.
    pub(crate) fn keep(&self, principal: Arc<str>, agent: Arc<str>, calls: Vec<String>, kept: Kept) {
        let now = Instant::now();
        let mut runs = self.lock();
        if let Kept::Session(session) = &kept {
            let is_same = |known: &Kept| matches!(known, Kept::Session(known) if known.id() == session.id());
            runs.retain(|known| {
                known.principal != principal || !is_same(&known.kept) || !waits_for(known, &calls)
            });
        }
        runs.push_back(Waiting { principal, agent, calls, kept, since: now });
        while runs.front().is_some_and(|oldest| now.duration_since(oldest.since) >= KEPT) {
            runs.pop_front();
        }
        if runs.len() > MOST {
            let oldest = oldest_of_most(&runs);
            runs.remove(oldest);
        }
    }

    /// Takes the run without a session that waits for all these calls, and for no other.
    pub(crate) fn take(&self, principal: &str, calls: &[&str]) -> Option<Taken<'_>> {
        let mut runs = self.lock();
        let at = find(&runs, principal, calls, |kept| matches!(kept, Kept::Log(_)))?;
        let waiting = runs.remove(at)?;
        Some(Taken { parked: self, waiting: Some(waiting) })
    }

    /// The session of the run that waits for all these calls, and for no other.
    pub(crate) fn session(&self, principal: &str, calls: &[&str]) -> Option<Session> {
        let runs = self.lock();
        let at = find(&runs, principal, calls, |kept| matches!(kept, Kept::Session(_)))?;
        match &runs.get(at)?.kept {
            Kept::Session(session) => Some(session.clone()),
            Kept::Log(_) => None,
        }
    }
}

/// A run without a session that was taken to go on with it. It waits again if nobody does.
pub(crate) struct Taken<'a> {
    parked: &'a Parked,
    waiting: Option<Waiting>,
}

impl Taken<'_> {
    /// The name of the agent that it began with.
    pub(crate) fn agent(&self) -> Option<Arc<str>> {
        self.waiting.as_ref().map(|waiting| Arc::clone(&waiting.agent))
    }

    /// Its log.
    pub(crate) fn log(&self) -> Option<Arc<dyn Journal>> {
        match &self.waiting.as_ref()?.kept {
            Kept::Log(journal) => Some(Arc::clone(journal)),
            Kept::Session(_) => None,
        }
    }

    /// It goes on.
    pub(crate) fn goes_on(mut self) {
        self.waiting = None;
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if let Some(waiting) = self.waiting.take() {
            self.parked.lock().push_back(waiting);
        }
    }
}

/// The place of the oldest run of the principal that has the most, so that nobody pushes out those of others.
fn oldest_of_most(runs: &VecDeque<Waiting>) -> usize {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for waiting in runs {
        *counts.entry(&waiting.principal).or_default() += 1;
    }
    let most = counts.values().max().copied();
    runs.iter().position(|waiting| counts.get(&*waiting.principal).copied() == most).unwrap_or_default()
}

/// The place of the newest run that waits for just these calls.
fn find(
    runs: &VecDeque<Waiting>,
    principal: &str,
    calls: &[&str],
    is_meant: impl Fn(&Kept) -> bool,
) -> Option<usize> {
    let now = Instant::now();
    runs.iter().rposition(|waiting| {
        *waiting.principal == *principal
            && is_meant(&waiting.kept)
            && now.duration_since(waiting.since) < KEPT
            && waits_for(waiting, calls)
    })
}

/// True if a run waits for just these calls.
fn waits_for(waiting: &Waiting, calls: &[impl AsRef<str>]) -> bool {
    waiting.calls.len() == calls.len()
        && waiting.calls.iter().all(|call| calls.iter().any(|answered| answered.as_ref() == call))
}

#[cfg(test)]
mod tests {
    use attache_agent::MemoryJournal;

    use super::*;

    #[tokio::test]
    async fn nobody_pushes_out_the_runs_of_others() {
        let parked = Parked::default();
        let keep = |principal: &str, call: String| {
            let kept = Kept::Log(Arc::new(MemoryJournal::default()));
            parked.keep(principal.into(), "papers".into(), vec![call], kept);
        };
        keep("bob", "one".to_owned());
        for call in 0..=MOST {
            keep("ann", call.to_string());
        }
        assert!(parked.take("bob", &["one"]).is_some());
        assert!(parked.take("ann", &["0"]).is_none() && parked.take("ann", &["2"]).is_some());
    }
}

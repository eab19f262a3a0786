//! Runs without a session that wait for the client's answers.
//!
//! The client sends the conversation again, but it does not know what the agent's own tools did in between. A run in which
//! they did something is kept until its answers come; any other begins anew from what the client sends.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use attache_agent::Journal;
use tokio::time::Instant;

/// The time for which a run is kept.
const KEPT: Duration = Duration::from_secs(10 * 60);
/// The most runs that are kept.
const MOST: usize = 1024;

/// Runs without a session that wait for the client's answers.
#[derive(Default)]
pub(crate) struct Parked {
    runs: Mutex<VecDeque<Waiting>>,
}

struct Waiting {
    principal: Arc<str>,
    agent: Arc<str>,
    calls: Vec<String>,
    journal: Arc<dyn Journal>,
    since: Instant,
}

impl Parked {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the log of a run until these calls are answered.
    pub(crate) fn keep(
        &self,
        principal: Arc<str>,
        agent: Arc<str>,
        calls: Vec<String>,
        journal: Arc<dyn Journal>,
    ) {
        let now = Instant::now();
        let mut runs = self.lock();
        runs.push_back(Waiting { principal, agent, calls, journal, since: now });
        while runs.len() > MOST || runs.front().is_some_and(|oldest| now.duration_since(oldest.since) >= KEPT)
        {
            runs.pop_front();
        }
    }

    /// Takes the log of the run that waits for all these calls, and for no other.
    pub(crate) fn take(&self, principal: &str, agent: &str, calls: &[&str]) -> Option<Arc<dyn Journal>> {
        let now = Instant::now();
        let mut runs = self.lock();
        let at = runs.iter().rposition(|waiting| {
            *waiting.principal == *principal
                && *waiting.agent == *agent
                && now.duration_since(waiting.since) < KEPT
                && waiting.calls.len() == calls.len()
                && waiting.calls.iter().all(|call| calls.contains(&call.as_str()))
        })?;
        runs.remove(at).map(|waiting| waiting.journal)
    }
}

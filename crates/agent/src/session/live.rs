//! The runs of sessions that are under way in this process, and those that wait.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Mutex as Turn, OwnedMutexGuard};
use tokio::time::Instant;

use super::error::SessionError;
use super::id::SessionId;
use super::records::StopRequest;
use super::store::SessionStore;
use crate::control::Control;

/// The time between two looks of a run for those that others want to end.
const LOOK: Duration = Duration::from_millis(500);
/// The time for which the look of one run does for all. It is shorter, so that a run that is alone looks each time.
const FRESH: Duration = Duration::from_millis(400);

/// The runs of this process, by their sessions.
#[derive(Debug, Default)]
pub(super) struct Live {
    runs: Mutex<HashMap<SessionId, Runs>>,
    /// The time at which one of the runs last began to look for all which of them others want to end.
    looked: Mutex<Option<Instant>>,
}

#[derive(Debug, Default)]
struct Runs {
    controls: Vec<(u64, String, Control)>,
    number: u64,
    /// Those that queue take turns.
    turn: Arc<Turn<()>>,
    queued: usize,
}

impl Runs {
    fn is_idle(&self) -> bool {
        self.controls.is_empty() && self.queued == 0
    }
}

impl Live {
    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Runs>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of runs that are under way.
    pub(super) fn count(&self) -> usize {
        self.lock().values().map(|runs| runs.controls.len()).sum()
    }

    fn leave(&self, session: &SessionId, change: impl FnOnce(&mut Runs)) {
        let mut live = self.lock();
        if let Some(runs) = live.get_mut(session) {
            change(runs);
            if runs.is_idle() {
                live.remove(session);
            }
        }
    }

    /// Knows a run until what it yields is dropped.
    pub(super) fn enter(self: &Arc<Self>, session: &SessionId, run: String, control: Control) -> Entered {
        let mut live = self.lock();
        let runs = live.entry(session.clone()).or_default();
        runs.number += 1;
        let number = runs.number;
        runs.controls.push((number, run, control));
        drop(live);
        Entered { live: Arc::clone(self), session: session.clone(), number }
    }

    /// Cancels the runs of a session.
    pub(super) fn cancel(&self, session: &SessionId, why: &str) {
        let controls = self.lock().get(session).map(|runs| runs.controls.clone()).unwrap_or_default();
        for (_, _, control) in controls {
            control.cancel_because(why);
        }
    }

    /// Ends the runs of this process that are among those.
    pub(super) fn stop(&self, stops: &[StopRequest]) {
        let mut found = Vec::new();
        let live = self.lock();
        for stop in stops {
            let runs = live.get(&stop.session).into_iter().flat_map(|runs| &runs.controls);
            let meant = runs.filter(|(_, run, _)| *run == stop.run);
            found.extend(meant.map(|(_, _, control)| (control.clone(), stop.why.clone())));
        }
        drop(live);
        found.into_iter().for_each(|(control, why)| control.cancel_because(why));
    }

    /// Looks which runs of this process others want to end, for as long as it is polled: one run looks for all. Another
    /// one does where that one is not polled any more.
    pub(super) async fn look(&self, store: &dyn SessionStore) {
        loop {
            tokio::time::sleep(LOOK).await;
            if !self.is_to_look() {
                continue;
            }
            match store.stops().await {
                Ok(stops) => self.stop(&stops),
                // The next look may do.
                Err(error) => tracing::debug!(%error, "the runs to end could not be read"),
            }
        }
    }

    /// True for the first one that asks, and for nobody else until it is time again.
    fn is_to_look(&self) -> bool {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let is_due = looked.is_none_or(|last| now.duration_since(last) >= FRESH);
        if is_due {
            *looked = Some(now);
        }
        is_due
    }

    /// Waits until it is a run's turn among those of this process; `depth` of them may wait.
    pub(super) async fn turn(
        self: &Arc<Self>,
        session: &SessionId,
        depth: usize,
    ) -> Result<Queued, SessionError> {
        let turn = self.join(session, depth)?;
        let mut queued = Queued { live: Arc::clone(self), session: session.clone(), turn: None };
        queued.turn = Some(turn.lock_owned().await);
        Ok(queued)
    }

    fn join(&self, session: &SessionId, depth: usize) -> Result<Arc<Turn<()>>, SessionError> {
        let mut live = self.lock();
        let runs = live.entry(session.clone()).or_default();
        // One of them has the session.
        if runs.queued > depth {
            return Err(SessionError::QueueFull { depth });
        }
        runs.queued += 1;
        Ok(Arc::clone(&runs.turn))
    }
}

/// A run that waits, or whose turn it is.
pub(super) struct Queued {
    live: Arc<Live>,
    session: SessionId,
    turn: Option<OwnedMutexGuard<()>>,
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.turn = None;
        self.live.leave(&self.session, |runs| runs.queued -= 1);
    }
}

/// A run that is known.
#[derive(Debug)]
pub(super) struct Entered {
    live: Arc<Live>,
    session: SessionId,
    number: u64,
}

impl Drop for Entered {
    fn drop(&mut self) {
        let number = self.number;
        self.live.leave(&self.session, |runs| runs.controls.retain(|(known, ..)| *known != number));
    }
}

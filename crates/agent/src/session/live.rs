//! The runs of sessions that are under way in this process, and those that wait.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

use super::error::SessionError;
use super::id::SessionId;
use crate::control::Control;

/// The runs of this process, by their sessions.
#[derive(Debug, Default)]
pub(super) struct Live(Mutex<HashMap<SessionId, Runs>>);

#[derive(Debug, Default)]
struct Runs {
    controls: Vec<(u64, Control)>,
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
    pub(super) fn enter(self: &Arc<Self>, session: &SessionId, control: Control) -> Entered {
        let mut live = self.lock();
        let runs = live.entry(session.clone()).or_default();
        runs.number += 1;
        let number = runs.number;
        runs.controls.push((number, control));
        drop(live);
        Entered { live: Arc::clone(self), session: session.clone(), number }
    }

    /// Cancels the runs of a session.
    pub(super) fn cancel(&self, session: &SessionId, why: &str) {
        let controls = self.lock().get(session).map(|runs| runs.controls.clone()).unwrap_or_default();
        for (_, control) in controls {
            control.cancel_because(why);
        }
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
        self.live.leave(&self.session, |runs| runs.controls.retain(|(known, _)| *known != number));
    }
}

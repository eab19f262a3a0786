//! Those who look at a run that another process drives.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use attache_agent::{LogEvents, Session, SessionError};
use tokio::time::{Instant, sleep_until};

use super::entry::{Entry, What, without_history};
use super::run::Live;
use super::runs::Runs;
use super::view::View;
use super::viewer::Seen;

/// The word that stands for the log in the ids of events, where a drive has a random one: the numbers of its events mean
/// the same in each process.
pub(crate) const LOG: &str = "log";

/// The pause between two looks at the log, right after something came and when nothing comes.
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(1);
/// The time for which the store may fail.
const PATIENCE: Duration = Duration::from_secs(30);

/// The next thing at a place that may move.
#[derive(Debug)]
pub(crate) enum Next {
    Seen(Seen),
    /// The run is driven here from now on, where it was followed before.
    Moved(Arc<Live>),
}

/// A place in the log of a run that another process drives, or nobody. The log is the truth of the run, so that a follower
/// sees each step, call, result, approval and the end, but no text before its step is over.
pub(crate) struct Follower {
    runs: Arc<Runs>,
    session: Session,
    run: String,
    log: LogEvents,
    /// The number of entries that were read.
    read: usize,
    /// The number of the last event that was told.
    last: u64,
    /// The number of the last event that the client has seen; without one it begins with the run so far.
    seen: Option<u64>,
    view: View,
    pause: Duration,
    /// The time of the next look.
    due: Instant,
    failing: Option<Instant>,
}

impl Follower {
    /// A follower that goes on behind an event of the log, or begins with the run so far.
    pub(crate) fn new(
        runs: Arc<Runs>,
        session: Session,
        run: String,
        log: LogEvents,
        seen: Option<u64>,
    ) -> Self {
        let (pause, due) = (SHORTEST, Instant::now());
        let view = View::default();
        Self { runs, session, run, log, read: 0, last: 0, seen, view, pause, due, failing: None }
    }

    /// The next things; `None` behind the last one. Nothing is lost where it is dropped.
    pub(super) async fn next(&mut self) -> Option<Next> {
        loop {
            if self.view.end.is_some() {
                return None;
            }
            sleep_until(self.due).await;
            let here = self.runs.get(self.session.principal(), &self.run);
            if let Some(live) = here.filter(|live| !live.has_ended()) {
                return Some(Next::Moved(live));
            }
            let entries = self.session.behind(&self.run, self.read).await;
            let is_first = self.read == 0;
            let now = Instant::now();
            match entries {
                Ok(entries) => {
                    self.failing = None;
                    self.pause = match entries.is_empty() {
                        true => (self.pause * 2).min(LONGEST),
                        false => SHORTEST,
                    };
                    self.due = now + self.pause;
                    if let Some(seen) = self.take(&entries, is_first) {
                        return Some(Next::Seen(seen));
                    }
                }
                Err(SessionError::NotFound) => return None,
                Err(error) => {
                    let since = *self.failing.get_or_insert(now);
                    tracing::debug!(run = self.run, %error, "the log of a run could not be read");
                    if now.duration_since(since) > PATIENCE {
                        return None;
                    }
                    self.due = now + LONGEST;
                }
            }
        }
    }

    /// Takes entries of the log in, and yields what is to be told of them.
    fn take(&mut self, entries: &[attache_agent::Entry], is_first: bool) -> Option<Seen> {
        self.read += entries.len();
        let mut told = Vec::new();
        for entry in entries {
            let events = match self.log.take(entry) {
                Ok(events) => events,
                Err(error) => {
                    tracing::warn!(run = self.run, %error, "an entry of a log cannot be told");
                    continue;
                }
            };
            for mut event in events {
                self.last = event.seq;
                without_history(&mut event);
                let entry = Arc::new(Entry { seq: event.seq, what: What::Event(event) });
                self.view.add(&entry);
                told.push(entry);
            }
        }
        match self.seen {
            None if is_first => {
                self.seen = Some(self.last);
                return Some(Seen::View(Box::new(self.view.clone()), self.last));
            }
            None => {}
            Some(seen) => told.retain(|entry| entry.seq > seen),
        }
        (!told.is_empty()).then_some(Seen::Entries(told))
    }
}

impl fmt::Debug for Follower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follower").field("run", &self.run).field("read", &self.read).finish_non_exhaustive()
    }
}

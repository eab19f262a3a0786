//! Those who look at a run that another process drives.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use attache_agent::{LogEvents, Session, SessionError};
use tokio::time::{Instant, sleep_until};

use super::entry::{Broken, Entry, What, lighten};
use super::log::{Stand, told};
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
/// The pause between two looks whether anybody drives the run.
const LOOK: Duration = Duration::from_secs(5);
/// The time without anybody after which that is told: longer than other processes take to take a run over.
const ALONE: Duration = Duration::from_secs(15);
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
    /// The time of the next look whether anybody drives the run.
    look: Instant,
    /// Since when it was seen that nobody does.
    alone: Option<Instant>,
    /// The part of the run that is told, if not all of it.
    part: Option<Part>,
}

/// One answer of a run that asks its client in between.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    /// The number of answers before it that are still to come.
    before: u32,
    /// The last step that asked the client.
    asked: u32,
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
        let (failing, alone, part, look) = (None, None, None, due);
        Self { runs, session, run, log, read: 0, last: 0, seen, view, pause, due, failing, look, alone, part }
    }

    /// Tells one answer of the run alone, up to the place where the run asks its client, or waits for somebody, or ends.
    /// There are so many answers before it.
    pub(crate) fn of_answer(mut self, before: u32) -> Self {
        self.part = Some(Part { before, asked: 0 });
        self
    }

    /// The next things; `None` behind the last one. Nothing is lost where it is dropped.
    pub(super) async fn next(&mut self) -> Option<Next> {
        loop {
            if self.view.end.is_some() {
                return None;
            }
            sleep_until(self.due).await;
            let here = self.runs.get(self.session.principal(), &self.run);
            // Another drive knows nothing of where an answer begins.
            if let Some(live) = here.filter(|live| !live.has_ended() && self.part.is_none()) {
                return Some(Next::Moved(live));
            }
            let entries = self.session.behind(&self.run, self.read).await;
            let is_first = self.read == 0;
            let has_none = entries.as_ref().is_ok_and(Vec::is_empty);
            let is_abandoned = (is_first || has_none) && self.is_abandoned().await;
            let now = Instant::now();
            match entries {
                Ok(entries) => {
                    self.failing = None;
                    self.pause = match entries.is_empty() {
                        true => (self.pause * 2).min(LONGEST),
                        false => SHORTEST,
                    };
                    self.due = now + self.pause;
                    if let Some(seen) = self.take(&entries, is_first, is_abandoned) {
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

    /// True if nobody has driven the run for a while. It is looked at now and then.
    async fn is_abandoned(&mut self) -> bool {
        let now = Instant::now();
        if now < self.look {
            return false;
        }
        let undriven = self.session.undriven_for().await;
        self.look = now + LOOK;
        let Ok(Some(time)) = undriven else {
            self.alone = None;
            return false;
        };
        // Nobody knows when a lease was let go.
        let since = *self.alone.get_or_insert(now);
        time.max(now.duration_since(since)) >= ALONE
    }

    /// Takes entries of the log in, and yields what is to be told of them, and that nobody drives the run if it
    /// `is_abandoned` and has something to do.
    fn take(&mut self, entries: &[attache_agent::Entry], is_first: bool, is_abandoned: bool) -> Option<Seen> {
        self.read += entries.len();
        let mut news = Vec::new();
        for entry in entries {
            for entry in told(&mut self.log, entry) {
                self.last = entry.seq;
                self.view.add(&entry);
                news.push(entry);
            }
            match self.pauses() {
                None => {}
                Some(0) => {
                    self.close(What::Paused, &mut news);
                    break;
                }
                Some(_) => {
                    news.clear();
                    self.view = View::default();
                }
            }
        }
        let is_answer = self.part.is_some_and(|part| part.before == 0);
        if is_answer && self.view.end.is_none() && Stand::of(self.log.run()) == Stand::Waits {
            let mut event = self.log.finish();
            self.last = event.seq;
            lighten(&mut event);
            self.close(What::Event(event), &mut news);
        }
        if self.part.is_some_and(|part| part.before > 0) {
            return None;
        }
        if is_abandoned && self.view.end.is_none() && Stand::of(self.log.run()) == Stand::UnderWay {
            self.close(What::Broken(Broken::Abandoned), &mut news);
        }
        match self.seen {
            None if is_first => {
                self.seen = Some(self.last);
                return Some(Seen::View(Box::new(self.view.clone()), self.last));
            }
            None => {}
            // The log knows nothing of an end without a driver: that has the number of the event before it.
            Some(seen) => news.retain(|entry| entry.seq > seen || matches!(entry.what, What::Broken(_))),
        }
        (!news.is_empty()).then_some(Seen::Entries(news))
    }

    /// The number of answers that are still to come before the one that is told, if another one has come to its end.
    fn pauses(&mut self) -> Option<u32> {
        let part = self.part.as_mut()?;
        let step = self.log.run().steps();
        if part.asked == step || !matches!(Stand::of(self.log.run()), Stand::AsksClient(_)) {
            return None;
        }
        part.asked = step;
        let before = part.before;
        part.before = before.saturating_sub(1);
        Some(before)
    }

    /// Nothing comes behind that.
    fn close(&mut self, what: What, news: &mut Vec<Arc<Entry>>) {
        let entry = Arc::new(Entry { seq: self.last, what });
        self.view.add(&entry);
        news.push(entry);
    }
}

impl fmt::Debug for Follower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Follower").field("run", &self.run).field("read", &self.read).finish_non_exhaustive()
    }
}

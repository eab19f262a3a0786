//! Those who look at a run that another process drives.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use attache_agent::{Entry as LogEntry, EntryKind, LogEvents, Session, SessionError};
use attache_core::{Document, DocumentStore, Message, ToolCall};
use tokio::time::{Instant, sleep_until};

use super::entry::{Broken, Entry, Pause, What, lighten};
use super::log::{Stand, give_content, left_by, told};
use super::origins::Origins;
use super::run::Live;
use super::runs::Runs;
use super::view::View;
use super::viewer::Seen;
use crate::documents::images_with_content;

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
    origins: Option<Origins>,
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
    /// True if it ends where the run waits.
    ends_waiting: bool,
    /// The store of the images that are told with their content.
    images: Option<Arc<dyn DocumentStore>>,
}

/// The state of the drive of a run, as far as it is known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Drive {
    UnderWay,
    /// The last drive failed, and nobody goes on with the run.
    Failed,
    /// Nobody has driven it for a while.
    Abandoned,
}

/// One answer of a run that asks its client in between.
#[derive(Clone, Debug, Default)]
struct Part {
    /// The number of the client's results before it that are still to come.
    before: u32,
    /// The calls for which the run stood before it. The client may answer some of them later than the others.
    asked: Vec<ToolCall>,
}

impl Follower {
    /// A follower that goes on behind an event of the log, or begins with the run so far.
    pub(crate) fn new(runs: Arc<Runs>, session: Session, run: String, seen: Option<u64>) -> Self {
        let (pause, due) = (SHORTEST, Instant::now());
        let (view, origins) = (View::default(), runs.origins());
        let (failing, alone, part, look) = (None, None, None, due);
        Self {
            runs,
            session,
            run,
            log: LogEvents::new(),
            origins,
            read: 0,
            last: 0,
            seen,
            view,
            pause,
            due,
            failing,
            look,
            alone,
            part,
            ends_waiting: false,
            images: None,
        }
    }

    /// Tells the images that the model made with their content, for clients that have no address for it.
    pub(crate) fn with_images(mut self, store: Arc<dyn DocumentStore>) -> Self {
        self.images = Some(store);
        self
    }

    /// Ends where the run waits, for its client or for somebody else: it is the turn of those who are told then.
    pub(crate) fn until_it_waits(mut self) -> Self {
        self.ends_waiting = true;
        self
    }

    /// Tells one answer of the run alone, up to the place where the run asks its client, or waits for somebody, or ends.
    /// The client gave so many results before it.
    pub(crate) fn of_answer(mut self, before: u32) -> Self {
        self.part = Some(Part { before, asked: Vec::new() });
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
            let now = Instant::now();
            match entries {
                Ok(entries) => {
                    let images = match &self.images {
                        Some(store) => images(&**store, &entries).await,
                        None => Vec::new(),
                    };
                    self.failing = None;
                    self.pause = match entries.is_empty() {
                        true => (self.pause * 2).min(LONGEST),
                        false => SHORTEST,
                    };
                    self.due = now + self.pause;
                    let news = self.take(&entries, &images);
                    let has_failed = self.log.run().has_failed();
                    let drive = match has_failed || is_first || entries.is_empty() {
                        true => self.drive(has_failed, !entries.is_empty()).await,
                        false => Drive::UnderWay,
                    };
                    if let Some(seen) = self.tell(news, is_first, drive) {
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

    /// The state of the drive. It is looked at now and then, and a few times right behind a failure, whose driver is about to
    /// let the run go.
    async fn drive(&mut self, has_failed: bool, is_new: bool) -> Drive {
        let now = Instant::now();
        let is_fresh = has_failed && (is_new || self.pause < LONGEST);
        if now < self.look && !is_fresh {
            return Drive::UnderWay;
        }
        let undriven = self.session.undriven_for().await;
        self.look = now + LOOK;
        let Ok(Some(time)) = undriven else {
            self.alone = None;
            return Drive::UnderWay;
        };
        // Nobody goes on by itself with a run that failed and was let go. A lease that is over is that of a process which is
        // gone: another one takes the run over.
        if has_failed && time.is_zero() {
            return Drive::Failed;
        }
        // Nobody knows when a lease was let go.
        let since = *self.alone.get_or_insert(now);
        match time.max(now.duration_since(since)) >= ALONE {
            true => Drive::Abandoned,
            false => Drive::UnderWay,
        }
    }

    /// Takes entries of the log in, and yields what they tell.
    fn take(&mut self, entries: &[attache_agent::Entry], images: &[Document]) -> Vec<Arc<Entry>> {
        self.read += entries.len();
        let mut news = Vec::new();
        for entry in entries {
            if let Some(part) = self.part.as_mut().filter(|part| part.before > 0)
                && let Some(stops) = left_by(self.log.run(), entry)
            {
                (part.before, part.asked) = (part.before - 1, stops);
                news.clear();
                self.view = View::default();
            }
            for mut entry in told(&mut self.log, entry, self.origins.as_mut()) {
                give_content(&mut entry, images);
                self.last = entry.seq;
                self.view.add(&entry);
                news.push(entry);
            }
            if let Some(calls) = self.ends_with() {
                self.pause(calls, &mut news);
                break;
            }
        }
        news
    }

    /// Yields what is to be told now, with the end if there is none to come.
    fn tell(&mut self, mut news: Vec<Arc<Entry>>, is_first: bool, drive: Drive) -> Option<Seen> {
        let is_before = self.part.as_ref().is_some_and(|part| part.before > 0);
        let is_answer = self.part.is_some() && !is_before;
        if self.view.end.is_none() && !is_before {
            match (Stand::of(self.log.run()), drive) {
                // Nobody has said so in a log of an older program.
                (Stand::AsksClient(calls), drive)
                    if self.ends_waiting
                        && (calls.iter().all(|call| self.view.asks_for(&call.id))
                            || drive != Drive::UnderWay) =>
                {
                    self.pause(calls, &mut news);
                }
                (Stand::Waits, _) if is_answer || self.ends_waiting => self.finish(&mut news),
                (Stand::UnderWay, Drive::Failed) => self.finish(&mut news),
                (Stand::UnderWay, Drive::Abandoned) => {
                    self.close(What::Broken(Broken::Abandoned), &mut news);
                }
                _ => {}
            }
        }
        if is_before {
            return None;
        }
        match self.seen {
            None if is_first => {
                self.seen = Some(self.last);
                return Some(Seen::View(Box::new(self.view.clone()), self.last));
            }
            None => {}
            // The log knows nothing of an end without a driver: that has the number of the event before it.
            Some(seen) => news.retain(|entry| {
                entry.seq > seen || matches!(entry.what, What::Broken(_)) || entry.is_failure()
            }),
        }
        (!news.is_empty()).then_some(Seen::Entries(news))
    }

    /// Tells the end of a drive that comes no further.
    fn finish(&mut self, news: &mut Vec<Arc<Entry>>) {
        let mut event = self.log.finish();
        lighten(&mut event);
        self.close(What::Event(event), news);
    }

    /// The calls with which the answer that is told ends, once the run stands for its client.
    fn ends_with(&self) -> Option<Vec<ToolCall>> {
        let part = self.part.as_ref().filter(|part| part.before == 0)?;
        let Stand::AsksClient(calls) = Stand::of(self.log.run()) else { return None };
        let is_told = |call: &ToolCall| {
            part.asked.iter().any(|asked| asked.id == call.id) || self.view.asks_for(&call.id)
        };
        calls.iter().all(is_told).then_some(calls)
    }

    /// Tells that the client is to answer these calls.
    fn pause(&mut self, calls: Vec<ToolCall>, news: &mut Vec<Arc<Entry>>) {
        let usage = self.log.run().usage().clone();
        self.close(What::Paused(Pause { calls, usage }), news);
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

/// The images that the model made in these entries, with their content, which no log has. One that cannot be read is left out.
async fn images(store: &dyn DocumentStore, entries: &[LogEntry]) -> Vec<Document> {
    let replies = entries.iter().filter_map(|entry| match &entry.kind {
        EntryKind::Reply(reply) => Some(&*reply.message),
        _ => None,
    });
    images_with_content(store, replies.flat_map(made)).await
}

fn made(message: &Message) -> impl Iterator<Item = &Document> {
    let reply = match message {
        Message::Assistant(reply) => Some(reply),
        _ => None,
    };
    reply.into_iter().flat_map(|reply| reply.documents())
}

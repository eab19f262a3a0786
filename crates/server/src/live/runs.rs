//! All runs under way in this process.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use attache_agent::AgentRun;
use attache_core::fresh;
use tokio::sync::Notify;
use tokio::time::Instant;
use tracing::Instrument as _;

use super::drive::drive;
use super::event_buffer::Bounds;
use super::origins::Origins;
use super::run::{Live, NewRun};
use super::viewer::Viewer;
use crate::record::Record;

/// The time for which a run that has ended may be looked at, before its log alone tells of it.
const KEPT: Duration = Duration::from_secs(60);
/// The maximum number of runs that are kept so, and their bytes.
const MOST_KEPT: usize = 256;
const MOST_BYTES: usize = 64 << 20;

/// All runs under way in this process, and those that ended a moment ago.
pub(crate) struct Runs {
    state: Mutex<State>,
    record: Arc<Record>,
    bounds: Bounds,
    most_of_one: usize,
    /// True if clients see what tools return.
    details: bool,
    /// Tells whoever drains that a run ended.
    ended: Notify,
}

#[derive(Debug, Default)]
struct State {
    runs: HashMap<String, Arc<Live>>,
    /// The number of runs of each principal that are under way.
    counts: HashMap<Arc<str>, usize>,
    /// Those that have ended, and when.
    kept: VecDeque<(Instant, Arc<Live>)>,
    /// The runs with which a request is about to go on.
    reserved: HashSet<String>,
    closed: bool,
}

/// The reason why a run is not driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TooMany {
    /// The principal has as many under way as it may.
    Principal(usize),
    /// The server stops.
    Closed,
    /// The run is driven here already.
    Driven,
}

impl Runs {
    pub(crate) fn new(bounds: Bounds, most_of_one: usize, details: bool, record: Arc<Record>) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), record, bounds, most_of_one, details, ended: Notify::new() })
    }

    /// For a run that is told, where clients do not see what tools return.
    pub(crate) fn origins(&self) -> Option<Origins> {
        (!self.details).then(Origins::default)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses a run of that principal that could not be driven now.
    pub(crate) fn admits(&self, principal: &str, run: &str) -> Result<(), TooMany> {
        self.lock().admits(principal, run, self.most_of_one)
    }

    /// Refuses a run as [`admits`](Self::admits) does, and other requests that would go on with it until this one has
    /// started it: a result that one of them delivers would be taken into the answer of the other.
    pub(crate) fn reserve(self: &Arc<Self>, principal: &str, run: &str) -> Result<Reserved, TooMany> {
        let mut state = self.lock();
        state.admits(principal, run, self.most_of_one)?;
        match state.reserved.insert(run.to_owned()) {
            true => Ok(Reserved { runs: Arc::clone(self), run: run.to_owned() }),
            false => Err(TooMany::Driven),
        }
    }

    /// Drives a run in a task of its own. Its first viewer sees all of it.
    pub(crate) fn start(self: &Arc<Self>, new: NewRun, run: AgentRun) -> Result<Viewer, TooMany> {
        let epoch: String = fresh::uuid().chars().filter(|letter| *letter != '-').take(8).collect();
        let (control, origins) = (run.control(), self.origins());
        let live = Arc::new(Live::new(new, epoch, control, self.bounds, origins));
        let mut state = self.lock();
        match state.admits(&live.principal, &live.id, self.most_of_one) {
            // A run that is taken over was let in by the process that is gone. It counts, and is not refused.
            Err(TooMany::Principal(_)) if live.rules.is_taken_over => {}
            admitted => admitted?,
        }
        *state.counts.entry(Arc::clone(&live.principal)).or_default() += 1;
        state.runs.insert(live.id.clone(), Arc::clone(&live));
        drop(state);
        let viewer = Viewer::new(Arc::clone(&live));
        let driven = Driven { runs: Arc::clone(self), live: Arc::clone(&live) };
        let record = Arc::clone(&self.record);
        let span = tracing::info_span!("run", run = live.id, request = live.request.as_deref());
        // The future of a run is large, and tasks are moved before they are polled.
        let driving = Box::pin(async move {
            let _driven = driven;
            drive(live, run, record).await;
        });
        tokio::spawn(driving.instrument(span));
        Ok(viewer)
    }

    /// Knows nothing of a run that was not begun.
    pub(crate) fn forget(&self, live: &Arc<Live>) {
        let mut state = self.lock();
        state.kept.retain(|(_, kept)| !Arc::ptr_eq(kept, live));
        state.remove(live);
    }

    /// Cancels the runs of a session that was deleted, or of all sessions of that principal, and knows nothing of them.
    pub(crate) fn clear(&self, principal: &str, session: Option<&str>) {
        let is_one = |live: &Live| {
            let of = live.session.as_deref();
            *live.principal == *principal && of.is_some() && (session.is_none() || of == session)
        };
        let mut state = self.lock();
        state.kept.retain(|(_, live)| !is_one(live));
        for (_, live) in state.runs.extract_if(|_, live| is_one(live)) {
            live.control.cancel_because("the session was deleted");
        }
    }

    /// A run of that principal.
    pub(crate) fn get(&self, principal: &str, id: &str) -> Option<Arc<Live>> {
        let mut state = self.lock();
        state.sweep(Instant::now());
        let is_meant = |live: &&Arc<Live>| *live.principal == *principal && live.is_visible();
        state.runs.get(id).filter(is_meant).cloned()
    }

    /// The runs under way in a session of that principal.
    pub(crate) fn of_session(&self, principal: &str, session: &str) -> Vec<Arc<Live>> {
        let state = self.lock();
        let is_one = |live: &&Arc<Live>| {
            *live.principal == *principal && live.session.as_deref() == Some(session) && live.is_visible()
        };
        state.runs.values().filter(is_one).cloned().collect()
    }

    /// The run of that principal that asked for an approval, while it is known here.
    pub(crate) fn that_asked(&self, principal: &str, approval: &str) -> Option<Arc<Live>> {
        let state = self.lock();
        let is_meant =
            |live: &&Arc<Live>| *live.principal == *principal && live.is_visible() && live.asks(approval);
        state.runs.values().find(is_meant).cloned()
    }

    /// The number of runs that may be taken over: as many are under way at a time as those of one principal may be.
    pub(crate) fn room(&self) -> usize {
        let state = self.lock();
        let is_taken_over = |live: &&Arc<Live>| live.rules.is_taken_over && !live.has_ended();
        self.most_of_one.saturating_sub(state.runs.values().filter(is_taken_over).count())
    }

    /// The number of runs that are under way.
    pub(crate) fn under_way(&self) -> usize {
        self.lock().counts.values().sum()
    }

    /// The number of runs that are under way, of those who look at runs, and about the bytes that are kept for them.
    pub(crate) fn numbers(&self) -> (usize, usize, usize) {
        let all: Vec<Arc<Live>> = self.lock().runs.values().cloned().collect();
        let viewers = all.iter().map(|live| live.viewers()).sum();
        (self.under_way(), viewers, all.iter().map(|live| live.bytes()).sum())
    }

    /// True if no more runs are driven.
    pub(crate) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Drives no more runs, and waits until those under way have ended; those that have not by then are let go.
    pub(crate) async fn drain(&self, until: Instant) {
        self.lock().closed = true;
        let idle = async {
            loop {
                let mut ended = std::pin::pin!(self.ended.notified());
                ended.as_mut().enable();
                if self.under_way() == 0 {
                    return;
                }
                ended.await;
            }
        };
        let mut idle = std::pin::pin!(idle);
        if tokio::time::timeout_at(until, idle.as_mut()).await.is_ok() {
            return;
        }
        let left: Vec<_> = self.lock().runs.values().cloned().collect();
        left.iter().for_each(|live| live.stop());
        let _ = tokio::time::timeout(STOPPING, idle).await;
    }

    fn end(&self, live: &Arc<Live>) {
        let mut state = self.lock();
        if let Some(count) = state.counts.get_mut(&live.principal) {
            *count -= 1;
            if *count == 0 {
                state.counts.remove(&live.principal);
            }
        }
        let now = Instant::now();
        let is_known = state.runs.get(&live.id).is_some_and(|known| Arc::ptr_eq(known, live));
        if live.rules.is_kept && is_known {
            state.kept.push_back((now, Arc::clone(live)));
        } else {
            state.remove(live);
        }
        state.sweep(now);
        drop(state);
        self.ended.notify_waiters();
    }
}

/// The time in which runs are let go.
const STOPPING: Duration = Duration::from_secs(5);

impl State {
    fn admits(&mut self, principal: &str, run: &str, most: usize) -> Result<(), TooMany> {
        self.sweep(Instant::now());
        if self.closed {
            return Err(TooMany::Closed);
        }
        if self.runs.get(run).is_some_and(|known| !known.has_ended()) {
            return Err(TooMany::Driven);
        }
        match self.counts.get(principal) {
            Some(count) if *count >= most => Err(TooMany::Principal(most)),
            _ => Ok(()),
        }
    }

    /// Forgets a run, unless another drive of it has taken its place.
    fn remove(&mut self, live: &Arc<Live>) {
        if self.runs.get(&live.id).is_some_and(|known| Arc::ptr_eq(known, live)) {
            self.runs.remove(&live.id);
        }
    }

    /// Forgets runs that ended some time ago.
    fn sweep(&mut self, now: Instant) {
        let mut bytes: usize = self.kept.iter().map(|(_, live)| live.bytes()).sum();
        while let Some((ended, live)) = self.kept.front() {
            if self.kept.len() <= MOST_KEPT && bytes <= MOST_BYTES && now.duration_since(*ended) < KEPT {
                break;
            }
            bytes -= live.bytes();
            let Some((_, live)) = self.kept.pop_front() else { break };
            self.remove(&live);
        }
    }
}

/// The right of a request to go on with a run, until it is dropped.
pub(crate) struct Reserved {
    runs: Arc<Runs>,
    run: String,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.runs.lock().reserved.remove(&self.run);
    }
}

/// Tells the runs when one of them is driven no more.
struct Driven {
    runs: Arc<Runs>,
    live: Arc<Live>,
}

impl Drop for Driven {
    fn drop(&mut self) {
        self.runs.end(&self.live);
    }
}

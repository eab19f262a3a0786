//! One run under way.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use attache_agent::{Control, Event, Outcome, Session};
use attache_core::{ToolCall, ToolCallId};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::entry::{Entry, Pause, What};
use super::event_buffer::{Bounds, Ring};
use super::origins::Origins;
use super::run_rules::{ClientCalls, Rules};
use super::view::{CallView, View};
use crate::record::Of;

/// One run under way, or one that was until a moment ago.
pub(crate) struct Live {
    pub(crate) id: String,
    /// The request that began it, or went on with it.
    pub(crate) request: Option<Arc<str>>,
    /// A random word for this drive of the run: numbers of events of another one mean something else.
    pub(crate) epoch: String,
    pub(crate) principal: Arc<str>,
    /// The name of the agent.
    pub(crate) agent: Arc<str>,
    pub(crate) session: Option<String>,
    pub(crate) control: Control,
    pub(super) rules: Rules,
    pub(super) parking: Option<Parking>,
    pub(super) answered: Vec<ToolCallId>,
    /// The session whose lease the run holds.
    pub(super) held: Option<Session>,
    /// True if the run went on with a log.
    goes_on: bool,
    /// The number of the answer that this drive gives, from 0, of a run that asks its client in between.
    answer: OnceLock<u32>,
    state: Mutex<State>,
    /// Tells viewers of the entries that they wait for, and of the last one.
    pub(super) changed: Notify,
    /// Tells the driver that something else changed: a viewer left, a call waits, the server stops.
    pub(super) attention: Notify,
}

/// The time in which a run that is about to end does so.
const ENDING: Duration = Duration::from_secs(10);

/// A run to drive.
pub(crate) struct NewRun {
    pub(crate) id: String,
    pub(crate) request: Option<Arc<str>>,
    pub(crate) principal: Arc<str>,
    pub(crate) agent: Arc<str>,
    pub(crate) session: Option<Session>,
    pub(crate) rules: Rules,
    pub(crate) parking: Option<Parking>,
    /// The calls of a run that goes on whose results are delivered already: nobody is asked for them again.
    pub(crate) answered: Vec<ToolCallId>,
    /// The number of the answer that this drive gives, where it is known.
    pub(crate) answer: Option<u32>,
    /// True if those who look at the run are told what its log tells from before.
    pub(crate) goes_on: bool,
}

/// Keeps a run that is let go until the client answers these calls, or sends the same answers again; see
/// [`ClientCalls::Pause`](super::ClientCalls::Pause).
pub(crate) type Parking = Box<dyn Fn(&View, &[ToolCallId]) + Send + Sync>;

#[derive(Debug)]
struct State {
    ring: Ring,
    view: View,
    /// The part of the view that this drive tells itself, where a client goes on with a run: it knows what came before.
    own: Option<View>,
    /// Set if clients do not see what tools return.
    origins: Option<Origins>,
    viewers: usize,
    /// Since when there is no viewer, if there was one.
    left: Option<Instant>,
    stops: bool,
    /// The calls that the client answers, and until when.
    waiting: Vec<(ToolCall, Instant)>,
    /// The number of the first entry that a viewer waits for.
    awaited: u64,
}

/// The things that a viewer sees from its place.
#[derive(Debug)]
pub(super) enum Look {
    Entries(Vec<Arc<Entry>>),
    /// The place is gone. The run as it is, and the place behind it.
    Fallen(Box<View>, u64),
    /// There is nothing new yet.
    Nothing,
    /// There will be nothing new.
    Over,
}

/// The things that a driver sees to beside its run.
#[derive(Debug, Default)]
pub(super) struct Attention {
    pub(super) stops: bool,
    /// Since when nobody looks on.
    pub(super) left: Option<Instant>,
    /// The calls whose time is up.
    pub(super) overdue: Vec<ToolCall>,
    /// The time of the next one's.
    pub(super) next_due: Option<Instant>,
}

impl Live {
    pub(super) fn new(
        new: NewRun,
        epoch: String,
        control: Control,
        bounds: Bounds,
        origins: Option<Origins>,
    ) -> Self {
        let NewRun {
            id,
            request,
            principal,
            agent,
            session: held,
            rules,
            parking,
            answered,
            answer,
            goes_on,
        } = new;
        let session = held.as_ref().map(|session| session.id().to_string());
        let has_own = goes_on && matches!(rules.client_calls, ClientCalls::Pause);
        let state = State {
            ring: Ring::new(bounds),
            view: View::default(),
            own: has_own.then(View::default),
            origins,
            viewers: 0,
            left: None,
            stops: false,
            waiting: Vec::new(),
            awaited: u64::MAX,
        };
        Self {
            id,
            request,
            epoch,
            principal,
            agent,
            session,
            control,
            rules,
            parking,
            answered,
            held,
            goes_on,
            answer: answer.map(OnceLock::from).unwrap_or_default(),
            state: Mutex::new(state),
            changed: Notify::new(),
            attention: Notify::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds what happened. True if the run is to be let go now: nothing goes on before the client's next request.
    pub(super) fn push(&self, mut what: What) -> bool {
        let mut state = self.lock();
        if let (Some(origins), What::Event(event)) = (&mut state.origins, &mut what) {
            origins.pass(event);
        }
        let entry = state.ring.push(what);
        state.view.add(&entry);
        if let Some(own) = &mut state.own {
            own.add(&entry);
        }
        // A drive that goes on tells first what was decided, and then again for what it waits.
        let waits = matches!(self.rules.client_calls, ClientCalls::Pause)
            && matches!(&entry.what, What::Event(_))
            && state.view.waits_for_client()
            && state.own().client_calls().next().is_some();
        let is_awaited = state.awaited <= entry.seq || state.view.end.is_some();
        if is_awaited {
            state.awaited = u64::MAX;
        }
        drop(state);
        if is_awaited {
            self.changed.notify_waiters();
        }
        waits
    }

    /// Adds what happened before this drive of the run: those who come from now on are told of it.
    pub(super) fn recall(&self, events: impl Iterator<Item = Event>) {
        let mut state = self.lock();
        for mut event in events {
            if let Some(origins) = &mut state.origins {
                origins.pass(&mut event);
            }
            state.view.add(&Arc::new(Entry { seq: 0, what: What::Event(event) }));
        }
        state.view.goes_on();
    }

    /// True if the run began in another drive, which this one's view alone tells of.
    pub(crate) fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// True if this drive tells one answer of several that the run gives.
    pub(super) fn is_answer(&self) -> bool {
        self.answer.get().is_some()
    }

    /// Says which answer of the run this drive gives, if nobody has, and yields it.
    pub(crate) fn gives(&self, answer: u32) -> u32 {
        *self.answer.get_or_init(|| answer)
    }

    /// True if this drive tells that answer from its beginning, and nothing else.
    pub(crate) fn tells(&self, answer: u32) -> bool {
        match self.answer.get() {
            Some(given) => *given == answer,
            // It tells the run from its beginning.
            None => answer == 0 && self.goes_on && !self.lock().view.has_asked(),
        }
    }

    /// True if somebody may look at it: one that goes on was begun already, and is driven here once its lease is taken.
    pub(super) fn is_visible(&self) -> bool {
        let state = self.lock();
        !self.goes_on || (state.ring.last() > 0 && !(state.ring.last() == 1 && state.view.end.is_some()))
    }

    /// The entries behind that place. Unless there are so many, or the last one is there, [`changed`](Self::changed) tells
    /// when they are. A viewer that has fallen behind is given the run so far, or what this drive told of it if `is_own`.
    pub(super) fn look(&self, behind: u64, at_least: u64, most: usize, is_own: bool) -> Look {
        let mut state = self.lock();
        let last = state.ring.last();
        let awaited = behind.saturating_add(at_least);
        if behind <= last && last < awaited && state.view.end.is_none() {
            state.awaited = state.awaited.min(awaited);
            return Look::Nothing;
        }
        match state.ring.behind(behind, most) {
            None if is_own => Look::Fallen(Box::new(state.own().clone()), last),
            None => Look::Fallen(Box::new(state.view.clone()), last),
            Some(entries) if entries.is_empty() => Look::Over,
            Some(entries) => Look::Entries(entries),
        }
    }

    /// The run so far, and the number of its last entry.
    pub(crate) fn view(&self) -> (View, u64) {
        let state = self.lock();
        (state.view.clone(), state.ring.last())
    }

    /// The answer that this drive gives, or the run so far where it gives none of several.
    pub(crate) fn answer_view(&self) -> (View, u64) {
        match self.is_answer() {
            true => self.own_view(),
            false => self.view(),
        }
    }

    /// The place at which it stands for its client.
    pub(super) fn pause(&self) -> Pause {
        let view = &self.lock().view;
        Pause { calls: view.client_calls().map(CallView::made).collect(), usage: view.usage.clone() }
    }

    /// The part of the run that this drive tells itself, and the number of its last entry.
    fn own_view(&self) -> (View, u64) {
        let state = self.lock();
        (state.own().clone(), state.ring.last())
    }

    /// True once the last entry is there.
    pub(crate) fn has_ended(&self) -> bool {
        self.lock().view.end.is_some()
    }

    /// Waits until the last entry is there, of a run that is about to end: not for long.
    pub(crate) async fn ends(&self) {
        let ended = async {
            loop {
                let changed = self.changed.notified();
                if self.has_ended() {
                    return;
                }
                changed.await;
            }
        };
        let _ = timeout(ENDING, ended).await;
    }

    /// The failure with which this drive ended. The log has no end then: the run can be resumed.
    pub(crate) fn failure(&self) -> Option<Arc<Entry>> {
        self.lock().view.end.clone().filter(|end| end.is_failure())
    }

    /// True if the run has come to its end, and nothing is behind that place.
    pub(crate) fn is_behind_all(&self, seen: Option<u64>) -> bool {
        let state = self.lock();
        seen == Some(state.ring.last()) && state.view.end.as_ref().is_some_and(|end| end.is_end_of_run())
    }

    /// The session of a run that was let go here before its end: others may have gone on with it since.
    pub(crate) fn let_go_in(&self) -> Option<&Session> {
        let session = self.held.as_ref()?;
        let is_let_go = self.lock().view.end.as_ref().is_some_and(|end| !end.is_end_of_run());
        is_let_go.then_some(session)
    }

    /// True if the run still waits for all that it waited for here, as its log says.
    pub(crate) fn waits_still(&self, log: &Outcome) -> bool {
        let view = &self.lock().view;
        view.client_calls().all(|call| log.pending.iter().any(|pending| pending.id == call.id))
            && view.approvals.iter().all(|asked| log.approvals.iter().any(|open| open.id == asked.id))
            && view.deferred.iter().all(|asked| log.deferred.iter().any(|open| open.call.id == asked.call.id))
    }

    /// True if that approval is one that nobody has decided about.
    pub(crate) fn asks(&self, approval: &str) -> bool {
        self.lock().view.approvals.iter().any(|asked| asked.id == approval)
    }

    /// The session of the run, if it has one.
    pub(crate) fn in_session(&self) -> Option<&Session> {
        self.held.as_ref()
    }

    /// True if that call is one of the run.
    pub(crate) fn knows_call(&self, call: &str) -> bool {
        self.lock().view.calls().any(|known| known.id.as_str() == call)
    }

    /// The run, for a record of what happens in it.
    pub(super) fn of(&self) -> Of<'_> {
        Of {
            request: self.request.as_ref(),
            principal: &self.principal,
            agent: &self.agent,
            session: self.session.as_deref(),
            run: &self.id,
            is_mounted: false,
        }
    }

    /// The number of those who look on.
    pub(super) fn viewers(&self) -> usize {
        self.lock().viewers
    }

    /// About how many bytes are kept for those who look on.
    pub(super) fn bytes(&self) -> usize {
        let state = self.lock();
        state.ring.bytes() + state.view.bytes()
    }

    pub(super) fn enter(&self) {
        let mut state = self.lock();
        state.viewers += 1;
        state.left = None;
    }

    pub(super) fn leave(&self, quietly: bool) {
        let mut state = self.lock();
        state.viewers = state.viewers.saturating_sub(1);
        if quietly || state.viewers > 0 || state.view.end.is_some() {
            return;
        }
        state.left = Some(Instant::now());
        drop(state);
        self.attention.notify_one();
    }

    /// Lets the lease of a run go that was dropped, so that nobody waits for its end. With `adoptable` another process goes
    /// on with the run.
    pub(super) async fn let_go(&self, adoptable: bool) {
        let Some(session) = &self.held else { return };
        if let Err(error) = session.let_go(adoptable).await {
            tracing::warn!(run = self.id, %error, "the lease could not be let go");
        }
    }

    /// Keeps the run for the client's answers to these calls, if somebody keeps such runs.
    pub(super) fn park(&self, calls: &[ToolCallId]) {
        if let Some(park) = &self.parking {
            park(&self.own_view().0, calls);
        }
    }

    /// Lets the driver go, without an end of the run.
    pub(super) fn stop(&self) {
        self.lock().stops = true;
        self.attention.notify_one();
    }

    /// Waits for the client's answer until then.
    pub(super) fn wait_for_client(&self, call: ToolCall, until: Instant) {
        self.lock().waiting.push((call, until));
        self.attention.notify_one();
    }

    /// The things that the driver has to see to.
    pub(super) fn attend(&self) -> Attention {
        let now = Instant::now();
        let mut state = self.lock();
        let overdue =
            state.waiting.extract_if(.., |(_, until)| *until <= now).map(|(call, _)| call).collect();
        Attention {
            stops: state.stops,
            left: state.left,
            overdue,
            next_due: state.waiting.iter().map(|(_, until)| *until).min(),
        }
    }
}

impl State {
    /// The part of the run that this drive tells itself.
    fn own(&self) -> &View {
        self.own.as_ref().unwrap_or(&self.view)
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("id", &self.id).field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

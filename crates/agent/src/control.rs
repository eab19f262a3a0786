//! Steering a run from outside.

mod submit;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use attache_core::{DocumentStore, Message, ToolCall, ToolCallId, UserMessage};
use serde_json::Value;
use tokio::sync::Notify;

use crate::approval::{DecideError, decide, deny_all, is_expired, settled, stands};
use crate::deliver::{INBOX_LIMIT, SubmitError, reply};
use crate::journal::Place;
use crate::log::{Asked, Decided, Decision, Entry, Key};
use crate::observe::Watched;
use crate::output::OutputSpec;
use crate::run::PendingCall;

/// Steers a run: submits results, injects messages, cancels. Cloneable; it may outlive the run.
#[derive(Clone)]
pub struct Control {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    state: Mutex<State>,
    /// True if a message interrupts the calls under way.
    is_interrupting: AtomicBool,
    /// True if `state.cancelled` is set, for a look at each delta.
    is_cancelled: AtomicBool,
    cancelled: Notify,
    place: Place,
    store: Arc<dyn DocumentStore>,
    /// The value that the run is asked for, set before it starts.
    output: OnceLock<Box<OutputSpec>>,
    /// Set if somebody looks on.
    watched: Option<Arc<Watched>>,
}

#[derive(Default)]
struct State {
    inbox: VecDeque<Arc<Message>>,
    /// The last of them that interrupts calls.
    urgent: Option<Arc<Message>>,
    /// The calls that wait for the caller, and whether each was answered.
    awaiting: HashMap<ToolCallId, (Key, ToolCall, bool)>,
    /// The approvals of a run that no journal keeps.
    asked: Vec<Asked>,
    /// Of the runs inside tools.
    inside: Vec<Control>,
    /// The items that the caller brings to a run that goes on.
    brought: Vec<Brought>,
    /// The schemas that results of deferred calls must fit.
    schemas: Vec<(ToolCallId, Value)>,
    /// Messages that begin when the run would end.
    follow_ups: VecDeque<Arc<Message>>,
    cancelled: Option<String>,
    ended: bool,
}

/// An item that a caller brings to a run that goes on, before it is polled.
pub(crate) enum Brought {
    /// Somebody's decision about a call.
    Decision { id: String, by: String, decision: Decision },
    /// No call that waits for approval is run.
    DenyAll { by: String, text: String },
    /// The result of a deferred call.
    Reply { call: ToolCallId, value: Value },
}

impl State {
    /// True if the run has ended, or is about to.
    fn is_over(&self) -> bool {
        self.ended || self.cancelled.is_some()
    }

    /// Puts a message into the inbox.
    fn put(&mut self, message: UserMessage) -> Result<Arc<Message>, SubmitError> {
        self.may_take(self.inbox.len())?;
        let message = Message::User(message).shared();
        self.inbox.push_back(Arc::clone(&message));
        Ok(message)
    }

    /// Says whether one more message may wait where so many do.
    fn may_take(&self, waiting: usize) -> Result<(), SubmitError> {
        if self.is_over() {
            return Err(SubmitError::ChatLoopClosed);
        }
        if waiting >= INBOX_LIMIT {
            return Err(SubmitError::InboxFull { limit: INBOX_LIMIT });
        }
        Ok(())
    }
}

impl Control {
    pub(crate) fn new(place: Place, store: Arc<dyn DocumentStore>, watched: Option<Arc<Watched>>) -> Self {
        Self {
            shared: Arc::new(Shared {
                state: Mutex::default(),
                is_interrupting: AtomicBool::new(false),
                is_cancelled: AtomicBool::new(false),
                cancelled: Notify::new(),
                place,
                store,
                output: OnceLock::new(),
                watched,
            }),
        }
    }

    /// The run, where somebody looks on.
    pub(crate) fn watched(&self) -> Option<&Arc<Watched>> {
        self.shared.watched.as_ref()
    }

    /// The store of the run's documents.
    pub(crate) fn store(&self) -> &Arc<dyn DocumentStore> {
        &self.shared.store
    }

    /// Asks the run for a value, if it has not started.
    pub(crate) fn ask_for(&self, spec: OutputSpec) {
        let _ = self.shared.output.set(Box::new(spec));
    }

    /// The value that the run is asked for.
    pub(crate) fn output(&self) -> Option<&OutputSpec> {
        self.shared.output.get().map(|spec| &**spec)
    }

    /// Has results for calls of a run inside a tool submitted here, until what it yields is dropped.
    pub(crate) fn with_inside(&self, inside: Control) -> Known {
        self.lock().inside.push(inside.clone());
        Known { around: self.clone(), inside }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The calls that wait for the caller, those of agents inside included, in no particular order.
    pub fn awaiting(&self) -> Vec<ToolCall> {
        let state = self.lock();
        let open = state.awaiting.values().filter(|(_, _, answered)| !answered);
        let mut calls: Vec<ToolCall> = open.map(|(_, call, _)| call.clone()).collect();
        let inside = state.inside.clone();
        drop(state);
        calls.extend(inside.iter().flat_map(Control::awaiting));
        calls
    }

    /// Decides about a call that waits for approval, while the run is under way; see [`decide`](crate::decide).
    ///
    /// # Errors
    /// [`DecideError`] if there is no such approval, if somebody decided otherwise, if it takes no decision any more, or
    /// if the journal fails.
    pub async fn decide(&self, id: &str, by: &str, decision: Decision) -> Result<Decided, DecideError> {
        if let Some(journal) = self.shared.place.journal() {
            return decide(journal, id, by, decision).await;
        }
        let inside = self.lock().inside.clone();
        if let Some(inside) = inside.iter().find(|inside| inside.asks(id)) {
            return Box::pin(inside.decide(id, by, decision)).await;
        }
        let asked = self.lock().asked.iter().find(|asked| asked.id == id).cloned();
        let asked = asked.ok_or_else(|| DecideError::Unknown { id: id.to_owned() })?;
        if !self.is_active() || is_expired(&asked) {
            return Err(DecideError::Closed { id: id.to_owned() });
        }
        let entry = Entry::new(Key::decided(id), settled(id, by, decision.clone()));
        stands(self.shared.place.deliver(entry).await?, id, &decision)
    }

    /// True if the run, or one inside, asks for that approval.
    fn asks(&self, id: &str) -> bool {
        let state = self.lock();
        let inside = state.inside.clone();
        let own = state.asked.iter().any(|asked| asked.id == id);
        drop(state);
        own || inside.iter().any(|inside| inside.asks(id))
    }

    /// Lets somebody decide about calls, before they are announced.
    pub(crate) fn expect_decisions<'a>(&self, questions: impl Iterator<Item = &'a Asked>) {
        let mut state = self.lock();
        for asked in questions {
            if state.asked.iter().all(|known| known.id != asked.id) {
                state.asked.push(asked.clone());
            }
        }
    }

    /// Brings something to a run that has not been polled yet.
    pub(crate) fn bring(&self, brought: Brought) {
        self.lock().brought.push(brought);
    }

    /// Takes what the caller brought.
    pub(crate) fn take_brought(&self) -> Vec<Brought> {
        std::mem::take(&mut self.lock().brought)
    }

    /// Leaves what the caller brought where the driver finds it.
    pub(crate) async fn leave(&self, brought: Vec<Brought>) -> Result<(), LeaveError> {
        for brought in brought {
            match brought {
                Brought::Decision { id, by, decision } => {
                    self.decide(&id, &by, decision).await?;
                }
                Brought::DenyAll { by, text } => {
                    if let Some(journal) = self.shared.place.journal() {
                        deny_all(journal, &by, &text).await?;
                    }
                }
                Brought::Reply { call, value } => match self.shared.place.journal() {
                    Some(journal) => reply(journal, &call, &value).await?,
                    None => return Err(SubmitError::UnknownCall { id: call }.into()),
                },
            }
        }
        Ok(())
    }

    /// Results of a deferred call must fit this schema.
    pub(crate) fn expect_fit(&self, call: &ToolCallId, schema: Option<Value>) {
        if let Some(schema) = schema {
            self.lock().schemas.push((call.clone(), schema));
        }
    }

    /// Queues a message that the model reads when the run would end: the run goes on with it. Each waits until those
    /// before it are answered. A message that the run does not read, because it ends otherwise, stands in
    /// [`Outcome::unread`](crate::Outcome::unread).
    ///
    /// # Errors
    /// See [`inject`](Self::inject).
    pub fn follow_up(&self, message: impl Into<UserMessage>) -> Result<(), SubmitError> {
        let mut state = self.lock();
        let waiting = state.follow_ups.len();
        state.may_take(waiting)?;
        state.follow_ups.push_back(Message::User(message.into()).shared());
        Ok(())
    }

    /// Puts a message into the inbox and interrupts the calls under way, where [`inject`](Self::inject) waits for their
    /// results: tools are dropped, nobody waits for the caller or an approval any more, and each call without a result is
    /// told to be cancelled, or to be of unknown outcome if its effect was begun. Then the model reads the message.
    ///
    /// # Errors
    /// See [`inject`](Self::inject).
    pub fn interrupt(&self, message: impl Into<UserMessage>) -> Result<(), SubmitError> {
        let message = message.into();
        let mut state = self.lock();
        state.urgent = Some(state.put(message)?);
        // Nobody may take the message before it interrupts: it would interrupt the calls that come of it.
        self.shared.is_interrupting.store(true, Ordering::Release);
        drop(state);
        self.shared.cancelled.notify_waiters();
        Ok(())
    }

    pub(crate) fn is_interrupting(&self) -> bool {
        self.shared.is_interrupting.load(Ordering::Acquire)
    }

    /// The calls are interrupted, or there are none.
    pub(crate) fn interrupts_no_more(&self) {
        self.shared.is_interrupting.store(false, Ordering::Release);
    }

    /// Puts the next follow-up into the inbox; false if there is none.
    pub(crate) fn begin_follow_up(&self) -> bool {
        let mut state = self.lock();
        let next = state.follow_ups.pop_front();
        let is_there = next.is_some();
        state.inbox.extend(next);
        is_there
    }

    /// Puts a message into the inbox: the model reads it at its next call, after the results of calls under way. An
    /// answer does not end the run while one waits, unless it was the last call that the limits allow. Messages that
    /// the run does not read any more, however it ends, stand in [`Outcome::unread`](crate::Outcome::unread).
    ///
    /// # Errors
    /// [`SubmitError::ChatLoopClosed`] after the end or a cancellation, [`SubmitError::InboxFull`] when nobody takes what is there.
    pub fn inject(&self, message: impl Into<UserMessage>) -> Result<(), SubmitError> {
        let message = message.into();
        self.lock().put(message).map(drop)
    }

    /// Ends the run as cancelled: the provider's request is aborted, tools are dropped, what was said so far is kept.
    /// The stream must still be polled to its end to see the outcome.
    pub fn cancel(&self) {
        self.cancel_because("cancelled by the caller");
    }

    /// Ends the run as cancelled, with a reason for people.
    pub fn cancel_because(&self, why: impl Into<String>) {
        self.lock().cancelled.get_or_insert(why.into());
        self.shared.is_cancelled.store(true, Ordering::Release);
        self.shared.cancelled.notify_waiters();
    }

    /// True if the run is still under way.
    pub fn is_active(&self) -> bool {
        !self.lock().is_over()
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.shared.is_cancelled.load(Ordering::Acquire)
    }

    /// The messages that wait, oldest first. They stay until they are [taken](Self::taken).
    pub(crate) fn inbox(&self) -> Vec<Arc<Message>> {
        self.lock().inbox.iter().cloned().collect()
    }

    /// Takes these messages away: they are in the log.
    pub(crate) fn taken(&self, messages: &[Arc<Message>]) {
        let mut state = self.lock();
        let State { inbox, follow_ups, .. } = &mut *state;
        for waiting in [inbox, follow_ups] {
            waiting.retain(|message| messages.iter().all(|taken| !Arc::ptr_eq(taken, message)));
        }
        // One that came meanwhile interrupts the next calls.
        let waits = |urgent: &Arc<Message>| state.inbox.iter().any(|message| Arc::ptr_eq(message, urgent));
        if !state.urgent.as_ref().is_some_and(waits) {
            state.urgent = None;
            self.interrupts_no_more();
        }
    }

    /// The messages that nobody has read, oldest first: those of the inbox, and follow-ups.
    pub(crate) fn unheard(&self) -> Vec<Arc<Message>> {
        let state = self.lock();
        state.inbox.iter().chain(&state.follow_ups).cloned().collect()
    }

    /// Lets the caller answer these calls. It happens before they are announced, so that an answer at once is taken.
    pub(crate) fn expect(&self, calls: impl IntoIterator<Item = PendingCall>) {
        let mut state = self.lock();
        for PendingCall { key, call, external, .. } in calls {
            if external {
                state.awaiting.entry(call.id.clone()).or_insert((key, call, false));
            }
        }
    }

    /// True if a call was let through to the caller in this drive.
    pub(crate) fn expects(&self, call: &ToolCallId) -> bool {
        self.lock().awaiting.contains_key(call)
    }

    pub(crate) fn settled(&self) {
        let mut state = self.lock();
        state.awaiting.clear();
        state.schemas.clear();
    }

    /// Takes nothing from now on.
    pub(crate) fn abandon(&self) {
        let mut state = self.lock();
        state.ended = true;
        state.awaiting.clear();
    }

    /// Takes messages back that were in an outcome which nobody got, for whoever asks for the [unread](Self::unread) ones.
    pub(crate) fn take_back(&self, messages: Vec<Arc<Message>>) {
        self.lock().inbox.extend(messages);
    }

    /// Takes nothing from now on, and yields what nobody read.
    pub(crate) fn close(&self) -> Vec<Arc<Message>> {
        self.abandon();
        self.unread()
    }

    /// Takes the messages away that a run which was dropped did not read. After any other end they stand in
    /// [`Outcome::unread`](crate::Outcome::unread); while the run is under way there are none.
    pub fn unread(&self) -> Vec<Arc<Message>> {
        let mut state = self.lock();
        if !state.ended {
            return Vec::new();
        }
        let State { inbox, follow_ups, .. } = &mut *state;
        inbox.drain(..).chain(follow_ups.drain(..)).collect()
    }

    /// Waits until somebody cancels, and says why.
    pub(crate) async fn cancelled(&self) -> String {
        loop {
            let mut woken = std::pin::pin!(self.shared.cancelled.notified());
            woken.as_mut().enable();
            if let Some(why) = self.lock().cancelled.clone() {
                return why;
            }
            woken.await;
        }
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("active", &self.is_active()).finish()
    }
}

/// The control of a run inside a tool, while the run around it knows it.
pub(crate) struct Known {
    around: Control,
    inside: Control,
}

impl Drop for Known {
    fn drop(&mut self) {
        let is_other = |known: &Control| !Arc::ptr_eq(&known.shared, &self.inside.shared);
        self.around.lock().inside.retain(is_other);
    }
}

/// The reason why an item that the caller brought was not left for the run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LeaveError {
    #[error(transparent)]
    Decide(#[from] DecideError),
    #[error(transparent)]
    Submit(#[from] SubmitError),
}

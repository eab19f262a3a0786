//! The journal of a run of a session.

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;

use attache_core::{BoxFuture, DocumentId, Message, StoreError, StoreErrorKind, ToolResult};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep};

use super::clock::Clock;
use super::error::without_nul;
use super::id::SessionId;
use super::lease::Lease;
use super::records::{Append, Appended, Beginning, Delivery, RunInfo, StoredRun};
use super::settings::Settings;
use super::store::SessionStore;
use super::title::title;
use super::weave::{Woven, unweave};
use crate::deliver::{ENDING, LOOK, SubmitError, say};
use crate::journal::{Fence, Journal, JournalError};
use crate::log::{Entry, EntryKind, Hooked, Key};
use crate::run::{Run, told_late};

/// The number of times that an append is tried that others overtook.
const TRIES: u32 = 16;

/// The log of a run that stands in a session's store, where the conversation before it is not repeated.
pub(super) struct SessionJournal {
    store: Arc<dyn SessionStore>,
    session: SessionId,
    principal: Arc<str>,
    clock: Clock,
    name: Arc<str>,
    run: OnceLock<Arc<str>>,
    /// The right to write, which a run under way has.
    turn: OnceLock<Turn>,
    /// True if documents are noted that entries refer to.
    notes_documents: bool,
}

/// The knowledge that a run under way has of its session.
pub(super) struct Turn {
    pub(super) lease: Arc<Lease>,
    /// The messages of the session when the run took the lease.
    pub(super) woven: Woven,
    /// The log of the run at that time, until somebody reads it: nobody else writes.
    pub(super) entries: Mutex<Option<Vec<Entry>>>,
    /// The run before it that did not come to its end, and the end that it is given.
    pub(super) closes: Option<(String, Vec<Entry>)>,
    /// The number of appends.
    pub(super) appends: AtomicU64,
    /// The last append that found nothing delivered; 0 before there is one.
    pub(super) undelivered: AtomicU64,
    /// Until when the session must not expire.
    pub(super) kept_until: Mutex<KeptUntil>,
}

/// Until when a session must not expire: by what its run has written or tried to write, and by what its store has taken.
#[derive(Clone, Copy, Default)]
pub(super) struct KeptUntil {
    wanted: u64,
    stored: u64,
}

impl SessionJournal {
    pub(super) fn new(settings: &Settings, session: SessionId, principal: Arc<str>) -> Self {
        Self {
            store: Arc::clone(&settings.store),
            session,
            principal,
            clock: settings.clock.clone(),
            name: Arc::clone(&settings.name),
            run: OnceLock::new(),
            turn: OnceLock::new(),
            notes_documents: settings.documents.is_some(),
        }
    }

    /// The journal of that run, for whoever decides about its calls or delivers their results. No run has an id with a NUL
    /// character, which not every store takes.
    pub(super) fn of_run(self, run: &str) -> Self {
        if without_nul(run, "the id of a run").is_ok() {
            let _ = self.run.set(Arc::from(run));
        }
        self
    }

    /// Lets a run write.
    pub(super) fn begin(&self, run: &str, turn: Turn) {
        let _ = self.run.set(Arc::from(run));
        let _ = self.turn.set(turn);
    }

    /// True if the run under way has written something.
    pub(super) fn has_written(&self) -> bool {
        self.turn.get().is_some_and(|turn| turn.appends.load(Ordering::Relaxed) > 0)
    }

    /// The id of the run; empty before it is known.
    pub(super) fn run_id(&self) -> String {
        self.run.get().map(|run| run.to_string()).unwrap_or_default()
    }

    fn run(&self) -> Result<&Arc<str>, JournalError> {
        self.run.get().ok_or(JournalError::Empty)
    }

    async fn load_all(&self) -> Result<Vec<Entry>, JournalError> {
        let Some(run) = self.run.get() else { return Ok(Vec::new()) };
        match self.store.load(&self.principal, &self.session, Some(run)).await? {
            Some(stored) => whole(stored).map(|(entries, _)| entries),
            None => Ok(Vec::new()),
        }
    }

    /// The journal of another run of the session, for whoever leaves something for it.
    fn other(&self, run: &str) -> Self {
        Self {
            store: Arc::clone(&self.store),
            session: self.session.clone(),
            principal: Arc::clone(&self.principal),
            clock: self.clock.clone(),
            name: Arc::clone(&self.name),
            run: OnceLock::from(Arc::from(run)),
            turn: OnceLock::new(),
            notes_documents: self.notes_documents,
        }
    }

    /// Leaves an entry. A receipt is left also where whoever leaves it is dropped meanwhile: nobody else has it.
    async fn leave_whole(&self, entry: Entry) -> Result<Entry, JournalError> {
        let runtime = match &entry.kind {
            EntryKind::Receipt(_) => Handle::try_current().ok(),
            _ => None,
        };
        let Some(runtime) = runtime else { return self.leave(entry).await };
        let own = self.other(self.run()?);
        let left = runtime.spawn(async move { own.leave(entry).await }).await;
        left.unwrap_or_else(|error| {
            let text = "a receipt was broken off on its way";
            Err(StoreError::new(StoreErrorKind::Unavailable, text).with_source(error).into())
        })
    }

    /// Leaves an entry. Another run that holds the lease has looked already at what there is for this one, and is about to
    /// close it: results and messages are refused then. Decisions and receipts wait until that run has begun or was refused,
    /// and are left all the same where it does neither in time, since its process may be gone.
    async fn leave(&self, entry: Entry) -> Result<Entry, JournalError> {
        let mut documents = Vec::new();
        if self.notes_documents {
            note_documents(&entry, &mut documents);
        }
        let is_receipt = matches!(entry.kind, EntryKind::Receipt(_));
        let waits = is_receipt || matches!(entry.kind, EntryKind::Decided(_));
        let until = Instant::now() + ENDING;
        let (principal, session, run) = (&*self.principal, &self.session, &**self.run()?);
        let (mut next, mut is_again) = (entry, false);
        loop {
            let is_late = waits && Instant::now() >= until;
            let alone_at = (!is_late).then(|| self.clock.now());
            let kept = waits.then(|| next.clone());
            let documents = documents.clone();
            let delivery =
                Delivery { principal, session, run, entry: next, documents, alone_at, behind_end: false };
            let stands = self.store.deliver(delivery).await;
            let (Err(JournalError::Fenced), Some(entry)) = (&stands, kept) else { return stands };
            let runs = self.store.runs(principal, session).await?;
            let Some(last) = runs.last() else { return stands };
            let is_open = last.id == run && last.ended.is_none();
            if is_receipt && !is_open {
                if self.tell(last, &entry, is_late, is_again).await? {
                    return Ok(entry);
                }
                is_again = true;
            } else if is_late || !is_open {
                return stands;
            }
            sleep(LOOK).await;
            next = entry;
        }
    }

    /// Says to the run that goes on with the conversation what came of a call, whose own run has ended and has told the
    /// model that nobody knows it. Where that run has ended, too, the word is left behind its end for the next one. False
    /// if another run begins meanwhile, however long that takes: it has looked already at what was left for it.
    async fn tell(
        &self,
        last: &RunInfo,
        receipt: &Entry,
        is_late: bool,
        is_again: bool,
    ) -> Result<bool, JournalError> {
        let EntryKind::Receipt(outcome) = &receipt.kind else { return Err(JournalError::Fenced) };
        // The model of a run inside a tool is another one.
        if !receipt.key.scope_text().is_empty() {
            return Err(JournalError::Fenced);
        }
        let run = Run::replay(&self.behind(0).await?)
            .map_err(|error| JournalError::Unreadable { problem: error.to_string() })?;
        let call =
            run.unknown().iter().find(|call| call.id == outcome.call_id).ok_or(JournalError::Fenced)?;
        let word = told_late(&call.name, outcome);
        // The attempt before may have failed behind the word that it left, and somebody has read that since.
        if is_again && self.other(&last.id).has_read(&Message::User(word.clone())).await? {
            return Ok(true);
        }
        if last.ended.is_none() {
            return match say(&self.other(&last.id), word).await {
                Ok(()) => Ok(true),
                Err(SubmitError::Journal(error)) if is_late => Err(error),
                Err(_) if is_late => Err(JournalError::Fenced),
                // It has ended meanwhile, or takes nothing for now.
                Err(_) => Ok(false),
            };
        }
        let entry = Entry::new(Key::late(&call.id), EntryKind::Inbox(vec![Message::User(word).shared()]));
        let mut documents = Vec::new();
        if self.notes_documents {
            note_documents(&entry, &mut documents);
        }
        let (principal, session, run) = (&*self.principal, &self.session, &*last.id);
        let alone_at = Some(self.clock.now());
        let delivery = Delivery { principal, session, run, entry, documents, alone_at, behind_end: true };
        match self.store.deliver(delivery).await {
            Ok(_) => Ok(true),
            Err(JournalError::Fenced) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// True if the run began with a message or took it.
    async fn has_read(&self, message: &Message) -> Result<bool, JournalError> {
        let has = |messages: &[Arc<Message>]| messages.iter().any(|read| **read == *message);
        Ok(self.load_all().await?.iter().any(|entry| match &entry.kind {
            EntryKind::Started(started) => has(&started.messages),
            EntryKind::Inbox(messages) => has(messages),
            _ => false,
        }))
    }

    async fn write(&self, fence: Fence, mut entries: Vec<Entry>) -> Result<Vec<Entry>, JournalError> {
        let turn = self.turn.get().ok_or_else(read_only)?;
        if fence.number() != turn.lease.fence {
            return Err(JournalError::Fenced);
        }
        let mut documents = Vec::new();
        if self.notes_documents {
            entries.iter().for_each(|entry| note_documents(entry, &mut documents));
        }
        let mut given = None;
        let mut begins = None;
        for entry in entries.iter_mut().filter(|entry| entry.key == Key::start()) {
            if let EntryKind::Started(started) = &mut entry.kind {
                let messages = std::mem::take(&mut started.messages);
                let (ranges, new) = turn.woven.weave(&messages);
                begins = Some(Box::new(Beginning {
                    name: Arc::clone(&self.name),
                    title: title(messages.get(started.task..).unwrap_or_default()),
                    first: u64::try_from(turn.woven.len()).unwrap_or(u64::MAX),
                    messages: new,
                    ranges,
                    closes: turn.closes.clone(),
                }));
                given = Some(messages);
            }
        }
        let ends = entries.iter().any(|entry| entry.key == Key::end());
        let mut kept_until = turn.keep(&entries, ends);
        if begins.is_some() {
            // Nobody waits any more for the run before.
            kept_until = kept_until.or_else(|| Some(turn.kept_until()));
        }
        let mut append = Append {
            session: self.session.clone(),
            run: Arc::clone(self.run()?),
            fence: turn.lease.fence,
            number: 0,
            now: 0,
            until: 0,
            entries,
            begins,
            ends,
            documents,
            kept_until,
        };
        let mut tries = 0;
        let Appended { stand, has_deliveries } = loop {
            tries += 1;
            let number = turn.appends.fetch_add(1, Ordering::Relaxed) + 1;
            (append.number, append.now) = (number, turn.lease.now());
            append.until = if ends { 0 } else { turn.lease.until() };
            match self.store.append(&append).await {
                // Calls that run side by side append side by side, so that one may overtake another. Nothing comes before
                // the beginning of a run.
                Err(JournalError::Fenced)
                    if append.begins.is_none()
                        && tries < TRIES
                        && number < turn.appends.load(Ordering::Relaxed)
                        && !turn.lease.is_released() =>
                {
                    // The one that came first may keep the session for longer.
                    append.kept_until = append.kept_until.map(|until| until.max(turn.kept_until()));
                }
                appended => break appended?,
            }
        };
        if let Some(until) = append.kept_until {
            turn.lock_kept().stored = until;
        }
        if !has_deliveries {
            turn.undelivered.fetch_max(append.number, Ordering::Relaxed);
        }
        if ends {
            turn.lease.released();
        }
        let mut entries = append.entries;
        entries.iter_mut().for_each(|entry| entry.at = append.now);
        for (at, stands) in stand {
            entries.get_mut(at).map(|entry| *entry = stands).ok_or_else(|| JournalError::Unreadable {
                problem: "an entry stands in the place of none".to_owned(),
            })?;
        }
        if let Some(messages) = given {
            for entry in entries.iter_mut().filter(|entry| entry.key == Key::start()) {
                if let EntryKind::Started(started) = &mut entry.kind {
                    started.messages.clone_from(&messages);
                }
            }
        }
        Ok(entries)
    }
}

impl Turn {
    fn has_deliveries(&self) -> bool {
        let (found, last) = (self.undelivered.load(Ordering::Relaxed), self.appends.load(Ordering::Relaxed));
        found == 0 || found < last
    }

    fn lock_kept(&self) -> MutexGuard<'_, KeptUntil> {
        self.kept_until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept_until(&self) -> u64 {
        self.lock_kept().wanted
    }

    /// The time until which the session must not expire, unless the store has it already.
    fn keep(&self, entries: &[Entry], ends: bool) -> Option<u64> {
        let mut kept = self.lock_kept();
        kept.wanted = if ends { 0 } else { kept_by(kept.wanted, entries) };
        (kept.wanted != kept.stored || ends).then_some(kept.wanted)
    }

    /// Notes what the store has when the run goes on.
    pub(super) fn has_kept(&self, entries: &[Entry]) {
        let until = kept_by(0, entries);
        *self.lock_kept() = KeptUntil { wanted: until, stored: until };
    }
}

/// The later one of a time and those until which calls of these entries wait for somebody.
fn kept_by(until: u64, entries: &[Entry]) -> u64 {
    entries.iter().fold(until, |until, entry| match &entry.kind {
        EntryKind::Asked(asked) => asked.expires_at.max(until),
        EntryKind::Deferred(call) => call.expires_at.unwrap_or(u64::MAX).max(until),
        _ => until,
    })
}

/// The log of a run with the messages that it began with, and all messages of the session.
pub(super) fn whole(stored: StoredRun) -> Result<(Vec<Entry>, Vec<Arc<Message>>), JournalError> {
    let StoredRun { id, ranges, mut entries, messages, .. } = stored;
    for entry in entries.iter_mut().filter(|entry| entry.key == Key::start()) {
        if let EntryKind::Started(started) = &mut entry.kind {
            started.messages = unweave(&messages, &ranges).ok_or_else(|| JournalError::Unreadable {
                problem: format!("the run {id} refers to messages that its session does not have"),
            })?;
        }
    }
    Ok((entries, messages))
}

fn read_only() -> JournalError {
    let text = "a run of a session is driven by `Session::resume`";
    StoreError::new(StoreErrorKind::Conflict, text).into()
}

fn note_documents(entry: &Entry, into: &mut Vec<DocumentId>) {
    let of_result = |result: &ToolResult, into: &mut Vec<DocumentId>| {
        let documents = result.tree.documents().iter().chain(&result.documents);
        into.extend(documents.map(|document| document.id().clone()));
    };
    let of_messages = |messages: &[Arc<Message>], into: &mut Vec<DocumentId>| {
        let documents = messages.iter().flat_map(|message| message.documents());
        into.extend(documents.map(|document| document.id().clone()));
    };
    match &entry.kind {
        EntryKind::Started(started) => of_messages(&started.messages, into),
        EntryKind::Inbox(messages) => of_messages(messages, into),
        EntryKind::Reply(reply) => of_messages(std::slice::from_ref(&reply.message), into),
        EntryKind::Found(message) => of_messages(std::slice::from_ref(message), into),
        EntryKind::Ended(ended) => of_messages(&ended.unread, into),
        EntryKind::ToolOutcome(outcome) | EntryKind::Receipt(outcome) => of_result(&outcome.result, into),
        EntryKind::Hooked(Hooked::Result { result: Some(result), .. }) => of_result(result, into),
        EntryKind::Hooked(Hooked::Ask(messages)) => of_messages(messages, into),
        EntryKind::HandedOff(handed) => of_messages(handed.messages.as_deref().unwrap_or_default(), into),
        _ => {}
    }
    let mut seen = HashSet::new();
    into.retain(|id| seen.insert(id.clone()));
}

impl fmt::Debug for SessionJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionJournal").field("session", &self.session).finish_non_exhaustive()
    }
}

impl Journal for SessionJournal {
    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        let read = |turn: &Turn| turn.entries.lock().unwrap_or_else(PoisonError::into_inner).take();
        match self.turn.get().and_then(read) {
            Some(entries) => Box::pin(std::future::ready(Ok(entries))),
            None => Box::pin(self.load_all()),
        }
    }

    fn behind(&self, seen: usize) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        Box::pin(async move {
            let Some(run) = self.run.get() else { return Ok(Vec::new()) };
            match self.store.behind(&self.principal, &self.session, run, seen).await {
                Err(JournalError::Store(error)) if error.kind() == StoreErrorKind::NotFound => Ok(Vec::new()),
                entries => entries,
            }
        })
    }

    fn claim(&self, _entries: usize) -> BoxFuture<'_, Result<Fence, JournalError>> {
        let claimed = self.turn.get().map(|turn| Fence::new(turn.lease.fence)).ok_or_else(read_only);
        Box::pin(std::future::ready(claimed))
    }

    fn append(&self, fence: Fence, entries: Vec<Entry>) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        Box::pin(self.write(fence, entries))
    }

    fn has_deliveries(&self) -> bool {
        self.turn.get().is_none_or(Turn::has_deliveries)
    }

    fn is_lasting(&self) -> bool {
        self.store.is_lasting()
    }

    fn deliver(&self, entry: Entry) -> BoxFuture<'_, Result<Entry, JournalError>> {
        Box::pin(self.leave_whole(entry))
    }

    fn wait<'a>(
        &'a self,
        key: &'a Key,
        until: Option<SystemTime>,
    ) -> BoxFuture<'a, Result<Option<Entry>, JournalError>> {
        Box::pin(
            async move { self.store.wait(&self.principal, &self.session, self.run()?, key, until).await },
        )
    }
}

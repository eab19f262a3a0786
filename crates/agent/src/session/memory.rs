//! Sessions in memory.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use attache_core::{BoxFuture, DocumentId, Message, StoreError, StoreErrorKind};
use tokio::sync::Notify;

use super::error::SessionError;
use super::id::SessionId;
use super::store::{
    Append, Cleared, Idle, OpenSession, Opened, RunInfo, SessionInfo, SessionState, SessionStore, StoredRun,
    Take,
};
use crate::journal::{JournalError, wait_until};
use crate::log::{Entry, Key};

/// The most sessions by default.
const MAX_SESSIONS: usize = 10_000;

/// Sessions in memory: they outlive their runs, not the process. There are 10,000 at most; beyond that the one makes room
/// that was used longest ago, unless a run is under way in it or a call of it waits for somebody.
#[derive(Debug)]
pub struct MemorySessions {
    max_sessions: usize,
    kept: Mutex<Kept>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Kept {
    sessions: HashMap<SessionId, One>,
    /// The fencing numbers are of all sessions, so that one that is cleared and made anew does not begin again.
    fence: u64,
}

#[derive(Debug, Default)]
struct One {
    principal: String,
    title: String,
    created: u64,
    accessed: u64,
    kept_until: u64,
    fence: u64,
    appends: u64,
    leased_until: u64,
    holder: String,
    leased_by: String,
    messages: Vec<Arc<Message>>,
    runs: Vec<OneRun>,
    documents: HashSet<DocumentId>,
}

#[derive(Debug, Default)]
struct OneRun {
    id: String,
    began: u64,
    ended: Option<u64>,
    ranges: Vec<Range<u64>>,
    entries: Vec<Entry>,
    places: HashMap<Key, usize>,
    delivered: HashMap<Key, Entry>,
}

impl OneRun {
    fn get(&self, key: &Key) -> Option<&Entry> {
        let appended = self.places.get(key).and_then(|at| self.entries.get(*at));
        appended.or_else(|| self.delivered.get(key))
    }

    fn append(&mut self, mut entry: Entry, now: u64) -> Entry {
        if let Some(first) = self.places.get(&entry.key).and_then(|at| self.entries.get(*at)) {
            return first.clone();
        }
        if let Some(delivered) = self.delivered.remove(&entry.key) {
            entry = delivered;
        }
        entry.at = now;
        self.places.insert(entry.key.clone(), self.entries.len());
        self.entries.push(entry.clone());
        entry
    }
}

impl One {
    fn is_expired(&self, before: u64, now: u64) -> bool {
        self.accessed < before && self.is_idle(now)
    }

    fn is_idle(&self, now: u64) -> bool {
        self.leased_until <= now && self.kept_until <= now
    }

    fn run(&self, id: &str) -> Option<&OneRun> {
        self.runs.iter().rev().find(|run| run.id == id)
    }

    fn info(&self, id: &SessionId) -> SessionInfo {
        SessionInfo {
            id: id.clone(),
            title: self.title.clone(),
            created: self.created,
            accessed: self.accessed,
            runs: u64::try_from(self.runs.len()).unwrap_or(u64::MAX),
            open_run: self.runs.last().filter(|run| run.ended.is_none()).map(|run| run.id.clone()),
        }
    }
}

impl Default for MemorySessions {
    fn default() -> Self {
        Self { max_sessions: MAX_SESSIONS, kept: Mutex::default(), changed: Notify::new() }
    }
}

impl MemorySessions {
    /// No sessions yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the most sessions.
    #[must_use]
    pub fn with_max_sessions(mut self, max_sessions: usize) -> Self {
        self.max_sessions = max_sessions;
        self
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open_now(&self, open: OpenSession<'_>) -> Result<Opened, SessionError> {
        let mut kept = self.lock();
        let (mut state, mut documents) = (SessionState::Continued, Vec::new());
        match kept.sessions.get_mut(open.id) {
            Some(one) if one.principal != open.principal => return Err(SessionError::NotFound),
            Some(one) if open.expired_before.is_some_and(|before| one.is_expired(before, open.now)) => {
                if !open.make {
                    return Err(SessionError::NotFound);
                }
                state = SessionState::Expired;
            }
            Some(one) => one.accessed = open.now,
            None if open.make => state = SessionState::New,
            None => return Err(SessionError::NotFound),
        }
        if state != SessionState::Continued {
            let one = One {
                principal: open.principal.to_owned(),
                created: open.now,
                accessed: open.now,
                ..One::default()
            };
            match state {
                SessionState::Expired => documents = kept.remove(vec![open.id.clone()]).documents,
                _ if kept.sessions.len() >= self.max_sessions => kept.make_room(open.now)?,
                _ => {}
            }
            kept.sessions.insert(open.id.clone(), one);
        }
        Ok(Opened { state, documents })
    }

    fn take_now(&self, take: Take<'_>) -> Result<u64, SessionError> {
        let mut kept = self.lock();
        let fence = kept.fence + 1;
        let one = kept.sessions.get_mut(take.session).filter(|one| one.principal == take.principal);
        let one = one.ok_or(SessionError::NotFound)?;
        if one.leased_until > take.now {
            return Err(SessionError::Busy { run: one.leased_by.clone() });
        }
        let run = match take.run {
            Some(run) if one.run(run).is_some() => return Err(JournalError::Occupied.into()),
            Some(run) => run.to_owned(),
            None => one.runs.last().map(|run| run.id.clone()).ok_or(JournalError::Empty)?,
        };
        (one.fence, one.appends) = (fence, 0);
        (one.leased_until, one.accessed) = (take.until, take.now);
        (one.holder, one.leased_by) = (take.holder.to_owned(), run);
        kept.fence = fence;
        Ok(fence)
    }

    fn append_now(&self, append: Append) -> Result<Vec<Entry>, JournalError> {
        let mut kept = self.lock();
        let one = kept.sessions.get_mut(&append.session).ok_or(JournalError::Fenced)?;
        if one.fence != append.fence || one.appends >= append.number {
            return Err(JournalError::Fenced);
        }
        (one.appends, one.accessed, one.leased_until) = (append.number, append.now, append.until);
        if let Some(kept_until) = append.kept_until {
            one.kept_until = kept_until;
        }
        one.documents.extend(append.documents);
        if let Some(begins) = append.begins.filter(|_| one.run(&append.run).is_none()) {
            if usize::try_from(begins.first) != Ok(one.messages.len()) {
                return Err(JournalError::Moved { entries: one.messages.len() });
            }
            one.messages.extend(begins.messages);
            if one.title.is_empty() {
                one.title = begins.title;
            }
            if let Some((run, entries)) = begins.closes
                && let Some(run) = one.runs.iter_mut().rev().find(|known| known.id == run)
            {
                run.ended.get_or_insert(append.now);
                entries.into_iter().for_each(|entry| drop(run.append(entry, append.now)));
            }
            let id = append.run.to_string();
            one.runs.push(OneRun { id, began: append.now, ranges: begins.ranges, ..OneRun::default() });
        }
        let run = one.runs.iter_mut().rev().find(|run| run.id == *append.run).ok_or(JournalError::Empty)?;
        if append.ends {
            run.ended = Some(append.now);
        }
        Ok(append.entries.into_iter().map(|entry| run.append(entry, append.now)).collect())
    }

    fn find(&self, session: &SessionId, run: &str, key: &Key) -> Option<Entry> {
        self.lock().sessions.get(session)?.run(run)?.get(key).cloned()
    }
}

impl Kept {
    fn of(&self, principal: &str, session: &SessionId) -> Option<&One> {
        self.sessions.get(session).filter(|one| one.principal == principal)
    }

    fn make_room(&mut self, now: u64) -> Result<(), StoreError> {
        let idle = self.sessions.iter().filter(|(_, one)| one.is_idle(now));
        let oldest = idle.min_by_key(|(_, one)| one.accessed).map(|(id, _)| id.clone());
        let oldest = oldest.ok_or_else(|| {
            StoreError::new(StoreErrorKind::TooLarge, "there is no room for another session: all are in use")
        })?;
        self.sessions.remove(&oldest);
        Ok(())
    }

    fn remove(&mut self, gone: Vec<SessionId>) -> Cleared {
        let mut documents = HashSet::new();
        for id in &gone {
            documents.extend(self.sessions.remove(id).map(|one| one.documents).unwrap_or_default());
        }
        let is_free =
            |document: &DocumentId| self.sessions.values().all(|one| !one.documents.contains(document));
        Cleared { sessions: gone, documents: documents.into_iter().filter(is_free).collect() }
    }
}

/// A future that has its value.
fn ready<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, T> {
    Box::pin(std::future::ready(value))
}

impl SessionStore for MemorySessions {
    fn open<'a>(&'a self, open: OpenSession<'a>) -> BoxFuture<'a, Result<Opened, SessionError>> {
        ready(self.open_now(open))
    }

    fn list<'a>(&'a self, principal: &'a str) -> BoxFuture<'a, Result<Vec<SessionInfo>, StoreError>> {
        let kept = self.lock();
        let own = kept.sessions.iter().filter(|(_, one)| one.principal == principal);
        let mut list: Vec<_> = own.map(|(id, one)| one.info(id)).collect();
        drop(kept);
        list.sort_unstable_by(|one, other| (other.accessed, &one.id).cmp(&(one.accessed, &other.id)));
        ready(Ok(list))
    }

    fn count<'a>(&'a self, principal: &'a str) -> BoxFuture<'a, Result<usize, StoreError>> {
        ready(Ok(self.lock().sessions.values().filter(|one| one.principal == principal).count()))
    }

    fn take<'a>(&'a self, take: Take<'a>) -> BoxFuture<'a, Result<u64, SessionError>> {
        ready(self.take_now(take))
    }

    fn renew<'a>(
        &'a self,
        session: &'a SessionId,
        fence: u64,
        until: u64,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let mut kept = self.lock();
        let one = kept.sessions.get_mut(session).filter(|one| one.fence == fence);
        // One that was let go stays so.
        let renewed = one.map(|one| one.leased_until = if one.leased_until == 0 { 0 } else { until });
        ready(Ok(renewed.is_some()))
    }

    fn release<'a>(
        &'a self,
        session: &'a SessionId,
        fence: u64,
        kept_until: Option<u64>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        if let Some(one) = self.lock().sessions.get_mut(session).filter(|one| one.fence == fence) {
            (one.leased_until, one.appends) = (0, u64::MAX);
            one.kept_until = kept_until.unwrap_or(one.kept_until);
        }
        ready(Ok(()))
    }

    fn abandon(&self, session: &SessionId, holder: &str) {
        if let Some(one) = self.lock().sessions.get_mut(session).filter(|one| one.holder == holder) {
            one.leased_until = 0;
        }
    }

    fn load<'a>(
        &'a self,
        principal: &'a str,
        session: &'a SessionId,
        run: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<StoredRun>, JournalError>> {
        let kept = self.lock();
        let found = kept.of(principal, session).and_then(|one| {
            let run = match run {
                Some(run) => one.run(run)?,
                None => one.runs.last()?,
            };
            Some(StoredRun {
                id: run.id.clone(),
                ranges: run.ranges.clone(),
                entries: run.entries.clone(),
                messages: one.messages.clone(),
            })
        });
        ready(Ok(found))
    }

    fn runs<'a>(
        &'a self,
        principal: &'a str,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Vec<RunInfo>, StoreError>> {
        let info = |run: &OneRun| RunInfo { id: run.id.clone(), began: run.began, ended: run.ended };
        let kept = self.lock();
        let runs = kept.of(principal, session).map(|one| one.runs.iter().map(info).collect());
        ready(Ok(runs.unwrap_or_default()))
    }

    fn append(&self, append: Append) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        let stand = self.append_now(append);
        self.changed.notify_waiters();
        ready(stand)
    }

    fn deliver<'a>(
        &'a self,
        session: &'a SessionId,
        run: &'a str,
        entry: Entry,
        documents: Vec<DocumentId>,
    ) -> BoxFuture<'a, Result<Entry, JournalError>> {
        let mut kept = self.lock();
        let one = kept.sessions.get_mut(session);
        let stands = one.ok_or(JournalError::Empty).and_then(|one| {
            let run = one.runs.iter_mut().rev().find(|known| known.id == run).ok_or(JournalError::Empty)?;
            if let Some(first) = run.get(&entry.key) {
                return Ok(first.clone());
            }
            one.documents.extend(documents);
            run.delivered.insert(entry.key.clone(), entry.clone());
            Ok(entry)
        });
        drop(kept);
        self.changed.notify_waiters();
        ready(stands)
    }

    fn wait<'a>(
        &'a self,
        session: &'a SessionId,
        run: &'a str,
        key: &'a Key,
        until: Option<SystemTime>,
    ) -> BoxFuture<'a, Result<Option<Entry>, JournalError>> {
        Box::pin(async move { Ok(wait_until(until, &self.changed, || self.find(session, run, key)).await) })
    }

    fn clear<'a>(
        &'a self,
        principal: &'a str,
        session: Option<&'a SessionId>,
    ) -> BoxFuture<'a, Result<Cleared, StoreError>> {
        let mut kept = self.lock();
        let is_meant =
            |id: &SessionId, one: &One| one.principal == principal && session.is_none_or(|of| of == id);
        let gone = kept.sessions.iter().filter(|(id, one)| is_meant(id, one));
        let gone = gone.map(|(id, _)| id.clone()).collect();
        ready(Ok(kept.remove(gone)))
    }

    fn clean(&self, idle: Idle) -> BoxFuture<'_, Result<Cleared, StoreError>> {
        let mut kept = self.lock();
        let expired = kept.sessions.iter().filter(|(_, one)| one.is_expired(idle.before, idle.now));
        let gone = expired.take(idle.limit).map(|(id, _)| id.clone()).collect();
        ready(Ok(kept.remove(gone)))
    }
}

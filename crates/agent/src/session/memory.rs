//! Sessions in memory.

mod state;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use attache_core::words::WordQuery;
use attache_core::{BoxFuture, DocumentId, StoreError, StoreErrorKind};
use tokio::sync::Notify;

use self::state::{Kept, One, OneRun};
use super::error::SessionError;
use super::id::SessionId;
use super::records::{
    Append, Appended, Cleared, Delivery, Fork, ForkedFrom, Idle, OpenSession, Opened, RunInfo, SessionInfo,
    SessionState, StopRequest, StoredRun, Take, Taken,
};
use super::store::SessionStore;
use crate::journal::{JournalError, wait_until};
use crate::log::{Entry, Key};

/// The maximum number of sessions by default.
const MAX_SESSIONS: usize = 10_000;

/// Sessions in memory: they outlive their runs, not the process. There are 10,000 at most; beyond that the one makes room
/// that was used longest ago, with its documents, unless a run is under way in it or a call of it waits for somebody. A
/// warning of `tracing` says which one went.
#[derive(Debug)]
pub struct MemorySessions {
    max_sessions: usize,
    kept: Mutex<Kept>,
    changed: Notify,
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

    /// Sets the maximum number of sessions.
    #[must_use]
    pub fn with_max_sessions(mut self, max_sessions: usize) -> Self {
        self.max_sessions = max_sessions;
        self
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sessions of a principal that are meant, the latest first.
    fn infos(&self, principal: &str, is_meant: impl Fn(&One) -> bool, limit: usize) -> Vec<SessionInfo> {
        let kept = self.lock();
        let own = kept.sessions.iter().filter(|(_, one)| one.principal == principal && is_meant(one));
        let mut infos: Vec<_> = own.map(|(id, one)| one.info(id)).collect();
        drop(kept);
        infos.sort_unstable_by(|one, other| (other.updated, &one.id).cmp(&(one.updated, &other.id)));
        infos.truncate(limit);
        infos
    }

    fn open_now(&self, open: OpenSession<'_>) -> Result<Opened, SessionError> {
        let mut kept = self.lock();
        let (mut state, mut gone) = (SessionState::Continued, Cleared::default());
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
            let leaving = match state {
                SessionState::Expired => Some(open.id.clone()),
                _ => kept.leaving(self.max_sessions, open.now)?,
            };
            gone = kept.remove(leaving.into_iter().collect());
            kept.sessions.insert(open.id.clone(), one);
        }
        Ok(Opened { state, gone })
    }

    fn fork_now(&self, fork: Fork<'_>) -> Result<Cleared, SessionError> {
        let mut kept = self.lock();
        let one = kept.of(fork.principal, fork.session).ok_or(SessionError::NotFound)?;
        let mut forked = One {
            principal: one.principal.clone(),
            created: fork.now,
            accessed: fork.now,
            forked_from: Some(ForkedFrom { session: fork.session.clone(), questions: fork.questions }),
            ..One::default()
        };
        if let Some(id) = fork.run {
            let run = one.run(id).ok_or(SessionError::NotFound)?;
            if run.ended.is_none() {
                return Err(SessionError::Busy { run: id.to_owned() });
            }
            let messages = run.ranges.iter().filter_map(|range| usize::try_from(range.end).ok()).max();
            forked.title.clone_from(&one.title);
            forked.messages = one.messages.iter().take(messages.unwrap_or_default()).cloned().collect();
            forked.runs = vec![OneRun { delivered: HashMap::new(), ..run.clone() }];
            forked.documents.clone_from(&one.documents);
        }
        let leaving = kept.leaving(self.max_sessions, fork.now)?;
        // The one that makes room may be the one that it was made of: the fork is there by then, with its documents.
        kept.sessions.insert(fork.id.clone(), forked);
        Ok(kept.remove(leaving.into_iter().collect()))
    }

    fn take_now(&self, take: Take<'_>) -> Result<Taken, SessionError> {
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
        let has_runs = !one.runs.is_empty();
        kept.fence = fence;
        Ok(Taken { fence, has_runs })
    }

    fn append_now(&self, append: &Append) -> Result<Appended, JournalError> {
        let mut kept = self.lock();
        let one = kept.sessions.get_mut(&append.session).ok_or(JournalError::Fenced)?;
        if one.fence != append.fence || one.appends >= append.number {
            return Err(JournalError::Fenced);
        }
        let begins = append.begins.as_deref().filter(|_| one.run(&append.run).is_none());
        // One that is refused changes nothing.
        match begins {
            Some(begins) if usize::try_from(begins.first) != Ok(one.messages.len()) => {
                return Err(JournalError::Moved { entries: one.messages.len() });
            }
            None if one.run(&append.run).is_none() => return Err(JournalError::Empty),
            _ => {}
        }
        (one.appends, one.accessed, one.leased_until) = (append.number, append.now, append.until);
        if let Some(kept_until) = append.kept_until {
            one.kept_until = kept_until;
        }
        one.documents.extend(append.documents.iter().cloned());
        if let Some(begins) = begins {
            one.messages.extend(begins.messages.iter().cloned());
            if one.title.is_empty() {
                one.title.clone_from(&begins.title);
            }
            if let Some((run, entries)) = &begins.closes
                && let Some(run) = one.runs.iter_mut().rev().find(|known| known.id == *run)
            {
                run.ended.get_or_insert(append.now);
                entries.iter().for_each(|entry| drop(run.append(entry, append.now)));
            }
            let (id, ranges) = (append.run.to_string(), begins.ranges.clone());
            let name = Arc::clone(&begins.name);
            one.runs.push(OneRun { id, began: append.now, ranges, name, ..OneRun::default() });
        }
        let run = one.runs.iter_mut().rev().find(|run| run.id == *append.run).ok_or(JournalError::Empty)?;
        if append.ends {
            run.ended = Some(append.now);
        }
        let stand = append.entries.iter().map(|entry| run.append(entry, append.now)).enumerate();
        let stand = stand.filter_map(|(at, stands)| Some((at, stands?))).collect();
        Ok(Appended { stand, has_deliveries: !run.delivered.is_empty() })
    }

    fn deliver_now(&self, delivery: Delivery<'_>) -> Result<Entry, JournalError> {
        let mut kept = self.lock();
        let one = kept.sessions.get_mut(delivery.session).filter(|one| one.principal == delivery.principal);
        let one = one.ok_or_else(no_session)?;
        let is_taken = delivery.alone_at.is_some_and(|now| one.leased_until > now);
        let is_others = is_taken && one.leased_by != delivery.run;
        let is_last = one.runs.last().is_some_and(|last| last.id == delivery.run);
        let run = one.runs.iter_mut().rev().find(|known| known.id == delivery.run);
        let run = run.ok_or(JournalError::Empty)?;
        if let Some(first) = run.get(&delivery.entry.key) {
            return Ok(first.clone());
        }
        if is_others || run.ended.is_some() && !(delivery.behind_end && is_last) {
            return Err(JournalError::Fenced);
        }
        one.documents.extend(delivery.documents);
        run.delivered.insert(delivery.entry.key.clone(), delivery.entry.clone());
        Ok(delivery.entry)
    }
}

fn no_session() -> StoreError {
    StoreError::new(StoreErrorKind::NotFound, "there is no such session")
}

/// A future that has its value.
fn ready<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, T> {
    Box::pin(std::future::ready(value))
}

impl SessionStore for MemorySessions {
    fn is_lasting(&self) -> bool {
        false
    }

    fn open<'a>(&'a self, open: OpenSession<'a>) -> BoxFuture<'a, Result<Opened, SessionError>> {
        ready(self.open_now(open))
    }

    fn list<'a>(&'a self, principal: &'a str) -> BoxFuture<'a, Result<Vec<SessionInfo>, StoreError>> {
        ready(Ok(self.infos(principal, |_| true, usize::MAX)))
    }

    fn info<'a>(
        &'a self,
        principal: &'a str,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<SessionInfo>, StoreError>> {
        let kept = self.lock();
        let one = kept.sessions.get(session).filter(|one| one.principal == principal);
        ready(Ok(one.map(|one| one.info(session))))
    }

    fn search<'a>(
        &'a self,
        principal: &'a str,
        query: &'a WordQuery,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<SessionInfo>, StoreError>> {
        ready(Ok(self.infos(principal, |one| one.holds(query), limit)))
    }

    fn count<'a>(&'a self, principal: &'a str) -> BoxFuture<'a, Result<usize, StoreError>> {
        ready(Ok(self.lock().sessions.values().filter(|one| one.principal == principal).count()))
    }

    fn rename<'a>(
        &'a self,
        principal: &'a str,
        session: &'a SessionId,
        title: &'a str,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let mut kept = self.lock();
        let one = kept.sessions.get_mut(session).filter(|one| one.principal == principal);
        let renamed = one.map(|one| one.title = title.to_owned());
        ready(Ok(renamed.is_some()))
    }

    fn fork<'a>(&'a self, fork: Fork<'a>) -> BoxFuture<'a, Result<Cleared, SessionError>> {
        ready(self.fork_now(fork))
    }

    fn take<'a>(&'a self, take: Take<'a>) -> BoxFuture<'a, Result<Taken, SessionError>> {
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
                late: run.delivered.values().filter(|entry| entry.key.is_late()).cloned().collect(),
            })
        });
        ready(Ok(found))
    }

    fn runs<'a>(
        &'a self,
        principal: &'a str,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Vec<RunInfo>, StoreError>> {
        let info = |run: &OneRun| RunInfo {
            id: run.id.clone(),
            began: run.began,
            ended: run.ended,
            name: run.name.to_string(),
        };
        let kept = self.lock();
        let runs = kept.of(principal, session).map(|one| one.runs.iter().map(info).collect());
        ready(Ok(runs.unwrap_or_default()))
    }

    fn append<'a>(&'a self, append: &'a Append) -> BoxFuture<'a, Result<Appended, JournalError>> {
        let stand = self.append_now(append);
        self.changed.notify_waiters();
        ready(stand)
    }

    fn deliver<'a>(&'a self, delivery: Delivery<'a>) -> BoxFuture<'a, Result<Entry, JournalError>> {
        let stands = self.deliver_now(delivery);
        self.changed.notify_waiters();
        ready(stands)
    }

    fn wait<'a>(
        &'a self,
        principal: &'a str,
        session: &'a SessionId,
        run: &'a str,
        key: &'a Key,
        until: Option<SystemTime>,
    ) -> BoxFuture<'a, Result<Option<Entry>, JournalError>> {
        let find = move || match self.lock().of(principal, session) {
            Some(one) => one.run(run).and_then(|run| run.get(key)).cloned().map(Ok),
            None => Some(Err(no_session().into())),
        };
        Box::pin(async move { wait_until(until, &self.changed, find).await.transpose() })
    }

    fn stop<'a>(&'a self, stop: &'a StopRequest) -> BoxFuture<'a, Result<bool, StoreError>> {
        let mut kept = self.lock();
        let one = kept.sessions.get_mut(&stop.session).filter(|one| one.principal == stop.principal);
        let run = one.and_then(|one| one.runs.iter_mut().rev().find(|run| run.id == stop.run));
        let asked = run
            .filter(|run| run.ended.is_none() && run.stop.is_none())
            .map(|run| run.stop = Some(stop.why.clone()));
        ready(Ok(asked.is_some()))
    }

    fn stops(&self) -> BoxFuture<'_, Result<Vec<StopRequest>, StoreError>> {
        let kept = self.lock();
        let stops = kept.sessions.iter().filter_map(|(session, one)| {
            let run = one.runs.last().filter(|run| run.ended.is_none())?;
            let (principal, session) = (one.principal.clone(), session.clone());
            Some(StopRequest { principal, session, run: run.id.clone(), why: run.stop.clone()? })
        });
        ready(Ok(stops.collect()))
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

    fn gone_documents(&self, limit: usize) -> BoxFuture<'_, Result<Vec<DocumentId>, StoreError>> {
        let kept = self.lock();
        let is_free = |id: &&DocumentId| kept.sessions.values().all(|one| !one.documents.contains(*id));
        let gone = kept.gone.iter().filter(is_free).take(limit).cloned().collect();
        ready(Ok(gone))
    }

    fn forget_documents<'a>(&'a self, documents: &'a [DocumentId]) -> BoxFuture<'a, Result<(), StoreError>> {
        let mut kept = self.lock();
        for document in documents {
            kept.gone.remove(document);
        }
        ready(Ok(()))
    }
}

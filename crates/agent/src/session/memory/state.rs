//! The state of sessions in memory.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use attache_core::words::{WordQuery, words};
use attache_core::{DocumentId, Message, StoreError, StoreErrorKind};

use crate::log::{Entry, Key};
use crate::session::id::SessionId;
use crate::session::records::{Cleared, ForkedFrom, SessionInfo};
use crate::session::search_words::{words_of_entries, words_of_message};

/// All sessions.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) sessions: HashMap<SessionId, One>,
    /// Documents of sessions that are gone, until somebody has deleted them.
    pub(super) gone: HashSet<DocumentId>,
    /// The fencing numbers are of all sessions, so that one that is cleared and made anew does not begin again.
    pub(super) fence: u64,
}

/// One session.
#[derive(Debug, Default)]
pub(super) struct One {
    pub(super) principal: String,
    pub(super) title: String,
    pub(super) created: u64,
    pub(super) accessed: u64,
    pub(super) kept_until: u64,
    pub(super) fence: u64,
    pub(super) appends: u64,
    pub(super) leased_until: u64,
    pub(super) holder: String,
    pub(super) leased_by: String,
    pub(super) messages: Vec<Arc<Message>>,
    pub(super) runs: Vec<OneRun>,
    pub(super) documents: HashSet<DocumentId>,
    pub(super) forked_from: Option<ForkedFrom>,
}

/// A run of a session, with its log.
#[derive(Clone, Debug, Default)]
pub(super) struct OneRun {
    pub(super) id: String,
    pub(super) began: u64,
    pub(super) ended: Option<u64>,
    pub(super) name: Arc<str>,
    /// The reason for which somebody wants it to end.
    pub(super) stop: Option<String>,
    pub(super) ranges: Vec<Range<u64>>,
    pub(super) entries: Vec<Entry>,
    pub(super) places: HashMap<Key, usize>,
    pub(super) delivered: HashMap<Key, Entry>,
}

impl OneRun {
    pub(super) fn get(&self, key: &Key) -> Option<&Entry> {
        let appended = self.places.get(key).and_then(|at| self.entries.get(*at));
        appended.or_else(|| self.delivered.get(key))
    }

    /// Appends an entry, and yields the one that stands in its place.
    pub(super) fn append(&mut self, entry: &Entry, now: u64) -> Option<Entry> {
        if let Some(first) = self.places.get(&entry.key).and_then(|at| self.entries.get(*at)) {
            return Some(first.clone());
        }
        let delivered = self.delivered.remove(&entry.key);
        let mut stands = delivered.clone();
        let mut entry = delivered.unwrap_or_else(|| entry.clone());
        entry.at = now;
        stands.iter_mut().for_each(|stands| stands.at = now);
        self.places.insert(entry.key.clone(), self.entries.len());
        self.entries.push(entry);
        stands
    }
}

impl One {
    pub(super) fn is_expired(&self, before: u64, now: u64) -> bool {
        self.accessed < before && self.is_idle(now)
    }

    pub(super) fn is_idle(&self, now: u64) -> bool {
        self.leased_until <= now && self.kept_until <= now
    }

    pub(super) fn run(&self, id: &str) -> Option<&OneRun> {
        self.runs.iter().rev().find(|run| run.id == id)
    }

    /// True if all words were said in it.
    pub(super) fn holds(&self, query: &WordQuery) -> bool {
        let mut said = words(&self.title);
        said.extend(self.messages.iter().flat_map(|message| words_of_message(message)));
        said.extend(self.runs.iter().flat_map(|run| words_of_entries(&run.entries)));
        query.words().iter().all(|word| said.iter().any(|known| known.starts_with(word.as_str())))
    }

    pub(super) fn info(&self, id: &SessionId) -> SessionInfo {
        SessionInfo {
            id: id.clone(),
            title: self.title.clone(),
            created: self.created,
            accessed: self.accessed,
            updated: self.runs.last().map_or(self.created, |run| self.created.max(run.began)),
            runs: u64::try_from(self.runs.len()).unwrap_or(u64::MAX),
            open_run: self.runs.last().filter(|run| run.ended.is_none()).map(|run| run.id.clone()),
            kept_until: self.kept_until,
            leased_until: self.leased_until,
            forked_from: self.forked_from.clone(),
        }
    }
}

impl Kept {
    pub(super) fn of(&self, principal: &str, session: &SessionId) -> Option<&One> {
        self.sessions.get(session).filter(|one| one.principal == principal)
    }

    /// The session that makes room for another one if there are so many: the one that was used longest ago.
    pub(super) fn leaving(&self, max_sessions: usize, now: u64) -> Result<Option<SessionId>, StoreError> {
        if self.sessions.len() < max_sessions {
            return Ok(None);
        }
        let idle = self.sessions.iter().filter(|(_, one)| one.is_idle(now));
        let oldest = idle.min_by_key(|(_, one)| one.accessed).map(|(id, _)| id.clone());
        oldest.map(Some).ok_or_else(|| {
            StoreError::new(StoreErrorKind::TooLarge, "there is no room for another session: all are in use")
        })
    }

    pub(super) fn remove(&mut self, gone: Vec<SessionId>) -> Cleared {
        let (mut free, mut origins) = (HashSet::new(), HashMap::new());
        for id in &gone {
            let Some(one) = self.sessions.remove(id) else { continue };
            free.extend(one.documents);
            origins.insert(id, one.forked_from);
        }
        if origins.is_empty() {
            return Cleared::default();
        }
        for one in self.sessions.values_mut() {
            for document in &one.documents {
                free.remove(document);
            }
            // The sessions that were made of one that is gone come from where it came.
            while let Some(from) = &mut one.forked_from
                && let Some(before) = origins.get(&from.session)
            {
                let questions = from.questions;
                one.forked_from.clone_from(before);
                if let Some(from) = &mut one.forked_from {
                    from.questions = from.questions.min(questions);
                }
            }
        }
        self.gone.extend(free.iter().cloned());
        Cleared { sessions: gone, documents: free.into_iter().collect() }
    }
}

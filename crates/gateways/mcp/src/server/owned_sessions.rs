//! The principals of the sessions over HTTP, and the uses of each session.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::time::Instant;

/// The owners of sessions are looked through once there are so many more.
const PRUNE: usize = 64;

/// The owners of all sessions, with what they use them for.
#[derive(Default)]
pub(super) struct OwnedSessions(Mutex<HashMap<String, Owned>>);

struct Owned {
    principal: Arc<str>,
    used: Instant,
    /// Held by each call that is under way.
    calls: Arc<()>,
    /// Held by each stream on which the client listens.
    streams: Arc<()>,
}

impl OwnedSessions {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Owned>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn owner(&self, session: &str) -> Option<Arc<str>> {
        self.lock().get(session).map(|owned| Arc::clone(&owned.principal))
    }

    /// Notes that a session is used: yields what its calls and its streams are to hold.
    pub(super) fn used(&self, session: &str) -> Option<(Weak<()>, Arc<()>)> {
        let mut all = self.lock();
        let owned = all.get_mut(session)?;
        owned.used = Instant::now();
        Some((Arc::downgrade(&owned.calls), Arc::clone(&owned.streams)))
    }

    /// Adds a session that has begun, and forgets those that are over.
    pub(super) fn add(
        &self,
        session: &str,
        principal: Arc<str>,
        live: usize,
        is_live: impl Fn(&str) -> bool,
    ) {
        let mut all = self.lock();
        let (calls, streams) = Default::default();
        all.insert(session.to_owned(), Owned { principal, used: Instant::now(), calls, streams });
        if all.len() > live + PRUNE {
            all.retain(|session, _| is_live(session));
        }
    }

    /// The number of live sessions of a principal, and the one of them that may best be closed: of those without a call under
    /// way and, if there are such, without a stream, the one that is unused for the longest.
    pub(super) fn of(&self, principal: &str, is_live: impl Fn(&str) -> bool) -> (usize, Option<String>) {
        let all = self.lock();
        let own: Vec<_> = all
            .iter()
            .filter(|(session, owned)| *owned.principal == *principal && is_live(session))
            .collect();
        let idle = own.iter().filter(|(_, owned)| Arc::strong_count(&owned.calls) == 1);
        let least = idle.min_by_key(|(_, owned)| (Arc::strong_count(&owned.streams) > 1, owned.used));
        (own.len(), least.map(|(session, _)| (*session).clone()))
    }

    pub(super) fn remove(&self, session: &str) {
        self.lock().remove(session);
    }
}

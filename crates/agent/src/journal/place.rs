//! The place where the entries of a run are.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use attache_core::{StoreError, StoreErrorKind, fresh};
use tokio::time::timeout;

use super::volatile::Volatile;
use super::{Journal, JournalError};
use crate::log::{Entry, Key};

/// The time that one call of a journal may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where the entries of a run are: nowhere, in a journal, or in a scope of the journal of the run around it.
#[derive(Clone)]
pub(crate) enum Place {
    /// The run cannot be resumed.
    Volatile(Arc<Volatile>),
    /// The run's log is kept.
    Kept(Arc<Kept>),
}

pub(crate) struct Kept {
    pub(super) journal: Arc<dyn Journal>,
    pub(super) scope: String,
}

impl Place {
    pub(crate) fn volatile() -> Self {
        Self::Volatile(Arc::default())
    }

    pub(crate) fn of(journal: Arc<dyn Journal>) -> Self {
        Self::Kept(Arc::new(Kept { journal, scope: String::new() }))
    }

    pub(crate) fn is_volatile(&self) -> bool {
        matches!(self, Self::Volatile(_))
    }

    /// True if the log of the run stays when the process ends.
    pub(crate) fn is_lasting(&self) -> bool {
        self.journal().is_some_and(Journal::is_lasting)
    }

    /// Appends an entry where nothing has to be waited for. False in any other place.
    pub(crate) fn stamp(&self, entry: &mut Entry) -> bool {
        match self {
            Self::Volatile(volatile) => volatile.append(entry),
            Self::Kept(_) => return false,
        }
        true
    }

    /// The journal that keeps the run, if one does.
    pub(crate) fn journal(&self) -> Option<&dyn Journal> {
        match self {
            Self::Volatile(_) => None,
            Self::Kept(kept) => Some(&*kept.journal),
        }
    }

    /// Leaves an entry for whoever drives the run, and yields the one that stands under its key.
    pub(crate) async fn deliver(&self, mut entry: Entry) -> Result<Entry, JournalError> {
        match self {
            Self::Volatile(volatile) => Ok(volatile.deliver(entry)),
            Self::Kept(kept) => {
                entry.key = entry.key.within(&kept.scope);
                Ok(kept.outside(in_time(kept.journal.deliver(entry)).await?))
            }
        }
    }

    /// False if nothing was delivered before the last append that the log does not hold.
    pub(crate) fn has_deliveries(&self) -> bool {
        match self {
            Self::Volatile(_) => true,
            Self::Kept(kept) => kept.journal.has_deliveries(),
        }
    }

    /// Waits for an entry under `key`.
    pub(crate) async fn wait(
        &self,
        key: &Key,
        until: Option<SystemTime>,
    ) -> Result<Option<Entry>, JournalError> {
        match self {
            Self::Volatile(volatile) => Ok(volatile.wait(key, until).await),
            Self::Kept(kept) => {
                let key = key.within(&kept.scope);
                let waiting = kept.journal.wait(&key, until);
                let found = match until {
                    None => waiting.await,
                    Some(until) => {
                        let left = until.duration_since(fresh::now()).unwrap_or_default();
                        answered(left.saturating_add(PATIENCE), waiting).await
                    }
                };
                Ok(found?.map(|entry| kept.outside(entry)))
            }
        }
    }
}

impl Kept {
    /// The entry under the key that the run knows.
    pub(super) fn outside(&self, mut entry: Entry) -> Entry {
        if let Some(key) = entry.key.strip(&self.scope) {
            entry.key = key;
        }
        entry
    }
}

/// A journal that does not answer is one that failed.
pub(crate) async fn in_time<T>(
    work: impl Future<Output = Result<T, JournalError>>,
) -> Result<T, JournalError> {
    answered(PATIENCE, work).await
}

async fn answered<T>(
    within: Duration,
    work: impl Future<Output = Result<T, JournalError>>,
) -> Result<T, JournalError> {
    timeout(within, work).await.unwrap_or_else(|_| {
        let text = format!("the journal did not answer within {} s", within.as_secs());
        Err(StoreError::new(StoreErrorKind::Unavailable, text).into())
    })
}

/// True if nobody drives the run of a scope on: it has ended, or one around it has, or a call around it has its result.
pub(crate) fn is_over(entries: &[Entry], scope: &str) -> bool {
    let is_there = |key: Key| entries.iter().any(|entry| entry.key == key);
    let mut outer = String::new();
    for inner in scope.split_inclusive('>') {
        let call = inner.rsplit_once("/run/").map_or(inner, |(call, _)| call);
        if is_there(Key::end().within(&outer)) || is_there(Key::of_text(call).within(&outer)) {
            return true;
        }
        outer.push_str(inner);
    }
    is_there(Key::end().within(scope))
}

/// The runs inside tools at any depth, by their scopes, with their own entries.
pub(crate) fn runs_inside(entries: &[Entry]) -> Vec<(String, Vec<Entry>)> {
    let mut runs: Vec<(String, Vec<Entry>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for entry in entries {
        let Some((scope, _)) = entry.key.as_str().rsplit_once('>') else { continue };
        let scope = format!("{scope}>");
        let mut entry = entry.clone();
        if let Some(key) = entry.key.strip(&scope) {
            entry.key = key;
        }
        match places.get(&scope).and_then(|at| runs.get_mut(*at)) {
            Some((_, own)) => own.push(entry),
            None => {
                places.insert(scope.clone(), runs.len());
                runs.push((scope, vec![entry]));
            }
        }
    }
    runs
}

//! The files that are known to be kept at providers. Shared by all who share an [`Uploads`](super::Uploads).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use attache_core::files::FileKey;
use attache_core::{ErrorKind, MediaType, ProviderError};
use tokio::sync::watch;

use super::RemoteFile;
use super::owner::{Owner, Scope};

/// A file that is about to end is not used: the request that names it has a way to go.
const MARGIN: Duration = Duration::from_secs(300);
/// The time for which a failure that may pass is taken for one that does not.
const PAUSE: Duration = Duration::from_secs(60);
/// The time for which a refused document is not tried again.
const LASTING: Duration = Duration::from_secs(3_600);

/// A file of an account.
pub(super) type Key = (Scope, FileKey);

/// Files by key.
#[derive(Debug)]
pub(super) struct Memo {
    state: Mutex<State>,
    most: usize,
}

#[derive(Debug, Default)]
struct State {
    entries: HashMap<Key, Entry>,
    /// The files that were lost with another one, or so it seems: to be deleted with the rest.
    lost: Vec<(Key, Kept)>,
    /// Accounts that take no files for now.
    paused: HashMap<Scope, Refusal>,
    /// Counts uses, so that the least recent one is known.
    uses: u64,
}

#[derive(Debug)]
struct Entry {
    used: u64,
    known: Known,
}

#[derive(Debug)]
enum Known {
    /// Somebody is at it; the other end is gone when it is settled.
    Uploading(watch::Receiver<()>),
    Kept(Kept),
    /// The provider does not take it.
    Refused(Refusal),
}

/// Why something is not uploaded; asked again after that time.
#[derive(Debug)]
struct Refusal {
    why: String,
    until: Instant,
    /// It lives as long as its account is remembered, which the address of its signer tells from others.
    _owner: Arc<Owner>,
}

/// A file that is kept, and who can delete it.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) file: RemoteFile,
    pub(super) name: String,
    pub(super) media_type: MediaType,
    pub(super) bytes: usize,
    pub(super) owner: Arc<Owner>,
    /// Absent where it is kept until it is deleted.
    pub(super) ends: Option<Instant>,
}

/// The step to take about a document before a request.
#[derive(Debug)]
pub(super) enum Step {
    /// It is kept: this stands in the request.
    Use(RemoteFile),
    /// Somebody uploads it; to be looked at again when the other end is gone.
    Wait(watch::Receiver<()>),
    Upload(Right),
    /// It is sent with the request.
    Leave(String),
}

/// The right to upload a document. Dropped, it leaves the right to the next.
#[derive(Debug)]
pub(super) struct Right {
    memo: Arc<Memo>,
    key: Key,
    settled: bool,
    /// Its end tells those who wait.
    _told: watch::Sender<()>,
}

impl Memo {
    /// An empty memo that knows at most that many files.
    pub(super) fn new(most: usize) -> Self {
        Self { state: Mutex::default(), most: most.max(1) }
    }

    /// The step to take about a document.
    pub(super) fn next_step(self: &Arc<Self>, key: Key, now: Instant) -> Step {
        let mut state = self.state();
        state.uses += 1;
        let uses = state.uses;
        if let Some(entry) = state.entries.get_mut(&key) {
            entry.used = uses;
            match &entry.known {
                Known::Uploading(settled) => return Step::Wait(settled.clone()),
                Known::Kept(kept) if kept.ends.is_none_or(|ends| ends > now + MARGIN) => {
                    return Step::Use(kept.file.clone());
                }
                Known::Refused(refusal) if refusal.until > now => return Step::Leave(refusal.why.clone()),
                _ => {}
            }
        }
        state.paused.retain(|_, refusal| refusal.until > now);
        if let Some(refusal) = state.paused.get(&key.0) {
            return Step::Leave(refusal.why.clone());
        }
        let (told, settled) = watch::channel(());
        state.entries.insert(key, Entry { used: uses, known: Known::Uploading(settled) });
        state.shrink(self.most);
        Step::Upload(Right { memo: Arc::clone(self), key, settled: false, _told: told })
    }

    /// A file is no longer there. One that was uploaded for this very request is not tried again for a while.
    pub(super) fn lose(&self, key: &Key, reference: &str, fresh: bool, now: Instant) {
        let mut state = self.state();
        // Somebody else may have uploaded it again in the meantime.
        let is_it =
            |entry: &Entry| matches!(&entry.known, Known::Kept(kept) if kept.file.reference == reference);
        let Some(Entry { used, known: Known::Kept(kept) }) =
            state.entries.get(key).is_some_and(is_it).then(|| state.entries.remove(key)).flatten()
        else {
            return;
        };
        if fresh {
            let why = "the provider did not find the file that it had just taken".to_owned();
            let refusal = Refusal { why, until: now + LASTING, _owner: Arc::clone(&kept.owner) };
            state.entries.insert(*key, Entry { used, known: Known::Refused(refusal) });
        }
        if state.lost.len() >= self.most {
            state.lost.remove(0);
        }
        state.lost.push((*key, kept));
    }

    /// All that is kept, the last used one last.
    pub(super) fn kept(&self) -> Vec<(Key, Kept)> {
        let state = self.state();
        let mut kept: Vec<_> = state
            .entries
            .iter()
            .filter_map(|(key, entry)| match &entry.known {
                Known::Kept(kept) => Some((entry.used, *key, kept.clone())),
                _ => None,
            })
            .collect();
        kept.sort_unstable_by_key(|(used, ..)| *used);
        kept.into_iter().map(|(_, key, kept)| (key, kept)).collect()
    }

    /// The files that were lost and may be there after all.
    pub(super) fn lost(&self) -> Vec<(Key, Kept)> {
        self.state().lost.clone()
    }

    /// A file was deleted.
    pub(super) fn forget(&self, key: &Key, id: &str) {
        let mut state = self.state();
        state.lost.retain(|(_, kept)| kept.file.id != id);
        let is_it = |entry: &Entry| matches!(&entry.known, Known::Kept(kept) if kept.file.id == id);
        if state.entries.get(key).is_some_and(is_it) {
            state.entries.remove(key);
        }
    }

    /// Forgets all but what is just being uploaded.
    pub(super) fn forget_all(&self) {
        let mut state = self.state();
        state.entries.retain(|_, entry| matches!(entry.known, Known::Uploading(_)));
        state.lost.clear();
        state.paused.clear();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Forgets what was not used for longest, never what somebody is at.
    fn shrink(&mut self, most: usize) {
        while self.entries.len() > most {
            let idle = self.entries.iter().filter(|(_, entry)| !matches!(entry.known, Known::Uploading(_)));
            let Some(oldest) = idle.min_by_key(|(_, entry)| entry.used).map(|(key, _)| *key) else { return };
            self.entries.remove(&oldest);
        }
    }
}

impl Right {
    /// It is done: the file is kept, or its owner failed to upload it.
    pub(super) fn settle(mut self, outcome: Result<Kept, (&ProviderError, &Arc<Owner>)>, now: Instant) {
        let mut state = self.memo.state();
        let known = match outcome {
            Ok(kept) => Known::Kept(kept),
            Err((error, owner)) => {
                let time = if error.is_retryable() { PAUSE } else { LASTING };
                let refusal = || Refusal {
                    why: error.message().to_owned(),
                    until: now + time,
                    _owner: Arc::clone(owner),
                };
                if is_of_account(error.kind()) {
                    state.paused.insert(self.key.0, refusal());
                }
                Known::Refused(refusal())
            }
        };
        if let Some(entry) = state.entries.get_mut(&self.key) {
            entry.known = known;
        }
        self.settled = true;
    }
}

/// True if a failure has nothing to do with the document: the next one would fail as well.
fn is_of_account(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Authentication
            | ErrorKind::Configuration
            | ErrorKind::NotFound
            | ErrorKind::Permission
            | ErrorKind::QuotaExceeded
            | ErrorKind::Network
    )
}

impl Drop for Right {
    fn drop(&mut self) {
        if !self.settled {
            self.memo.state().entries.remove(&self.key);
        }
    }
}

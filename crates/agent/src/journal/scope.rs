//! How a driver writes its log, and how the runs inside its tools write theirs beside it.

use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use attache_core::ToolCallId;

use super::volatile::Volatile;
use super::{Fence, Journal, JournalError};
use crate::log::{Entry, Key};

/// Writes the entries of one run: into its journal, into a scope of the journal of the run that its tool belongs to, or
/// nowhere. Cloning copies pointers.
#[derive(Clone)]
pub(crate) enum Recorder {
    /// The run cannot be resumed.
    Volatile(Arc<Volatile>),
    /// The run's log is kept.
    Kept(Arc<Kept>),
}

pub(crate) struct Kept {
    journal: Arc<dyn Journal>,
    fence: Fence,
    scope: String,
    /// The entries of runs inside tools that the log held when it was loaded, by their scope.
    nested: Mutex<HashMap<String, Vec<Entry>>>,
}

impl Recorder {
    pub(crate) fn volatile() -> Self {
        Self::Volatile(Arc::default())
    }

    pub(crate) fn is_volatile(&self) -> bool {
        matches!(self, Self::Volatile(_))
    }

    /// Loads the log, has `read` fold its own entries, and claims it.
    pub(crate) async fn claim<T, E: From<JournalError>>(
        journal: &Arc<dyn Journal>,
        mut read: impl FnMut(&[Entry]) -> Result<T, E>,
    ) -> Result<(Self, T), E> {
        loop {
            let entries = journal.load().await?;
            let length = entries.len();
            let (own, nested) = split(entries, "");
            let folded = read(&own)?;
            match journal.claim(length).await {
                Ok(fence) => {
                    let kept =
                        Kept { journal: Arc::clone(journal), fence, scope: String::new(), nested: Mutex::new(nested) };
                    return Ok((Self::Kept(Arc::new(kept)), folded));
                }
                // Somebody wrote meanwhile.
                Err(JournalError::Moved { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Appends one entry and yields the one that stands under its key.
    pub(crate) async fn append(&self, entry: Entry) -> Result<Entry, JournalError> {
        match self {
            Self::Volatile(volatile) => Ok(volatile.append(entry)),
            Self::Kept(kept) => {
                let mut entry = entry;
                entry.key = entry.key.within(&kept.scope);
                let mut stands = kept.journal.append(kept.fence, vec![entry]).await?;
                match stands.pop() {
                    Some(entry) => Ok(kept.outside(entry)),
                    None => Err(JournalError::Unreadable { problem: "an append yielded no entry".to_owned() }),
                }
            }
        }
    }

    /// Leaves an entry for whoever drives the run, and yields the one that stands under its key.
    pub(crate) async fn deliver(&self, mut entry: Entry) -> Result<Entry, JournalError> {
        match self {
            Self::Volatile(volatile) => Ok(volatile.deliver(entry)),
            Self::Kept(kept) => {
                entry.key = entry.key.within(&kept.scope);
                Ok(kept.outside(kept.journal.deliver(entry).await?))
            }
        }
    }

    /// Waits for an entry under `key`.
    pub(crate) async fn wait(&self, key: &Key, until: Option<SystemTime>) -> Result<Option<Entry>, JournalError> {
        match self {
            Self::Volatile(volatile) => Ok(volatile.wait(key, until).await),
            Self::Kept(kept) => {
                let key = key.within(&kept.scope);
                Ok(kept.journal.wait(&key, until).await?.map(|entry| kept.outside(entry)))
            }
        }
    }

    /// Where a run inside a tool writes, and what it wrote before.
    fn nested(&self, scope: &str) -> (Self, Vec<Entry>) {
        let kept = match self {
            Self::Volatile(_) => return (Self::volatile(), Vec::new()),
            Self::Kept(kept) => kept,
        };
        let written = kept.nested.lock().unwrap_or_else(PoisonError::into_inner).remove(scope).unwrap_or_default();
        let (own, nested) = split(written, scope);
        let within = Kept {
            journal: Arc::clone(&kept.journal),
            fence: kept.fence,
            scope: format!("{}{scope}", kept.scope),
            nested: Mutex::new(nested),
        };
        (Self::Kept(Arc::new(within)), own)
    }
}

impl Kept {
    /// The entry under the key that the run knows.
    fn outside(&self, mut entry: Entry) -> Entry {
        if let Some(key) = entry.key.strip(&self.scope) {
            entry.key = key;
        }
        entry
    }
}

/// The entries of a scope, without it, and those of the runs inside its tools by their scopes.
fn split(entries: Vec<Entry>, scope: &str) -> (Vec<Entry>, HashMap<String, Vec<Entry>>) {
    let (mut own, mut nested): (Vec<Entry>, HashMap<String, Vec<Entry>>) = Default::default();
    for mut entry in entries {
        if let Some(key) = entry.key.strip(scope) {
            entry.key = key;
        }
        match entry.key.outer_scope() {
            None => own.push(entry),
            Some(inner) => nested.entry(inner.to_owned()).or_default().push(entry),
        }
    }
    (own, nested)
}

/// The call that a tool answers, for the runs that it starts: they write into a scope of its run's journal, in the
/// order in which the tool starts them, so that a tool which is run again finds what they did.
pub(crate) struct Scope {
    recorder: Recorder,
    call: ToolCallId,
    started: AtomicU32,
}

tokio::task_local! {
    static AMBIENT: Arc<Scope>;
}

impl Scope {
    pub(crate) fn new(recorder: Recorder, call: ToolCallId) -> Arc<Self> {
        Arc::new(Self { recorder, call, started: AtomicU32::new(0) })
    }

    /// Runs a tool's future with this scope around it.
    pub(crate) async fn around<F: Future>(self: Arc<Self>, work: F) -> F::Output {
        AMBIENT.scope(self, work).await
    }

    /// The place of the next run that the tool starts.
    fn next(&self) -> Option<(Recorder, Vec<Entry>)> {
        if self.recorder.is_volatile() {
            return None;
        }
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        Some(self.recorder.nested(&Key::scope(&self.call, number)))
    }
}

/// Where a run that starts here belongs: inside a tool of a run whose log is kept, the tool's scope.
pub(crate) fn ambient() -> Option<(Recorder, Vec<Entry>)> {
    AMBIENT.try_with(|scope| scope.next()).ok().flatten()
}

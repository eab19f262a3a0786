//! The way in which a driver writes its log, and the runs inside its tools write theirs beside it.

use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use attache_core::{StoreError, StoreErrorKind, ToolCallId};
use tokio::time::timeout;

use super::volatile::Volatile;
use super::{Fence, Journal, JournalError};
use crate::input::RunInput;
use crate::log::{Entry, EntryKind, Key, Started};

/// The time that one call of a journal may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// The number of times that a log is loaded again which somebody else writes meanwhile.
const CLAIMS: usize = 100;

/// Where the entries of a run are: nowhere, in a journal, or in a scope of the journal of the run around it.
#[derive(Clone)]
pub(crate) enum Place {
    /// The run cannot be resumed.
    Volatile(Arc<Volatile>),
    /// The run's log is kept.
    Kept(Arc<Kept>),
}

pub(crate) struct Kept {
    journal: Arc<dyn Journal>,
    scope: String,
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
                        let left = until.duration_since(SystemTime::now()).unwrap_or_default();
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
    fn outside(&self, mut entry: Entry) -> Entry {
        if let Some(key) = entry.key.strip(&self.scope) {
            entry.key = key;
        }
        entry
    }
}

/// Writes the entries of one run. Cloning copies pointers.
#[derive(Clone)]
pub(crate) struct Recorder {
    place: Place,
    fence: Fence,
    /// The entries of runs inside tools that the log held when it was loaded, by their scope.
    nested: Arc<Mutex<HashMap<String, Vec<Entry>>>>,
    /// Whether another driver has taken the run over.
    superseded: Arc<AtomicBool>,
    /// Whether the drive of the run was broken off, so that its tool has no result yet.
    broken: Arc<AtomicBool>,
}

impl Recorder {
    /// Loads the log, has `read` fold its own entries, and claims it.
    pub(crate) async fn claim<T, E: From<JournalError>>(
        place: &Place,
        mut read: impl FnMut(&[Entry]) -> Result<T, E>,
    ) -> Result<(Self, T), E> {
        let kept = match place {
            Place::Volatile(_) => {
                return Ok((Self::new(place, Fence::default(), HashMap::new()), read(&[])?));
            }
            Place::Kept(kept) => kept,
        };
        let mut claims = 0;
        loop {
            claims += 1;
            let entries = in_time(kept.journal.load()).await?;
            let length = entries.len();
            let (own, nested) = split(entries, "");
            let folded = read(&own)?;
            match in_time(kept.journal.claim(length)).await {
                Ok(fence) => return Ok((Self::new(place, fence, nested), folded)),
                // Somebody wrote meanwhile. One who writes always must not keep a cancellation out.
                Err(JournalError::Moved { .. }) if claims < CLAIMS => tokio::task::yield_now().await,
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn new(place: &Place, fence: Fence, nested: HashMap<String, Vec<Entry>>) -> Self {
        let nested = Arc::new(Mutex::new(nested));
        Self { place: place.clone(), fence, nested, superseded: Arc::default(), broken: Arc::default() }
    }

    /// Notes that the drive ends by a failure of the journal or a store.
    pub(crate) fn break_off(&self) {
        self.broken.store(true, Ordering::Relaxed);
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// Appends entries and yields those that stand under their keys.
    pub(crate) async fn append(&self, mut entries: Vec<Entry>) -> Result<Vec<Entry>, JournalError> {
        match &self.place {
            Place::Volatile(volatile) => {
                entries.iter_mut().for_each(|entry| volatile.append(entry));
                Ok(entries)
            }
            Place::Kept(kept) => {
                if !kept.scope.is_empty() {
                    entries.iter_mut().for_each(|entry| entry.key = entry.key.within(&kept.scope));
                }
                let stand = in_time(kept.journal.append(self.fence, entries)).await;
                if let Err(JournalError::Fenced) = &stand {
                    self.superseded.store(true, Ordering::Relaxed);
                }
                let stand = stand?;
                Ok(stand.into_iter().map(|entry| kept.outside(entry)).collect())
            }
        }
    }

    /// Where a run writes that a tool starts while it answers the call of `scope`, and what it wrote before: the log that
    /// began alike, else, unless the run has a name, the one in its place.
    fn nested(&self, scope: &Scope, input: &RunInput) -> Option<(Self, Vec<Entry>)> {
        let Place::Kept(kept) = &self.place else { return None };
        let mut taken = scope.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let mut written = self.nested.lock().unwrap_or_else(PoisonError::into_inner);
        let prefix = Key::scopes(&scope.call);
        let number = |scope: &str| scope.strip_prefix(&prefix)?.strip_suffix('>')?.parse::<u32>().ok();
        let mut left: Vec<u32> = written.keys().filter_map(|scope| number(scope)).collect();
        left.sort_unstable();
        let began = |number: &&u32| {
            let log = written.get(&Key::scope(&scope.call, **number));
            log.and_then(|log| begin(log)).is_some_and(|started| input.began(started))
        };
        // Asked something else than any log began with, it is taken for the one in its place: the tool may say a time.
        let place = u32::try_from(taken.len()).unwrap_or(u32::MAX);
        let same_place = || Some(place).filter(|place| input.run_id.is_none() && left.contains(place));
        let free = || (0..).find(|number| !taken.contains(number) && !left.contains(number));
        let number = left.iter().find(began).copied().or_else(same_place).or_else(free)?;
        taken.insert(number);
        drop(taken);
        let Scope { call, superseded, broken, .. } = scope;
        let scope = Key::scope(call, number);
        let log = written.remove(&scope);
        drop(written);
        let (own, nested) = split(log.unwrap_or_default(), &scope);
        let within = Kept { journal: Arc::clone(&kept.journal), scope: format!("{}{scope}", kept.scope) };
        let recorder = Self {
            place: Place::Kept(Arc::new(within)),
            fence: self.fence,
            nested: Arc::new(Mutex::new(nested)),
            superseded: Arc::clone(superseded),
            broken: Arc::clone(broken),
        };
        Some((recorder, own))
    }
}

/// The beginning of a log.
fn begin(log: &[Entry]) -> Option<&Started> {
    log.iter().find_map(|entry| match &entry.kind {
        EntryKind::Started(started) => Some(started),
        _ => None,
    })
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

/// The call that a tool answers, for the runs that it starts: they write into scopes of its run's journal, so that a
/// tool which is run again finds what they did. They are told apart by their names, else by their input, else by their
/// order.
pub(crate) struct Scope {
    recorder: Recorder,
    call: ToolCallId,
    /// The numbers of the runs that this process started.
    taken: Mutex<HashSet<u32>>,
    /// Whether another driver has taken one of these runs over.
    superseded: Arc<AtomicBool>,
    /// Whether the drive of one of these runs was broken off.
    broken: Arc<AtomicBool>,
}

tokio::task_local! {
    static AMBIENT: Arc<Scope>;
}

impl Scope {
    /// The scope of a tool that answers `call`, where the log is kept.
    pub(crate) fn of(recorder: &Recorder, call: &ToolCallId) -> Option<Arc<Self>> {
        let scope = || {
            let (recorder, call) = (recorder.clone(), call.clone());
            Self {
                recorder,
                call,
                taken: Mutex::default(),
                superseded: Arc::default(),
                broken: Arc::default(),
            }
        };
        (!recorder.place.is_volatile()).then(|| Arc::new(scope()))
    }

    /// Runs a tool's future in its scope.
    pub(crate) async fn around<F: Future>(scope: Option<Arc<Self>>, work: F) -> F::Output {
        match scope {
            None => work.await,
            Some(scope) => AMBIENT.scope(scope, work).await,
        }
    }

    /// True if the drive of a run that the tool started was broken off by a failure of the journal or a store. The run can
    /// be resumed, so the call has no result yet.
    pub(crate) fn was_broken_off(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }

    /// True if another driver has taken a run over that the tool started: the tool's word of it is no result.
    pub(crate) fn was_superseded(&self) -> bool {
        self.superseded.load(Ordering::Relaxed)
    }
}

/// Where a run that starts here belongs: inside a tool of a run whose log is kept, the tool's scope.
pub(crate) fn ambient(input: &RunInput) -> Option<(Recorder, Vec<Entry>)> {
    AMBIENT.try_with(|scope| scope.recorder.nested(scope, input)).ok().flatten()
}

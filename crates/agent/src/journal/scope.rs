//! The way in which a driver writes its log, and the runs inside its tools write theirs beside it.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use attache_core::{StoreError, StoreErrorKind, ToolCallId, fresh};
use tokio::time::timeout;

use super::nested::{Logs, Nested};
use super::volatile::Volatile;
use super::{Fence, Journal, JournalError};
use crate::input::RunInput;
use crate::log::{Entry, Key};

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
    /// The logs of runs inside tools that the log held when it was loaded.
    nested: Arc<Mutex<Nested>>,
    /// Whether another driver has taken the run over.
    superseded: Arc<AtomicBool>,
    /// True if the drive of the run was broken off, so that its tool has no result yet.
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
                return Ok((Self::new(place, Fence::default(), Nested::default()), read(&[])?));
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

    fn new(place: &Place, fence: Fence, nested: Nested) -> Self {
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

    /// The place of a run that a tool starts while it answers the call of `scope`, with the entries that it wrote before.
    fn inside(&self, scope: &Arc<Scope>, question: u64, is_named: bool) -> Origin {
        let Place::Kept(kept) = &self.place else { return Origin::Place(Place::volatile()) };
        let Some((number, entries)) = scope.logs().take(question, is_named) else { return Origin::Unknown };
        let key = Key::scope(&scope.call, number);
        let (entries, nested) = split(entries, &key);
        let within = Kept { journal: Arc::clone(&kept.journal), scope: format!("{}{key}", kept.scope) };
        let recorder = Self {
            place: Place::Kept(Arc::new(within)),
            fence: self.fence,
            nested: Arc::new(Mutex::new(nested)),
            superseded: Arc::clone(&scope.superseded),
            broken: Arc::clone(&scope.broken),
        };
        Origin::Nested { recorder, entries, question, scope: Arc::clone(scope) }
    }
}

/// The place where a run is recorded.
pub(crate) enum Origin {
    /// On its own.
    Place(Place),
    /// Inside the journal of the run whose tool started it; with the entries that it wrote before.
    Nested { recorder: Recorder, entries: Vec<Entry>, question: u64, scope: Arc<Scope> },
    /// Inside such a journal, which does not tell whether the run was begun before.
    Unknown,
}

impl Origin {
    pub(crate) fn place(&self) -> Place {
        match self {
            Self::Place(place) => place.clone(),
            Self::Nested { recorder, .. } => recorder.place().clone(),
            Self::Unknown => Place::volatile(),
        }
    }

    /// The recorder of a run inside a tool.
    pub(crate) fn recorder(&self) -> Option<Recorder> {
        match self {
            Self::Nested { recorder, .. } => Some(recorder.clone()),
            Self::Place(_) | Self::Unknown => None,
        }
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

/// The entries of a scope, without it, and the logs of the runs inside its tools.
fn split(entries: Vec<Entry>, scope: &str) -> (Vec<Entry>, Nested) {
    let (mut own, mut nested) = (Vec::new(), Nested::default());
    for mut entry in entries {
        if let Some(key) = entry.key.strip(scope) {
            entry.key = key;
        }
        match entry.key.outer_scope() {
            None => own.push(entry),
            Some(_) => nested.push(entry),
        }
    }
    (own, nested)
}

/// The call that a tool answers, for the runs that it starts: they write into scopes of its run's journal, so that a
/// tool which is run again finds what they did.
pub(crate) struct Scope {
    recorder: Recorder,
    call: ToolCallId,
    /// The logs that its runs wrote before.
    logs: Mutex<Logs>,
    /// Whether another driver has taken one of these runs over.
    superseded: Arc<AtomicBool>,
    /// True if the drive of one of these runs was broken off.
    broken: Arc<AtomicBool>,
}

tokio::task_local! {
    static AMBIENT: Arc<Scope>;
}

impl Scope {
    /// The scope of a tool that answers `call`, where the log is kept.
    pub(crate) fn of(recorder: &Recorder, call: &ToolCallId) -> Option<Arc<Self>> {
        let scope = || {
            let logs = recorder.nested.lock().unwrap_or_else(PoisonError::into_inner).of(call);
            let (recorder, call) = (recorder.clone(), call.clone());
            let (superseded, broken) = (Arc::default(), Arc::default());
            Self { recorder, call, logs: Mutex::new(logs), superseded, broken }
        };
        (!recorder.place.is_volatile()).then(|| Arc::new(scope()))
    }

    fn logs(&self) -> MutexGuard<'_, Logs> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The questions of the runs that the tool started until now and no log tells of, and how many it started.
    pub(crate) fn untold(&self) -> (Vec<u64>, usize) {
        let logs = self.logs();
        (logs.asked.get(logs.told..).unwrap_or_default().to_vec(), logs.asked.len())
    }

    /// A log tells of the first runs, as many as that.
    pub(crate) fn told(&self, count: usize) {
        let mut logs = self.logs();
        logs.told = logs.told.max(count);
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
pub(crate) fn ambient(input: &RunInput, system: Option<&str>) -> Origin {
    let within =
        |scope: &Arc<Scope>| scope.recorder.inside(scope, input.question(system), input.run_id.is_some());
    AMBIENT.try_with(within).unwrap_or_else(|_| Origin::Place(Place::volatile()))
}

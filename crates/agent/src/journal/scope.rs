//! The way in which a driver writes its log, and the runs inside its tools write theirs beside it.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use attache_core::ToolCallId;
use attache_core::tool::ToolSpec;

use super::nested::{Logs, Nested};
use super::place::{Kept, Place, in_time};
use super::time::CallTime;
use super::{Fence, JournalError};
use crate::input::RunInput;
use crate::log::{Entry, Key, NestedAgent};
use crate::nested::Around;
use crate::run::Waiting;

/// The number of times that a log is loaded again which somebody else writes meanwhile.
const CLAIMS: usize = 100;

/// Writes the entries of one run. Cloning copies pointers.
#[derive(Clone)]
pub(crate) struct Recorder {
    place: Place,
    fence: Fence,
    /// The logs of runs inside tools that the log held when it was loaded.
    nested: Arc<Mutex<Nested>>,
    /// True if another driver has taken the run over.
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
            let folded = read(&entries)?;
            let nested = logs_inside(entries);
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
        // A run that cannot be resumed has failed.
        if self.place.is_volatile() {
            return;
        }
        self.broken.store(true, Ordering::Relaxed);
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// True if the tool that answers `call` stopped at a question, from which it can go on.
    pub(crate) fn left_off(&self, call: &ToolCallId) -> bool {
        self.nested.lock().unwrap_or_else(PoisonError::into_inner).left_off(call).is_some()
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
        let (place, entries) = match &self.place {
            Place::Volatile(_) => (Place::volatile(), Vec::new()),
            Place::Kept(kept) => {
                let Some((number, mut entries)) = scope.logs().take(question, is_named) else {
                    return Origin::Unknown;
                };
                let key = Key::scope(&scope.call, number);
                for entry in &mut entries {
                    if let Some(key) = entry.key.strip(&key) {
                        entry.key = key;
                    }
                }
                let within =
                    Kept { journal: Arc::clone(&kept.journal), scope: format!("{}{key}", kept.scope) };
                (Place::Kept(Arc::new(within)), entries)
            }
        };
        let inside = entries.iter().filter(|entry| entry.key.outer_scope().is_some());
        let recorder = Self {
            place,
            fence: self.fence,
            nested: Arc::new(Mutex::new(logs_inside(inside.cloned()))),
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

    /// The call whose tool started the run.
    pub(crate) fn scope(&self) -> Option<&Arc<Scope>> {
        match self {
            Self::Nested { scope, .. } => Some(scope),
            Self::Place(_) | Self::Unknown => None,
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

/// The logs of the runs inside tools.
fn logs_inside(entries: impl IntoIterator<Item = Entry>) -> Nested {
    let mut nested = Nested::default();
    entries
        .into_iter()
        .filter(|entry| entry.key.outer_scope().is_some())
        .for_each(|entry| nested.push(entry));
    nested
}

/// The call that a tool answers, for the runs that it starts: they write into scopes of its run's journal, so that a
/// tool which is run again finds what they did.
pub(crate) struct Scope {
    recorder: Recorder,
    tool: Arc<ToolSpec>,
    call: ToolCallId,
    /// The logs that its runs wrote before.
    logs: Mutex<Logs>,
    /// True if another driver has taken one of these runs over.
    superseded: Arc<AtomicBool>,
    /// True if the drive of one of these runs was broken off.
    broken: Arc<AtomicBool>,
    /// The things of the run that the runs inside share.
    around: Arc<Around>,
    /// The time of the call, where it is limited.
    time: Option<Arc<CallTime>>,
    /// True if one of these runs waits for somebody.
    paused: AtomicBool,
}

tokio::task_local! {
    static AMBIENT: Arc<Scope>;
}

impl Scope {
    /// The scope of a tool that answers `call`.
    pub(crate) fn of(
        recorder: &Recorder,
        tool: &Arc<ToolSpec>,
        call: &ToolCallId,
        around: Arc<Around>,
        time: Option<Arc<CallTime>>,
    ) -> Arc<Self> {
        let logs = recorder.nested.lock().unwrap_or_else(PoisonError::into_inner).of(call);
        let (recorder, tool, call) = (recorder.clone(), Arc::clone(tool), call.clone());
        let (superseded, broken) = (Arc::default(), Arc::default());
        let (logs, paused) = (Mutex::new(logs), AtomicBool::new(false));
        Arc::new(Self { recorder, tool, call, logs, superseded, broken, around, time, paused })
    }

    /// The scope of the tool that this is called in.
    pub(crate) fn current() -> Option<Arc<Self>> {
        AMBIENT.try_with(Arc::clone).ok()
    }

    pub(crate) fn shared(&self) -> &Arc<Around> {
        &self.around
    }

    /// The time of the call, where it is limited.
    pub(crate) fn time(&self) -> Option<&Arc<CallTime>> {
        self.time.as_ref()
    }

    /// The same for whoever measures it.
    pub(crate) fn time_limit(&self) -> Option<&CallTime> {
        self.time.as_deref()
    }

    /// True if nothing of the run is kept.
    pub(crate) fn is_volatile(&self) -> bool {
        self.recorder.place.is_volatile()
    }

    /// The way to the runs inside the tool.
    pub(crate) fn way(&self) -> NestedAgent {
        NestedAgent::new(self.tool.definition.name(), self.call.clone())
    }

    /// The handle of the question at which an earlier attempt at the call stopped.
    pub(crate) fn left_off(&self) -> Option<String> {
        self.logs().left_off().map(str::to_owned)
    }

    /// Notes that a run inside waits for somebody: the call has no result yet.
    pub(crate) fn pause(&self, waiting: Waiting) {
        self.paused.store(true, Ordering::Relaxed);
        self.around.pause(self.call.clone(), waiting);
    }

    /// True if a run inside waits for somebody.
    pub(crate) fn was_paused(&self) -> bool {
        self.paused.load(Ordering::Relaxed)
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

    /// False if the tool has no result yet, or none that counts, since a run inside waits, was broken off or was taken over.
    pub(crate) fn has_result(&self) -> bool {
        !self.was_paused() && !self.was_broken_off() && !self.was_superseded()
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

//! The seam between a run and the world: its log, kept somewhere.

mod error;
mod memory;
mod nested;
mod place;
mod scope;
mod time;
mod volatile;

use std::time::{SystemTime, UNIX_EPOCH};

use attache_core::{BoxFuture, fresh};

pub use error::JournalError;
pub use memory::MemoryJournal;
pub(crate) use memory::wait_until;
pub(crate) use place::{Place, in_time, is_over, runs_inside};
pub(crate) use scope::{Origin, Recorder, Scope, ambient};
pub(crate) use time::{AGAIN, CallTime};

use crate::log::{Entry, Key};

/// Keeps the log of one run.
///
/// A driver loads the log, folds it, claims it, and from then on appends to it; nobody reads it meanwhile. There is one
/// writer at a time: each claim yields a new [`Fence`], and whoever holds an older one can append no more.
///
/// Other processes may [`deliver`](Self::deliver) what a run waits for, such as the result of a call; they hold no
/// fence and write nothing into the log. The driver takes it from there.
///
/// Every method may fail at any time, and a caller may drop its future at any time. An append that failed or was dropped
/// may have been written or not, but is never written behind a later one; the next one under the same keys yields the
/// entries that stand.
pub trait Journal: Send + Sync {
    /// The entries so far, in the order in which they were appended. It changes nothing, so that anybody may look.
    ///
    /// # Errors
    /// [`JournalError::Unreadable`] if an entry is damaged, or of a version or with a member that this program does not
    /// know: then nothing of the log is yielded.
    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>>;

    /// The entries behind the first `seen` ones, for whoever decides about calls, delivers results or says something. The
    /// messages may be left out of the beginning of the run. It changes nothing.
    ///
    /// By default it loads the whole log; a journal that keeps the conversation elsewhere does better.
    ///
    /// # Errors
    /// See [`load`](Self::load).
    fn behind(&self, seen: usize) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        Box::pin(async move {
            let mut entries = self.load().await?;
            Ok(entries.split_off(seen.min(entries.len())))
        })
    }

    /// Makes the caller the one writer of a log of `entries` entries.
    ///
    /// # Errors
    /// [`JournalError::Moved`] if the log has another length by now: the caller loads it again.
    fn claim(&self, entries: usize) -> BoxFuture<'_, Result<Fence, JournalError>>;

    /// Appends entries in order, all or none, stamped with the time, and yields them as they stand: where the log holds
    /// an entry under the same key already, that one, and where something was delivered under the key, that.
    ///
    /// # Errors
    /// [`JournalError::Fenced`] if another driver has claimed the log since.
    fn append(&self, fence: Fence, entries: Vec<Entry>) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>>;

    /// False if the journal knows without asking that nothing was delivered before its last append that the log does not
    /// hold. The driver then looks again behind the next one.
    fn has_deliveries(&self) -> bool {
        true
    }

    /// False if the log is gone with the process.
    fn is_lasting(&self) -> bool {
        true
    }

    /// Leaves an entry for the driver, under a key that it waits for, and yields the entry that stands under that key:
    /// the first that was appended or delivered.
    ///
    /// # Errors
    /// [`JournalError::Fenced`] if the journal knows that nobody would read it: the run has ended, or another run of its
    /// session is about to close it.
    fn deliver(&self, entry: Entry) -> BoxFuture<'_, Result<Entry, JournalError>>;

    /// Waits for an entry that was appended or delivered under `key`; `None` if `until` passes first.
    fn wait<'a>(
        &'a self,
        key: &'a Key,
        until: Option<SystemTime>,
    ) -> BoxFuture<'a, Result<Option<Entry>, JournalError>>;
}

/// The right to append to a log, until somebody else claims it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fence(u64);

impl Fence {
    /// The fence of that number. Each claim of a log has a greater one.
    pub fn new(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    pub fn number(self) -> u64 {
        self.0
    }
}

/// The time as entries hold it: milliseconds since 1970.
pub(crate) fn now() -> u64 {
    millis(fresh::now())
}

pub(crate) fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

//! A journal in a file.

use std::collections::VecDeque;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use attache_agent::{Entry, Fence, Journal, JournalError, Key};
use attache_core::{BoxFuture, StoreError, StoreErrorKind, fresh};
use tokio::sync::{Notify, oneshot};

use super::disk;
use super::log::Log;

/// How often [`FileJournal::wait`] looks whether another process has written.
const POLL: Duration = Duration::from_millis(200);

/// A journal in a file: the log of one run, which any process can resume.
///
/// ```no_run
/// # use std::sync::Arc;
/// # use attache_stores::FileJournal;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let journal = Arc::new(FileJournal::open("runs/invoices-march.jsonl")?);
/// # Ok(()) }
/// ```
///
/// The file has one line of JSON per entry, with a checksum and a number, and only its owner can access it on Unix
/// (mode 0600). When an append returns, it is on the disk, and a batch is written completely or not at all: a partial
/// batch left by a crash is skipped by `load` and cut off by the next write. Damage in any other place is
/// [`JournalError::Unreadable`] with the line number, and then nothing is written. A line has at most 64 MiB; a longer
/// entry is an error of the kind [`TooLarge`](attache_core::StoreErrorKind::TooLarge).
///
/// Several processes may open journals of the same file. They take turns with a file lock, which each holds for one
/// read or write. A claim is also a line of the file, so that a driver that has lost the log is
/// [`Fenced`](JournalError::Fenced) at its next append, wherever it runs. If locks do not work, as on some network file
/// systems, two drivers can damage a log; this is detected, since lines are numbered.
///
/// `wait` notices appends and deliveries of this journal immediately, and those of others within 200 milliseconds.
///
/// Files are read and written on tokio's blocking threads. If the future of a call is dropped, the call still completes
/// there, before every later call.
pub struct FileJournal {
    file: Arc<LogFile>,
    changed: Notify,
}

struct LogFile {
    path: PathBuf,
    log: Mutex<Log>,
    /// Work on the log, in the order in which it was begun: a write whose future was dropped comes before a later one.
    queue: Mutex<VecDeque<Job>>,
}

type Job = Box<dyn FnOnce(&mut Log, &Path) + Send>;

impl LogFile {
    /// Does the work that waits; another thread may have done some of it already.
    fn work(&self) {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let job = self.queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let Some(job) = job else { return };
            job(&mut log, &self.path);
        }
    }
}

impl FileJournal {
    /// Opens the journal in the file at `path`, which is created when a run begins. Its folder is created now if it is
    /// missing.
    ///
    /// # Errors
    /// [`StoreError`] if the folder cannot be created.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = disk::absolute(path.as_ref())?;
        if let Some(folder) = path.parent() {
            disk::make_folder(folder)?;
        }
        Ok(Self {
            file: Arc::new(LogFile { path, log: Mutex::default(), queue: Mutex::default() }),
            changed: Notify::new(),
        })
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// All entries, those included that were left for a driver and that none has taken.
    pub(crate) async fn load_all(&self) -> Result<Vec<Entry>, JournalError> {
        self.with(Log::load_all).await
    }

    /// Does `work` on the log, off the threads that drive futures.
    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Log, &Path) -> Result<T, JournalError> + Send + 'static,
    ) -> Result<T, JournalError> {
        let (done, result) = oneshot::channel();
        let job: Job = Box::new(move |log, path| {
            // Nobody waits for the result of a call that was dropped.
            let _dropped = done.send(work(log, path));
        });
        let file = Arc::clone(&self.file);
        file.queue.lock().unwrap_or_else(PoisonError::into_inner).push_back(job);
        disk::off_the_workers(move || file.work()).await?;
        result.await.unwrap_or_else(|_| {
            let error = StoreError::new(StoreErrorKind::Unavailable, "the file operation was interrupted");
            Err(error.into())
        })
    }
}

impl fmt::Debug for FileJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileJournal").field("path", &self.file.path).finish_non_exhaustive()
    }
}

impl Journal for FileJournal {
    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        Box::pin(self.with(Log::load))
    }

    fn claim(&self, entries: usize) -> BoxFuture<'_, Result<Fence, JournalError>> {
        Box::pin(self.with(move |log, path| log.claim(path, entries)))
    }

    fn append(&self, fence: Fence, entries: Vec<Entry>) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        Box::pin(async move {
            let stand = self.with(move |log, path| log.append(path, fence, entries)).await;
            self.changed.notify_waiters();
            stand
        })
    }

    fn deliver(&self, entry: Entry) -> BoxFuture<'_, Result<Entry, JournalError>> {
        Box::pin(async move {
            let stands = self.with(move |log, path| log.deliver(path, entry)).await;
            self.changed.notify_waiters();
            stands
        })
    }

    fn wait<'a>(
        &'a self,
        key: &'a Key,
        until: Option<SystemTime>,
    ) -> BoxFuture<'a, Result<Option<Entry>, JournalError>> {
        Box::pin(async move {
            loop {
                let mut woken = std::pin::pin!(self.changed.notified());
                // Listening starts before looking, so that nothing is missed between the two.
                woken.as_mut().enable();
                let sought = key.clone();
                if let Some(found) = self.with(move |log, path| log.find(path, &sought)).await? {
                    return Ok(Some(found));
                }
                let left = until.map(|until| until.duration_since(fresh::now()).unwrap_or_default());
                if left.is_some_and(|left| left.is_zero()) {
                    return Ok(None);
                }
                let pause = left.map_or(POLL, |left| left.min(POLL));
                let _ = tokio::time::timeout(pause, woken).await;
            }
        })
    }
}

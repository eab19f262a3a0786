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

/// A journal in a file: the log of one run, which any process may go on with.
///
/// ```no_run
/// # use std::sync::Arc;
/// # use attache_stores::FileJournal;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let journal = Arc::new(FileJournal::open("runs/invoices-march.jsonl")?);
/// # Ok(()) }
/// ```
///
/// The file has one line of JSON an entry, with a checksum and its number, and is for its owner alone on Unix (mode
/// 0600). An append is on the disk when it is answered, and a batch stands as a whole or not at all: the part of a batch
/// that a crash left behind is passed over by `load`, and cut off by the next write. Damage in any other place is
/// [`JournalError::Unreadable`] with the number of the line, and then nothing is written. A line has at most 64 MiB; a
/// longer entry is an error of the kind [`TooLarge`](attache_core::StoreErrorKind::TooLarge).
///
/// Several processes may hold journals of one file. They take turns by a lock of the file, which each holds for one read
/// or write. A claim is a line of the file, too, so that whoever has lost the log is
/// [`Fenced`](JournalError::Fenced) at its next append, wherever it runs. Where locks do nothing, as on some network
/// file systems, two drivers can damage a log; they notice, since lines are numbered.
///
/// `wait` notices at once what this journal appends or delivers, and what others do within 200 milliseconds.
///
/// Files are read and written on tokio's threads for blocking work. A call whose future is dropped goes on there to its
/// end, before every later one.
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
    /// The journal in the file at `path`, which is made when a run begins. Its folder is made now if it is missing.
    ///
    /// # Errors
    /// [`StoreError`] if the folder cannot be made.
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

    /// Where the file is.
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
            let error = StoreError::new(StoreErrorKind::Unavailable, "the work on a file was broken off");
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

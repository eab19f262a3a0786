//! Blocking work, such as files and converters, outside of the threads that run futures.

use std::future::poll_fn;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};
use std::thread;

use crate::document::Document;

/// The meeting point of the thread and the future that waits for it.
struct Meeting<T> {
    /// The end of the work: `None` within if it panicked.
    result: Option<Option<T>>,
    waker: Option<Waker>,
}

/// Says the end of the work when it is dropped, so that a panic is one too.
struct Worker<T> {
    meeting: Arc<Mutex<Meeting<T>>>,
    result: Option<T>,
}

impl<T> Drop for Worker<T> {
    fn drop(&mut self) {
        let mut meeting = self.meeting.lock().unwrap_or_else(PoisonError::into_inner);
        meeting.result = Some(self.result.take());
        if let Some(waker) = meeting.waker.take() {
            waker.wake();
        }
    }
}

/// Runs blocking work on a thread with that name, under any runtime or none. Dropping the future does not stop the
/// thread.
///
/// # Errors
/// The thread could not be started, its name is invalid, or the work panicked.
pub async fn on_thread<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    if name.contains('\0') {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the name of the thread holds a NUL"));
    }
    let meeting = Arc::new(Mutex::new(Meeting { result: None, waker: None }));
    let worker = Worker { meeting: Arc::clone(&meeting), result: None };
    let work = move || {
        // The whole of it belongs to the thread, which drops it at its end.
        let mut worker = worker;
        worker.result = Some(work());
    };
    thread::Builder::new().name(name.to_owned()).spawn(work)?;
    let result = poll_fn(|context| {
        let mut meeting = meeting.lock().unwrap_or_else(PoisonError::into_inner);
        match meeting.result.take() {
            Some(result) => Poll::Ready(result),
            None => {
                meeting.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    });
    result.await.ok_or_else(|| io::Error::other("the work panicked"))
}

impl Document {
    /// Reads a file, with its name and the media type detected from name and content. It is read into memory as a
    /// whole, whatever its size: check the size first if somebody else chose the file.
    ///
    /// ```
    /// # async fn example() -> std::io::Result<()> {
    /// let lease = attache_core::Document::read("contracts/lease.pdf").await?;
    /// assert_eq!(lease.file_name(), Some("lease.pdf"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The file cannot be read.
    pub async fn read(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref().to_owned();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let document = Self::new(on_thread("attache-read", move || std::fs::read(path)).await??);
        Ok(match name {
            Some(name) => document.with_file_name(name),
            None => document,
        })
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn wait<T>(future: impl Future<Output = T>) -> T {
        let mut future = std::pin::pin!(future);
        loop {
            if let Some(value) = future.as_mut().now_or_never() {
                return value;
            }
            thread::yield_now();
        }
    }

    #[test]
    fn a_file_is_a_document_with_its_name() {
        let lease = wait(Document::read(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))).unwrap();
        assert_eq!(lease.file_name(), Some("Cargo.toml"));
        assert_eq!(lease.bytes().unwrap(), include_str!("../Cargo.toml").as_bytes());
        assert_eq!(lease.media_type().essence(), "application/toml");
        assert_eq!(wait(Document::read("no/such/file")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_panic_is_an_error() {
        let error = wait(on_thread("test", || panic!("a bug"))).map(|(): ()| ()).unwrap_err();
        assert_eq!(error.to_string(), "the work panicked");
    }
}

//! The file system, as journals and stores need it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use attache_core::{StoreError, StoreErrorKind};
use tokio::runtime::Handle;

/// How long a lock is waited for. Locks are held for one write or one read of a file.
const LOCK_WAIT: Duration = Duration::from_secs(30);

/// Does work on files, off the threads that drive futures. It goes on to its end if the future is dropped.
pub(super) async fn off_the_workers<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, StoreError> {
    match Handle::try_current() {
        Ok(runtime) => runtime.spawn_blocking(work).await.map_err(|error| {
            StoreError::new(StoreErrorKind::Unavailable, "the file operation was interrupted")
                .with_source(error)
        }),
        Err(_) => Ok(work()),
    }
}

/// A failure of the file system while `doing` something to a file.
pub(super) fn failed(doing: &str, path: &Path, error: io::Error) -> StoreError {
    let kind = match error.kind() {
        ErrorKind::NotFound => StoreErrorKind::NotFound,
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
            StoreErrorKind::TooLarge
        }
        _ => StoreErrorKind::Unavailable,
    };
    StoreError::new(kind, format!("cannot {doing} {}", path.display())).with_source(error)
}

/// Makes a folder that nobody else may enter, with those above it, where it is missing.
pub(super) fn make_folder(path: &Path) -> Result<(), StoreError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(path).map_err(|error| failed("make the folder", path, error))
}

/// Options for a new file that nobody else may read.
pub(super) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options
}

/// Makes what happened to the names in a folder last.
pub(super) fn sync_folder(path: &Path) -> Result<(), StoreError> {
    // Windows opens no folders and needs no such thing.
    if cfg!(unix) {
        File::open(path)
            .and_then(|folder| folder.sync_all())
            .map_err(|error| failed("sync the folder", path, error))?;
    }
    Ok(())
}

/// Locks a file until it is closed: for all others, or only for those who write. The lock is advisory on Unix.
pub(super) fn lock(file: &File, path: &Path, shared: bool) -> Result<(), StoreError> {
    let since = Instant::now();
    let mut pause = Duration::from_micros(100);
    loop {
        match if shared { file.try_lock_shared() } else { file.try_lock() } {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(failed("lock", path, error)),
            Err(TryLockError::WouldBlock) if since.elapsed() >= LOCK_WAIT => {
                let message =
                    format!("another process has held the lock of {} for {LOCK_WAIT:?}", path.display());
                return Err(StoreError::new(StoreErrorKind::Unavailable, message));
            }
            Err(TryLockError::WouldBlock) => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(10));
            }
        }
    }
}

/// The path from the root, so that it stays the same when the process changes its folder.
pub(super) fn absolute(path: &Path) -> Result<std::path::PathBuf, StoreError> {
    std::path::absolute(path).map_err(|error| failed("find", path, error))
}

/// Makes a file as young as one that was written at that time.
pub(super) fn renew(path: &Path, now: SystemTime) -> Result<(), StoreError> {
    let file = fs::OpenOptions::new().write(true).open(path);
    let renewed = file.and_then(|file| file.set_modified(now));
    renewed.map_err(|error| failed("write", path, error))
}

/// True if nobody can write to the folder here. A file of another user is none: that one may remove it as one that is old.
pub(super) fn is_read_only(error: &StoreError) -> bool {
    kind(error) == Some(ErrorKind::ReadOnlyFilesystem)
}

/// True if this process may not write to the folder.
pub(super) fn is_closed(error: &StoreError) -> bool {
    is_read_only(error) || kind(error) == Some(ErrorKind::PermissionDenied)
}

fn kind(error: &StoreError) -> Option<ErrorKind> {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<io::Error>());
    cause.map(io::Error::kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    // No test can mount a file system.
    #[test]
    fn a_file_system_that_is_read_only_is_told_from_a_file_of_another_user() {
        let error = |kind: ErrorKind| failed("open", Path::new("/documents/.lock"), kind.into());
        assert!(is_read_only(&error(ErrorKind::ReadOnlyFilesystem)));
        for kind in [ErrorKind::PermissionDenied, ErrorKind::NotFound, ErrorKind::StorageFull] {
            assert!(!is_read_only(&error(kind)), "{kind:?}");
        }
        assert!(!is_read_only(&StoreError::new(StoreErrorKind::Unavailable, "it is away")));
    }
}

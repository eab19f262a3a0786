//! The calls to an object store, each within its time.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use attache_core::{StoreError, StoreErrorKind};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use object_store::path::Path;
use object_store::{Error, ObjectMeta, ObjectStore, ObjectStoreExt, PutPayload};
use tokio::time::timeout;

/// The slowest transfer that is waited for, in bytes a second.
const SLOWEST: u64 = 128 << 10;

/// An object store and how long it may take.
#[derive(Clone, Debug)]
pub(super) struct Backend {
    pub(super) objects: Arc<dyn ObjectStore>,
    /// The limit of one call, and of the wait for the next piece of an answer.
    pub(super) limit: Duration,
    /// The folder, if the objects are files.
    pub(super) local: Option<PathBuf>,
}

impl Backend {
    /// Writes an object.
    pub(super) async fn put(&self, path: &Path, bytes: Bytes) -> Result<(), StoreError> {
        let transfer = Duration::from_secs(u64::try_from(bytes.len()).unwrap_or(u64::MAX) / SLOWEST);
        let put = self.objects.put(path, PutPayload::from_bytes(bytes));
        within(self.limit.saturating_add(transfer), put).await?.map_err(|error| failed("write", error))?;
        Ok(())
    }

    /// The bytes of an object, `None` if there is none. More than `most` are an error.
    pub(super) async fn get(&self, path: &Path, most: u64) -> Result<Option<Bytes>, StoreError> {
        let answer = match within(self.limit, self.objects.get(path)).await? {
            Ok(answer) => answer,
            Err(Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(failed("read", error)),
        };
        let size = answer.meta.size;
        let too_large = || {
            StoreError::new(
                StoreErrorKind::TooLarge,
                format!("an object has {size} bytes, more than the limit of {most}"),
            )
        };
        if size > most {
            return Err(too_large());
        }
        let mut pieces = answer.into_stream();
        let mut first = Bytes::new();
        let mut more = BytesMut::new();
        while let Some(piece) = within(self.limit, pieces.next()).await? {
            let piece = piece.map_err(|error| failed("read", error))?;
            if first.is_empty() {
                first = piece;
                continue;
            }
            if more.is_empty() {
                more.reserve(usize::try_from(size).unwrap_or_default());
                more.extend_from_slice(&first);
            }
            more.extend_from_slice(&piece);
            // A server may send more than it said.
            if u64::try_from(more.len()).unwrap_or(u64::MAX) > most {
                return Err(too_large());
            }
        }
        Ok(Some(if more.is_empty() { first } else { more.freeze() }))
    }

    /// The facts that the storage tells of an object, as when it was written; `None` if there is none.
    pub(super) async fn head(&self, path: &Path) -> Result<Option<ObjectMeta>, StoreError> {
        match within(self.limit, self.objects.head(path)).await? {
            Ok(object) => Ok(Some(object)),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(failed("look at", error)),
        }
    }

    /// Removes an object; one that is gone is no error.
    pub(super) async fn delete(&self, path: &Path) -> Result<(), StoreError> {
        match within(self.limit, self.objects.delete(path)).await? {
            Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(failed("delete", error)),
        }
    }

    /// Shows each object of a folder to `see`.
    pub(super) async fn list(
        &self,
        folder: &Path,
        mut see: impl FnMut(ObjectMeta) + Send,
    ) -> Result<(), StoreError> {
        let mut objects = self.objects.list(Some(folder));
        while let Some(object) = within(self.limit, objects.next()).await? {
            match object {
                Ok(object) => see(object),
                // A folder that nobody has written to, or an object that went away meanwhile.
                Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(failed("list", error)),
            }
        }
        Ok(())
    }
}

async fn within<T>(limit: Duration, call: impl Future<Output = T> + Send) -> Result<T, StoreError> {
    timeout(limit, call).await.map_err(|_| {
        StoreError::new(
            StoreErrorKind::Unavailable,
            format!("the object store has not answered within {limit:?}"),
        )
    })
}

/// A failure of the storage while `doing` something to an object. Its own words are the source.
fn failed(doing: &str, error: Error) -> StoreError {
    let why = match &error {
        Error::PermissionDenied { .. } => ": it does not permit this",
        Error::Unauthenticated { .. } => ": it does not take the credentials",
        _ => "",
    };
    StoreError::new(StoreErrorKind::Unavailable, format!("the object store cannot {doing} an object{why}"))
        .with_source(error)
}

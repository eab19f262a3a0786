//! The handle on what was uploaded.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use attache_core::{MediaType, ProviderError};

use super::memo::Memo;

/// The time that a call waits for its uploads unless it is told otherwise.
pub(super) const TIMEOUT: Duration = Duration::from_secs(120);

/// From which size on documents are uploaded by default.
const FROM: u64 = 1 << 20;
/// The time for which they are kept by default.
const LIFETIME: Duration = Duration::from_secs(24 * 3_600);
/// The number of files that are known by default.
const MOST: usize = 1_000;

/// Tells models to upload large documents once, through the file API of their provider, and to name them in requests
/// instead of sending their bytes again at every step. Cheap to clone; models that share a handle share what was
/// uploaded, if they have the same address and credentials.
///
/// A document is uploaded before the first request that holds it, and again before its time at the provider ends. A
/// file that the provider no longer knows is uploaded once more, within the same call. A document that cannot be
/// uploaded goes with the request as it does without this handle, and is told in
/// [`Completion::degradations`](attache_core::Completion::degradations); once it went so, it stays so in that
/// conversation, since providers cache what begins alike. APIs without files, and places where an API takes no
/// reference, are left as they are.
///
/// By default documents of 1 MiB and more are uploaded: below, what base64 costs at a step or two is about what the
/// additional request costs. They are kept for a day, so that nothing stays behind for ever at a provider, unless
/// [`delete_all`](Self::delete_all) ends them before. Dropping the handle deletes nothing.
///
/// ```
/// use std::time::Duration;
/// use attache_transport::Uploads;
///
/// let uploads = Uploads::above(4 << 20).with_lifetime(Duration::from_secs(3600));
/// // … `model.with_uploads(uploads.clone())`, for as many models as there are …
/// assert!(uploads.uploaded().is_empty());
/// ```
#[derive(Clone)]
pub struct Uploads {
    pub(super) from: u64,
    pub(super) lifetime: Option<Duration>,
    pub(super) timeout: Duration,
    pub(super) memo: Arc<Memo>,
}

/// A file that was uploaded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UploadedFile {
    /// Its id at the provider.
    pub id: String,
    /// The host of the provider.
    pub host: String,
    /// The name under which it was uploaded.
    pub file_name: String,
    /// The media type.
    pub media_type: MediaType,
    /// The size in bytes.
    pub bytes: usize,
}

impl Default for Uploads {
    fn default() -> Self {
        Self::above(FROM)
    }
}

impl Uploads {
    /// Documents of 1 MiB and more.
    pub fn new() -> Self {
        Self::default()
    }

    /// Documents of that many bytes and more.
    pub fn above(bytes: u64) -> Self {
        Self { from: bytes, lifetime: Some(LIFETIME), timeout: TIMEOUT, memo: Arc::new(Memo::new(MOST)) }
    }

    /// Sets how long files are kept; a day by default. A provider takes the nearest time that it knows, at least an
    /// hour; Gemini always keeps files for two days.
    #[must_use]
    pub fn with_lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = Some(lifetime);
        self
    }

    /// Keeps files until they are deleted, where a provider does that.
    #[must_use]
    pub fn until_deleted(mut self) -> Self {
        self.lifetime = None;
        self
    }

    /// Sets how long a call may wait for its uploads, 120 s by default; what is not there by then goes with the
    /// request.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets how many files are known at most, 1,000 by default, and forgets all that are known so far. Those not used
    /// for longest are forgotten first, and end by themselves.
    #[must_use]
    pub fn with_capacity(mut self, files: usize) -> Self {
        self.memo = Arc::new(Memo::new(files));
        self
    }

    /// The size in bytes from which on documents are uploaded.
    pub fn from_bytes(&self) -> u64 {
        self.from
    }

    /// The files that were uploaded and are not known to be gone, the last used one last.
    pub fn uploaded(&self) -> Vec<UploadedFile> {
        let kept = self.memo.kept().into_iter().map(|(_, kept)| kept);
        let files = kept.map(|kept| UploadedFile {
            host: kept.owner.host(),
            id: kept.file.id,
            file_name: kept.name,
            media_type: kept.media_type,
            bytes: kept.bytes,
        });
        files.collect()
    }

    /// Deletes at their providers all files that were uploaded, and says how many that were. A file that is gone
    /// already counts as deleted. A model that needs one of them afterwards uploads it again.
    ///
    /// # Errors
    /// The first failure. The others have been deleted nevertheless, and what has not is still
    /// [`uploaded`](Self::uploaded).
    ///
    /// # Cancellation
    /// A file that was not deleted by then is still [`uploaded`](Self::uploaded).
    pub async fn delete_all(&self) -> Result<usize, ProviderError> {
        let (mut deleted, mut failure) = (0, None);
        let kept = self.memo.kept().into_iter().map(|file| (file, 1));
        // Files that seem to be lost are tried too, but do not count.
        let lost = self.memo.lost().into_iter().map(|file| (file, 0));
        for ((key, kept), count) in kept.chain(lost) {
            match kept.owner.delete(&kept.file.id).await {
                Ok(()) => {
                    self.memo.forget(&key, &kept.file.id);
                    deleted += count;
                }
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        failure.map_or(Ok(deleted), Err)
    }

    /// Forgets what was uploaded and what was refused, without deleting anything: what is needed again is uploaded
    /// again.
    pub fn forget_all(&self) {
        self.memo.forget_all();
    }
}

impl fmt::Debug for Uploads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Uploads")
            .field("from", &self.from)
            .field("lifetime", &self.lifetime)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

//! The removal of documents that nobody mentions.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use attache_core::{DocumentId, StoreError};

use super::disk::{self, failed};
use super::documents::{FileDocumentStore, Folder, SUFFIX, id_in};
use crate::references::{Collected, References, mentioned, some};

/// A document that is old enough to be removed.
struct Old {
    path: PathBuf,
    id: DocumentId,
    written: SystemTime,
}

impl FileDocumentStore {
    /// Removes documents that no log of `references` mentions, if they are older than the
    /// [grace period](Self::with_grace). The [facts](DocumentId::facts) about a document stay as long as it does, and
    /// documents of live runs stay: they are in the runs' logs. A file whose first line is damaged stays.
    ///
    /// `references` are **all** stores of runs and sessions that keep their documents here: the documents of a store that
    /// is not given are removed once they are old enough. `FileJournals`, `SqliteStore` and `PostgresStore` can be given;
    /// where sessions or runs are kept elsewhere, do not collect unless you give an own [`References`] that names their
    /// documents. They are asked after the listing, and if one of them fails, nothing is removed.
    ///
    /// Puts go on meanwhile, in this process and in others; so may other collections. A document that is put again is as
    /// young as a new one.
    ///
    /// ```
    /// # use attache_stores::{FileDocumentStore, FileJournals};
    /// # async fn nightly(documents: FileDocumentStore, runs: FileJournals) -> Result<(), Box<dyn std::error::Error>> {
    /// let collected = documents.collect(&[&runs]).await?;
    /// println!("{} bytes are free again", collected.bytes);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`StoreErrorKind::Invalid`](attache_core::StoreErrorKind::Invalid) if `references` is empty, which would remove
    /// everything; [`StoreError`] of the file system or of the references.
    pub async fn collect(&self, references: &[&dyn References]) -> Result<Collected, StoreError> {
        some(references)?;
        let grace = self.grace;
        let mut old = self.with(move |folder| folder.old(grace)).await?;
        let mentioned = mentioned(references).await?;
        old.retain(|old| !mentioned.contains(&old.id));
        self.with(move |folder| folder.remove_old(&old)).await
    }
}

impl Folder {
    fn old(&self, grace: Duration) -> Result<Vec<Old>, StoreError> {
        let failed = |error| failed("list", &self.path, error);
        let now = SystemTime::now();
        let mut old = Vec::new();
        for file in fs::read_dir(&self.path).map_err(failed)? {
            let file = file.map_err(failed)?;
            if !file.file_name().to_str().is_some_and(|name| name.ends_with(SUFFIX)) {
                continue;
            }
            let Ok(written) = file.metadata().and_then(|file| file.modified()) else { continue };
            let path = file.path();
            if now.duration_since(written).is_ok_and(|age| age >= grace)
                && let Some(id) = id_in(&path)
                && self.path_of(&id) == path
            {
                old.push(Old { path, id, written });
            }
        }
        Ok(old)
    }

    fn remove_old(&self, old: &[Old]) -> Result<Collected, StoreError> {
        let mut collected = Collected::default();
        for Old { path, written, .. } in old {
            // Others have their turn between two files.
            let _turn = self.lock()?;
            let Ok(file) = fs::metadata(path) else { continue };
            // It was put again meanwhile.
            if file.modified().ok() != Some(*written) {
                continue;
            }
            fs::remove_file(path).map_err(|error| failed("delete", path, error))?;
            collected.documents += 1;
            collected.contents += 1;
            collected.bytes += file.len();
        }
        disk::sync_folder(&self.path)?;
        self.release(collected.bytes);
        collected.kept_bytes = self.count()?;
        Ok(collected)
    }
}

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
    /// [grace period](Self::with_grace). The [facts](DocumentId::facts) about a document that a log mentions stay, too;
    /// those about another one go by their own age. Documents of live runs stay: they are in the runs' logs. A file whose
    /// first line is damaged stays.
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
        let mut problem = None;
        for Old { path, written, .. } in old {
            // Others have their turn between two files. One that was put again meanwhile stays.
            match self.remove(path, Some(*written)) {
                Ok(Some(bytes)) => {
                    collected.documents += 1;
                    collected.contents += 1;
                    collected.bytes += bytes;
                }
                Ok(None) => {}
                Err(error) => {
                    problem.get_or_insert(error);
                }
            }
        }
        disk::sync_folder(&self.path)?;
        collected.kept_bytes = self.count()?;
        problem.map_or(Ok(collected), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use attache_core::{Document, DocumentStore as _};

    #[tokio::test]
    async fn a_file_that_cannot_be_removed_keeps_no_other_one() {
        let folder = tempfile::tempdir().unwrap();
        let store = FileDocumentStore::open(folder.path()).unwrap();
        let ids = ["a", "b"].map(|id| DocumentId::parse(id).unwrap());
        for id in &ids {
            store.put(&Document::inline("bytes").with_id(id.clone())).await.unwrap();
        }
        let stuck = folder.path().join("stuck.doc");
        fs::create_dir(&stuck).unwrap();
        let old = |path: PathBuf, id: &DocumentId| {
            let written = fs::metadata(&path).unwrap().modified().unwrap();
            Old { path, id: id.clone(), written }
        };
        let [one, other] = ["a.doc", "b.doc"].map(|name| folder.path().join(name));
        let old = [old(one, &ids[0]), old(stuck.clone(), &ids[0]), old(other, &ids[1])];
        let removed = store.with(move |folder| folder.remove_old(&old)).await;
        assert!(removed.unwrap_err().to_string().contains("stuck.doc"));
        for id in &ids {
            assert!(store.get(id).await.is_err(), "{id}");
        }
    }
}

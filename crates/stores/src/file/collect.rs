//! Removal of documents that no log mentions.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use attache_core::{BoxFuture, DocumentId, StoreError};

use super::disk::{self, failed};
use super::documents::{FileDocumentStore, Folder, NEW_SUFFIX, SUFFIX, id_in, remove_if_abandoned};
use crate::references::{Collected, References, mentioned, some};

/// The number of files that are listed or removed at a time: a collection that is dropped stops between two pieces.
const PIECE: usize = 256;

/// The files of the folder, as far as they are listed.
pub(super) struct Listing {
    files: fs::ReadDir,
    /// The time at which the listing began.
    began: SystemTime,
    old: Vec<Old>,
    /// The bytes of all documents.
    bytes: u64,
    is_done: bool,
}

/// A document that is old enough to be removed.
struct Old {
    path: PathBuf,
    id: DocumentId,
    written: SystemTime,
}

impl FileDocumentStore {
    /// Removes documents that no log of `references` mentions, if they are older than the [grace
    /// period](Self::with_grace). The [facts](DocumentId::facts) about a mentioned document are kept too; other facts
    /// are removed by their own age. Documents of active runs are kept, since they are in the runs' logs. A file whose
    /// first line is damaged is kept.
    ///
    /// `references` are **all** stores of runs and sessions that keep their documents here: the documents of an omitted
    /// store are removed once they are old enough. You can pass `FileJournals`, `SqliteStore` and `PostgresStore`; if
    /// sessions or runs are stored elsewhere, do not collect unless you pass your own [`References`] that lists their
    /// documents. They are queried after the listing, and if one of them fails, nothing is removed.
    ///
    /// Puts and other collections may run at the same time, in this process and in others. Putting a document again
    /// resets its age. If independent session stores may share the folder, see [`collect_as`](Self::collect_as).
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
        self.collect_boxed(references).await
    }

    /// A border: see ADR 0053.
    fn collect_boxed<'a>(
        &'a self,
        references: &'a [&'a dyn References],
    ) -> BoxFuture<'a, Result<Collected, StoreError>> {
        Box::pin(async move {
            some(references)?;
            let listing = self.list_old().await?;
            let mentioned = mentioned(references).await?;
            self.remove_others(listing, &mentioned).await
        })
    }

    /// Lists the documents that are old enough to be removed.
    pub(super) async fn list_old(&self) -> Result<Listing, StoreError> {
        let grace = self.grace;
        let mut listing = self.with(Folder::listing).await?;
        while !listing.is_done {
            listing = self.with(move |folder| folder.list_on(listing, grace)).await?;
        }
        Ok(listing)
    }

    /// Removes those that are not mentioned.
    pub(super) async fn remove_others(
        &self,
        listing: Listing,
        mentioned: &HashSet<DocumentId>,
    ) -> Result<Collected, StoreError> {
        let mut old = listing.old.into_iter().filter(|old| !mentioned.contains(&old.id));
        let (mut collected, mut problem) = (Collected::default(), None);
        loop {
            let piece: Vec<Old> = old.by_ref().take(PIECE).collect();
            if piece.is_empty() {
                break;
            }
            let (removed, failed) = self.with(move |folder| folder.remove_old(&piece)).await?;
            collected.documents += removed.documents;
            collected.contents += removed.contents;
            collected.bytes += removed.bytes;
            problem = problem.or(failed);
        }
        collected.kept_bytes = listing.bytes.saturating_sub(collected.bytes);
        problem.map_or(Ok(collected), Err)
    }
}

impl Folder {
    fn listing(&self) -> Result<Listing, StoreError> {
        let began = self.now(&self.lock()?)?;
        let files = fs::read_dir(&self.path).map_err(|error| failed("list", &self.path, error))?;
        Ok(Listing { files, began, old: Vec::new(), bytes: 0, is_done: false })
    }

    /// Lists some files more. Files that a crash left unfinished are removed.
    fn list_on(&self, mut listing: Listing, grace: Duration) -> Result<Listing, StoreError> {
        for _ in 0..PIECE {
            let Some(file) = listing.files.next() else {
                listing.is_done = true;
                break;
            };
            let file = file.map_err(|error| failed("list", &self.path, error))?;
            let (name, path) = (file.file_name(), file.path());
            let name = name.to_str().unwrap_or_default();
            if name.ends_with(NEW_SUFFIX) {
                let _turn = self.lock()?;
                remove_if_abandoned(&path);
            }
            if !name.ends_with(SUFFIX) {
                continue;
            }
            let Ok(known) = file.metadata() else { continue };
            listing.bytes = listing.bytes.saturating_add(known.len());
            if let Ok(written) = known.modified()
                && listing.began.duration_since(written).is_ok_and(|age| age >= grace)
                && let Some(id) = id_in(&path)
                && self.path_of(&id) == path
            {
                listing.old.push(Old { path, id, written });
            }
        }
        Ok(listing)
    }

    /// Yields the first failure, too: a file that cannot be removed keeps no other one.
    fn remove_old(&self, old: &[Old]) -> Result<(Collected, Option<StoreError>), StoreError> {
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
        Ok((collected, problem))
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
        let (_, failed) = store.with(move |folder| folder.remove_old(&old)).await.unwrap();
        assert!(failed.unwrap().to_string().contains("stuck.doc"));
        for id in &ids {
            assert!(store.get(id).await.is_err(), "{id}");
        }
    }
}

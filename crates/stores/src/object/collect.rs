//! Removal of unreferenced documents and contents.
//!
//! A link may go once it is old and no log has its id: names of links are never used again, so a fresh link stays,
//! whatever a collection has seen before. A copy may go once no link leads to it. A collection marks such a copy first
//! and looks for links afterwards; a put links first and looks for marks afterwards. So one of them sees the other, and
//! steps back: the collection takes its mark away, or the put writes another copy. A collection takes away only its own
//! marks, after it has removed the copy, so that the number of a copy is not used again while somebody may remove it.

use std::collections::{HashMap, HashSet};
use std::path::Path as FilePath;
use std::time::{Duration, Instant, SystemTime};

use attache_core::{StoreError, StoreErrorKind};
use object_store::ObjectMeta;
use object_store::path::Path;

use super::documents::ObjectDocumentStore;
use super::names::{Copy, Hash, Name, hash_of};
use crate::references::{Collected, References, mentioned, some};

/// The least age at which a mark is taken for one that its collection has abandoned.
const ABANDONED: Duration = Duration::from_secs(10 * 60);
/// The least time that a collection may take to remove what it has marked.
const REMOVAL: Duration = Duration::from_secs(5 * 60);

/// An id as the collection found it.
struct Link {
    path: Path,
    id: Hash,
    copy: Copy,
    written: SystemTime,
}

struct Kept {
    size: u64,
    is_old: bool,
}

impl ObjectDocumentStore {
    /// Removes documents that no log of `references` mentions, and contents that no document has, if they are older
    /// than the [grace period](Self::with_grace). The [facts](attache_core::DocumentId::facts) about a document are
    /// kept as long as the document. Documents of active runs are kept, since they are in the runs' logs.
    ///
    /// `references` are **all** stores of runs and sessions that keep their documents here: the documents of an omitted
    /// store are removed once they are old enough. You can pass `FileJournals`, `SqliteStore` and `PostgresStore`; if
    /// sessions or runs are stored elsewhere, do not collect unless you pass your own [`References`] that lists their
    /// documents. They are queried after the listing, and if one of them fails, nothing is removed.
    ///
    /// Puts and other collections may run at the same time, in this process and in others. An interrupted collection is
    /// completed by a later one. A collection keeps the names of all documents in memory, about 300 bytes each.
    ///
    /// ```
    /// # use attache_stores::{FileJournals, ObjectDocumentStore};
    /// # async fn nightly(documents: ObjectDocumentStore, runs: FileJournals) -> Result<(), Box<dyn std::error::Error>> {
    /// let collected = documents.collect(&[&runs]).await?;
    /// println!("{} bytes are free again", collected.bytes);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`StoreErrorKind::Invalid`] if `references` is empty, which would remove everything; [`StoreError`] of the storage
    /// or of the references.
    pub async fn collect(&self, references: &[&dyn References]) -> Result<Collected, StoreError> {
        some(references)?;
        let now = self.time().await?;
        let age = |object: &ObjectMeta| now.duration_since(object.last_modified.into()).unwrap_or_default();
        let (mut copies, mut marks) = (HashMap::new(), Vec::new());
        self.backend
            .list(&self.names.contents(), |object| match self.names.parse(&object.location) {
                Some(Name::Copy(copy)) => {
                    copies.insert(copy, Kept { size: object.size, is_old: age(&object) >= self.grace });
                }
                // Left by a collection that was cut off.
                Some(Name::Mark(_)) if age(&object) >= self.grace.max(ABANDONED) => {
                    marks.push(object.location)
                }
                _ => {}
            })
            .await?;
        let links = self.links().await?;
        let mut collected = self.forget_unmentioned(links, references, now).await?;
        // An object that was marked and not removed lost its collection long ago: this one marks it again.
        for mark in marks {
            self.backend.delete(&mark).await?;
        }
        self.remove_unlinked(&mut copies, &mut collected).await?;
        collected.kept_bytes = copies.values().map(|kept| kept.size).sum();
        self.set_used(|_| Some(collected.kept_bytes));
        self.remove_torn_files(now).await?;
        Ok(collected)
    }

    /// The time that the storage has: objects are as old as it says.
    async fn time(&self) -> Result<SystemTime, StoreError> {
        let clock = self.names.new_clock();
        self.backend.put(&clock, bytes::Bytes::new()).await?;
        let written = self.backend.head(&clock).await;
        self.backend.delete(&clock).await?;
        let gone =
            || StoreError::new(StoreErrorKind::Unavailable, "the object that was just written is gone");
        Ok(written?.ok_or_else(gone)?.last_modified.into())
    }

    async fn links(&self) -> Result<Vec<Link>, StoreError> {
        let mut links = Vec::new();
        self.backend
            .list(&self.names.ids(), |object| {
                if let Some(Name::Link { id, copy }) = self.names.parse(&object.location) {
                    let written = object.last_modified.into();
                    links.push(Link { path: object.location, id, copy, written });
                }
            })
            .await?;
        Ok(links)
    }

    /// Removes old links of ids that nobody mentions, and those that newer ones stand for.
    async fn forget_unmentioned(
        &self,
        links: Vec<Link>,
        references: &[&dyn References],
        now: SystemTime,
    ) -> Result<Collected, StoreError> {
        let mentioned = mentioned(references).await?;
        let mentioned: HashSet<Hash> = mentioned.iter().map(|id| hash_of(id.as_str().as_bytes())).collect();
        let mut newest: HashMap<(Hash, Copy), SystemTime> = HashMap::new();
        let mut left: HashSet<Hash> = HashSet::new();
        for link in &links {
            let newest = newest.entry((link.id, link.copy)).or_insert(link.written);
            *newest = link.written.max(*newest);
        }
        let mut forgotten = HashSet::new();
        for link in links {
            let is_old = now.duration_since(link.written).is_ok_and(|age| age >= self.grace);
            let is_outlived = newest.get(&(link.id, link.copy)).is_some_and(|newest| *newest > link.written);
            if is_old && (is_outlived || !mentioned.contains(&link.id)) {
                self.backend.delete(&link.path).await?;
                forgotten.insert(link.id);
            } else {
                left.insert(link.id);
            }
        }
        let documents = forgotten.difference(&left).count();
        Ok(Collected { documents: u64::try_from(documents).unwrap_or(u64::MAX), ..Collected::default() })
    }

    /// Removes old copies that no link leads to.
    async fn remove_unlinked(
        &self,
        copies: &mut HashMap<Copy, Kept>,
        collected: &mut Collected,
    ) -> Result<(), StoreError> {
        let linked = self.linked().await?;
        let unlinked: Vec<Copy> = copies
            .iter()
            .filter(|(copy, kept)| kept.is_old && !linked.contains(*copy))
            .map(|(copy, _)| *copy)
            .collect();
        if unlinked.is_empty() {
            return Ok(());
        }
        let begun = (Instant::now(), SystemTime::now());
        let mut marked = Vec::with_capacity(unlinked.len());
        for copy in unlinked {
            let mark = self.names.new_mark(&copy);
            self.backend.put(&mark, bytes::Bytes::new()).await?;
            marked.push((copy, mark));
        }
        let linked = self.linked().await?;
        for (copy, mark) in marked {
            if !linked.contains(&copy) {
                self.refuse_late(begun)?;
                self.backend.delete(&self.names.copy(&copy)).await?;
                collected.contents += 1;
                collected.bytes += copies.remove(&copy).map_or(0, |kept| kept.size);
            }
            self.backend.delete(&mark).await?;
        }
        Ok(())
    }

    async fn linked(&self) -> Result<HashSet<Copy>, StoreError> {
        Ok(self.links().await?.into_iter().map(|link| link.copy).collect())
    }

    /// A machine that slept for long finds that others took its marks for abandoned.
    fn refuse_late(&self, (instant, time): (Instant, SystemTime)) -> Result<(), StoreError> {
        let most = (self.grace / 2).max(REMOVAL);
        if instant.elapsed() <= most && time.elapsed().is_ok_and(|elapsed| elapsed <= most) {
            return Ok(());
        }
        Err(StoreError::new(
            StoreErrorKind::Unavailable,
            "the collection took too long and must be restarted",
        ))
    }

    /// Removes what a crash left of files that were being written; the storage does not list them.
    async fn remove_torn_files(&self, now: SystemTime) -> Result<(), StoreError> {
        let Some(folder) = self.backend.local.clone() else { return Ok(()) };
        let grace = self.grace;
        let work = move || remove_torn_files(&folder, now, grace);
        match tokio::task::spawn_blocking(work).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => {
                Err(StoreError::new(StoreErrorKind::Unavailable, "the folder cannot be read")
                    .with_source(error))
            }
            Err(error) => {
                Err(StoreError::new(StoreErrorKind::Unavailable, "the file operation was interrupted")
                    .with_source(error))
            }
        }
    }
}

fn remove_torn_files(folder: &FilePath, now: SystemTime, grace: Duration) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let name = entry.file_name();
        if kind.is_dir() {
            match remove_torn_files(&entry.path(), now, grace) {
                // It was emptied meanwhile.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                done => done?,
            }
        } else if kind.is_file() && is_torn(&name.to_string_lossy()) {
            let written = entry.metadata().and_then(|file| file.modified());
            if written.is_ok_and(|written| now.duration_since(written).is_ok_and(|age| age >= grace)) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }
    Ok(())
}

/// `object_store` writes a file as its name, `#` and a number, and gives it its name when it is whole.
fn is_torn(name: &str) -> bool {
    name.rsplit_once('#')
        .is_some_and(|(_, number)| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

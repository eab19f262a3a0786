//! The stores of sessions that keep their documents in a folder, so that none removes those of another one.
//!
//! Each of them has a mark in the folder `.owners`, of a name that nobody else has. The file `.collect` says that all
//! documents are of stores that have their mark: it is made with the first mark, if the folder is empty by then, or by
//! somebody who knows. A collection holds its lock, and its time is that of the last collection.

use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use attache_core::{BoxFuture, StoreError};

use super::disk::{self, failed};
use super::documents::{FileDocumentStore, Folder, NEW_SUFFIX, SUFFIX};
use super::name;
use crate::references::{Collected, References, mentioned, some};

const OWNERS: &str = ".owners";
const COLLECT: &str = ".collect";

/// The outcome of a collection on behalf of one session store; see [`FileDocumentStore::collect_as`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Collection {
    /// The folder was collected.
    Collected(Collected),
    /// Another collection is running, or ended recently.
    NotNow,
    /// Nothing was removed, because other stores also keep documents in the folder: these are their marks. If you know
    /// that one of them is gone for good, remove its mark.
    Shared(Vec<PathBuf>),
    /// Nothing was removed, because the folder contained documents before any store had its mark there. If you know
    /// that no document belongs to another store, create this file, which may be empty.
    Unclaimed(PathBuf),
}

impl FileDocumentStore {
    /// Registers `owner`, a store of sessions or runs, as keeping its documents here. The name must be unique to the
    /// store and the same in each process that opens it. [`collect_as`](Self::collect_as) checks it, so register the
    /// owner before the first document is put, and put none if this fails. If the folder is read-only for this process,
    /// nothing is registered.
    ///
    /// # Errors
    /// [`StoreError`] of the file system.
    pub async fn note_owner(&self, owner: &str) -> Result<(), StoreError> {
        self.note_owner_boxed(owner.to_owned()).await
    }

    /// A border: see ADR 0053.
    fn note_owner_boxed(&self, owner: String) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(self.with(move |folder| folder.note_owner(&owner)))
    }

    /// [Collects](Self::collect) on behalf of `owner`, if it is the only [registered owner](Self::note_owner), no other
    /// collection is running, and the last one started at least `every` ago. `references` are all stores of the owner.
    ///
    /// # Errors
    /// As [`collect`](Self::collect).
    pub async fn collect_as(
        &self,
        owner: &str,
        references: &[&dyn References],
        every: Duration,
    ) -> Result<Collection, StoreError> {
        self.collect_as_boxed(owner, references, every).await
    }

    /// A border: see ADR 0053.
    fn collect_as_boxed<'a>(
        &'a self,
        owner: &'a str,
        references: &'a [&'a dyn References],
        every: Duration,
    ) -> BoxFuture<'a, Result<Collection, StoreError>> {
        Box::pin(async move {
            some(references)?;
            let owner = owner.to_owned();
            let beginning = owner.clone();
            match self.with(move |folder| folder.begin_collection(&beginning, every)).await? {
                Ok(_lock) => {
                    let listing = self.list_old().await?;
                    let mentioned = mentioned(references).await?;
                    // That may have taken long, and somebody else may keep documents here by now.
                    match self.with(move |folder| folder.others(&owner)).await? {
                        Ok(()) => Ok(Collection::Collected(self.remove_others(listing, &mentioned).await?)),
                        Err(others) => Ok(Collection::Shared(others)),
                    }
                }
                Err(why) => Ok(why),
            }
        })
    }
}

impl Folder {
    fn note_owner(&self, owner: &str) -> Result<(), StoreError> {
        let owners = self.path.join(OWNERS);
        let mark = owners.join(name::of_id(owner));
        if mark.exists() {
            return Ok(());
        }
        // Each put takes this lock, too: where it is not to be had, nothing is put.
        let _turn = match self.lock() {
            Err(error) if disk::is_closed(&error) => return Ok(()),
            turn => turn?,
        };
        disk::make_folder(&owners)?;
        let is_first = self.owners()?.is_empty() && self.is_empty()?;
        make(&mark, owner)?;
        disk::sync_folder(&owners)?;
        if is_first {
            make(&self.path.join(COLLECT), "")?;
        }
        disk::sync_folder(&self.path)
    }

    /// The marks of the owners.
    fn owners(&self) -> Result<Vec<PathBuf>, StoreError> {
        let owners = self.path.join(OWNERS);
        let listed = fs::read_dir(&owners).and_then(|files| files.map(|file| Ok(file?.path())).collect());
        let mut listed: Vec<_> = listed.map_err(|error| failed("list", &owners, error))?;
        listed.sort_unstable();
        Ok(listed)
    }

    /// The marks of others than that owner, if there are any.
    fn others(&self, owner: &str) -> Result<Result<(), Vec<PathBuf>>, StoreError> {
        let own = self.path.join(OWNERS).join(name::of_id(owner));
        let others: Vec<_> = self.owners()?.into_iter().filter(|mark| *mark != own).collect();
        Ok(if others.is_empty() { Ok(()) } else { Err(others) })
    }

    fn is_empty(&self) -> Result<bool, StoreError> {
        let failed = |error| failed("list", &self.path, error);
        for file in fs::read_dir(&self.path).map_err(failed)? {
            let name = file.map_err(failed)?.file_name();
            let name = name.to_string_lossy();
            if name.ends_with(SUFFIX) || name.ends_with(NEW_SUFFIX) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The lock of whoever collects, or the reason why nobody does now.
    fn begin_collection(&self, owner: &str, every: Duration) -> Result<Result<File, Collection>, StoreError> {
        self.note_owner(owner)?;
        if let Err(others) = self.others(owner)? {
            return Ok(Err(Collection::Shared(others)));
        }
        let path = self.path.join(COLLECT);
        let file = match File::options().read(true).write(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Err(Collection::Unclaimed(path))),
            Err(error) => return Err(failed("open", &path, error)),
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(Err(Collection::NotNow)),
            Err(TryLockError::Error(error)) => return Err(failed("lock", &path, error)),
        }
        let now = self.now(&self.lock()?)?;
        let begun = file.metadata().and_then(|file| file.modified());
        let begun = begun.map_err(|error| failed("look at", &path, error))?;
        // A clock that was set back would have it wait for long.
        if now.duration_since(begun).is_ok_and(|since| since < every) {
            return Ok(Err(Collection::NotNow));
        }
        // One that fails or is cut off is tried again as late: it may have taken long.
        file.set_modified(now).map_err(|error| failed("write", &path, error))?;
        Ok(Ok(file))
    }
}

/// Makes a file that nobody else may read, with a text for people.
fn make(path: &Path, text: &str) -> Result<(), StoreError> {
    let file = disk::private().create(true).truncate(true).open(path);
    let made = file.and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()));
    made.map_err(|error| failed("write", path, error))
}

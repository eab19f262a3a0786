//! The age of documents, by which a collection goes.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

use attache_core::{DocumentId, StoreError, StoreErrorKind};

use super::disk::{failed, is_read_only, renew};
use super::documents::{Folder, open};

impl Folder {
    /// Makes a document as young as a new one, unless it is younger than that.
    pub(super) fn renew(&self, id: &DocumentId, young: Duration) -> Result<(), StoreError> {
        let path = self.path_of(id);
        let missing = || StoreError::new(StoreErrorKind::NotFound, format!("there is no document {id}"));
        let found = open(&path, id)?.ok_or_else(missing)?;
        let written = found.reader.get_ref().metadata().and_then(|file| file.modified());
        let written = written.map_err(|error| failed("look at", &path, error))?;
        if SystemTime::now().duration_since(written).is_ok_and(|age| age < young) {
            return Ok(());
        }
        match self.renew_in_turn(&path, id, &found.header.sha256) {
            Ok(true) => Ok(()),
            Ok(false) => Err(missing()),
            // It cannot be renewed from here. Somebody to whom the folder is open may remove it.
            Err(error) if is_read_only(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Makes a document as young as a new one; `false` if it is not there.
    pub(super) fn renew_in_turn(
        &self,
        path: &Path,
        id: &DocumentId,
        sha256: &str,
    ) -> Result<bool, StoreError> {
        let turn = self.lock()?;
        let is_there = open(path, id)?.is_some_and(|found| found.header.sha256 == sha256);
        if is_there {
            renew(path, self.now(&turn)?)?;
        }
        Ok(is_there)
    }

    /// The time by the clock of the file system, as new files have it: that of this machine may differ where the folder is
    /// another one's.
    pub(super) fn now(&self, turn: &File) -> Result<SystemTime, StoreError> {
        let touched = turn.set_len(1).and_then(|()| turn.set_len(0));
        let now = touched.and_then(|()| turn.metadata()).and_then(|file| file.modified());
        now.map_err(|error| failed("write", &self.path, error))
    }
}

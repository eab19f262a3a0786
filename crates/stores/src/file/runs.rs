//! The journals of many runs in one folder.

use std::fs;
use std::path::{Path, PathBuf};

use attache_core::{StoreError, StoreErrorKind};

use super::{FileJournal, disk, name};

const SUFFIX: &str = ".jsonl";

/// The journals of many runs in one folder, by run id.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let runs = attache_stores::FileJournals::open("runs")?;
/// for id in runs.ids()? {
///     let journal = runs.journal(&id)?;
///     println!("{id}: {}", journal.path().display());
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct FileJournals {
    folder: PathBuf,
}

impl FileJournals {
    /// Opens the journals in a folder, which is created if it is missing.
    ///
    /// # Errors
    /// [`StoreError`] if the folder cannot be created.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, StoreError> {
        let folder = disk::absolute(folder.as_ref())?;
        disk::make_folder(&folder)?;
        Ok(Self { folder })
    }

    /// Returns the journal of a new or existing run. The id may come from an untrusted source: it cannot lead to a file
    /// outside the folder or to that of another run.
    ///
    /// # Errors
    /// [`TooLarge`](StoreErrorKind::TooLarge) if the id is longer than 200 bytes, where all but `a`-`z`, `0`-`9`, `-` and
    /// `_` count as three; [`NotFound`](StoreErrorKind::NotFound) if it is empty.
    pub fn journal(&self, run_id: &str) -> Result<FileJournal, StoreError> {
        if run_id.is_empty() {
            return Err(StoreError::new(StoreErrorKind::NotFound, "the id of a run must not be empty"));
        }
        let Some(name) = name::spelt(run_id) else {
            return Err(StoreError::new(
                StoreErrorKind::TooLarge,
                "the id of the run is too long for a file name",
            ));
        };
        FileJournal::open(self.folder.join(name + SUFFIX))
    }

    /// The ids of the runs in the folder, in order. Other files are ignored.
    ///
    /// # Errors
    /// [`StoreError`] if the folder cannot be read.
    pub fn ids(&self) -> Result<Vec<String>, StoreError> {
        let failed = |error| disk::failed("list", &self.folder, error);
        let mut ids = Vec::new();
        for file in fs::read_dir(&self.folder).map_err(failed)? {
            let name = file.map_err(failed)?.file_name();
            ids.extend(name.to_str().and_then(|name| name.strip_suffix(SUFFIX)).and_then(name::id_of));
        }
        ids.sort_unstable();
        Ok(ids)
    }
}

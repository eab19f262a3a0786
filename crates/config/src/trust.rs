//! Trust in configuration files that somebody else may have written.

use std::io;
use std::path::{Path, PathBuf};

use crate::source::{ConfigFile, whole};

/// The name of the file.
pub const FILE_NAME: &str = "attache.toml";

/// The `attache.toml` of a project: in this folder, or in a parent folder up to the one that contains `.git`, but not
/// in the home folder.
pub fn project_file(folder: &Path, home: Option<&Path>) -> Option<PathBuf> {
    for folder in folder.ancestors() {
        if home == Some(folder) {
            return None;
        }
        let file = folder.join(FILE_NAME);
        if file.is_file() {
            return Some(file);
        }
        if folder.join(".git").exists() {
            return None;
        }
    }
    None
}

/// The files that the user has reviewed and trusts, by their [fingerprints](ConfigFile::fingerprint). Each is recorded
/// as a small file in a folder of the user.
#[derive(Clone, Debug)]
pub struct Trusted {
    folder: PathBuf,
}

impl Trusted {
    /// Uses the trusted files recorded in a folder. The folder is created when the first file is trusted.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// True if the user trusts the file in its current state.
    pub fn has(&self, file: &ConfigFile) -> bool {
        self.folder.join(file.fingerprint()).is_file()
    }

    /// Trusts the file, until it or one that it imports changes.
    ///
    /// # Errors
    /// The folder is not writable.
    pub fn add(&self, file: &ConfigFile) -> io::Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        let place = whole(file.path());
        std::fs::write(self.folder.join(file.fingerprint()), place.as_os_str().as_encoded_bytes())
    }

    /// Stops trusting the file and all its earlier versions. Returns true if any of them was trusted.
    ///
    /// # Errors
    /// The folder is not writable.
    pub fn remove(&self, file: &ConfigFile) -> io::Result<bool> {
        // It may have been remembered by another way to it.
        let was = removed(&self.folder.join(file.fingerprint()))?;
        Ok(self.remove_path(file.path())? || was)
    }

    /// Stops trusting all versions of this file, even if it cannot be read now. Returns true if any of them was
    /// trusted.
    ///
    /// # Errors
    /// The folder cannot be read or written.
    pub fn remove_path(&self, path: impl AsRef<Path>) -> io::Result<bool> {
        let place = whole(path.as_ref());
        let entries = match std::fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        let mut was = false;
        for entry in entries {
            let entry = entry?.path();
            if std::fs::read(&entry).is_ok_and(|kept| kept == place.as_os_str().as_encoded_bytes()) {
                was |= removed(&entry)?;
            }
        }
        Ok(was)
    }
}

/// Removes a file. Yields false if it was not there.
fn removed(file: &Path) -> io::Result<bool> {
    match std::fs::remove_file(file) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

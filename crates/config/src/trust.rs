//! Files that somebody else may have written.

use std::io;
use std::path::{Path, PathBuf};

use crate::source::ConfigFile;

/// The name of the file.
pub const FILE_NAME: &str = "attache.toml";

/// The `attache.toml` of a project: in this folder, or in one around it up to the one that holds `.git`, and not in the
/// home.
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

/// The files that the user has read and trusts, by their [fingerprints](ConfigFile::fingerprint). Each is a small file
/// in a folder of the user's own.
#[derive(Clone, Debug)]
pub struct Trusted {
    folder: PathBuf,
}

impl Trusted {
    /// The files that the folder remembers. The folder is made when the first file is trusted.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// True if the user trusts the file as it is now.
    pub fn has(&self, file: &ConfigFile) -> bool {
        self.folder.join(file.fingerprint()).is_file()
    }

    /// Trusts the file, until it or one that it imports changes.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn add(&self, file: &ConfigFile) -> io::Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        std::fs::write(self.folder.join(file.fingerprint()), file.path().as_os_str().as_encoded_bytes())
    }

    /// Trusts the file no longer. Yields true if it was trusted.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn remove(&self, file: &ConfigFile) -> io::Result<bool> {
        match std::fs::remove_file(self.folder.join(file.fingerprint())) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

//! One file with what it says.

use std::path::PathBuf;

use crate::checked::{Masks, Unset};
use crate::problem::Problem;
use crate::sections::Sections;
use crate::source::ConfigFile;
use crate::variables::place;

/// A file that was found right.
pub(crate) struct Read {
    pub(crate) file: ConfigFile,
    pub(crate) sections: Sections,
    pub(crate) masks: Masks,
    pub(crate) home: Option<String>,
    /// The servers and services that it names, and that lack variables or files.
    pub(crate) unset: Vec<Unset>,
}

impl Read {
    /// A mistake without the values of variables.
    pub(crate) fn problem(&self, path: &str, message: &str, hint: Option<String>) -> Problem {
        self.file.problem(path, self.masks.apply(message), hint.map(|hint| self.masks.apply(&hint)))
    }

    /// A path as the file writes it.
    pub(crate) fn place(&self, written: &str) -> PathBuf {
        place(written, &self.file.folder, &|_| self.home.clone())
    }
}

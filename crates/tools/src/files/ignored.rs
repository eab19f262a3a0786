//! The files that are left out of what a model may look at.

use std::path::Path;
use std::sync::Arc;

use super::error::FileError;
use super::glob::Pattern;

/// The maximum number of bytes of a `.gitignore` that are read.
pub(super) const MAX_BYTES: u64 = 1 << 20;
/// The name of the file.
pub(super) const FILE: &str = ".gitignore";
/// The maximum number of folders above an opened one that are looked at for such a file.
const MAX_ABOVE: usize = 64;

/// The rules of a folder and of those above it.
#[derive(Debug)]
pub(super) struct Rules {
    above: Option<Arc<Rules>>,
    /// The path of the opened folder below the folder of these rules, empty where it is that folder.
    to_root: String,
    /// The folder of these rules below the opened one.
    folder: String,
    patterns: Vec<Pattern>,
}

impl Rules {
    /// The rules of a text that stands in a folder below the opened one.
    pub(super) fn inside(above: Option<&Arc<Self>>, folder: &str, text: &str) -> Arc<Self> {
        Arc::new(Self {
            above: above.cloned(),
            to_root: String::new(),
            folder: folder.to_owned(),
            patterns: text.lines().filter_map(Pattern::line).collect(),
        })
    }

    /// The rules above an opened folder: of its repository, if it is inside one.
    pub(super) fn around(folder: &Path) -> Option<Arc<Self>> {
        let mut folders: Vec<&Path> = folder.ancestors().take(MAX_ABOVE).collect();
        let top = folders.iter().position(|folder| folder.join(".git").exists())?;
        folders.truncate(top + 1);
        let mut rules = None;
        // Those of the opened folder itself are read with it.
        for (depth, above) in folders.iter().enumerate().rev() {
            let to_root = folder.strip_prefix(above).ok()?.to_str()?.replace('\\', "/");
            let mut texts = vec![above.join(FILE)];
            if depth == top {
                texts.insert(0, above.join(".git/info/exclude"));
            }
            for file in texts.iter().filter(|file| depth > 0 || !file.ends_with(FILE)) {
                let is_small =
                    std::fs::metadata(file).is_ok_and(|found| found.is_file() && found.len() <= MAX_BYTES);
                let Some(text) = is_small.then(|| std::fs::read_to_string(file).ok()).flatten() else {
                    continue;
                };
                let patterns = text.lines().filter_map(Pattern::line).collect();
                let (to_root, folder) = (to_root.clone(), String::new());
                rules = Some(Arc::new(Self { above: rules, to_root, folder, patterns }));
            }
        }
        rules
    }

    /// True if the file or folder of this path, below the opened folder, is left out.
    pub(super) fn leave_out(&self, path: &str, is_folder: bool) -> bool {
        let here = match (self.to_root.as_str(), self.folder.as_str()) {
            ("", "") => Some(path.to_owned()),
            ("", folder) => {
                path.strip_prefix(folder).and_then(|path| path.strip_prefix('/')).map(str::to_owned)
            }
            (to_root, _) => Some(format!("{to_root}/{path}")),
        };
        let last =
            here.and_then(|path| self.patterns.iter().rev().find(|pattern| pattern.fits(&path, is_folder)));
        match (last, &self.above) {
            (Some(pattern), _) => !pattern.is_negated,
            (None, Some(above)) => above.leave_out(path, is_folder),
            (None, None) => false,
        }
    }
}

/// Defines which files of the folders a model can see: by default all except hidden files and those ignored by git.
#[derive(Clone, Debug)]
#[must_use]
pub struct FileFilter {
    include: Vec<Pattern>,
    exclude: Vec<Pattern>,
    /// True if a `.gitignore` counts.
    pub(super) ignores: bool,
    /// True if names that begin with a dot count.
    pub(super) hidden: bool,
}

impl Default for FileFilter {
    fn default() -> Self {
        Self { include: Vec::new(), exclude: Vec::new(), ignores: true, hidden: false }
    }
}

impl FileFilter {
    /// Creates the default filter.
    pub fn new() -> Self {
        Self::default()
    }

    /// Includes only files that match one of these patterns, written as in a `.gitignore`; a folder (`reports/`) stands
    /// for the files in it.
    ///
    /// # Errors
    /// [`FileError::Pattern`] for an invalid pattern.
    pub fn including(
        mut self,
        patterns: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Self, FileError> {
        self.include.extend(read(patterns, Pattern::of_files)?);
        Ok(self)
    }

    /// Excludes files and folders that match one of these patterns, written as in a `.gitignore`.
    ///
    /// # Errors
    /// [`FileError::Pattern`] for an invalid pattern.
    pub fn excluding(
        mut self,
        patterns: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<Self, FileError> {
        self.exclude.extend(read(patterns, Pattern::new)?);
        Ok(self)
    }

    /// Sets if files listed in a `.gitignore` are excluded; `true` by default.
    pub fn with_ignore_files(mut self, respected: bool) -> Self {
        self.ignores = respected;
        self
    }

    /// Sets if files and folders whose names begin with a dot are included; `false` by default.
    pub fn with_hidden(mut self, shown: bool) -> Self {
        self.hidden = shown;
        self
    }

    /// True if it is left out.
    pub(super) fn leave_out(&self, path: &str, is_folder: bool) -> bool {
        let fits = |patterns: &[Pattern]| patterns.iter().any(|pattern| pattern.fits(path, is_folder));
        fits(&self.exclude) || !(is_folder || self.include.is_empty() || fits(&self.include))
    }
}

fn read(
    patterns: impl IntoIterator<Item = impl AsRef<str>>,
    of: fn(&str) -> Option<Pattern>,
) -> Result<Vec<Pattern>, FileError> {
    let pattern = |text: &str| of(text).ok_or_else(|| FileError::Pattern(text.to_owned()));
    patterns.into_iter().map(|text| pattern(text.as_ref())).collect()
}

//! Pages, and the files that they stand in.

use std::fs;
use std::path::{Path, PathBuf};

use crate::shell::Failure;

/// A page, and where it stands in the repository.
pub(crate) struct Page {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// The pages of the root and of `docs`, in the order of their paths.
pub(crate) fn pages(root: &Path) -> Result<Vec<Page>, Failure> {
    let mut paths = Vec::new();
    for name in ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"] {
        paths.push(PathBuf::from(name));
    }
    files(root, Path::new("docs"), &mut paths)?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.into_iter().map(|path| Ok(Page { text: read(&root.join(&path))?, path })).collect()
}

/// The files of a folder, and of the folders in it, as paths from `root`.
pub(super) fn files(root: &Path, folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let entries = fs::read_dir(root.join(folder))
        .map_err(|error| format!("{} cannot be read: {error}", folder.display()))?;
    let mut names: Vec<_> = entries.filter_map(Result::ok).map(|entry| entry.file_name()).collect();
    names.sort();
    for name in names {
        let path = folder.join(name);
        if root.join(&path).is_dir() { files(root, &path, found)? } else { found.push(path) }
    }
    Ok(())
}

pub(super) fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))
}

pub(super) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| format!("{} cannot be written: {error}", path.display()))
}

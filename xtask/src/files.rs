//! The files of a folder.

use std::fs;
use std::path::{Path, PathBuf};

use crate::shell::Failure;

/// The files under a folder, as paths from there. Snapshots that wait for a review are none.
pub(crate) fn below(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(next) = open.pop() {
        let entries = fs::read_dir(&next).map_err(|error| format!("{}: {error}", next.display()))?;
        for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_none_or(|extension| extension != "new") {
                found.extend(path.strip_prefix(folder).map(Path::to_path_buf));
            }
        }
    }
    found.sort();
    Ok(found)
}

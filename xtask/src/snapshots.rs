//! Snapshots: checked, written, and none left behind by a test that is gone.

pub(crate) mod review;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::shell::{Failure, root, run_with, target};

/// Checks the snapshots of these packages, or of all, or writes what the code does now.
pub(crate) fn run(accept: bool, packages: &[&str]) -> Result<(), Failure> {
    let referenced = references()?;
    let update = if accept { "always" } else { "no" };
    let settings = [("INSTA_UPDATE", update), ("INSTA_SNAPSHOT_REFERENCES_FILE", referenced.as_str())];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let mut arguments = vec!["test", "--tests"];
    match packages {
        [] => arguments.push("--workspace"),
        _ => arguments.extend(packages.iter().flat_map(|package| ["-p", package])),
    }
    run_with("cargo", &arguments, &settings)?;
    if packages.is_empty() { refuse_orphans(&referenced) } else { Ok(()) }
}

/// An empty file for the names of snapshots that tests compare.
pub(crate) fn references() -> Result<String, Failure> {
    let file = target().join("snapshots.txt");
    fs::create_dir_all(target())
        .and_then(|()| fs::write(&file, ""))
        .map_err(|error| format!("{} cannot be written: {error}", file.display()))?;
    Ok(file.display().to_string())
}

/// Fails for each snapshot that no test compared.
pub(crate) fn refuse_orphans(referenced: &str) -> Result<(), Failure> {
    let text =
        fs::read_to_string(referenced).map_err(|error| format!("{referenced} cannot be read: {error}"))?;
    let compared: BTreeSet<PathBuf> = text.lines().filter_map(|line| fs::canonicalize(line).ok()).collect();
    if compared.is_empty() {
        return Err("no test says which snapshots it compares: has insta changed?".to_owned());
    }
    let mut all = BTreeSet::new();
    for folder in ["crates", "tests"] {
        let is_snapshot = |path: &Path| path.extension().is_some_and(|extension| extension == "snap");
        collect(&root().join(folder), &mut all, &is_snapshot)?;
    }
    let orphans: Vec<String> = all.difference(&compared).map(|path| path.display().to_string()).collect();
    match orphans.as_slice() {
        [] => Ok(()),
        _ => Err(format!("no test compares\n  {}", orphans.join("\n  "))),
    }
}

fn collect(
    folder: &Path,
    found: &mut BTreeSet<PathBuf>,
    wanted: &dyn Fn(&Path) -> bool,
) -> Result<(), Failure> {
    let failed = |error| format!("{} cannot be read: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() && !path.ends_with("target") {
            collect(&path, found, wanted)?;
        } else if wanted(&path) {
            found.insert(fs::canonicalize(&path).map_err(failed)?);
        }
    }
    Ok(())
}

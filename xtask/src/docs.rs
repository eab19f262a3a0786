//! The guide: its links lead somewhere, its programs are the examples, the crates it counts are those that cargo counts;
//! and the site that is made of it.

mod links;
mod programs;
mod site;

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Failure, report, root};

/// A page, and where it stands in the repository.
pub(crate) struct Page {
    path: PathBuf,
    text: String,
}

/// `cargo xtask docs`: checks the pages and builds the site; `--check` does no more than the first, `--write` copies the
/// examples into the pages that show them.
pub(crate) fn run(words: &[&str]) -> Result<(), Failure> {
    let root = root();
    match words {
        [] => {
            check()?;
            site::build(&root, &pages(&root)?)
        }
        ["--check"] => check(),
        ["--write"] => programs::write(&root, pages(&root)?),
        _ => Err("docs takes --check or --write".to_owned()),
    }
}

/// Checks what needs no other program than cargo.
pub(crate) fn check() -> Result<(), Failure> {
    let root = root();
    let pages = pages(&root)?;
    let mut problems = links::problems(&root, &pages);
    problems.extend(links::unlisted(&pages));
    problems.extend(programs::problems(&root, &pages)?);
    problems.extend(programs::wrong_counts(&pages)?);
    report(&format!("{} pages", pages.len()));
    if problems.is_empty() { Ok(()) } else { Err(format!("docs:\n  {}", problems.join("\n  "))) }
}

/// The pages of the root and of `docs`, in the order of their paths.
fn pages(root: &Path) -> Result<Vec<Page>, Failure> {
    let mut paths = Vec::new();
    for name in ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"] {
        paths.push(PathBuf::from(name));
    }
    files(root, Path::new("docs"), &mut paths)?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    paths.into_iter().map(|path| Ok(Page { text: read(&root.join(&path))?, path })).collect()
}

/// The files of a folder, and of the folders in it, as paths from `root`.
fn files(root: &Path, folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
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

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| format!("{} cannot be written: {error}", path.display()))
}

//! Folders that cannot be left.
//!
//! Every path is opened relative to a folder's handle, component by component, so that `..`, absolute paths and
//! symbolic links cannot lead out, whoever changes the folder meanwhile.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use super::ignored::{self, Chosen, Rules};
use super::listing::Listing;

/// The most entries that a listing looks at.
const MAX_SEEN: usize = 50_000;
/// The depth of a listing.
const MAX_DEPTH: usize = 12;

/// Paths go to the model and come back as text.
const NOT_UTF8: &str = "its name is not UTF-8";
const NOT_REGULAR: &str = "it is no regular file";
const LINK: &str = "it is a link, and links are not followed";

/// The folders and files that the user opened to the model.
#[derive(Debug)]
pub(crate) struct Folders {
    roots: Vec<Root>,
    max_file_bytes: u64,
    chosen: Chosen,
}

#[derive(Debug)]
struct Root {
    /// The first component of the paths that the model sees; empty where there is only one folder.
    name: String,
    dir: Dir,
    /// The one file of the folder that was opened, where a file was.
    only: Option<String>,
    /// The rules of the repository around it.
    rules: Option<Arc<Rules>>,
}

/// The reason why a file or folder cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("{path}: {problem}")]
    Open { path: String, problem: String },
    #[error("there is no file {0:?}; list_files shows what there is")]
    NotFound(String),
    #[error("{0:?} is outside of the folders that were opened")]
    Outside(String),
    #[error("{0:?} is not a regular file")]
    NotAFile(String),
    #[error("{path:?} has {size} bytes, more than the {limit} that are read")]
    TooLarge { path: String, size: u64, limit: u64 },
    #[error("{path:?} cannot be read: {problem}")]
    Unreadable { path: String, problem: String },
}

impl Folders {
    pub(crate) fn open(paths: &[PathBuf], max_file_bytes: u64, chosen: Chosen) -> Result<Self, FileError> {
        let mut roots: Vec<Root> = Vec::with_capacity(paths.len());
        for path in paths {
            let refused = |problem: &str| FileError::Open {
                path: path.display().to_string(),
                problem: problem.to_owned(),
            };
            let failed = |error: io::Error| refused(&plain(&error));
            // The user's own path may be a link or climb; what it leads to is the border.
            let real = path.canonicalize().map_err(failed)?;
            let kind = real.metadata().map_err(failed)?;
            let (folder, only) = match (real.parent(), real.file_name()) {
                _ if kind.is_dir() => (real.as_path(), None),
                _ if !kind.is_file() => return Err(refused("it is neither a folder nor a regular file")),
                (Some(parent), Some(name)) => {
                    let name = name.to_str().ok_or_else(|| refused(NOT_UTF8))?;
                    (parent, Some(name.to_owned()))
                }
                _ => return Err(failed(ErrorKind::NotFound.into())),
            };
            let dir = Dir::open_ambient_dir(folder, ambient_authority()).map_err(failed)?;
            let base = folder
                .file_name()
                .map_or_else(|| "files".to_owned(), |name| name.to_string_lossy().into_owned());
            let mut name = base.clone();
            let mut number = 2;
            while roots.iter().any(|root| root.name == name) {
                name = format!("{base}-{number}");
                number += 1;
            }
            let rules = if chosen.ignores && only.is_none() { Rules::around(folder) } else { None };
            roots.push(Root { name, dir, only, rules });
        }
        if let [root] = roots.as_mut_slice() {
            root.name.clear();
        }
        Ok(Self { roots, max_file_bytes, chosen })
    }

    /// Lists everything, or one folder, in a stable order. Hidden files and those that a `.gitignore` or the user leaves
    /// out are not in it; what cannot be read, links and special files, such as pipes, are named apart.
    pub(crate) fn list(&self, folder: Option<&str>) -> Result<Listing, FileError> {
        let mut listing = Listing::default();
        let folder = folder
            .map(|folder| folder.trim().trim_matches('/'))
            .filter(|folder| !matches!(*folder, "" | "."));
        match folder {
            None => {
                for root in &self.roots {
                    if let Err(problem) = root.list("", &self.chosen, &mut listing) {
                        listing.leave_out(root.called(), plain(&problem));
                    }
                }
            }
            Some(folder) => {
                let (root, inside) = self.root_of(folder)?;
                let is_shown = inside.is_empty() || root.only.is_some();
                if !is_shown && !root.shows(inside, &self.chosen, true) {
                    return Err(FileError::NotFound(folder.to_owned()));
                }
                root.list(inside, &self.chosen, &mut listing).map_err(|error| unreadable(folder, &error))?;
            }
        }
        Ok(listing)
    }

    /// The bytes of a file, and its path as a listing names it.
    pub(crate) fn read(&self, path: &str) -> Result<(String, Vec<u8>), FileError> {
        let (root, inside) = self.root_of(path)?;
        if !root.shows(inside, &self.chosen, false) {
            return Err(FileError::NotFound(path.to_owned()));
        }
        let problem = |error: io::Error| unreadable(path, &error);
        // Looked at before it is opened: opening a pipe or a device may block or do something.
        let metadata = root.dir.metadata(inside).map_err(problem)?;
        if !metadata.is_file() {
            return Err(FileError::NotAFile(path.to_owned()));
        }
        let too_large =
            |size| FileError::TooLarge { path: path.to_owned(), size, limit: self.max_file_bytes };
        if metadata.len() > self.max_file_bytes {
            return Err(too_large(metadata.len()));
        }
        let file = root.dir.open(inside).map_err(problem)?;
        let metadata = file.metadata().map_err(problem)?;
        if !metadata.is_file() {
            return Err(FileError::NotAFile(path.to_owned()));
        }
        let mut bytes = Vec::new();
        // A file may grow while it is read.
        file.take(self.max_file_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(problem)?;
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if size > self.max_file_bytes {
            return Err(too_large(size));
        }
        Ok((root.shown(inside), bytes))
    }

    fn root_of<'a>(&self, path: &'a str) -> Result<(&Root, &'a str), FileError> {
        let path = path.trim().strip_prefix("./").unwrap_or(path.trim());
        // An empty part would make a path that no pattern fits.
        if Path::new(path).is_absolute()
            || path.contains("//")
            || Path::new(path).components().any(|part| !matches!(part, std::path::Component::Normal(_)))
        {
            return Err(FileError::Outside(path.to_owned()));
        }
        if let [root] = self.roots.as_slice() {
            return Ok((root, path));
        }
        let (name, inside) = path.split_once('/').unwrap_or((path, ""));
        let root = self.roots.iter().find(|root| root.name == name);
        root.map(|root| (root, inside)).ok_or_else(|| FileError::NotFound(path.to_owned()))
    }
}

impl Root {
    fn shown(&self, inside: &str) -> String {
        match (self.name.as_str(), inside) {
            ("", inside) => inside.to_owned(),
            (name, "") => name.to_owned(),
            (name, inside) => format!("{name}/{inside}"),
        }
    }

    /// The name of an entry for the whole of it.
    fn called(&self) -> String {
        match self.shown(self.only.as_deref().unwrap_or_default()) {
            name if name.is_empty() => ".".to_owned(),
            name => name,
        }
    }

    /// True if a listing would name this file or folder, were it there. It names no links: one may lead to what is left
    /// out.
    fn shows(&self, inside: &str, chosen: &Chosen, is_folder: bool) -> bool {
        if let Some(only) = &self.only {
            return only == inside;
        }
        let mut rules = self.rules_in("", self.rules.as_ref(), chosen);
        let ends = inside.match_indices('/').map(|(at, _)| (at, true)).chain([(inside.len(), is_folder)]);
        for (end, is_folder) in ends {
            let path = inside.get(..end).unwrap_or(inside);
            let name = path.rsplit('/').next().unwrap_or(path);
            let is_link = || self.dir.symlink_metadata(path).is_ok_and(|found| found.is_symlink());
            if name.starts_with('.') || left_out(rules.as_ref(), chosen, path, is_folder) || is_link() {
                return false;
            }
            if is_folder {
                rules = self.rules_in(path, rules.as_ref(), chosen);
            }
        }
        true
    }

    /// The rules in a folder, with those of its own.
    fn rules_in(&self, folder: &str, above: Option<&Arc<Rules>>, chosen: &Chosen) -> Option<Arc<Rules>> {
        if !chosen.ignores {
            return None;
        }
        let file =
            if folder.is_empty() { ignored::FILE.to_owned() } else { format!("{folder}/{}", ignored::FILE) };
        let is_file = self
            .dir
            .symlink_metadata(&file)
            .is_ok_and(|found| found.is_file() && found.len() <= ignored::MAX_BYTES);
        match is_file.then(|| self.dir.read_to_string(&file).ok()).flatten() {
            Some(text) => Some(Rules::inside(above, folder, &text)),
            None => above.cloned(),
        }
    }

    fn list(&self, folder: &str, chosen: &Chosen, listing: &mut Listing) -> io::Result<()> {
        if let Some(only) = &self.only {
            let metadata = self.dir.metadata(only)?;
            if metadata.is_file() {
                listing.add(self.shown(only), metadata.len());
            } else {
                listing.leave_out(self.shown(only), NOT_REGULAR);
            }
            return Ok(());
        }
        let mut rules = self.rules.clone();
        // Those of the folders on the way to it.
        if !folder.is_empty() {
            rules = self.rules_in("", rules.as_ref(), chosen);
        }
        for (end, _) in folder.match_indices('/') {
            rules = self.rules_in(folder.get(..end).unwrap_or_default(), rules.as_ref(), chosen);
        }
        let mut waiting = VecDeque::from([(folder.to_owned(), 0_usize, rules)]);
        let mut seen = 0_usize;
        while let Some((folder, depth, rules)) = waiting.pop_front() {
            let (names, problem) = match self.names(&folder) {
                Err(problem) if depth == 0 => return Err(problem),
                Err(problem) => (Vec::new(), Some(problem)),
                Ok(read) => read,
            };
            let rules = self.rules_in(&folder, rules.as_ref(), chosen);
            if let Some(problem) = problem {
                let folder = self.shown(&folder);
                listing.leave_out(if folder.is_empty() { self.called() } else { folder }, plain(&problem));
            }
            for name in names.into_iter().filter(|name| !name.as_encoded_bytes().starts_with(b".")) {
                seen += 1;
                let is_text = name.to_str().is_some();
                let name = name.to_string_lossy();
                let inside = if folder.is_empty() { name.into_owned() } else { format!("{folder}/{name}") };
                if !is_text {
                    listing.leave_out(self.shown(&inside), NOT_UTF8);
                    continue;
                }
                let found = self.dir.symlink_metadata(&inside);
                let is_folder = found.as_ref().is_ok_and(cap_std::fs::Metadata::is_dir);
                if left_out(rules.as_ref(), chosen, &inside, is_folder) {
                    continue;
                }
                match found {
                    Err(problem) => listing.leave_out(self.shown(&inside), plain(&problem)),
                    Ok(metadata) if metadata.is_dir() && depth < MAX_DEPTH && seen < MAX_SEEN => {
                        waiting.push_back((inside, depth + 1, rules.clone()));
                    }
                    Ok(metadata) if metadata.is_dir() => listing.omitted += 1,
                    Ok(metadata) if metadata.is_file() => listing.add(self.shown(&inside), metadata.len()),
                    Ok(metadata) if metadata.is_symlink() => listing.leave_out(self.shown(&inside), LINK),
                    Ok(_) => listing.leave_out(self.shown(&inside), NOT_REGULAR),
                }
            }
        }
        Ok(())
    }

    /// The names in a folder in a stable order, and what kept the others from being read.
    fn names(&self, folder: &str) -> io::Result<(Vec<OsString>, Option<io::Error>)> {
        let entries = if folder.is_empty() { self.dir.entries() } else { self.dir.read_dir(folder) };
        let mut names = Vec::new();
        let mut problem = None;
        for entry in entries? {
            match entry {
                Ok(entry) => names.push(entry.file_name()),
                Err(error) => problem = Some(error),
            }
        }
        names.sort_unstable();
        Ok((names, problem))
    }
}

fn left_out(rules: Option<&Arc<Rules>>, chosen: &Chosen, path: &str, is_folder: bool) -> bool {
    chosen.leave_out(path, is_folder) || rules.is_some_and(|rules| rules.leave_out(path, is_folder))
}

/// The reason why a file that the model asked for cannot be read.
fn unreadable(path: &str, error: &io::Error) -> FileError {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => FileError::NotFound(path.to_owned()),
        ErrorKind::PermissionDenied if error.raw_os_error().is_none() => FileError::Outside(path.to_owned()),
        _ => FileError::Unreadable { path: path.to_owned(), problem: plain(error) },
    }
}

/// The system's message, without its number.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

#[cfg(test)]
mod tests;

//! Folders that cannot be left.
//!
//! Every path is opened relative to a folder's handle, component by component, so that `..`, absolute paths and
//! symbolic links cannot lead out, whoever changes the folder meanwhile.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

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
}

#[derive(Debug)]
struct Root {
    /// The first component of the paths that the model sees; empty where there is only one folder.
    name: String,
    dir: Dir,
    /// The one file of the folder that was opened, where a file was.
    only: Option<String>,
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
    pub(crate) fn open(paths: &[PathBuf], max_file_bytes: u64) -> Result<Self, FileError> {
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
            roots.push(Root { name, dir, only });
        }
        if let [root] = roots.as_mut_slice() {
            root.name.clear();
        }
        Ok(Self { roots, max_file_bytes })
    }

    /// Lists everything, or one folder, in a stable order. Hidden files are left out; what cannot be read, links and
    /// special files, such as pipes, are named apart.
    pub(crate) fn list(&self, folder: Option<&str>) -> Result<Listing, FileError> {
        let mut listing = Listing::default();
        let folder = folder
            .map(|folder| folder.trim().trim_matches('/'))
            .filter(|folder| !matches!(*folder, "" | "."));
        match folder {
            None => {
                for root in &self.roots {
                    if let Err(problem) = root.list("", &mut listing) {
                        listing.leave_out(root.called(), plain(&problem));
                    }
                }
            }
            Some(folder) => {
                let (root, inside) = self.root_of(folder)?;
                root.list(inside, &mut listing).map_err(|error| unreadable(folder, &error))?;
            }
        }
        Ok(listing)
    }

    /// The bytes of a file, and its path as a listing names it.
    pub(crate) fn read(&self, path: &str) -> Result<(String, Vec<u8>), FileError> {
        let (root, inside) = self.root_of(path)?;
        if root.only.as_deref().is_some_and(|only| only != inside) {
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
        if Path::new(path).is_absolute()
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

    fn list(&self, folder: &str, listing: &mut Listing) -> io::Result<()> {
        if let Some(only) = &self.only {
            let metadata = self.dir.metadata(only)?;
            if metadata.is_file() {
                listing.add(self.shown(only), metadata.len());
            } else {
                listing.leave_out(self.shown(only), NOT_REGULAR);
            }
            return Ok(());
        }
        let mut waiting = VecDeque::from([(folder.to_owned(), 0_usize)]);
        let mut seen = 0_usize;
        while let Some((folder, depth)) = waiting.pop_front() {
            let (names, problem) = match self.names(&folder) {
                Err(problem) if depth == 0 => return Err(problem),
                Err(problem) => (Vec::new(), Some(problem)),
                Ok(read) => read,
            };
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
                match self.dir.symlink_metadata(&inside) {
                    Err(problem) => listing.leave_out(self.shown(&inside), plain(&problem)),
                    Ok(metadata) if metadata.is_dir() && depth < MAX_DEPTH && seen < MAX_SEEN => {
                        waiting.push_back((inside, depth + 1));
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

//! Folders that cannot be left.
//!
//! Every path is opened relative to a folder's handle, component by component, so that `..`, absolute paths and
//! symbolic links cannot lead out, whoever changes the folder meanwhile.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;
use std::sync::{Arc, Mutex};

use attache_core::Converter;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions};

use super::error::{FileError, plain, unreadable};
use super::glob::Pattern;
use super::ignored::{self, FileFilter, Rules};
use super::listing::Listing;
use super::special;
use super::texts::Texts;

/// The maximum number of entries that a listing looks at.
const MAX_SEEN: usize = 50_000;
/// The depth of a listing.
const MAX_DEPTH: usize = 12;

/// Paths go to the model and come back as text.
const NOT_UTF8: &str = "its name is not UTF-8";
const NOT_REGULAR: &str = "it is no regular file";
const LINK: &str = "it is a link, and links are not followed";

/// The maximum number of bytes of a file that is read whole.
const MAX_FILE_BYTES: u64 = 32 << 20;

/// The folders and single files that a model can access.
///
/// Each path from a model is opened relative to the handle of its folder, component by component: `..`, absolute paths
/// and links cannot lead outside, even if the folders change in the meantime. Only regular files are opened; pipes,
/// devices and special files such as those in `/proc` are not. A name must match an entry exactly, even if the file
/// system would accept other spellings. Errors contain only paths below the folders.
///
/// With one folder, paths are relative to it; with several, each path begins with the name of its folder.
///
/// ```
/// use attache_tools::{FileFilter, Folders, file_tools};
/// # fn example() -> Result<(), attache_tools::FileError> {
/// let filter = FileFilter::new().including(["*.pdf", "*.md"])?;
/// let folders = Folders::open(["reports"], filter)?.with_max_file_bytes(8 << 20);
/// let tools = file_tools(folders); // Agent::builder(model).tools(tools)
/// # let _ = tools; Ok(()) }
/// ```
#[derive(Debug)]
pub struct Folders {
    roots: Vec<Root>,
    max_file_bytes: u64,
    chosen: FileFilter,
    pub(super) texts: Texts,
    /// One change at a time.
    pub(super) writing: Mutex<()>,
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

impl Folders {
    /// Opens folders and single files. The paths come from the user and may contain links.
    ///
    /// # Errors
    /// [`FileError::Open`] if one is missing, or is neither a folder nor a regular file.
    pub fn open(
        paths: impl IntoIterator<Item = impl AsRef<Path>>,
        filter: FileFilter,
    ) -> Result<Self, FileError> {
        let chosen = filter;
        let mut roots: Vec<Root> = Vec::new();
        for path in paths {
            let path = path.as_ref();
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
            if special::is_of_the_system(&dir) {
                return Err(refused(special::OF_THE_SYSTEM));
            }
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
        Ok(Self {
            roots,
            max_file_bytes: MAX_FILE_BYTES,
            chosen,
            texts: Texts::default(),
            writing: Mutex::default(),
        })
    }

    /// Sets the maximum number of bytes of a file that is read as a whole or written; 32 MiB by default.
    #[must_use]
    pub fn with_max_file_bytes(mut self, bytes: u64) -> Self {
        self.max_file_bytes = bytes;
        self
    }

    /// Lets searches look into the files of which this converter makes text, such as PDFs; the first converter that
    /// supports a type is used. Texts of up to 64 MiB are kept as long as their files stay as they are.
    #[must_use]
    pub fn with_converter(mut self, converter: impl Converter + 'static) -> Self {
        self.texts = self.texts.and(Arc::new(converter));
        self
    }

    pub(super) fn max_file_bytes(&self) -> u64 {
        self.max_file_bytes
    }

    /// Lists everything, or one folder, in a stable order. Files excluded by the filter are not listed; unreadable
    /// entries, links and special files, such as pipes, are listed separately. It blocks.
    ///
    /// # Errors
    /// [`FileError`] if there is no such folder.
    pub fn list(&self, folder: Option<&str>) -> Result<Listing, FileError> {
        self.list_those(folder, None)
    }

    /// The same, of the files that a pattern fits.
    pub(super) fn list_those(
        &self,
        folder: Option<&str>,
        pattern: Option<Pattern>,
    ) -> Result<Listing, FileError> {
        self.listed(folder, Listing::of(pattern))
    }

    pub(super) fn listed(&self, folder: Option<&str>, mut listing: Listing) -> Result<Listing, FileError> {
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
                let is_root = inside.is_empty() || root.only.is_some();
                if !(is_root || root.shows(inside, &self.chosen, true) && root.is_spelled(inside)) {
                    return Err(FileError::NotFound(folder.to_owned()));
                }
                root.list(inside, &self.chosen, &mut listing).map_err(|error| unreadable(folder, &error))?;
            }
        }
        Ok(listing)
    }

    /// Reads the bytes of a file, and returns its path as shown in listings. It blocks.
    ///
    /// # Errors
    /// [`FileError`] if it cannot be read.
    pub fn read(&self, path: &str) -> Result<(String, Vec<u8>), FileError> {
        let (shown, file, size) = self.open_file(path)?;
        Ok((shown, self.read_whole(path, file, size)?))
    }

    pub(super) fn read_whole(&self, path: &str, file: File, size: u64) -> Result<Vec<u8>, FileError> {
        let too_large =
            |size| FileError::TooLarge { path: path.to_owned(), size, limit: self.max_file_bytes };
        if size > self.max_file_bytes {
            return Err(too_large(size));
        }
        let mut bytes = Vec::new();
        // A file may grow while it is read.
        let read = file.take(self.max_file_bytes.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| unreadable(path, &error))?;
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if size > self.max_file_bytes {
            return Err(too_large(size));
        }
        Ok(bytes)
    }

    /// A regular file: its path as a listing names it, its handle and its size.
    pub(super) fn open_file(&self, path: &str) -> Result<(String, File, u64), FileError> {
        let (root, inside) = self.root_of(path)?;
        if !root.is_spelled(inside) {
            return Err(FileError::NotFound(path.to_owned()));
        }
        self.open_listed(path)
    }

    /// The same of a path that a listing has named.
    pub(super) fn open_listed(&self, path: &str) -> Result<(String, File, u64), FileError> {
        let (root, inside) = self.root_of(path)?;
        if inside.ends_with('/') || !root.shows(inside, &self.chosen, false) {
            return Err(FileError::NotFound(path.to_owned()));
        }
        let problem = |error: io::Error| unreadable(path, &error);
        // Looked at before it is opened: opening a device may do something.
        if !root.dir.metadata(inside).map_err(problem)?.is_file() {
            return Err(FileError::NotAFile(path.to_owned()));
        }
        let mut options = OpenOptions::new();
        options.read(true);
        special::without_waiting(&mut options);
        let file = root.dir.open_with(inside, &options).map_err(problem)?;
        let metadata = file.metadata().map_err(problem)?;
        if !metadata.is_file() || special::is_of_the_system(&file) {
            return Err(FileError::NotAFile(path.to_owned()));
        }
        Ok((root.shown(inside), file, metadata.len()))
    }

    /// The folder that a path to write to is in, opened, and its name there.
    pub(super) fn open_parent(&self, path: &str) -> Result<(String, Dir, String), FileError> {
        let (root, inside) = self.root_of(path)?;
        let is_file = !inside.is_empty() && !inside.ends_with('/');
        if !is_file || !root.shows(inside, &self.chosen, false) || !root.is_spelled(inside) {
            return Err(FileError::NotFound(path.to_owned()));
        }
        let problem = |error: io::Error| unreadable(path, &error);
        let (dir, name) = match inside.rsplit_once('/') {
            Some((folder, name)) => (root.dir.open_dir(folder).map_err(problem)?, name),
            None => (root.dir.try_clone().map_err(problem)?, inside),
        };
        if special::is_of_the_system(&dir) {
            return Err(FileError::NotAFile(path.to_owned()));
        }
        Ok((root.shown(inside), dir, name.to_owned()))
    }

    fn root_of<'a>(&self, path: &'a str) -> Result<(&Root, &'a str), FileError> {
        let path = path.trim();
        let path = path.strip_prefix("./").unwrap_or(path);
        let named = path.strip_suffix('/').unwrap_or(path);
        if Path::new(path).is_absolute() || named.split('/').any(|part| part == "..") {
            return Err(FileError::Outside(path.to_owned()));
        }
        if !path.is_empty() && !named.split('/').all(is_name) {
            return Err(FileError::NotFound(path.to_owned()));
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
    fn shows(&self, inside: &str, chosen: &FileFilter, is_folder: bool) -> bool {
        if let Some(only) = &self.only {
            return only == inside
                && !self.dir.symlink_metadata(inside).is_ok_and(|found| found.is_symlink());
        }
        let mut rules = self.rules_in("", self.rules.as_ref(), chosen);
        let ends = inside.match_indices('/').map(|(at, _)| (at, true)).chain([(inside.len(), is_folder)]);
        for (end, is_folder) in ends {
            let path = inside.get(..end).unwrap_or(inside);
            let name = path.rsplit('/').next().unwrap_or(path);
            let is_link = || self.dir.symlink_metadata(path).is_ok_and(|found| found.is_symlink());
            if (!chosen.hidden && name.starts_with('.'))
                || left_out(rules.as_ref(), chosen, path, is_folder)
                || is_link()
            {
                return false;
            }
            if is_folder {
                rules = self.rules_in(path, rules.as_ref(), chosen);
            }
        }
        true
    }

    /// False if a part of this path leads to an entry of another spelling, by which it passes filters: with other capitals
    /// or another form of Unicode, or as `SECRET~1.JSO`, where the file system finds it by such.
    fn is_spelled(&self, inside: &str) -> bool {
        let is_there = |path: &str| self.dir.symlink_metadata(path).is_ok();
        let mut ends = inside.match_indices('/').map(|(at, _)| at).chain([inside.len()]);
        // A single file is compared with its name as it is.
        self.only.is_some()
            || ends.all(|end| {
                let path = inside.get(..end).unwrap_or(inside);
                let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
                self.has_one_spelling(folder, name) || !is_there(path) || self.has_entry(folder, name)
            })
    }

    /// True if a name has one spelling in a folder, as far as that is seen without reading the folder: it is plain, and the
    /// system finds nothing by its other capitals.
    fn has_one_spelling(&self, folder: &str, name: &str) -> bool {
        let turn = |letter: char| match letter.is_ascii_lowercase() {
            true => letter.to_ascii_uppercase(),
            false => letter.to_ascii_lowercase(),
        };
        let turned: String = name.chars().map(turn).collect();
        let is_plain = name.is_ascii() && !name.contains('~') && turned != name;
        let turned = if folder.is_empty() { turned } else { format!("{folder}/{turned}") };
        is_plain && self.dir.symlink_metadata(turned).is_err()
    }

    /// True if a folder has an entry of exactly this name.
    fn has_entry(&self, folder: &str, name: &str) -> bool {
        self.names(folder).is_ok_and(|(names, _)| names.iter().any(|known| known == name))
    }

    /// The rules in a folder, with those of its own.
    fn rules_in(&self, folder: &str, above: Option<&Arc<Rules>>, chosen: &FileFilter) -> Option<Arc<Rules>> {
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

    fn list(&self, folder: &str, chosen: &FileFilter, listing: &mut Listing) -> io::Result<()> {
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
            let is_shown = |name: &OsString| chosen.hidden || !name.as_encoded_bytes().starts_with(b".");
            for name in names.into_iter().filter(is_shown) {
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
        let dir = if folder.is_empty() { self.dir.try_clone()? } else { self.dir.open_dir(folder)? };
        if special::is_of_the_system(&dir) {
            return Ok((Vec::new(), Some(io::Error::other(special::OF_THE_SYSTEM))));
        }
        let mut names = Vec::new();
        let mut problem = None;
        for entry in dir.entries()? {
            match entry {
                Ok(entry) => names.push(entry.file_name()),
                Err(error) => problem = Some(error),
            }
        }
        names.sort_unstable();
        Ok((names, problem))
    }
}

/// True if a part of a path is the name of an entry, as a listing writes it. The filter's patterns fit no path in which
/// something else stands, and the system opens the same file by it: `a/./b`, `a//b`, and on Windows `a\b`, `a/b.` and
/// `a/b::$DATA`. `Path::components` leaves `.` and empty parts out, so that it says nothing of them.
fn is_name(part: &str) -> bool {
    let is_otherwise =
        part.contains('\0') || cfg!(windows) && (part.contains(['\\', ':']) || part.ends_with(['.', ' ']));
    !matches!(part, "" | ".") && !is_otherwise
}

fn left_out(rules: Option<&Arc<Rules>>, chosen: &FileFilter, path: &str, is_folder: bool) -> bool {
    chosen.leave_out(path, is_folder) || rules.is_some_and(|rules| rules.leave_out(path, is_folder))
}

#[cfg(test)]
mod tests;

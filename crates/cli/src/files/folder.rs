//! Folders that cannot be left.
//!
//! Every path is opened relative to a folder's handle, component by component, so that `..`, absolute paths and
//! symbolic links cannot lead out, whoever changes the folder meanwhile.

use std::collections::VecDeque;
use std::io::Read;
use std::path::{Path, PathBuf};

use attache_core::MediaType;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use serde::Serialize;

/// The most entries that a listing holds; the rest is counted.
const MAX_LISTED: usize = 500;
/// The most entries that a listing looks at.
const MAX_SEEN: usize = 50_000;
/// How deep a listing goes.
const MAX_DEPTH: usize = 12;

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

/// Why a file or folder cannot be had.
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

/// What there is.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Listing {
    pub(crate) files: Vec<Listed>,
    /// Entries that the listing left out, because there are too many.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) omitted: usize,
}

/// One file.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Listed {
    pub(crate) path: String,
    pub(crate) size: u64,
    pub(crate) media_type: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl Folders {
    pub(crate) fn open(paths: &[PathBuf], max_file_bytes: u64) -> Result<Self, FileError> {
        let mut roots: Vec<Root> = Vec::with_capacity(paths.len());
        for path in paths {
            let failed = |error: std::io::Error| FileError::Open {
                path: path.display().to_string(),
                problem: plain(&error),
            };
            // The user's own path may be a link or climb; what it leads to is the border.
            let real = path.canonicalize().map_err(failed)?;
            let (folder, only) = match (real.is_dir(), real.parent(), real.file_name()) {
                (true, _, _) => (real.as_path(), None),
                (false, Some(parent), Some(name)) => (parent, Some(name.to_string_lossy().into_owned())),
                _ => return Err(failed(std::io::ErrorKind::NotFound.into())),
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

    /// Lists everything, or one folder, in a stable order. Hidden files, links and devices are left out.
    pub(crate) fn list(&self, folder: Option<&str>) -> Result<Listing, FileError> {
        let mut listing = Listing { files: Vec::new(), omitted: 0 };
        let folder = folder
            .map(|folder| folder.trim().trim_matches('/'))
            .filter(|folder| !matches!(*folder, "" | "."));
        match folder {
            None => {
                for root in &self.roots {
                    root.list("", &mut listing)?;
                }
            }
            Some(folder) => {
                let (root, inside) = self.root_of(folder)?;
                root.list(inside, &mut listing)?;
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
        let problem = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
                FileError::NotFound(path.to_owned())
            }
            std::io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
                FileError::Outside(path.to_owned())
            }
            _ => FileError::Unreadable { path: path.to_owned(), problem: plain(&error) },
        };
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

    fn list(&self, folder: &str, listing: &mut Listing) -> Result<(), FileError> {
        if let Some(only) = &self.only {
            if let Ok(metadata) = self.dir.metadata(only) {
                listing.files.push(listed(self.shown(only), metadata.len()));
            }
            return Ok(());
        }
        let mut waiting = VecDeque::from([(folder.to_owned(), 0_usize)]);
        let mut seen = 0_usize;
        while let Some((folder, depth)) = waiting.pop_front() {
            let entries = if folder.is_empty() { self.dir.entries() } else { self.dir.read_dir(&folder) };
            let entries = match entries {
                Ok(entries) => entries,
                Err(_) if depth > 0 => continue,
                Err(_) => return Err(FileError::NotFound(self.shown(&folder))),
            };
            let mut names: Vec<String> = entries
                .filter_map(Result::ok)
                .filter_map(|entry| entry.file_name().into_string().ok())
                .collect();
            names.sort_unstable();
            for name in names.into_iter().filter(|name| !name.starts_with('.')) {
                seen += 1;
                let inside = if folder.is_empty() { name } else { format!("{folder}/{name}") };
                let Ok(metadata) = self.dir.symlink_metadata(&inside) else { continue };
                if metadata.is_dir() && depth < MAX_DEPTH && seen < MAX_SEEN {
                    waiting.push_back((inside, depth + 1));
                } else if metadata.is_file() && listing.files.len() < MAX_LISTED {
                    listing.files.push(listed(self.shown(&inside), metadata.len()));
                } else if metadata.is_file() || metadata.is_dir() {
                    listing.omitted += 1;
                }
            }
        }
        Ok(())
    }
}

fn listed(path: String, size: u64) -> Listed {
    let media_type = MediaType::from_file_name(&path).unwrap_or_else(MediaType::octet_stream);
    Listed { path, size, media_type: media_type.to_string() }
}

/// What the system says, without its number.
fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn folders(build: impl FnOnce(&Path)) -> (tempfile::TempDir, Folders) {
        let outside = tempfile::tempdir().unwrap();
        let inbox = outside.path().join("inbox");
        fs::create_dir(&inbox).unwrap();
        fs::write(outside.path().join("secret.txt"), "canary").unwrap();
        build(&inbox);
        let folders = Folders::open(&[inbox], 100).unwrap();
        (outside, folders)
    }

    #[test]
    fn lists_and_reads_in_a_stable_order() {
        let (_kept, folders) = folders(|inbox| {
            fs::create_dir(inbox.join("sub")).unwrap();
            fs::write(inbox.join("sub/b.csv"), "a,b").unwrap();
            fs::write(inbox.join("a.pdf"), "%PDF").unwrap();
            fs::write(inbox.join(".hidden"), "x").unwrap();
        });
        let listing = folders.list(None).unwrap();
        let seen: Vec<_> = listing
            .files
            .iter()
            .map(|file| (file.path.as_str(), file.size, file.media_type.as_str()))
            .collect();
        assert_eq!(seen, [("a.pdf", 4, "application/pdf"), ("sub/b.csv", 3, "text/csv")]);
        assert_eq!(folders.list(Some("sub")).unwrap().files.len(), 1);
        assert_eq!(folders.read("sub/b.csv").unwrap(), ("sub/b.csv".to_owned(), b"a,b".to_vec()));
        assert_eq!(folders.read("./a.pdf").unwrap().1, b"%PDF");
        assert!(matches!(folders.read("c.pdf"), Err(FileError::NotFound(_))));
        assert!(matches!(folders.list(Some("nowhere")), Err(FileError::NotFound(_))));
    }

    #[cfg(unix)]
    #[test]
    fn nothing_outside_can_be_reached() {
        let (kept, folders) = folders(|inbox| {
            std::os::unix::fs::symlink("../secret.txt", inbox.join("link.txt")).unwrap();
            std::os::unix::fs::symlink("..", inbox.join("up")).unwrap();
            std::os::unix::fs::symlink("/etc", inbox.join("etc")).unwrap();
        });
        let absolute = kept.path().join("secret.txt").display().to_string();
        let ways = [
            "../secret.txt",
            "x/../../secret.txt",
            "link.txt",
            "up/secret.txt",
            "etc/hostname",
            "/etc/hostname",
            absolute.as_str(),
            "..",
            "",
        ];
        for way in ways {
            let error = folders.read(way).unwrap_err().to_string();
            assert!(!error.contains("canary"), "{way}: {error}");
        }
        for way in ["..", "up", "etc", "/etc"] {
            assert!(folders.list(Some(way)).map_or(true, |listing| listing.files.is_empty()), "{way}");
        }
        assert!(folders.list(None).unwrap().files.is_empty(), "links are not listed");
    }

    #[cfg(unix)]
    #[test]
    fn pipes_folders_and_huge_files_are_refused() {
        let (_kept, folders) = folders(|inbox| {
            fs::create_dir(inbox.join("folder")).unwrap();
            fs::write(inbox.join("huge.txt"), vec![b'x'; 101]).unwrap();
            assert!(std::process::Command::new("mkfifo").arg(inbox.join("pipe")).status().unwrap().success());
        });
        assert!(matches!(folders.read("folder"), Err(FileError::NotAFile(_))));
        assert!(matches!(folders.read("pipe"), Err(FileError::NotAFile(_))), "it does not block either");
        assert!(matches!(folders.read("huge.txt"), Err(FileError::TooLarge { size: 101, limit: 100, .. })));
    }

    #[test]
    fn several_folders_and_single_files() {
        let (kept, _) = folders(|inbox| fs::write(inbox.join("a.txt"), "a").unwrap());
        let one = kept.path().join("inbox");
        let two = kept.path().join("other");
        fs::create_dir(&two).unwrap();
        fs::write(two.join("b.txt"), "b").unwrap();
        fs::write(two.join("c.txt"), "c").unwrap();
        let folders = Folders::open(&[one, two.join("b.txt")], 100).unwrap();
        let seen: Vec<_> = folders.list(None).unwrap().files.into_iter().map(|file| file.path).collect();
        assert_eq!(seen, ["inbox/a.txt", "other/b.txt"]);
        assert!(folders.read("other/b.txt").is_ok());
        assert!(
            matches!(folders.read("other/c.txt"), Err(FileError::NotFound(_))),
            "only the file that was opened"
        );
        assert!(matches!(Folders::open(&[kept.path().join("none")], 1), Err(FileError::Open { .. })));
    }
}

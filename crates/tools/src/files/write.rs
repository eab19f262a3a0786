//! Changes of files: whole or not at all.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::{Dir, Metadata, OpenOptions};
use serde::Deserialize;

use super::diff::diff;
use super::error::{FileError, plain, unreadable};
use super::folder::Folders;

/// A change that a model asks for.
#[derive(Debug, Deserialize)]
pub(super) struct Write {
    pub(super) path: String,
    content: String,
    #[serde(default)]
    mode: Mode,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    #[default]
    Create,
    Overwrite,
    Append,
}

/// A text for another.
#[derive(Debug, Deserialize)]
pub(super) struct Edit {
    pub(super) path: String,
    old: String,
    new: String,
    #[serde(default)]
    all: bool,
}

/// A file before and after a change.
pub(super) struct Change {
    /// Its path as a listing names it.
    pub(super) path: String,
    dir: Dir,
    name: String,
    before: Option<(Vec<u8>, Metadata)>,
    after: Vec<u8>,
}

impl Change {
    /// The lines that change.
    pub(super) fn diff(&self) -> String {
        let before =
            self.before.as_ref().map(|(bytes, _)| String::from_utf8_lossy(bytes)).unwrap_or_default();
        diff(&before, &String::from_utf8_lossy(&self.after))
    }
}

impl Folders {
    pub(super) fn plan_write(&self, asked: &Write) -> Result<Change, FileError> {
        let mut change = self.plan(&asked.path)?;
        let content = &asked.content;
        change.after = match (asked.mode, &change.before) {
            (Mode::Create, Some(_)) => return Err(unchanged(&asked.path, "it is there already")),
            (Mode::Append, Some((before, _))) => {
                let text = text_of(&asked.path, before)?;
                let crlf_alone = text.contains("\r\n") && !text.replace("\r\n", "").contains('\n');
                let content = if crlf_alone { crlf(content) } else { content.clone() };
                [text, &content].concat().into_bytes()
            }
            (Mode::Create | Mode::Append, None) | (Mode::Overwrite, _) => content.clone().into_bytes(),
        };
        self.checked(change)
    }

    pub(super) fn plan_edit(&self, asked: &Edit) -> Result<Change, FileError> {
        let mut change = self.plan(&asked.path)?;
        let refused = |problem: String| unchanged(&asked.path, &problem);
        let Some((before, _)) = &change.before else {
            return Err(FileError::NotFound(asked.path.clone()));
        };
        let text = text_of(&asked.path, before)?;
        if asked.old.is_empty() {
            return Err(refused("`old` is empty".to_owned()));
        }
        let (old, new) = match text.contains(&asked.old) || !text.contains("\r\n") {
            true => (asked.old.clone(), asked.new.clone()),
            false => (crlf(&asked.old), crlf(&asked.new)),
        };
        change.after = match text.matches(&old).count() {
            0 => return Err(refused("`old` does not occur in it exactly as it is written".to_owned())),
            1 => text.replacen(&old, &new, 1).into_bytes(),
            _ if asked.all => text.replace(&old, &new).into_bytes(),
            count => {
                let hint = "give more of the lines around it, or set `all`";
                return Err(refused(format!("`old` occurs {count} times; {hint}")));
            }
        };
        self.checked(change)
    }

    fn plan(&self, path: &str) -> Result<Change, FileError> {
        let (shown, dir, name) = self.open_parent(path)?;
        let before = match self.open_file(path) {
            Ok((_, file, size)) => {
                let limit = self.max_file_bytes();
                if size > limit {
                    return Err(FileError::TooLarge { path: path.to_owned(), size, limit });
                }
                let problem = |error: io::Error| unreadable(path, &error);
                let metadata = file.metadata().map_err(problem)?;
                let mut bytes = Vec::new();
                file.take(limit).read_to_end(&mut bytes).map_err(problem)?;
                Some((bytes, metadata))
            }
            // Left out by the filter is no leave to replace it.
            Err(FileError::NotFound(_)) if is_absent(&dir, &name) => None,
            Err(error) => return Err(error),
        };
        Ok(Change { path: shown, dir, name, before, after: Vec::new() })
    }

    fn checked(&self, change: Change) -> Result<Change, FileError> {
        let (size, limit) = (change.after.len() as u64, self.max_file_bytes());
        if size > limit {
            return Err(FileError::TooLarge { path: change.path, size, limit });
        }
        Ok(change)
    }

    /// Does what was planned, if the file is still as it was.
    pub(super) fn change(
        &self,
        plan: impl FnOnce() -> Result<Change, FileError>,
    ) -> Result<Change, FileError> {
        let _one_at_a_time = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let change = plan()?;
        Beside::new(&change.dir).replace(&change)?;
        Ok(change)
    }
}

/// A new file beside the one that it replaces. It goes with this, if it is still there.
struct Beside<'d> {
    dir: &'d Dir,
    name: String,
}

impl<'d> Beside<'d> {
    fn new(dir: &'d Dir) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self { dir, name: format!(".attache-{}-{number}.tmp", std::process::id()) }
    }

    fn replace(&self, change: &Change) -> Result<(), FileError> {
        self.write(change).map_err(|error| unchanged(&change.path, &plain(&error)))?;
        self.put(change)
    }

    fn write(&self, change: &Change) -> io::Result<()> {
        // One that a process left behind, of the same number.
        _ = self.dir.remove_file(&self.name);
        let mut file = self.dir.open_with(&self.name, OpenOptions::new().write(true).create_new(true))?;
        if let Some((_, metadata)) = &change.before {
            file.set_permissions(metadata.permissions())?;
        }
        file.write_all(&change.after)?;
        file.sync_all()
    }

    /// Takes the file's place.
    fn put(&self, change: &Change) -> Result<(), FileError> {
        let problem = |error: io::Error| unchanged(&change.path, &plain(&error));
        let there = "it is there already";
        match &change.before {
            Some((bytes, before)) => {
                let now = self.dir.symlink_metadata(&change.name).map_err(problem)?;
                let is_same = now.is_file()
                    && now.len() == bytes.len() as u64
                    && now.modified().ok() == before.modified().ok();
                if !is_same {
                    return Err(unchanged(&change.path, "somebody else changed it meanwhile"));
                }
                self.dir.rename(&self.name, self.dir, &change.name).map_err(problem)
            }
            None => match self.dir.hard_link(&self.name, self.dir, &change.name) {
                Ok(()) => Ok(()),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(unchanged(&change.path, there)),
                // Some file systems have no links.
                Err(_) if is_absent(self.dir, &change.name) => {
                    self.dir.rename(&self.name, self.dir, &change.name).map_err(problem)
                }
                Err(_) => Err(unchanged(&change.path, there)),
            },
        }
    }
}

impl Drop for Beside<'_> {
    fn drop(&mut self) {
        _ = self.dir.remove_file(&self.name);
    }
}

/// The text of a file to be changed.
fn text_of<'b>(path: &str, bytes: &'b [u8]) -> Result<&'b str, FileError> {
    let problem = "it is no text in UTF-8, and nothing else is changed";
    str::from_utf8(bytes).map_err(|_| unchanged(path, problem))
}

/// A model writes lines as it reads them, without the ends that the file gives them.
fn crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

fn is_absent(dir: &Dir, name: &str) -> bool {
    dir.symlink_metadata(name).is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

fn unchanged(path: &str, problem: &str) -> FileError {
    FileError::Unchanged { path: path.to_owned(), problem: problem.to_owned() }
}

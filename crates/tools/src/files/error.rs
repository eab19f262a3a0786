//! Errors of file access.

use std::io::{self, ErrorKind};

/// The reason why a file or folder cannot be accessed.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileError {
    /// A folder or file of the user cannot be opened.
    Open {
        /// Its path, as the user wrote it.
        path: String,
        /// The reason.
        problem: String,
    },
    /// A text is not a valid path pattern.
    Pattern(String),
    /// There is no such file, or it is excluded by the filter.
    NotFound(String),
    /// The path leads out of the folders.
    Outside(String),
    /// It is a folder, a pipe, a device or the like.
    NotAFile(String),
    /// The file exceeds the size limit.
    TooLarge {
        /// Its path.
        path: String,
        /// Its bytes.
        size: u64,
        /// The maximum number of bytes.
        limit: u64,
    },
    /// The system cannot read it.
    Unreadable {
        /// Its path.
        path: String,
        /// The reason.
        problem: String,
    },
    /// The file contains no text.
    NoText(String),
    /// The file cannot be changed as requested, for the given reason.
    Unchanged {
        /// Its path.
        path: String,
        /// The reason.
        problem: String,
    },
}

impl std::fmt::Display for FileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Open { path, problem } => write!(f, "{path}: {problem}"),
            Self::Pattern(text) => write!(f, "{text:?} is no pattern"),
            Self::NotFound(path) => write!(f, "there is no file {path:?}; list_files shows what there is"),
            Self::Outside(path) => write!(f, "{path:?} is outside of the folders that were opened"),
            Self::NotAFile(path) => write!(f, "{path:?} is not a regular file"),
            Self::TooLarge { path, size, limit } => {
                write!(f, "{path:?} has {size} bytes, more than the {limit} that are read")
            }
            Self::Unreadable { path, problem } => write!(f, "{path:?} cannot be read: {problem}"),
            Self::NoText(path) => write!(f, "{path:?} is no text; without lines it is read as a document"),
            Self::Unchanged { path, problem } => write!(f, "{path:?} was not changed: {problem}"),
        }
    }
}

impl std::error::Error for FileError {}

/// The reason why a file that the model asked for cannot be read.
pub(super) fn unreadable(path: &str, error: &io::Error) -> FileError {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => FileError::NotFound(path.to_owned()),
        ErrorKind::PermissionDenied if error.raw_os_error().is_none() => FileError::Outside(path.to_owned()),
        _ => FileError::Unreadable { path: path.to_owned(), problem: plain(error) },
    }
}

/// The system's message, without its number.
pub(super) fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

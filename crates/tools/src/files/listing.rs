//! The text of a listing for the model.

use attache_core::MediaType;
use serde::Serialize;

use super::glob::Pattern;

/// The maximum number of entries that a listing names without listing them; the rest is counted.
pub(super) const MAX_NOT_LISTED: usize = 100;

/// A listing of files.
#[derive(Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Listing {
    /// The files, at most [`Listing::MOST`].
    pub files: Vec<Listed>,
    /// The entries that exist but cannot be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_listed: Vec<NotListed>,
    /// The number of entries left out because there are too many.
    #[serde(skip_serializing_if = "is_zero")]
    pub omitted: usize,
    /// The pattern that they fit.
    #[serde(skip)]
    pattern: Option<Pattern>,
    /// The maximum number of files.
    #[serde(skip)]
    most: Option<usize>,
}

/// One file.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Listed {
    /// Its path, as used for reading it.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its media type, by its name.
    pub media_type: String,
}

/// An entry that cannot be read as a file. It has no `path`, since it cannot be used.
#[derive(Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct NotListed {
    /// Its name.
    pub entry: String,
    /// The reason why it cannot be read.
    pub problem: String,
}

impl Listing {
    /// The maximum number of files in a listing; the rest is only counted.
    pub const MOST: usize = 500;

    /// An empty one for files that a pattern fits.
    pub(super) fn of(pattern: Option<Pattern>) -> Self {
        Self { pattern, ..Self::default() }
    }

    /// The same for more files than a model is shown.
    pub(super) fn with_most(mut self, files: usize) -> Self {
        self.most = Some(files);
        self
    }

    pub(super) fn add(&mut self, path: String, size: u64) {
        if self.pattern.as_ref().is_some_and(|pattern| !pattern.fits(&path, false)) {
            return;
        }
        if self.files.len() >= self.most.unwrap_or(Self::MOST) {
            self.omitted += 1;
            return;
        }
        let media_type = MediaType::from_file_name(&path).unwrap_or_else(MediaType::octet_stream);
        self.files.push(Listed { path, size, media_type: media_type.to_string() });
    }

    pub(super) fn leave_out(&mut self, entry: String, problem: impl Into<String>) {
        if self.pattern.as_ref().is_some_and(|pattern| !pattern.fits(&entry, false)) {
            return;
        }
        if self.not_listed.len() >= MAX_NOT_LISTED {
            self.omitted += 1;
            return;
        }
        self.not_listed.push(NotListed { entry, problem: problem.into() });
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

//! The text of a listing for the model.

use attache_core::MediaType;
use serde::Serialize;

/// The most files that a listing holds; the rest is counted.
pub(crate) const MAX_LISTED: usize = 500;
/// The most entries that a listing names without listing them; the rest is counted.
pub(super) const MAX_NOT_LISTED: usize = 100;

/// The files that there are.
#[derive(Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Listing {
    pub(crate) files: Vec<Listed>,
    /// The entries that are there, but cannot be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) not_listed: Vec<NotListed>,
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

/// Something that is no file which can be read. It has no `path`, as nothing can be done with it.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct NotListed {
    pub(crate) entry: String,
    pub(crate) problem: String,
}

impl Listing {
    pub(super) fn add(&mut self, path: String, size: u64) {
        if self.files.len() >= MAX_LISTED {
            self.omitted += 1;
            return;
        }
        let media_type = MediaType::from_file_name(&path).unwrap_or_else(MediaType::octet_stream);
        self.files.push(Listed { path, size, media_type: media_type.to_string() });
    }

    pub(super) fn leave_out(&mut self, entry: String, problem: impl Into<String>) {
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

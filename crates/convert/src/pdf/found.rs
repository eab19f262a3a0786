//! The findings on a page.

use super::attachments::File;
use super::ruling_lines::Drawing;
use super::runs::Runs;

/// The findings on a page.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) runs: Runs,
    /// The lines that are drawn.
    pub(super) drawing: Drawing,
    /// True if parts were left out because they are too large, too deep or not decodable.
    pub(super) partial: bool,
    /// Numbers of annotations that are not there, or cannot be read.
    pub(super) dangling: Vec<u32>,
    /// Files that are attached to places on the page.
    pub(super) files: Vec<File>,
    /// The number of images that are shown.
    pub(super) images: usize,
    /// The part of the page that they cover, if none covers another.
    pub(super) covered: f64,
    /// The comments, each a line.
    pub(super) comments: String,
    /// Characters that no font names.
    pub(super) unreadable: usize,
}

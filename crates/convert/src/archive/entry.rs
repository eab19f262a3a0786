//! The entries of an archive.

use rawzip::{CompressionMethod, ZipArchiveEntryWayfinder};

/// Most entries that are looked at; those of real documents are hundreds.
pub(super) const MAX_ENTRIES: usize = 50_000;

/// The entries that were found.
pub(super) struct Found {
    pub(super) entries: Vec<Entry>,
    /// True if these are all.
    pub(super) whole: bool,
    /// True if the charset of names is a guess.
    pub(super) guessed: bool,
}

/// An entry of an archive.
pub(crate) struct Entry {
    pub(crate) name: String,
    /// Its decoded length by the directory.
    pub(crate) len: u64,
    pub(crate) encrypted: bool,
    pub(super) method: CompressionMethod,
    pub(super) at: At,
}

/// The place of an entry.
pub(super) enum At {
    /// The place that the directory names.
    Listed(ZipArchiveEntryWayfinder),
    /// Its data, behind its own head.
    Found { start: usize, end: usize },
}

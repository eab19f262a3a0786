//! Compound files: what Office wrote before 2007, and Outlook writes still.

use std::io::{Cursor, Read, Write};

use bytes::Bytes;

use crate::{ConvertError, Limits};

/// Entries of a storage that are looked at.
const MAX_ENTRIES: usize = 10_000;

/// A compound file. Its streams may take so many bytes together as a document may when decoded.
pub(crate) struct Compound {
    file: cfb::CompoundFile<Cursor<Bytes>>,
    left: usize,
}

/// An entry of a storage.
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) is_stream: bool,
}

impl Compound {
    /// # Errors
    /// It is damaged.
    pub(crate) fn open(bytes: &Bytes, limits: &Limits) -> Result<Self, ConvertError> {
        let file = cfb::CompoundFile::open(Cursor::new(bytes.clone()))
            .map_err(|_| ConvertError::Malformed { reason: "its list of streams is damaged" })?;
        Ok(Self { file, left: limits.max_decoded_bytes })
    }

    /// The entries of a storage, such as `/`.
    pub(crate) fn entries(&self, storage: &str) -> Vec<Entry> {
        let Ok(entries) = self.file.read_storage(storage) else { return Vec::new() };
        entries
            .take(MAX_ENTRIES)
            .map(|entry| Entry { name: entry.name().to_owned(), is_stream: entry.is_stream() })
            .collect()
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.file.is_stream(path)
    }

    /// A storage as a compound file of its own; `None` if there is none of this name, or it cannot be read.
    pub(crate) fn extract(&mut self, storage: &str) -> Option<Bytes> {
        let storage = storage.trim_end_matches('/');
        let entries = self.file.walk_storage(storage).ok()?.skip(1).take(MAX_ENTRIES);
        let entries: Vec<_> = entries.map(|entry| (entry.path().to_owned(), entry.is_stream())).collect();
        let mut inner = cfb::CompoundFile::create(Cursor::new(Vec::new())).ok()?;
        for (path, is_stream) in entries {
            let below = std::path::Path::new("/").join(path.strip_prefix(storage).ok()?);
            if is_stream {
                let bytes = self.stream(path.to_str()?)?;
                inner.create_stream(below).ok()?.write_all(&bytes).ok()?;
            } else {
                inner.create_storage(below).ok()?;
            }
        }
        inner.flush().ok()?;
        Some(inner.into_inner().into_inner().into())
    }

    /// A stream; `None` if there is none of this name, or it cannot be read or is longer than may still be read.
    pub(crate) fn stream(&mut self, path: &str) -> Option<Vec<u8>> {
        if !self.file.is_stream(path) {
            return None;
        }
        let mut bytes = Vec::new();
        let limit = u64::try_from(self.left).unwrap_or(u64::MAX);
        let stream = self.file.open_stream(path).ok()?;
        if stream.len() > limit {
            return None;
        }
        // A stream that breaks off is read as far as it goes.
        let _ = stream.take(limit).read_to_end(&mut bytes);
        self.left = self.left.saturating_sub(bytes.len());
        Some(bytes)
    }
}

//! The data of a stream when its filters are undone.

/// Why a stream is not decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It would be longer than allowed.
    TooLong,
    /// It is an image, which the library refuses to decode as text as well.
    Image,
    /// The library would need more memory for its rows than anybody can know.
    Rows,
    /// The time was over before that was known.
    TimedOut,
}

/// The bytes of a stream.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Decoded {
    pub(crate) bytes: Vec<u8>,
    /// True if nothing of it is missing.
    pub(crate) whole: bool,
    /// True if only the mark of its end is missing.
    pub(crate) cut: bool,
}

/// Where decoded bytes go, up to a limit.
pub(super) struct Output {
    pub(super) bytes: Vec<u8>,
    limit: usize,
}

impl Output {
    pub(super) fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), limit }
    }

    /// Adds bytes, if they fit.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<(), Refused> {
        if self.limit - self.bytes.len() < bytes.len() {
            return Err(Refused::TooLong);
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }
}

/// The ways in which the data of a filter ends, from the best to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum End {
    /// With the mark that every filter has for it.
    Marked,
    /// Before its mark.
    Cut,
    /// With something that means nothing.
    Broken,
}

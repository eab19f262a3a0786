use std::time::Duration;

/// The most that a conversion may cost.
///
/// Every limit has a default that suits documents people send each other; a limit that is passed either
/// ends the conversion with a [`ConvertError`](crate::ConvertError) or, where the part that was read is
/// useful by itself, cuts the text and says so in [`Converted::notes`](crate::Converted::notes).
///
/// ```
/// use attache_convert::Limits;
/// use std::time::Duration;
///
/// let limits = Limits::new().with_max_units(50).with_max_time(Duration::from_secs(5));
/// assert_eq!(limits.max_units, 50);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Largest document that text is made of, in bytes. Default 32 MiB; above it, an error.
    pub max_input_bytes: usize,
    /// Largest document that is brought into another form, in bytes: images without compression are large. Default
    /// 208 MiB, of which a PDF may take 100; above it, an error.
    pub max_fit_bytes: usize,
    /// Longest text that is returned, in bytes of UTF-8, page markers included. Default 2 MiB; longer text
    /// is cut at the end of a line.
    pub max_output_bytes: usize,
    /// Most units (pages, sheets, slides, chapters, blocks of rows) that are read, from the first. Default 1,000; the rest is left out.
    pub max_units: usize,
    /// Most bytes that one part of the document (a page, a font, the object tables, a file in an archive) may take when
    /// its compressed streams are undone; all files of an archive together may take four times as much. Default 64 MiB. Images are never decoded and do not count.
    pub max_decoded_bytes: usize,
    /// Longest time a conversion may take, on the wall clock. Default 20 s; after it, an error.
    pub max_time: Duration,
}

impl Limits {
    /// The defaults.
    pub const fn new() -> Self {
        Self {
            max_input_bytes: 32 << 20,
            max_fit_bytes: 208 << 20,
            max_output_bytes: 2 << 20,
            max_units: 1_000,
            max_decoded_bytes: 64 << 20,
            max_time: Duration::from_secs(20),
        }
    }

    /// Sets [`max_input_bytes`](Self::max_input_bytes).
    #[must_use]
    pub const fn with_max_input_bytes(mut self, bytes: usize) -> Self {
        self.max_input_bytes = bytes;
        self
    }

    /// Sets [`max_fit_bytes`](Self::max_fit_bytes).
    #[must_use]
    pub const fn with_max_fit_bytes(mut self, bytes: usize) -> Self {
        self.max_fit_bytes = bytes;
        self
    }

    /// Sets [`max_output_bytes`](Self::max_output_bytes).
    #[must_use]
    pub const fn with_max_output_bytes(mut self, bytes: usize) -> Self {
        self.max_output_bytes = bytes;
        self
    }

    /// Sets [`max_units`](Self::max_units).
    #[must_use]
    pub const fn with_max_units(mut self, units: usize) -> Self {
        self.max_units = units;
        self
    }

    /// Sets [`max_decoded_bytes`](Self::max_decoded_bytes).
    #[must_use]
    pub const fn with_max_decoded_bytes(mut self, bytes: usize) -> Self {
        self.max_decoded_bytes = bytes;
        self
    }

    /// Sets [`max_time`](Self::max_time).
    #[must_use]
    pub const fn with_max_time(mut self, time: Duration) -> Self {
        self.max_time = time;
        self
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::new()
    }
}

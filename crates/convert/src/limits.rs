use std::time::Duration;

/// The limits of a conversion.
///
/// Every limit has a default that suits everyday documents. If a limit is exceeded, the conversion either fails with a
/// [`ConvertError`](crate::ConvertError) or, if a partial result is useful, cuts the text and reports it in
/// [`Converted::notes`](crate::Converted::notes).
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
    /// The maximum size of a document that is converted to text, in bytes. Default 32 MiB; above it, an error.
    pub max_input_bytes: usize,
    /// The maximum size of a document that is brought into another form, in bytes: uncompressed images are large.
    /// Default 208 MiB, of which a PDF may use 100; above it, an error.
    pub max_fit_bytes: usize,
    /// The maximum length of the returned text, in bytes of UTF-8, including page markers. Default 2 MiB; longer text
    /// is cut at the end of a line.
    pub max_output_bytes: usize,
    /// The maximum number of units (pages, sheets, slides, chapters, blocks of rows) that are read, from the first.
    /// Default 1,000; the rest is left out.
    pub max_units: usize,
    /// The maximum decompressed size in bytes of one part of the document (a page, a font, the object tables, a file in
    /// an archive); all files of an archive together may have four times as much. Default 64 MiB. Images are never
    /// decoded and do not count.
    pub max_decoded_bytes: usize,
    /// The maximum duration of a conversion, in wall-clock time. Default 20 s; after it, an error.
    pub max_time: Duration,
}

impl Limits {
    /// Creates the default limits.
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

//! The texts for checking an answer, and the limits of the check.

use std::sync::Arc;

use attache_core::citation::Source;

/// The maximum number of bytes of all texts together that are searched.
const MAX_BYTES: usize = 32 * 1024 * 1024;
/// The maximum number of passages of one answer that are looked for.
const MAX_QUOTES: usize = 256;
/// The maximum number of figures of one answer that are looked for.
const MAX_FIGURES: usize = 4096;

/// A text that was shown to the model, or a document without available text.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Shown {
    /// The source of the text.
    pub source: Source,
    /// The text; `None` for a document without available text, such as a scan.
    pub text: Option<Arc<str>>,
    /// True for messages of users and for instructions: their content is given and is not evidence.
    pub is_given: bool,
}

impl Shown {
    /// Creates a text that can support an answer.
    pub fn text(source: Source, text: impl Into<Arc<str>>) -> Self {
        Self { source, text: Some(text.into()), is_given: false }
    }

    /// Creates a text of a user or of instructions.
    pub fn given(text: impl Into<Arc<str>>) -> Self {
        Self { source: Source::Message, text: Some(text.into()), is_given: true }
    }

    /// Creates a shown document without available text.
    pub fn unread(source: Source) -> Self {
        Self { source, text: None, is_given: false }
    }
}

/// The limits of a check, and further input.
///
/// Content beyond a limit is not checked, as [`notes`](attache_core::citation::Checked::notes) then say.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The day of the answer: year, month, day.
    pub today: Option<(u16, u8, u8)>,
    /// The maximum number of bytes of all texts. 32 MiB by default.
    pub max_bytes: usize,
    /// The maximum number of passages. 256 by default.
    pub max_quotes: usize,
    /// The maximum number of figures. 4,096 by default.
    pub max_figures: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { today: None, max_bytes: MAX_BYTES, max_quotes: MAX_QUOTES, max_figures: MAX_FIGURES }
    }
}

impl Options {
    /// Creates the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the day of the answer.
    #[must_use]
    pub fn with_today(mut self, year: u16, month: u8, day: u8) -> Self {
        self.today = Some((year, month, day));
        self
    }
}

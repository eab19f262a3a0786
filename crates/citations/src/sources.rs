//! The texts that an answer is held against, and the bounds of the work.

use std::sync::Arc;

use attache_core::citation::Source;

/// The most bytes of all texts together that are searched.
const MAX_BYTES: usize = 32 * 1024 * 1024;
/// The most passages of one answer that are looked for.
const MAX_QUOTES: usize = 256;
/// The most figures of one answer that are looked for.
const MAX_FIGURES: usize = 4096;

/// A text that the model was shown, or a document of which there is no text.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Shown {
    /// The thing that it is the text of.
    pub source: Source,
    /// The text; `None` for a document of which nobody has one, such as a scan.
    pub text: Option<Arc<str>>,
    /// True for messages of users and for instructions: what stands there is given, and supports nothing.
    pub is_given: bool,
}

impl Shown {
    /// A text that supports what an answer says.
    pub fn text(source: Source, text: impl Into<Arc<str>>) -> Self {
        Self { source, text: Some(text.into()), is_given: false }
    }

    /// The words of a user, or instructions.
    pub fn given(text: impl Into<Arc<str>>) -> Self {
        Self { source: Source::Message, text: Some(text.into()), is_given: true }
    }

    /// A document that was shown and of which there is no text.
    pub fn unread(source: Source) -> Self {
        Self { source, text: None, is_given: false }
    }
}

/// The bounds of a check, and what it cannot know by itself.
///
/// Content that passes a bound is not checked, and [`notes`](attache_core::citation::Checked::notes) say so.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// The day of the answer: year, month, day.
    pub today: Option<(u16, u8, u8)>,
    /// The most bytes of texts. 32 MiB.
    pub max_bytes: usize,
    /// The most passages. 256.
    pub max_quotes: usize,
    /// The most figures. 4,096.
    pub max_figures: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { today: None, max_bytes: MAX_BYTES, max_quotes: MAX_QUOTES, max_figures: MAX_FIGURES }
    }
}

impl Options {
    /// The usual bounds.
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

//! Why a converter could not do what was asked.

/// The kind of problem that kept a converter from doing what was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConverterErrorKind {
    /// It does not read documents of this type, or does not do that with them.
    Unsupported,
    /// The document is protected, such as by a password.
    Encrypted,
    /// The bytes are no document of its type, or damaged beyond repair.
    Malformed,
    /// The document, or what is asked of it, goes beyond a limit.
    TooLarge,
    /// The document holds nothing of what is asked for: no text, no such page.
    Empty,
    /// It did not end in time.
    TimedOut,
    /// It cannot begin now.
    Busy,
    /// It failed, and the document may be fine.
    Failed,
}

/// A failure of a converter: its kind, and one line that the model and the operator read: lower case, no full stop, no
/// content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ConverterError {
    kind: ConverterErrorKind,
    message: String,
}

impl ConverterError {
    /// An error of `kind`.
    pub fn new(kind: ConverterErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// The kind of problem.
    pub fn kind(&self) -> ConverterErrorKind {
        self.kind
    }

    /// True if the same call may work later.
    pub fn is_retryable(&self) -> bool {
        matches!(self.kind, ConverterErrorKind::TimedOut | ConverterErrorKind::Busy)
    }
}

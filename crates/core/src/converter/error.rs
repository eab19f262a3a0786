//! Errors of converters.

/// The kind of a converter error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConverterErrorKind {
    /// The converter does not support this type, or not this operation on it.
    Unsupported,
    /// The document is protected, such as by a password.
    Encrypted,
    /// The bytes are not a document of this type, or are damaged beyond repair.
    Malformed,
    /// The document or the request exceeds a limit.
    TooLarge,
    /// The document does not contain the requested content: no text, no such page.
    Empty,
    /// The conversion timed out.
    TimedOut,
    /// The converter cannot start the conversion now.
    Busy,
    /// The converter failed, although the document may be valid.
    Failed,
}

/// A converter error: its kind, and a one-line message for the model and the operator: lower case, no full stop, no
/// content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ConverterError {
    kind: ConverterErrorKind,
    message: String,
}

impl ConverterError {
    /// Creates an error of `kind`.
    pub fn new(kind: ConverterErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// The kind of problem.
    pub fn kind(&self) -> ConverterErrorKind {
        self.kind
    }

    /// True if the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        matches!(self.kind, ConverterErrorKind::TimedOut | ConverterErrorKind::Busy)
    }
}

//! Failures of tools.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use crate::message::ArgumentsError;
use crate::tree::TreeError;

/// What kind of failure a tool reports, as far as the loop acts on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolErrorKind {
    /// It failed for good; the model learns it.
    #[default]
    Failed,
    /// The model should correct the call; its message is a hint.
    Retry,
    /// The arguments do not fit.
    InvalidArguments,
    /// No tool of that name is offered.
    UnknownTool,
    /// It took longer than allowed.
    Timeout,
    /// It panicked.
    Panicked,
    /// What it needs from the caller's context is not there.
    MissingContext,
    /// The service behind it did not answer.
    Unavailable,
    /// The run must end.
    Abort,
}

/// A failure of a tool: a text for the model, and the cause for the operator.
///
/// `?` turns any error into one. Its text, which may hold paths, queries or tokens, becomes the
/// [`source`](Self::source) and the model reads only that the tool failed; [`new`](Self::new) takes a text that is
/// meant for the model. (It does not implement [`std::error::Error`], so that this conversion can exist.)
///
/// ```
/// use attache_core::ToolError;
/// fn read() -> Result<String, ToolError> { Ok(std::fs::read_to_string("/secret/place")?) }
/// let error = read().unwrap_err();
/// assert_eq!(error.for_model(), "the tool failed");
/// assert!(error.source().is_some());
/// ```
pub struct ToolError(Box<Inner>);

struct Inner {
    kind: ToolErrorKind,
    for_model: String,
    retry_after: Option<Duration>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl ToolError {
    /// A failure with a text that the model reads.
    pub fn new(for_model: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind: ToolErrorKind::Failed,
            for_model: for_model.into(),
            retry_after: None,
            source: None,
        }))
    }

    /// A failure that the model can correct, with a hint how.
    pub fn retry(hint: impl Into<String>) -> Self {
        Self::new(hint).with_kind(ToolErrorKind::Retry)
    }

    /// A failure that ends the run.
    pub fn abort(for_model: impl Into<String>) -> Self {
        Self::new(for_model).with_kind(ToolErrorKind::Abort)
    }

    /// Sets the kind.
    #[must_use]
    pub fn with_kind(mut self, kind: ToolErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    /// Sets how long the service behind the tool asked to wait.
    #[must_use]
    pub fn with_retry_after(mut self, wait: impl Into<Option<Duration>>) -> Self {
        self.0.retry_after = wait.into();
        self
    }

    /// Adds the cause, for the operator.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> ToolErrorKind {
        self.0.kind
    }

    /// The text that the model reads.
    pub fn for_model(&self) -> &str {
        &self.0.for_model
    }

    /// Whether the same call may work later.
    pub fn is_retryable(&self) -> bool {
        matches!(self.0.kind, ToolErrorKind::Timeout | ToolErrorKind::Unavailable)
    }

    /// How long the service behind the tool asked to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// The cause, for the operator; it never reaches a model.
    pub fn source(&self) -> Option<&(dyn StdError + Send + Sync + 'static)> {
        self.0.source.as_deref()
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.for_model)
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolError")
            .field("kind", &self.0.kind)
            .field("for_model", &self.0.for_model)
            .field("source", &self.0.source)
            .finish_non_exhaustive()
    }
}

impl<E: StdError + Send + Sync + 'static> From<E> for ToolError {
    fn from(error: E) -> Self {
        let error: Box<dyn StdError + Send + Sync> = Box::new(error);
        if let Some(arguments) = error.downcast_ref::<ArgumentsError>() {
            return Self::new(arguments.to_string()).with_kind(ToolErrorKind::InvalidArguments);
        }
        match error.downcast_ref::<TreeError>() {
            Some(tree @ (TreeError::TooDeep { .. } | TreeError::TooLarge { .. })) => {
                Self::new(tree.to_string())
            }
            _ => Self::new("the tool failed").with_source(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // S23, A84
    #[test]
    fn the_model_reads_no_raw_error() {
        let error = ToolError::from(std::io::Error::other("canary"));
        assert_eq!((error.for_model(), error.kind()), ("the tool failed", ToolErrorKind::Failed));
        assert!(error.source().unwrap().to_string().contains("canary"));
    }

    #[test]
    fn what_the_model_can_mend_it_reads() {
        let error = ToolError::from(ArgumentsError::NotAnObject("an array"));
        assert_eq!(error.kind(), ToolErrorKind::InvalidArguments);
        assert_eq!(error.for_model(), "the arguments must be a JSON object, not an array");
        assert_eq!(
            ToolError::from(TreeError::TooLarge { limit: 3 }).for_model(),
            "the output is larger than 3 bytes"
        );
    }
}

//! Failures of tools.

use std::collections::HashSet;
use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use crate::document::Document;
use crate::id::DocumentId;
use crate::identity::Identities;
use crate::message::assistant::ArgumentsError;
use crate::tree::{ContentTree, TreeError, TreeErrorKind};

/// The kind of a tool failure, which decides how the loop reacts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolErrorKind {
    /// The tool failed permanently; the model is told.
    #[default]
    Failed,
    /// The model should correct the call; the message is a hint.
    Retry,
    /// The arguments are invalid.
    InvalidArguments,
    /// No tool of that name is offered, or not any more.
    UnknownTool,
    /// The call exceeded its timeout.
    Timeout,
    /// The tool panicked.
    Panicked,
    /// The caller's context lacks a value that the tool needs.
    MissingContext,
    /// The service behind the tool did not answer.
    Unavailable,
    /// The run must end.
    Abort,
}

/// A tool failure: a text for the model, and the cause for the operator.
///
/// `?` converts any error into a `ToolError`, including boxed errors and those of error crates. The text of that error,
/// which may contain paths, queries or tokens, becomes the [`source`](Self::source), and the model only reads that the
/// tool failed; [`new`](Self::new) takes a text that is meant for the model. (`ToolError` does not implement
/// [`std::error::Error`], because this conversion would not be possible otherwise.)
///
/// A failure may include documents, such as a screenshot of the page that did not load; they are shown to the model.
///
/// ```
/// use attache_core::ToolError;
/// fn read() -> Result<String, ToolError> { Ok(std::fs::read_to_string("/secret/place")?) }
/// let error = read().unwrap_err();
/// assert_eq!(error.for_model(), "the tool failed");
/// assert!(error.source().is_some());
///
/// let screenshot = attache_core::Document::from_bytes(&b"\x89PNG\r\n\x1a\n"[..], "image/png");
/// let error = ToolError::new("the page did not load").with_document(screenshot);
/// assert_eq!(error.documents().len(), 1);
/// ```
pub struct ToolError(Box<Inner>);

struct Inner {
    kind: ToolErrorKind,
    for_model: String,
    retry_after: Option<Duration>,
    source: Option<Box<dyn StdError + Send + Sync>>,
    documents: Vec<Document>,
    withheld: Vec<Document>,
}

/// The text for the model of a failure that says nothing.
const FAILED: &str = "the tool failed";

impl ToolError {
    /// Creates a failure with a text that the model reads.
    pub fn new(for_model: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind: ToolErrorKind::Failed,
            for_model: for_model.into(),
            retry_after: None,
            source: None,
            documents: Vec::new(),
            withheld: Vec::new(),
        }))
    }

    /// Creates a failure that the model can correct, with a hint.
    pub fn retry(hint: impl Into<String>) -> Self {
        Self::new(hint).with_kind(ToolErrorKind::Retry)
    }

    /// Creates a failure that ends the run.
    pub fn abort(for_model: impl Into<String>) -> Self {
        Self::new(for_model).with_kind(ToolErrorKind::Abort)
    }

    /// Appends a remark to the text for the model, after a semicolon.
    #[must_use]
    pub fn with_remark(mut self, remark: &str) -> Self {
        let text = match self.0.for_model.trim() {
            "" => FAILED,
            text => text,
        };
        self.0.for_model = format!("{text}; {remark}");
        self
    }

    /// Sets the kind.
    #[must_use]
    pub fn with_kind(mut self, kind: ToolErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    /// Sets the time that the service behind the tool asked to wait.
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

    /// Adds a document to show to the model with the text.
    #[must_use]
    pub fn with_document(mut self, document: Document) -> Self {
        self.0.documents.push(document);
        self
    }

    /// Adds what a capture holds at the failure: documents that the tool did not return. Documents that the error brings
    /// are shown all the same.
    pub(crate) fn with_captured(mut self, captured: Vec<Document>, store_id: Option<&str>) -> Self {
        let Inner { documents, withheld, .. } = &mut *self.0;
        if let Some(store) = store_id {
            let stored = |document: &mut Document| *document = document.clone().or_in_store(store);
            documents.iter_mut().for_each(stored);
        }
        let mut shown = Identities::new();
        for document in documents.iter() {
            shown.number(document);
        }
        withheld.extend(captured.into_iter().filter(|document| shown.get(document).is_none()));
        self
    }

    /// The kind of failure.
    pub fn kind(&self) -> ToolErrorKind {
        self.0.kind
    }

    /// The text that the model reads, if it is not blank.
    pub fn for_model(&self) -> &str {
        &self.0.for_model
    }

    /// The documents that are shown to the model with the text, in order.
    pub fn documents(&self) -> &[Document] {
        &self.0.documents
    }

    /// The documents that the tool had when it failed and that are not shown to the model.
    pub fn withheld(&self) -> &[Document] {
        &self.0.withheld
    }

    /// The content of the failed result: the text for the model, with all documents.
    pub fn tree(&self) -> ContentTree {
        let text = match self.0.for_model.trim() {
            "" => FAILED,
            text => text,
        };
        let tree = ContentTree::text(text);
        if self.0.documents.is_empty() && self.0.withheld.is_empty() {
            return tree;
        }
        let mut known = Identities::new();
        let all = self.0.documents.iter().chain(&self.0.withheld);
        let documents = all.filter(|document| known.insert(document)).cloned().collect();
        let withheld = self.0.withheld.iter().map(|document| document.id().clone()).collect();
        tree.with_documents(documents).with_withheld(withheld)
    }

    /// True if the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        matches!(self.0.kind, ToolErrorKind::Timeout | ToolErrorKind::Unavailable)
    }

    /// The time that the service behind the tool asked to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// The cause, for the operator; it is never shown to a model.
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
            .field("documents", &self.0.documents)
            .finish_non_exhaustive()
    }
}

impl<E: Into<Box<dyn StdError + Send + Sync>>> From<E> for ToolError {
    fn from(error: E) -> Self {
        let error = match error.into().downcast::<ArgumentsError>() {
            Ok(arguments) => {
                return Self::new(arguments.to_string()).with_kind(ToolErrorKind::InvalidArguments);
            }
            Err(error) => error,
        };
        match error.downcast::<TreeError>() {
            Ok(tree) => Self::from_tree(*tree),
            Err(error) => Self::new(FAILED).with_source(error),
        }
    }
}

impl ToolError {
    /// An output that could not be captured, with the documents in it.
    fn from_tree(error: TreeError) -> Self {
        let is_withheld: HashSet<&DocumentId> = error.withheld().iter().collect();
        let (withheld, documents) =
            error.documents().iter().cloned().partition(|document| is_withheld.contains(document.id()));
        let mut failed = Self::new(match error.kind() {
            TreeErrorKind::TooDeep { .. }
            | TreeErrorKind::TooLarge { .. }
            | TreeErrorKind::TooManyDocuments { .. } => error.to_string(),
            // The text behind it is of the tool's own making.
            TreeErrorKind::Serialize => format!("{FAILED}: {error}"),
        });
        (failed.0.documents, failed.0.withheld) = (documents, withheld);
        failed.with_source(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Capture;
    use crate::tree::TreeLimits;

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
        let small = TreeLimits { max_bytes: 3, ..TreeLimits::default() };
        let error = Capture::with_limits(small).finish("0123").unwrap_err();
        assert_eq!(ToolError::from(error).for_model(), "the output is larger than 3 bytes");
    }

    // The error that `anyhow` and its like turn into.
    #[test]
    fn boxed_errors_convert() {
        fn fails() -> Result<(), ToolError> {
            let boxed: Box<dyn StdError + Send + Sync> = "canary".into();
            Err(boxed)?
        }
        let error = fails().unwrap_err();
        assert_eq!((error.for_model(), error.kind()), ("the tool failed", ToolErrorKind::Failed));
        let boxed: Box<dyn StdError + Send + Sync> = ArgumentsError::Truncated.into();
        assert_eq!(ToolError::from(boxed).kind(), ToolErrorKind::InvalidArguments);
    }

    #[test]
    fn a_blank_text_is_replaced() {
        assert_eq!(ToolError::new(" ").tree().model_text(), "the tool failed");
    }
}

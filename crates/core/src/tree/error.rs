//! Errors of content trees.

use std::fmt;

use crate::document::Document;
use crate::id::DocumentId;

/// The reason why an output could not become a [`ContentTree`](crate::ContentTree), and the documents found in it.
///
/// When it is converted to a [`ToolError`](crate::ToolError), it keeps the documents, so that they are shown to the
/// model with the failure.
#[derive(Debug)]
pub struct TreeError(Box<Failed>);

#[derive(Debug)]
struct Failed {
    reason: Reason,
    documents: Vec<Document>,
    withheld: Vec<DocumentId>,
}

/// The reason why an output could not become a [`ContentTree`](crate::ContentTree).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TreeErrorKind {
    /// Arrays and objects are nested deeper than the limit.
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// The JSON text is longer than the limit.
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The output contains more documents than the limit.
    TooManyDocuments {
        /// The limit.
        limit: usize,
    },
    /// The output's own serialisation failed, or its result is not JSON.
    Serialize,
}

/// The kind, and the cause for the operator.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Reason {
    #[error("the output is nested deeper than {limit} levels")]
    TooDeep { limit: usize },
    #[error("the output is larger than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("the output holds more than {limit} documents")]
    TooManyDocuments { limit: usize },
    #[error("the output cannot be serialised")]
    Serialize(#[source] serde_json::Error),
}

impl TreeError {
    pub(crate) fn new(reason: Reason, documents: Vec<Document>, withheld: Vec<DocumentId>) -> Self {
        Self(Box::new(Failed { reason, documents, withheld }))
    }

    /// The problem with the output.
    pub fn kind(&self) -> TreeErrorKind {
        match self.0.reason {
            Reason::TooDeep { limit } => TreeErrorKind::TooDeep { limit },
            Reason::TooLarge { limit } => TreeErrorKind::TooLarge { limit },
            Reason::TooManyDocuments { limit } => TreeErrorKind::TooManyDocuments { limit },
            Reason::Serialize(_) => TreeErrorKind::Serialize,
        }
    }

    /// The documents that could be found in the output, up to the limit, including withheld ones.
    pub fn documents(&self) -> &[Document] {
        &self.0.documents
    }

    /// The documents among them that must not be shown.
    pub fn withheld(&self) -> &[DocumentId] {
        &self.0.withheld
    }
}

impl fmt::Display for TreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0.reason, f)
    }
}

impl std::error::Error for TreeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.reason.source()
    }
}

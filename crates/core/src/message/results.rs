//! The results of tool calls.

use std::collections::HashMap;

use serde::Serialize;

use crate::capture::Capture;
use crate::document::{Document, DocumentSource};
use crate::id::{DocumentId, MessageId, ProviderCallId, ToolCallId};
use crate::identity::{new_ids, own_ids, with_new_ids};
use crate::message::assistant::ToolCall;
use crate::message::part::{Metadata, UserPart};
use crate::store::{DocumentStore, StoreError};
use crate::tool::error::ToolError;
use crate::tree::{ContentTree, TreeError};

/// The outcome of a call, as the model must see it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ResultStatus {
    /// The tool succeeded.
    #[default]
    Ok,
    /// The tool, or the attempt to call it, failed. It is reported by each provider's error flag or frame.
    Error,
    /// The call was cancelled before or while it ran. Shown like an error; it has no documents.
    Cancelled,
}

/// The content to show to the model, as decided by routing.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Routed {
    /// For a user message, its whole content; for a tool result, the content that follows its text.
    pub content: Vec<UserPart>,
    /// A number that changes when the decisions change.
    pub stamp: u64,
}

impl Routed {
    /// Creates routed content with the stamp of the decisions behind it.
    pub fn new(content: Vec<UserPart>, stamp: u64) -> Self {
        Self { content, stamp }
    }
}

/// The result of one tool call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolResult {
    /// The call it answers.
    pub call_id: ToolCallId,
    /// The provider's id of that call, if it sent one.
    pub provider_id: Option<ProviderCallId>,
    /// The tool's internal name; `None` if it is not known.
    pub tool_name: Option<String>,
    /// The outcome of the call.
    pub status: ResultStatus,
    /// The tool's output, with all captured documents.
    pub tree: ContentTree,
    /// The documents to show the model, in order. A handler may withhold some of the tree's.
    pub documents: Vec<Document>,
    /// The documents of the tree that the tool's handler withholds from the model.
    pub withheld: Vec<DocumentId>,
    /// The content that follows the text in this result, as decided by routing. Never stored.
    pub routed: Option<Routed>,
}

impl ToolResult {
    /// Creates the result of `call`. The documents of the tree are shown, except those that the tree withholds.
    pub fn new(call: &ToolCall, status: ResultStatus, tree: ContentTree) -> Self {
        let documents = match status {
            ResultStatus::Cancelled => Vec::new(),
            _ => tree.shown().cloned().collect(),
        };
        let withheld = tree.withheld().to_vec();
        Self {
            call_id: call.id.clone(),
            provider_id: call.provider_id.clone(),
            tool_name: Some(call.name.clone()),
            status,
            tree,
            documents,
            withheld,
            routed: None,
        }
    }

    /// Creates the successful result of a call from a value with documents anywhere in it.
    ///
    /// ```
    /// use attache_core::{Arguments, Document, ToolCall, ToolResult};
    /// let call = ToolCall::new("find", Arguments::new("{}"));
    /// let result = ToolResult::of(&call, &("the lease", Document::inline("rent: 900")))?;
    /// assert_eq!(result.documents.len(), 1);
    /// # Ok::<(), attache_core::tree::TreeError>(())
    /// ```
    ///
    /// # Errors
    /// See [`Capture::finish`].
    pub fn of<T: Serialize + ?Sized>(call: &ToolCall, value: &T) -> Result<Self, TreeError> {
        Ok(Self::new(call, ResultStatus::Ok, Capture::new().finish(value)?))
    }

    /// Creates the result of a deferred call. Its documents are put into the store that the run reads. A value that
    /// cannot be shown becomes a failed result with the reason.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn stored<T: Serialize + ?Sized>(
        call: &ToolCall,
        status: ResultStatus,
        value: &T,
        store: &dyn DocumentStore,
    ) -> Result<Self, StoreError> {
        let tree = match Capture::new().with_store_id(store.id()).finish(value) {
            Ok(tree) => tree,
            Err(error) => return Ok(Self::failed(call, &ToolError::from(error))),
        };
        for document in tree.documents() {
            if matches!(document.source(), DocumentSource::Bytes(_)) {
                store.put(document).await?;
            }
        }
        Ok(Self::new(call, status, tree))
    }

    /// Creates a successful result of plain text.
    pub fn ok(call: &ToolCall, text: &str) -> Self {
        Self::new(call, ResultStatus::Ok, ContentTree::text(text))
    }

    /// Creates a failed result with a text for the model.
    pub fn error(call: &ToolCall, text: &str) -> Self {
        Self::new(call, ResultStatus::Error, ContentTree::text(text))
    }

    /// Creates the result of a call whose tool failed: the error's text and its documents, which are shown like those
    /// of any result.
    ///
    /// ```
    /// use attache_core::{Arguments, Document, ToolCall, ToolError, ToolResult};
    /// let call = ToolCall::new("browse", Arguments::new("{}"));
    /// let error = ToolError::new("the page did not load").with_document(Document::inline("its source"));
    /// let result = ToolResult::failed(&call, &error);
    /// assert!(result.is_error() && result.documents.len() == 1);
    /// ```
    pub fn failed(call: &ToolCall, error: &ToolError) -> Self {
        Self::new(call, ResultStatus::Error, error.tree())
    }

    /// Creates the result of a cancelled call. It has no documents, even if the tool had already returned some.
    pub fn cancelled(call: &ToolCall) -> Self {
        Self::new(call, ResultStatus::Cancelled, ContentTree::text("Tool execution was canceled."))
    }

    /// Resolves id clashes with documents that a conversation already knows: a document with the id of a `known`
    /// document but different content gets a new id, in the text too, so that a store can keep both. The same content
    /// always gets the same new id.
    ///
    /// ```
    /// use attache_core::{Arguments, Capture, Document, DocumentId, ResultStatus, ToolCall, ToolResult};
    /// let id = DocumentId::parse("contract-42").unwrap();
    /// let (first, second) = (Document::inline("version 1").with_id(id.clone()), Document::inline("version 2").with_id(id));
    /// let tree = Capture::new().finish(&[&second])?;
    /// let result = ToolResult::new(&ToolCall::new("get", Arguments::new("{}")), ResultStatus::Ok, tree);
    /// let result = result.apart_from(|id| Some(&first).filter(|known| known.id() == id));
    /// assert_ne!(result.documents[0].id(), first.id());
    /// assert!(result.tree.unresolved().is_empty());
    /// # Ok::<(), attache_core::tree::TreeError>(())
    /// ```
    #[must_use]
    pub fn apart_from<'d>(self, known: impl Fn(&DocumentId) -> Option<&'d Document>) -> Self {
        match self.own_ids(known) {
            Some(ids) => self.with_ids(&ids),
            None => self,
        }
    }

    pub(crate) fn own_ids<'d>(
        &self,
        known: impl Fn(&DocumentId) -> Option<&'d Document>,
    ) -> Option<HashMap<DocumentId, DocumentId>> {
        own_ids(self.tree.documents().iter().chain(&self.documents), known)
    }

    pub(crate) fn with_ids(&self, ids: &HashMap<DocumentId, DocumentId>) -> Self {
        Self {
            tree: self.tree.with_ids(ids),
            documents: with_new_ids(&self.documents, ids),
            withheld: new_ids(&self.withheld, ids),
            ..self.clone()
        }
    }

    /// True if the model must be told that the call failed.
    pub fn is_error(&self) -> bool {
        self.status != ResultStatus::Ok
    }

    /// The content that follows the text.
    pub fn attached(&self) -> &[UserPart] {
        self.routed.as_ref().map_or(&[], |routed| &routed.content)
    }

    /// True if it has documents that have not been routed. A renderer must reject such a result rather than lose the
    /// documents.
    pub fn is_unrouted(&self) -> bool {
        self.routed.is_none() && !self.documents.is_empty()
    }
}

/// All tool results for one assistant message, in call order.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolResultsMessage {
    /// The id of the message.
    pub id: MessageId,
    /// The results, in call order.
    pub results: Vec<ToolResult>,
    /// The metadata.
    pub metadata: Metadata,
}

impl ToolResultsMessage {
    /// Creates a message with the results for one assistant message, in call order.
    pub fn new(results: impl IntoIterator<Item = ToolResult>) -> Self {
        Self::with_id(MessageId::new(), results)
    }

    /// Creates a message with these results and the given id.
    pub fn with_id(id: MessageId, results: impl IntoIterator<Item = ToolResult>) -> Self {
        Self { id, results: results.into_iter().collect(), metadata: Metadata::default() }
    }
}

//! Handlers that provide families of tools, and the output of a call.

use std::collections::HashMap;
use std::future::Future;

use serde::Serialize;

use crate::capture::Capture;
use crate::document::Document;
use crate::future::BoxFuture;
use crate::id::DocumentId;
use crate::identity::Identities;
use crate::message::{Arguments, ResultStatus};
use crate::tool::{Deferred, ToolContext, ToolError, ToolSpec};
use crate::tree::{ContentTree, TreeError};

/// The output of a call: the tree, the documents to show, and those withheld.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolOutput {
    /// The tool's output.
    pub tree: ContentTree,
    /// The documents to show the model, in order, each once.
    pub documents: Vec<Document>,
    /// The documents of the tree that are withheld from the model.
    pub withheld: Vec<DocumentId>,
    /// The status of the result. A failed result keeps its content.
    pub status: ResultStatus,
    /// The source of the result, if there is no result yet. Boxed, since it is rare.
    pub deferred: Option<Box<Deferred>>,
}

impl ToolOutput {
    /// Creates a successful output that shows the documents of the tree, except those that the tree withholds.
    pub fn new(tree: ContentTree) -> Self {
        let documents = tree.shown().cloned().collect();
        let withheld = tree.withheld().to_vec();
        Self { tree, documents, withheld, status: ResultStatus::Ok, deferred: None }
    }

    /// Creates the output from a capture, or a deferred output if the capture contains one.
    ///
    /// # Errors
    /// See [`Capture::finish`].
    pub fn captured<T: Serialize + 'static>(capture: Capture, output: &T) -> Result<Self, TreeError> {
        let (tree, deferred) = capture.finish_deferrable(output)?;
        Ok(Self { deferred, ..Self::new(tree) })
    }

    /// Creates an output without a result: it comes later, from elsewhere. A plain text is the worker's
    /// own id for the job, as in [`Deferred::to`].
    pub fn deferred(deferred: impl Into<Deferred>) -> Self {
        let deferred = Box::new(deferred.into());
        let tree = ContentTree::text(deferred.prompt.as_deref().unwrap_or("the result comes later"));
        Self { deferred: Some(deferred), ..Self::new(tree) }
    }

    /// Creates an output that shows `documents`; all others of the tree are withheld. Duplicate documents count once,
    /// at their first position.
    pub fn showing(tree: ContentTree, documents: impl IntoIterator<Item = Document>) -> Self {
        // The second of two documents of one id stands in the tree under an id of its own.
        let mut in_tree: HashMap<&DocumentId, &Document> = HashMap::new();
        for document in tree.documents() {
            in_tree.entry(document.id()).or_insert(document);
        }
        let of_tree = |document: Document| match in_tree.get(document.id()) {
            Some(known) if known.has_other_content(&document) => {
                let id = document.id_beside_another();
                id.and_then(|id| in_tree.get(&id).copied().cloned()).unwrap_or(document)
            }
            _ => document,
        };
        let given: Vec<Document> = documents.into_iter().map(of_tree).collect();
        let mut known = Identities::new();
        let shown: Vec<Document> = given.iter().filter(|document| known.insert(document)).cloned().collect();
        let withheld = tree.documents().iter().filter(|document| known.get(document).is_none());
        let withheld: Vec<DocumentId> = withheld.map(|document| document.id().clone()).collect();
        let tree = tree.with_withheld(withheld.clone());
        Self { tree, documents: shown, withheld, status: ResultStatus::Ok, deferred: None }
    }

    /// Replaces the text that the model reads. The documents are not changed.
    #[must_use]
    pub fn with_text(mut self, text: &str) -> Self {
        let documents = self.tree.documents().to_vec();
        self.tree = ContentTree::text(text).with_documents(documents).with_withheld(self.withheld.clone());
        self
    }

    /// Sets the status of the call, such as [`ResultStatus::Error`] for a tool that reports its failure in its output.
    #[must_use]
    pub fn with_status(mut self, status: ResultStatus) -> Self {
        self.status = status;
        self
    }
}

/// A provider of a family of tools: an MCP server, an A2A agent, a set of HTTP endpoints.
///
/// Its output is typed, so that [`extract_documents`](Self::extract_documents) needs no downcasts. By default, the
/// documents with a place in the output are shown.
pub trait ToolHandler: Send + Sync + 'static {
    /// The value that a call returns.
    type Output: Serialize + Send + Sync + 'static;

    /// A short name for messages and logs, such as `mcp:files`.
    fn name(&self) -> &str;

    /// The tools, with their internal names. Called when a run first needs them.
    ///
    /// # Errors
    /// If the tools cannot be listed, for example because their server does not answer.
    fn tools(&self) -> impl Future<Output = Result<Vec<ToolSpec>, ToolError>> + Send;

    /// A number that changes whenever the result of [`tools`](Self::tools) changes. Active runs then list the tools
    /// again before the next model call: new tools are offered after the others, and removed tools are no longer
    /// called.
    fn version(&self) -> u64 {
        0
    }

    /// Calls the tool of that internal name.
    ///
    /// # Errors
    /// The tool failed; the error has a text for the model and a cause for the operator.
    fn call(
        &self,
        tool: &str,
        arguments: &Arguments,
        context: ToolContext,
    ) -> impl Future<Output = Result<Self::Output, ToolError>> + Send;

    /// The documents of an output to show to the model, in order; all others of the tree are withheld.
    fn extract_documents(&self, output: &Self::Output, tree: &ContentTree) -> Vec<Document> {
        let _ = output;
        tree.shown().cloned().collect()
    }

    /// True if an output reports a failure of the tool.
    fn is_error(&self, output: &Self::Output) -> bool {
        let _ = output;
        false
    }
}

/// A [`ToolHandler`] of any output type. It combines call, capture and extraction, and is implemented for all handlers
/// and nothing else.
pub trait DynToolHandler: Send + Sync + sealed::Sealed {
    /// See [`ToolHandler::name`].
    fn name(&self) -> &str;

    /// See [`ToolHandler::tools`].
    fn tools(&self) -> BoxFuture<'_, Result<Vec<ToolSpec>, ToolError>>;

    /// See [`ToolHandler::version`].
    fn version(&self) -> u64;

    /// Calls the tool and yields its output with the documents to show.
    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: &'a Arguments,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}

mod sealed {
    pub trait Sealed {}
    impl<H: super::ToolHandler> Sealed for H {}
}

impl<H: ToolHandler> DynToolHandler for H {
    fn name(&self) -> &str {
        ToolHandler::name(self)
    }

    fn tools(&self) -> BoxFuture<'_, Result<Vec<ToolSpec>, ToolError>> {
        Box::pin(ToolHandler::tools(self))
    }

    fn version(&self) -> u64 {
        ToolHandler::version(self)
    }

    fn call<'a>(
        &'a self,
        tool: &'a str,
        arguments: &'a Arguments,
        context: ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let mut capture = Capture::new();
            if let Some(store) = &context.store_id {
                capture = capture.with_store_id(store.clone());
            }
            let output = match capture.run(ToolHandler::call(self, tool, arguments, context)).await {
                Ok(output) => output,
                Err(error) => return Err(capture.fail(error)),
            };
            let (tree, deferred) = capture.finish_deferrable(&output)?;
            let documents = self.extract_documents(&output, &tree);
            let yielded = ToolOutput { deferred, ..ToolOutput::showing(tree, documents) };
            Ok(if self.is_error(&output) { yielded.with_status(ResultStatus::Error) } else { yielded })
        })
    }
}

//! Families of tools behind one door, and what a call yields.

use std::future::Future;

use serde::Serialize;

use crate::capture::Capture;
use crate::document::Document;
use crate::id::DocumentId;
use crate::message::{Arguments, ResultStatus};
use crate::provider::BoxFuture;
use crate::tool::{ToolContext, ToolError, ToolSpec};
use crate::tree::ContentTree;

/// What a call yields: the tree, the documents to show, those withheld.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolOutput {
    /// What the tool returned.
    pub tree: ContentTree,
    /// The documents to show the model, in order, each once.
    pub documents: Vec<Document>,
    /// The documents of the tree that are kept from the model.
    pub withheld: Vec<DocumentId>,
    /// Whether the tool reports success. A failed result keeps its content.
    pub status: ResultStatus,
}

impl ToolOutput {
    /// A successful output that shows all documents of the tree.
    pub fn new(tree: ContentTree) -> Self {
        let documents = tree.documents().to_vec();
        Self { tree, documents, withheld: Vec::new(), status: ResultStatus::Ok }
    }

    /// An output that shows `documents`; those of the tree that are not among them are withheld. The same
    /// document twice counts once, at its first place.
    pub fn showing(tree: ContentTree, documents: impl IntoIterator<Item = Document>) -> Self {
        let mut shown: Vec<Document> = Vec::new();
        for document in documents {
            if !shown.iter().any(|known| known.is_same(&document)) {
                shown.push(document);
            }
        }
        let kept = |document: &&Document| !shown.iter().any(|known| known.is_same(document));
        let withheld = tree.documents().iter().filter(kept).map(|document| document.id().clone()).collect();
        Self { tree, documents: shown, withheld, status: ResultStatus::Ok }
    }

    /// Marks it as a failure.
    #[must_use]
    pub fn as_error(mut self) -> Self {
        self.status = ResultStatus::Error;
        self
    }
}

/// A family of tools behind one door: an MCP server, an A2A agent, a set of HTTP endpoints.
///
/// Its output is typed, so that [`extract_documents`](Self::extract_documents) needs no downcasts. A handler that
/// overrides nothing shows all documents of what it returned.
pub trait ToolHandler: Send + Sync + 'static {
    /// What a call returns.
    type Output: Serialize + Send + Sync;

    /// A short name for messages and logs, such as `mcp:files`.
    fn name(&self) -> &str;

    /// The tools, with their internal names. Called when a run first needs them.
    fn tools(&self) -> impl Future<Output = Result<Vec<ToolSpec>, ToolError>> + Send;

    /// Calls the tool of that internal name.
    fn call(
        &self,
        tool: &str,
        arguments: &Arguments,
        context: ToolContext,
    ) -> impl Future<Output = Result<Self::Output, ToolError>> + Send;

    /// The documents of an output to show the model, in order; those of the tree that it leaves out are withheld.
    fn extract_documents(&self, output: &Self::Output, tree: &ContentTree) -> Vec<Document> {
        let _ = output;
        tree.documents().to_vec()
    }

    /// Whether an output reports a failure of the tool.
    fn is_error(&self, output: &Self::Output) -> bool {
        let _ = output;
        false
    }
}

/// A [`ToolHandler`] of any output type. Call, capture and extraction are one body; it is implemented for every
/// handler and for nothing else.
pub trait DynToolHandler: Send + Sync + sealed::Sealed {
    /// See [`ToolHandler::name`].
    fn name(&self) -> &str;

    /// See [`ToolHandler::tools`].
    fn tools(&self) -> BoxFuture<'_, Result<Vec<ToolSpec>, ToolError>>;

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
            let output = capture.run(ToolHandler::call(self, tool, arguments, context)).await?;
            let tree = capture.finish(&output)?;
            let documents = self.extract_documents(&output, &tree);
            let yielded = ToolOutput::showing(tree, documents);
            Ok(if self.is_error(&output) { yielded.as_error() } else { yielded })
        })
    }
}

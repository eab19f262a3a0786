//! Families of tools behind one door, and what a call yields.

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

/// The yield of a call: the tree, the documents to show, those withheld.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolOutput {
    /// The tool's output.
    pub tree: ContentTree,
    /// The documents to show the model, in order, each once.
    pub documents: Vec<Document>,
    /// The documents of the tree that are kept from the model.
    pub withheld: Vec<DocumentId>,
    /// True if the tool reports success. A failed result keeps its content.
    pub status: ResultStatus,
    /// The source of the result, if it is none yet. Boxed, since few have it.
    pub deferred: Option<Box<Deferred>>,
}

impl ToolOutput {
    /// A successful output that shows the documents of the tree, but for those that it withholds.
    pub fn new(tree: ContentTree) -> Self {
        let documents = tree.shown().cloned().collect();
        let withheld = tree.withheld().to_vec();
        Self { tree, documents, withheld, status: ResultStatus::Ok, deferred: None }
    }

    /// The output that a capture writes, or the word in it that there is none yet.
    ///
    /// # Errors
    /// See [`Capture::finish`].
    pub fn captured<T: Serialize + 'static>(capture: Capture, output: &T) -> Result<Self, TreeError> {
        let (tree, deferred) = capture.finish_deferrable(output)?;
        Ok(Self { deferred, ..Self::new(tree) })
    }

    /// No result yet: it comes later, from elsewhere. A name alone says who works on it.
    pub fn deferred(deferred: impl Into<Deferred>) -> Self {
        let deferred = Box::new(deferred.into());
        let tree = ContentTree::text(deferred.prompt.as_deref().unwrap_or("the result comes later"));
        Self { deferred: Some(deferred), ..Self::new(tree) }
    }

    /// An output that shows `documents`; those of the tree that are not among them are withheld. The same
    /// document twice counts once, at its first place.
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

    /// Lets the model read this text in place of the output. The documents stay as they are.
    #[must_use]
    pub fn with_text(mut self, text: &str) -> Self {
        let documents = self.tree.documents().to_vec();
        self.tree = ContentTree::text(text).with_documents(documents).with_withheld(self.withheld.clone());
        self
    }

    /// Says how the call went, such as [`ResultStatus::Error`] for a tool that tells of its failure in its output.
    #[must_use]
    pub fn with_status(mut self, status: ResultStatus) -> Self {
        self.status = status;
        self
    }
}

/// A family of tools behind one door: an MCP server, an A2A agent, a set of HTTP endpoints.
///
/// Its output is typed, so that [`extract_documents`](Self::extract_documents) needs no downcasts. A handler that
/// overrides nothing shows the documents that have a place in its output.
pub trait ToolHandler: Send + Sync + 'static {
    /// The value that a call returns.
    type Output: Serialize + Send + Sync + 'static;

    /// A short name for messages and logs, such as `mcp:files`.
    fn name(&self) -> &str;

    /// The tools, with their internal names. Called when a run first needs them.
    ///
    /// # Errors
    /// The tools cannot be listed, such as when their server does not answer.
    fn tools(&self) -> impl Future<Output = Result<Vec<ToolSpec>, ToolError>> + Send;

    /// A number that is another one whenever [`tools`](Self::tools) would list others. Runs that are under way list
    /// them again before they ask the model: what is new is offered behind the rest, what is gone is not called any
    /// more.
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

    /// The documents of an output to show the model, in order; those of the tree that it leaves out are withheld.
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

/// A [`ToolHandler`] of any output type. Call, capture and extraction are one body; it is implemented for every
/// handler and for nothing else.
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

//! The state of a task whose call was deferred.

use attache_core::{
    Capture, Document, DocumentSource, DocumentStore, ResultStatus, StoreError, ToolCall, ToolError,
    ToolResult,
};

use super::output::A2aOutput;

/// The word of an agent about a task that a run waits for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum A2aUpdate {
    /// It is worked on.
    Working,
    /// The agent asks something; [`answer`](crate::A2aAgent::answer) goes on with the task.
    Asks(A2aQuestion),
    /// It is over, also if it failed.
    Done(Box<A2aOutput>),
}

/// A question of an agent in the midst of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct A2aQuestion {
    /// The question, for people.
    pub text: String,
    /// True if it asks for leave or credentials, which are given elsewhere: any answer then goes on with the task.
    pub needs_auth: bool,
}

impl A2aOutput {
    /// The result of the deferred call, for `deliver`. Its documents are put into the store that the agent reads.
    ///
    /// # Errors
    /// If the store fails, or the output is too large.
    pub async fn into_result(
        self,
        call: &ToolCall,
        store: &dyn DocumentStore,
    ) -> Result<ToolResult, A2aResultError> {
        let status = if self.is_error() { ResultStatus::Error } else { ResultStatus::Ok };
        let tree = match Capture::new().with_store_id(store.id()).finish(&self) {
            Ok(tree) => tree,
            // The model reads why it has nothing.
            Err(error) => return Ok(ToolResult::failed(call, &ToolError::from(error))),
        };
        for document in tree.documents() {
            put(store, document).await?;
        }
        Ok(ToolResult::new(call, status, tree))
    }
}

async fn put(store: &dyn DocumentStore, document: &Document) -> Result<(), StoreError> {
    match document.source() {
        DocumentSource::Bytes(_) => store.put(document).await,
        _ => Ok(()),
    }
}

/// The documents of a result could not be kept.
#[derive(Debug, thiserror::Error)]
#[error("the documents of the result could not be stored")]
pub struct A2aResultError(#[from] StoreError);

//! The state of a task whose call was deferred.

use attache_core::{DocumentStore, ResultStatus, StoreError, ToolCall, ToolResult};

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
    /// If the store fails.
    pub async fn into_result(
        self,
        call: &ToolCall,
        store: &dyn DocumentStore,
    ) -> Result<ToolResult, StoreError> {
        let status = if self.is_error() { ResultStatus::Error } else { ResultStatus::Ok };
        ToolResult::stored(call, status, &self, store).await
    }
}

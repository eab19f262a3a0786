//! The events of a run, as they happen.

use std::sync::Arc;

use attache_core::repair::Repair;
use attache_core::response::ResponseInfo;
use attache_core::tool::Progress;
use attache_core::{
    Citation, Document, DocumentId, FinishReason, MessageId, ToolCall, ToolCallId, ToolResult, Usage,
};
use attache_documents::RoutingReport;
use serde_json::Value;

use crate::log::{ApprovalRequest, Decided, DeferredRequest, Disposition, NestedAgent};
use crate::outcome::{Outcome, RunError};

/// One event of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Event {
    /// Counts from 1 inside a run.
    pub seq: u64,
    /// The step of the run that it belongs to; 0 before the first.
    pub step: u32,
    /// The kind of event.
    pub kind: EventKind,
}

/// A thing that happened. Exactly one [`Finished`](Self::Finished) comes, and it comes last.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum EventKind {
    /// The run began.
    RunStarted {
        /// The run.
        run_id: String,
    },
    /// The conversation that the run started from was not one that every provider takes, and was mended; the log holds
    /// it as it is now.
    HistoryRepaired(Vec<Repair>),
    /// The window left messages out of what the model sees.
    WindowMoved {
        /// The number of messages that left now.
        evicted: usize,
    },
    /// The memory put a summary in the place of what is old, or cleared old results.
    Compacted {
        /// The tokens of the request before that, by estimate.
        tokens: u64,
        /// True if there is a new summary.
        summarised: bool,
        /// The tokens of the summary's requests.
        usage: Usage,
    },
    /// Documents were routed for the call that follows. Sent when the decisions differ from those before.
    DocumentsRouted(Arc<RoutingReport>),
    /// Contents that the model saw before are left out from now on, to keep its limits or the budget: it reads notes in
    /// their place, and the prompt cache holds only what stands before them.
    DocumentsLeftOut {
        /// The documents, in message order.
        documents: Vec<DocumentId>,
    },
    /// More tools are offered from now on: the model asked for them, or a family has new ones.
    ToolsOffered {
        /// Their internal names, in order.
        names: Vec<String>,
    },
    /// The conversation was handed over: another agent answers from now on.
    HandedOff {
        /// The agent that had it; none for the one with which the run began.
        from: Option<String>,
        /// The agent that has it now, by the name under which the one before knows it.
        agent: String,
    },
    /// The model is asked.
    StepStarted {
        /// The model, `provider/model`.
        model: String,
        /// The id that its reply has in the conversation, if it becomes a message: one of reasoning alone does not.
        reply: MessageId,
    },
    /// A piece of answer text.
    Content(String),
    /// A piece of reasoning.
    Thinking(String),
    /// A piece of a tool call.
    ToolCallDelta {
        /// The call.
        id: ToolCallId,
        /// The tool's internal name, once.
        name: Option<String>,
        /// A piece of the arguments.
        arguments_delta: String,
    },
    /// The known part of the value that the run was asked for, while it is written. Members are missing and
    /// texts end early, and the model may have to mend it: nobody should act on it.
    PartialValue(Value),
    /// A document that the model made in its reply, such as a picture. It comes once the reply is recorded, and before its
    /// calls.
    Made(Box<Document>),
    /// The model asks for these calls.
    ToolCallsRequested {
        /// The calls, in call order.
        calls: Vec<ToolCall>,
        /// Its text beside them.
        content: String,
    },
    /// A tool starts to run.
    ToolStarted {
        /// The call.
        call: ToolCall,
    },
    /// A tool says how far its call has come, at most about ten times a second.
    ToolProgress {
        /// The call.
        id: ToolCallId,
        /// How far it has come.
        progress: Box<Progress>,
    },
    /// A call waits for its result from the caller.
    ExternalPending {
        /// The call.
        call: ToolCall,
    },
    /// A call waits until somebody approves it.
    ApprovalRequested(Box<ApprovalRequest>),
    /// The result of a call comes later: somebody works on it, or a person is asked.
    CallDeferred(Box<DeferredRequest>),
    /// An approval is settled.
    ApprovalDecided(Box<Decided>),
    /// A call has its result; in the order in which they finish.
    ToolFinished {
        /// The result.
        result: Box<ToolResult>,
        /// How it came about.
        disposition: Disposition,
    },
    /// A [hook](crate::RunHook::after_model) has blocked the reply of the step, tripped over it, or has it made again: the
    /// text that was told of it is no part of the answer. It comes once the verdict is recorded.
    ReplyWithdrawn {
        /// The id that the reply was told to have.
        reply: MessageId,
    },
    /// All calls of the step have results.
    ToolResultsReceived {
        /// The number.
        count: usize,
    },
    /// A reply came to its end, also one that failed and cost tokens: the run fails then.
    StepFinished {
        /// The reason for which the model stopped.
        finish_reason: FinishReason,
        /// The usage of the step.
        usage: Usage,
        /// The head of the provider's answer: the id of the request, and what is left of the rate limits. `None` where
        /// the model is not behind HTTP.
        response: Option<Box<ResponseInfo>>,
    },
    /// Something happened in a run inside a tool.
    Nested {
        /// The agents on the way to it, the outermost first.
        path: Arc<[NestedAgent]>,
        /// The thing that happened, as that run tells it.
        event: Box<Event>,
    },
    /// Something is not as it should be, and the run goes on.
    Warning {
        /// A word for programs.
        code: &'static str,
        /// A line for people.
        message: String,
    },
    /// The answer rests on this passage, where the agent checks its answers. Citations of the provider are told with
    /// its reply, as the provider says them; those that are found by matching come before the end.
    Source(Box<Citation>),
    /// The run ended.
    Finished(Result<Box<Outcome>, RunError>),
}

impl EventKind {
    /// An event of an agent inside, or of one further inside.
    pub(crate) fn nested(path: &Arc<[NestedAgent]>, event: Event) -> Self {
        match event.kind {
            Self::Nested { path: further, event } => {
                Self::Nested { path: path.iter().chain(&*further).cloned().collect(), event }
            }
            kind => Self::Nested { path: Arc::clone(path), event: Box::new(Event { kind, ..event }) },
        }
    }

    /// The outcome that the end of a run tells, also of one that failed.
    pub fn outcome(&self) -> Option<&Outcome> {
        match self {
            Self::Finished(Ok(outcome)) => Some(outcome),
            Self::Finished(Err(error)) => Some(error.partial()),
            _ => None,
        }
    }
}

//! How a run ends.

use std::fmt;
use std::sync::Arc;

use attache_core::citation::{Citation, Figure, Span};
use attache_core::structured::StructuredError;
use attache_core::{
    AssistantMessage, AssistantPart, Document, ErrorKind, Message, MessageId, ProviderError, ToolCall, Usage,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::approval::DecideError;
use crate::input::WITHDRAWN;
use crate::journal::JournalError;
use crate::log::{ApprovalRequest, DeferredRequest, Grant};
use crate::price::Cost;

/// The one reason why a run ended, for programs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EndReason {
    /// The model answered.
    Answer,
    /// The output of return-direct tools is the answer.
    ReturnDirect,
    /// The output of a tool that ends runs is the answer.
    FinishTool,
    /// The step limit was reached; a last call without tools gave what is there.
    MaxSteps,
    /// The token limit was reached; a last call without tools gave what is there.
    TokenLimit,
    /// The limit of cost was reached; a last call without tools gave what is there, if there was money for it.
    CostLimit,
    /// The limit of tool calls was reached; a last call without tools gave what is there.
    ToolCallLimit,
    /// The run's time was up; where there was time for it, a last call without tools gave what is there.
    Deadline,
    /// The same calls gave the same results again and again.
    NoProgress,
    /// The model made calls that cannot be made, again and again, of one tool or of tools that do not exist.
    ToolRetriesExhausted,
    /// Calls wait until somebody approves them, see [`Outcome::approvals`].
    PendingApproval,
    /// A person is asked something, see [`Outcome::deferred`].
    InputRequired,
    /// Calls wait for results that nobody delivered in time.
    PendingExternal,
    /// A hook ended the run.
    GuardrailTripped,
    /// The model declined.
    Refusal,
    /// The provider withheld the reply.
    ContentFilter,
    /// The reply reached the output limit.
    Length,
    /// The answer is no value of the schema that was asked for, and the model may not try again.
    InvalidAnswer,
    /// A reply with neither text nor calls.
    EmptyResponse,
    /// Somebody cancelled.
    Cancelled,
    /// The provider failed. The run has not ended; it can be resumed.
    ProviderError(String),
    /// A tool ended the run.
    ToolAbort,
    /// Something of ours failed: the journal, a store. The run has not ended; it can be resumed.
    InternalError,
    /// Another driver has taken the run over, and goes on with it.
    Superseded,
}

impl EndReason {
    /// The word in JSON and logs.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::ReturnDirect => "return_direct",
            Self::FinishTool => "finish_tool",
            Self::MaxSteps => "max_steps",
            Self::TokenLimit => "token_limit",
            Self::CostLimit => "cost_limit",
            Self::ToolCallLimit => "tool_call_limit",
            Self::Deadline => "deadline",
            Self::NoProgress => "no_progress",
            Self::ToolRetriesExhausted => "tool_retries_exhausted",
            Self::PendingApproval => "pending_approval",
            Self::InputRequired => "input_required",
            Self::PendingExternal => "pending_external",
            Self::GuardrailTripped => "guardrail_tripped",
            Self::Refusal => "refusal",
            Self::ContentFilter => "content_filter",
            Self::Length => "length",
            Self::InvalidAnswer => "invalid_answer",
            Self::EmptyResponse => "empty_response",
            Self::Cancelled => "cancelled",
            Self::ProviderError(_) => "provider_error",
            Self::ToolAbort => "tool_abort",
            Self::InternalError => "internal_error",
            Self::Superseded => "superseded",
        }
    }

    /// True if the run came to a full answer: by the model, or by the output of a tool that is one.
    pub fn is_answer(&self) -> bool {
        matches!(self, Self::Answer | Self::ReturnDirect | Self::FinishTool)
    }

    /// True if the run failed, rather than coming to an end that a caller may show.
    pub fn is_failure(&self) -> bool {
        matches!(
            self,
            Self::EmptyResponse
                | Self::InvalidAnswer
                | Self::ProviderError(_)
                | Self::ToolAbort
                | Self::InternalError
                | Self::Superseded
        )
    }

    pub(crate) fn provider(error: &ProviderError) -> Self {
        match error.kind() {
            ErrorKind::EmptyResponse => Self::EmptyResponse,
            ErrorKind::Cancelled => Self::Cancelled,
            kind => Self::ProviderError(kind.as_str().to_owned()),
        }
    }
}

impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ProviderError(kind) => write!(f, "provider_error ({kind})"),
            other => f.write_str(other.as_str()),
        }
    }
}

/// The end of a run: why, what was said, and everything that happened.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// The run.
    pub run_id: String,
    /// Why it ended.
    pub reason: EndReason,
    /// One line for people about the end, where the reason alone does not say enough.
    pub detail: Option<String>,
    /// The answer, or what there was of it.
    pub text: String,
    /// The name of the agent that answered, where the [conversation was handed over](crate::Agent::as_handoff); none if
    /// it was the one with which the run began.
    pub agent: Option<String>,
    /// The reasoning of the last reply, if it said nothing else; otherwise empty. Such a reply is not in `messages`.
    pub reasoning: String,
    /// The answer as a value of the schema that the run was asked for, or what of it does not fit. `None` if no value was
    /// asked for, and where no answer was given.
    pub structured: Option<Box<Result<Value, StructuredError>>>,
    /// The passages that the answer quotes, or that its provider cites, and where they stand. Empty unless the agent
    /// [checks](crate::AgentBuilder::citations) its answers.
    pub citations: Vec<Citation>,
    /// The figures that the answer states, each with what stands behind it.
    pub figures: Vec<Figure>,
    /// Long passages in quotation marks that stand nowhere, as places of the text.
    pub unfound: Vec<Span>,
    /// The conversation with everything the run added, synthetic messages included. It is valid to go on from.
    pub messages: Vec<Arc<Message>>,
    /// The calls that the model made, in order; some may have been refused.
    pub calls: Vec<ToolCall>,
    /// The calls that still wait for results. A run over the same journal asks for them again and goes on; in
    /// `messages` each has a failed result that says that none came.
    pub pending: Vec<ToolCall>,
    /// Those of them that wait until somebody approves them; [`Agent::resume`](crate::Agent::resume) or
    /// [`decide`](crate::decide) takes the decision.
    pub approvals: Vec<ApprovalRequest>,
    /// Those of them whose results come later, with what is asked or who works on it. [`deliver`](crate::deliver) takes
    /// the results.
    pub deferred: Vec<DeferredRequest>,
    /// The leave to call tools without asking that the run was given.
    pub grants: Vec<Grant>,
    /// The calls with effects that were begun and did not come to their end, so that nobody knows whether the effects
    /// happened. The model was told so.
    pub unknown: Vec<ToolCall>,
    /// Injected messages that the run did not read any more; they are not in `messages`.
    pub unread: Vec<Arc<Message>>,
    /// The number of the turn, which the ids of the run's own messages have.
    pub(crate) turn: u64,
    /// Model calls that came to their end.
    pub steps: u32,
    /// The tokens of all of them and of those of agents inside; unknown counts are absent.
    pub usage: Usage,
    /// Their cost, those of agents inside included.
    pub cost: Cost,
}

/// The cause of a failure.
pub(crate) type Cause = Arc<dyn std::error::Error + Send + Sync>;

/// The metadata of a reply that holds a [document or hidden reasoning](is_told_at_the_end): its step, from 0.
pub(crate) const STEP: &str = "step";

impl Outcome {
    /// The documents in `messages` that the model made in the run, such as pictures, in order.
    pub fn documents(&self) -> impl Iterator<Item = &Document> {
        self.marked_replies().flat_map(|(_, reply)| reply.documents())
    }

    /// The steps, from 0, of which the provider keeps reasoning to itself: it goes back to the model, and nobody can read
    /// it.
    pub fn hidden_reasoning(&self) -> impl Iterator<Item = u32> {
        self.marked_replies().filter(|(_, reply)| reply.parts.iter().any(is_hidden)).map(|(step, _)| step)
    }

    /// The replies of the run whose metadata have their step. Their ids tell that they are its own: messages before them may
    /// have been taken away, and a hand-off may have put others in their place.
    fn marked_replies(&self) -> impl Iterator<Item = (u32, &AssistantMessage)> {
        self.messages.iter().filter_map(|message| match &**message {
            Message::Assistant(reply) => {
                let step = u32::try_from(reply.metadata.get(STEP)?.as_u64()?).ok()?;
                let is_own = origin(&reply.id)? == (self.run_id.trim_start(), self.turn);
                (is_own && reply.metadata.get(WITHDRAWN).is_none()).then_some((step, reply))
            }
            _ => None,
        })
    }

    /// The figures of the answer that nothing explains.
    pub fn unsupported(&self) -> impl Iterator<Item = &Figure> {
        self.figures.iter().filter(|figure| figure.is_unsupported())
    }

    /// The outcome, or the error if the run failed of this cause. It comes in a box, since each run has room for one
    /// that is on its way.
    pub(crate) fn judged(self: Box<Self>, cause: Option<Cause>) -> Result<Box<Self>, RunError> {
        if self.reason.is_failure() { Err(RunError::new(*self, cause)) } else { Ok(self) }
    }
}

/// The run that made a message, and the number of its turn, as far as the message's id tells.
pub(crate) fn origin(message: &MessageId) -> Option<(&str, u64)> {
    let (run, number) = message.as_str().rsplit_once('-')?;
    let (turn, _) = number.split_once('.')?;
    if turn.len() == 16 { Some((run, u64::from_str_radix(turn, 16).ok()?)) } else { None }
}

/// True for the parts of a reply that no piece of its stream tells: the outcome does.
pub(crate) fn is_told_at_the_end(part: &AssistantPart) -> bool {
    matches!(part, AssistantPart::Document(_)) || is_hidden(part)
}

fn is_hidden(part: &AssistantPart) -> bool {
    match part {
        AssistantPart::Reasoning(reasoning) => reasoning.text().is_empty(),
        _ => false,
    }
}

/// A run that failed, with what was done until then.
#[derive(Clone)]
pub struct RunError {
    inner: Arc<Inner>,
}

struct Inner {
    outcome: Outcome,
    message: &'static str,
    source: Option<Cause>,
}

impl RunError {
    pub(crate) fn new(outcome: Outcome, source: Option<Cause>) -> Self {
        let message = match &outcome.reason {
            EndReason::EmptyResponse if !outcome.reasoning.trim().is_empty() => {
                "the model answered with nothing but reasoning"
            }
            EndReason::EmptyResponse => "the model answered with neither text nor calls",
            EndReason::InvalidAnswer => "the model's answer does not fit the schema that was asked for",
            EndReason::ToolAbort => "a tool ended the run",
            EndReason::ProviderError(_) => "the model could not be asked",
            EndReason::Superseded => "another driver has taken the run over",
            _ => "the run could not go on",
        };
        Self { inner: Arc::new(Inner { outcome, message, source }) }
    }

    /// Why the run ended.
    pub fn reason(&self) -> &EndReason {
        &self.inner.outcome.reason
    }

    /// The same with another account of what was done until then.
    #[must_use]
    pub fn with_partial(self, change: impl FnOnce(Outcome) -> Outcome) -> Self {
        let Inner { outcome, message, source } = &*self.inner;
        let (outcome, message, source) = (change(outcome.clone()), *message, source.clone());
        Self { inner: Arc::new(Inner { outcome, message, source }) }
    }

    /// The outcome until then.
    pub fn partial(&self) -> &Outcome {
        &self.inner.outcome
    }

    /// The journal's error, if that is why the run could not go on.
    pub fn journal_error(&self) -> Option<&JournalError> {
        self.inner.source.as_ref().and_then(|source| source.downcast_ref())
    }

    /// The cause, if it is one of that kind.
    pub(crate) fn cause<E: std::error::Error + 'static>(&self) -> Option<&E> {
        self.inner.source.as_ref().and_then(|source| source.downcast_ref())
    }

    /// The decision's error, if a decision that was given to [`AgentRun`](crate::AgentRun) was not taken, or if the run was
    /// to begin behind calls that wait for one ([`DecideError::Open`]).
    pub fn decide_error(&self) -> Option<&DecideError> {
        self.inner.source.as_ref().and_then(|source| source.downcast_ref())
    }

    /// The provider's error, if that is what ended the run.
    pub fn provider_error(&self) -> Option<&ProviderError> {
        self.inner.source.as_ref().and_then(|source| source.downcast_ref())
    }
}

// The outcome holds the whole conversation, which is no business of a log.
impl fmt::Debug for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { outcome, message, source } = &*self.inner;
        f.debug_struct("RunError")
            .field("message", message)
            .field("reason", &outcome.reason)
            .field("source", source)
            .field("run_id", &outcome.run_id)
            .field("steps", &outcome.steps)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.inner.message)
    }
}

impl std::error::Error for RunError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.inner.source.as_deref().map(|source| source as &(dyn std::error::Error + 'static))
    }
}

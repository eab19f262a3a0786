//! The loop of attache: a model thinks, calls tools, reads what they return, answers.
//!
//! A run is an append-only log of [`Entry`]s, and [`Run`] is a fold over it that says what to do next. A driver does
//! it and records what came of it through a [`Journal`]; everything else (the model's context, events, history) is a
//! projection of the log. A run that stops anywhere goes on from its log: finished calls are not run again, and a
//! call with effects whose outcome is unknown is never repeated in silence.
//!
//! Start at [`Agent`]; callers who run tools themselves use [`chat_loop`].

mod agent;
mod approval;
pub mod bodies;
mod chat_loop;
mod control;
mod deliver;
mod driver;
mod event;
mod export;
mod guard;
mod handoff;
mod hooks;
mod inner_store;
mod input;
mod journal;
mod limits;
mod log;
mod log_events;
mod memory;
mod memory_documents;
mod nested;
mod no_model;
mod observe;
mod options;
mod outcome;
mod output;
mod parts;
mod preflight;
mod price;
mod run;
mod run_summary;
mod session;
mod setup;
mod spending;
mod store_documents;
mod token_count;
mod tool_manager;
mod tool_round;
mod tool_time;
mod tools;
mod without_details;

pub use agent::{Agent, AgentBuilder, BuildError};
pub use approval::{ApprovalPolicy, Ask, DecideError, Proposal, Verdict, decide};
pub use chat_loop::{ChatLoop, ChatLoopHandle, LoopEnd, LoopEvent, chat_loop};
pub use control::Control;
pub use deliver::{SubmitError, deliver, deliver_with, say};
pub use driver::AgentRun;
pub use event::{Event, EventKind};
pub use handoff::Handoff;
pub use hooks::{
    CallVerdict, Draft, HookContext, HookError, InputVerdict, RECALLED, Recall, ReplyVerdict, RunHook,
};
pub use input::{RUN_ONLY, RunInput, is_read};
pub use journal::{Fence, Journal, JournalError, MemoryJournal};
pub use limits::{EmptyReply, Limits};
pub use log::{
    ApprovalRequest, Asked, Begun, Compacted, Counted, Decided, Decision, DeferredCall, DeferredRequest,
    Disposition, Ended, Entry, EntryKind, Failed, Grant, HandedOff, Handoffs, HookStop, Hooked, Key,
    NestedAgent, Offered, Reply, Routed, SCHEMA_VERSION, Started, SyntheticMessage, ToolOutcome, ToolRule,
    Transfer,
};
pub use log_events::LogEvents;
pub use memory::{
    Compaction, EstimatedTokens, Look, Mark, Marks, Memory, MessageWindow, PINNED, Past, Summarise,
    SummaryPlacement, TokenCounter, TokenWindow,
};
pub use memory_documents::MemoryDocumentStore;
pub use nested::{AgentTask, AgentTool};
pub use observe::{
    ModelCall, ModelCallObserver, ObservedRun, Observer, OpenedRun, RunObserver, ToolCallEnd,
    ToolCallObserver, ToolCallStart,
};
pub use options::RunOptions;
pub use outcome::{EndReason, Outcome, RunError};
pub use output::{OutputMode, OutputSpec, Typed, TypedError, TypedItem, TypedRun};
pub use preflight::{DeclaredMedia, MediaFate, Preflight, UncheckedKeyword};
pub use price::{Cost, Money, Price, Prices};
pub use run::{AGENT, Action, CallLimit, PendingCall, ReplayError, Run, Waiting};
pub use run_summary::{RunSummary, ToolSummary};
pub use session::{
    Adopt, Append, Appended, Beginning, Busy, Cleared, Delivery, Fork, ForkedFrom, Idle, MemorySessions,
    OpenSession, Opened, Orphan, RunInfo, Session, SessionError, SessionId, SessionInfo, SessionState,
    SessionStore, Sessions, StopRequest, StoredRun, Take, Taken, words_of_entries, words_of_message,
};
pub use setup::HistoryPolicy;
pub use token_count::{CountError, InputTokens};
pub use tool_manager::{Judged, Judgement, ToolManager};
pub use tool_round::Round;
pub use tools::{
    Catalog, Disclosure, FunctionTool, NoArguments, Refusal, RefusalReason, StepTools, StepView, ToolCatalog,
    ToolFunction, ToolReply, Tools, ToolsError, tool_fn,
};

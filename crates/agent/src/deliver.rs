//! Delivers results from wherever somebody knows the journal and the call.

use std::sync::Arc;
use std::time::Duration;

use attache_core::schema::Schema;
use attache_core::{
    BoxFuture, ContentTree, DocumentStore, Message, ResultStatus, StoreError, StoreErrorKind, ToolCallId,
    ToolResult, UserMessage,
};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::journal::{Journal, JournalError, in_time, is_over, now, runs_inside};
use crate::log::{Disposition, Entry, EntryKind, Key, ToolOutcome};
use crate::run::{Action, ReplayError, Run};
use crate::store_documents::keep_of_result;

/// The maximum number of messages that wait in an inbox.
pub(crate) const INBOX_LIMIT: usize = 64;

/// The reason why a submission or an injection was not taken. The run goes on as if it had not been made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// No call waits for a result.
    #[error("no call waits for a result")]
    NotAwaiting,
    /// The run has ended.
    #[error("the run has ended")]
    ChatLoopClosed,
    /// No such call waits.
    #[error("no call {id:?} waits for a result")]
    UnknownCall {
        /// The id that was given.
        id: ToolCallId,
    },
    /// The call has its result already.
    #[error("the call {id:?} has its result already")]
    DuplicateResult {
        /// The call.
        id: ToolCallId,
    },
    /// The call has no result, and waits for none from outside: its tool still runs, or somebody must approve it first.
    /// A tool that says that its result comes later says so a moment after the job may have begun: try again.
    #[error("the call {id:?} does not wait for a result yet")]
    NotYet {
        /// The call.
        id: ToolCallId,
    },
    /// The result does not fit the schema that the call demands.
    #[error("the result of the call {id:?} does not fit: {problem}")]
    Unfit {
        /// The call.
        id: ToolCallId,
        /// The fault of the result.
        problem: String,
    },
    /// The time for a result of the call is up: the run goes on without one.
    #[error("the time for a result of the call {id:?} is up")]
    Overdue {
        /// The call.
        id: ToolCallId,
    },
    /// The inbox holds as many messages as it takes.
    #[error("the inbox is full ({limit} messages)")]
    InboxFull {
        /// The maximum number of messages that wait.
        limit: usize,
    },
    /// The journal did not take the result.
    #[error("the result could not be recorded")]
    Journal(#[source] JournalError),
    /// The document store did not take the documents of a result.
    #[error("the documents of the result could not be stored")]
    Store(#[source] StoreError),
}

/// Delivers the result of a call that a run waits for, from wherever somebody knows the journal and the call: a webhook,
/// another process. Nobody needs to drive the run meanwhile. Documents of the result must be in the store that the
/// agent reads; [`deliver_with`] puts them there.
///
/// # Errors
/// [`SubmitError::ChatLoopClosed`] if the run has ended, [`SubmitError::UnknownCall`] if it waits for no such call,
/// [`SubmitError::DuplicateResult`] if the call has another result already, [`SubmitError::NotYet`] if it may be tried
/// again in a moment, [`SubmitError::Overdue`] if the time for its result is up, [`SubmitError::Journal`] if the journal
/// fails.
pub async fn deliver(journal: &dyn Journal, result: ToolResult) -> Result<(), SubmitError> {
    deliver_boxed(journal, None, result).await
}

/// Delivers a result as [`deliver`] does, with documents whose bytes are in memory: they are put into the
/// [store](crate::Agent::store) of the agent before the result is recorded, if a run waits for it. One whose id stands for
/// another document there gets an id of its own.
///
/// # Errors
/// Those of [`deliver`], and [`SubmitError::Store`] if the store fails: nothing is delivered then.
pub async fn deliver_with(
    journal: &dyn Journal,
    store: &dyn DocumentStore,
    result: ToolResult,
) -> Result<(), SubmitError> {
    deliver_boxed(journal, Some(store), result).await
}

/// A border: see ADR 0053.
fn deliver_boxed<'a>(
    journal: &'a dyn Journal,
    store: Option<&'a dyn DocumentStore>,
    result: ToolResult,
) -> BoxFuture<'a, Result<(), SubmitError>> {
    Box::pin(async move {
        match deliver_to(journal, entries_of(journal, 0).await?, store, result.clone()).await {
            // It may be a call of the conversation before the run, which has its result.
            Err(SubmitError::UnknownCall { .. }) => {
                let entries = in_time(journal.load()).await.map_err(SubmitError::Journal)?;
                deliver_to(journal, entries, store, result).await
            }
            done => done,
        }
    })
}

async fn deliver_to(
    journal: &dyn Journal,
    entries: Vec<Entry>,
    store: Option<&dyn DocumentStore>,
    result: ToolResult,
) -> Result<(), SubmitError> {
    let run = replayed(&entries)?;
    let id = result.call_id.clone();
    if matches!(run.next(), Action::End { .. } | Action::Ended) {
        return Err(SubmitError::ChatLoopClosed);
    }
    let (scope, waiting) = waiting_run(&entries, run, &id)?;
    if let Some(deferred) = waiting.deferred_call(&id) {
        // The driver that goes on with the run tells the model that the call is overdue.
        if deferred.expires_at.is_some_and(|at| at <= now()) {
            return Err(SubmitError::Overdue { id });
        }
        if let Some(schema) = &deferred.schema {
            fits(&result, schema)?;
        }
    }
    let result = match store {
        Some(store) => match keep_of_result(store, result).await {
            (result, None) => result,
            (_, Some(error)) => return Err(SubmitError::Store(error)),
        },
        None => result,
    };
    let outcome = ToolOutcome { call_id: id.clone(), result, disposition: Disposition::Submitted };
    let entry = Entry::new(Key::result(&id).within(&scope), EntryKind::ToolOutcome(outcome));
    let stands = in_time(journal.deliver(entry.clone())).await.map_err(|error| match error {
        // Another run of the session is about to close this one.
        JournalError::Fenced => SubmitError::NotYet { id: id.clone() },
        error => SubmitError::Journal(error),
    })?;
    match stands.kind == entry.kind {
        true => Ok(()),
        false if stands.closes_call() => Err(SubmitError::ChatLoopClosed),
        false => Err(SubmitError::DuplicateResult { id }),
    }
}

/// Says something to a run from wherever somebody knows its journal: the model reads it at its next call, after the results
/// of calls under way, as after [`Control::inject`](crate::Control::inject). Nobody needs to drive the run meanwhile: one
/// that waits or was interrupted reads it when it goes on. A message that was taken and that the run does not read any more,
/// because it is cancelled or comes to a limit, stands in [`Outcome::unread`](crate::Outcome::unread). Documents of the
/// message must be in the store that the agent reads, unless the journal is in the memory of the process.
///
/// A run that is about to end has it read or ends without it; this waits for either, for up to 10 seconds.
///
/// # Errors
/// [`SubmitError::ChatLoopClosed`] if the run has ended, [`SubmitError::InboxFull`] if nobody takes what is there,
/// [`SubmitError::Journal`] if the journal fails, if another run of the session goes on, or if nobody says in time whether a
/// run that is about to end has read it.
pub async fn say(journal: &dyn Journal, message: impl Into<UserMessage>) -> Result<(), SubmitError> {
    let message = Message::User(message.into()).shared();
    let kind = EntryKind::Inbox(vec![Arc::clone(&message)]);
    let mut entries = entries_of(journal, 0).await?;
    let run = still_open(replayed(&entries)?)?;
    let mut is_left = false;
    for number in (run.inboxes()..).take(INBOX_LIMIT) {
        let entry = Entry::new(Key::inbox(number), kind.clone());
        let stands = match in_time(journal.deliver(entry)).await {
            Ok(stands) => stands,
            Err(error) => {
                entries.extend(entries_of(journal, entries.len()).await?);
                still_open(replayed(&entries)?)?;
                return Err(SubmitError::Journal(error));
            }
        };
        is_left = stands.kind == kind;
        if is_left {
            break;
        }
    }
    if !is_left {
        return Err(SubmitError::InboxFull { limit: INBOX_LIMIT });
    }
    let until = Instant::now() + ENDING;
    loop {
        entries.extend(entries_of(journal, entries.len()).await?);
        let is_taken = |entry: &Entry| match &entry.kind {
            EntryKind::Ended(ended) => ended.unread.contains(&message),
            other => *other == kind,
        };
        if entries.iter().any(is_taken) {
            return Ok(());
        }
        // It came too late where the run ended meanwhile.
        let run = still_open(replayed(&entries)?)?;
        // A run looks once more after its last reply is recorded: one that waits for a reply or for results will find it,
        // and one that has its answer may have looked already.
        if !matches!(run.next(), Action::End { .. }) {
            return Ok(());
        }
        if Instant::now() >= until {
            let problem = "the run is about to end, and it is not known whether it reads the message";
            return Err(SubmitError::Journal(StoreError::new(StoreErrorKind::Unavailable, problem).into()));
        }
        sleep(LOOK).await;
    }
}

/// The time for which a run may be about to end, and the pause between two looks whether it has.
pub(crate) const ENDING: Duration = Duration::from_secs(10);
pub(crate) const LOOK: Duration = Duration::from_millis(50);

async fn entries_of(journal: &dyn Journal, seen: usize) -> Result<Vec<Entry>, SubmitError> {
    in_time(journal.behind(seen)).await.map_err(SubmitError::Journal)
}

fn still_open(run: Run) -> Result<Run, SubmitError> {
    match run.next() {
        Action::End { open: false, .. } | Action::Ended => Err(SubmitError::ChatLoopClosed),
        _ => Ok(run),
    }
}

fn replayed(entries: &[Entry]) -> Result<Run, SubmitError> {
    let unreadable = |error: ReplayError| JournalError::Unreadable { problem: error.to_string() };
    Run::replay(entries).map_err(|error| SubmitError::Journal(unreadable(error)))
}

/// The run that waits for the result of a call, and its scope: the outermost one, or one inside a tool.
fn waiting_run(entries: &[Entry], run: Run, id: &ToolCallId) -> Result<(String, Run), SubmitError> {
    if waits_for(&run, id) {
        return Ok((String::new(), run));
    }
    let mut refused = refusal(&run, id);
    for (scope, own) in runs_inside(entries) {
        let Ok(run) = Run::replay(&own) else { continue };
        if is_over(entries, &scope) {
            refused = refused.or_else(|| run.knows_call(id).then_some(SubmitError::ChatLoopClosed));
        } else if waits_for(&run, id) {
            return Ok((scope, run));
        } else {
            refused = refused.or_else(|| refusal(&run, id));
        }
    }
    Err(refused.unwrap_or_else(|| SubmitError::UnknownCall { id: id.clone() }))
}

/// The reason why a run takes no result of a call that it knows.
fn refusal(run: &Run, id: &ToolCallId) -> Option<SubmitError> {
    let id = id.clone();
    match run.is_open(&id) {
        true => Some(SubmitError::NotYet { id }),
        false => run.knows_call(&id).then_some(SubmitError::DuplicateResult { id }),
    }
}

fn waits_for(run: &Run, id: &ToolCallId) -> bool {
    match run.next() {
        Action::AnswerCalls { calls } => {
            calls.iter().any(|pending| pending.external && pending.call.id == *id)
        }
        _ => false,
    }
}

/// Checks a successful result of a deferred call.
pub(crate) fn fits(result: &ToolResult, schema: &Value) -> Result<(), SubmitError> {
    let unfit = |problem: String| SubmitError::Unfit { id: result.call_id.clone(), problem };
    if result.is_error() {
        return Ok(());
    }
    let schema = Schema::new(schema).map_err(|error| unfit(format!("its schema cannot be read: {error}")))?;
    let value: Value = serde_json::from_str(result.tree.json()).map_err(|error| unfit(error.to_string()))?;
    match schema.check(&value).first() {
        None => Ok(()),
        Some(violation) => Err(unfit(violation.to_string())),
    }
}

/// Delivers a value as the result of a deferred call.
pub(crate) async fn reply(
    journal: &dyn Journal,
    call: &ToolCallId,
    value: &Value,
) -> Result<(), SubmitError> {
    let entries = entries_of(journal, 0).await?;
    let run = replayed(&entries)?;
    let (_, run) = waiting_run(&entries, run, call)?;
    let waiting = run.deferred().into_iter().find(|request| request.call.id == *call);
    let request = waiting.ok_or_else(|| SubmitError::UnknownCall { id: call.clone() })?;
    deliver(journal, ToolResult::new(&request.call, ResultStatus::Ok, ContentTree::value(value))).await
}

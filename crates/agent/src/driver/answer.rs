//! Has calls answered: runs their tools side by side, or waits for the caller.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use async_stream::stream;
use attache_core::{DocumentStore, Effect, ToolContext, ToolResult};
use futures_core::Stream;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use crate::driver::interrupt::Interrupt;
use crate::driver::{Driver, Fault, Stop};
use crate::entry::{Disposition, Entry, EntryKind, Key, ToolOutcome};
use crate::event::{Event, EventKind};
use crate::journal::{Begin, Journal};
use crate::run::{Action, PendingCall};
use crate::store::keep_of_result;
use crate::tools::{Invocation, Resolved, invoke, unknown_effect};

/// A result on its way into the log: where it belongs and what came of it.
type Answer = Pin<Box<dyn Future<Output = Result<Option<Entry>, Fault>> + Send>>;

/// The events of one round of calls; at most one `Err`, which comes last.
pub(super) fn answer<'a>(
    driver: &'a mut Driver,
    interrupt: &'a mut Interrupt,
    calls: Vec<PendingCall>,
) -> impl Stream<Item = Result<Event, Stop>> + Send + 'a {
    stream! {
        let round = driver.run.round_len();
        // What the calls of this round return is no part of it: the model made them side by side.
        driver.shelf.catch_up(driver.run.history());
        let mut under_way: FuturesUnordered<Answer> = FuturesUnordered::new();
        let (external, mut waiting): (Vec<_>, VecDeque<_>) = driver.split(calls);
        driver.control.expect(external.iter().cloned());
        for PendingCall { key, call, .. } in external {
            under_way.push(wait(Arc::clone(&driver.journal), key, driver.agent.0.timing.answer_deadline));
            yield Ok(driver.event(EventKind::ExternalPending { call }));
        }
        let mut inside = 0_usize;
        let mut alone = false;
        let mut unanswered = false;
        loop {
            // Start what may start: up to the limit side by side, a sequential call only by itself.
            while let Some(pending) = waiting.front() {
                let sequential = driver.is_sequential(pending);
                if alone || inside >= driver.agent.0.timing.parallel_calls || (sequential && inside > 0) {
                    break;
                }
                let Some(pending) = waiting.pop_front() else { break };
                match begin(driver, pending).await {
                    Ok(Started::Running(answer, event)) => {
                        inside += 1;
                        alone = sequential;
                        under_way.push(answer);
                        yield Ok(driver.event(event));
                    }
                    Ok(Started::Settled(event)) => {
                        if let Some(event) = event {
                            yield Ok(driver.event(event));
                        }
                    }
                    Err(fault) => {
                        yield Err(fault.into());
                        return;
                    }
                }
            }
            let finished = match interrupt.guard(under_way.next()).await {
                Ok(None) => break,
                Ok(Some(finished)) => finished,
                Err(interrupted) => {
                    yield Err(Stop::Interrupted(interrupted, String::new()));
                    return;
                }
            };
            match finished {
                Ok(Some(entry)) => {
                    let event = finished_event(&entry);
                    if let Err(fault) = driver.run.apply(&entry).map_err(Fault::from) {
                        yield Err(fault.into());
                        return;
                    }
                    let outside = matches!(&entry.kind, EntryKind::ToolOutcome(outcome) if matches!(outcome.disposition, Disposition::Submitted | Disposition::Cancelled));
                    if !outside {
                        inside = inside.saturating_sub(1);
                        alone = false;
                    }
                    if let Some(event) = event {
                        yield Ok(driver.event(event));
                    }
                }
                // The caller's time is up. What is ours comes to its own end.
                Ok(None) => unanswered = true,
                Err(fault) => {
                    yield Err(fault.into());
                    return;
                }
            }
        }
        driver.control.settled();
        if unanswered {
            match late_answers(driver).await {
                Ok(events) => {
                    for event in events {
                        yield Ok(driver.event(event));
                    }
                }
                Err(fault) => {
                    yield Err(fault.into());
                    return;
                }
            }
            if matches!(driver.run.next(), Action::AnswerCalls { .. }) {
                yield Err(Stop::Pending);
                return;
            }
        }
        yield Ok(driver.event(EventKind::ToolResultsReceived { count: round }));
    }
}

/// Folds in what the caller delivered after its time, while tools of ours still ran.
async fn late_answers(driver: &mut Driver) -> Result<Vec<EventKind>, Fault> {
    let Action::AnswerCalls { calls } = driver.run.next() else { return Ok(Vec::new()) };
    let mut events = Vec::new();
    for PendingCall { key, .. } in calls {
        if let Some(entry) = driver.recorded(&key).await? {
            events.extend(finished_event(&entry));
        }
    }
    Ok(events)
}

enum Started {
    /// The tool runs.
    Running(Answer, EventKind),
    /// There is a result already, and it is folded in.
    Settled(Option<EventKind>),
}

/// Begins one call: what is recorded is taken from the log, what cannot run is answered, the rest starts.
async fn begin(driver: &mut Driver, pending: PendingCall) -> Result<Started, Fault> {
    let PendingCall { key, call, beyond_limit, .. } = pending;
    let refuse = |text: &str| ToolOutcome {
        call_id: call.id.clone(),
        result: ToolResult::error(&call, text),
        disposition: Disposition::Refused,
    };
    let entry = match driver.toolbox.resolve(&call.name) {
        _ if beyond_limit => {
            let limit = driver.run.limits().max_tool_calls;
            Err(refuse(&format!("not executed: the limit of {limit} tool calls in this run is reached")))
        }
        Resolved::Tool(entry) => entry.ready(&call.arguments).map_err(|text| refuse(&text)),
        Resolved::External(entry) => {
            let unfit = entry.unfit(&call.arguments);
            let text = unfit.as_deref().unwrap_or("not executed: this tool is answered by the caller");
            Err(refuse(text))
        }
        Resolved::Unknown(text) => Err(refuse(&text)),
    };
    let effect = entry.as_ref().map_or(Effect::Read, |entry| entry.spec.metadata.effect);
    let outcome = match (driver.journal.begin(&key, effect).await?, entry) {
        (Begin::Recorded(entry), _) => {
            driver.run.apply(&entry)?;
            return Ok(Started::Settled(None));
        }
        (Begin::Unknown, _) => unknown_effect(&call),
        (Begin::Execute, Err(refused)) => refused,
        (Begin::Execute, Ok(entry)) => {
            let invocation = Invocation {
                entry,
                context: driver.context(&key, &call),
                call: call.clone(),
                default_timeout: driver.agent.0.timing.tool_timeout,
            };
            let (journal, store) = (Arc::clone(&driver.journal), Arc::clone(&driver.agent.0.store));
            let answer = Box::pin(execute(invocation, key, journal, store));
            return Ok(Started::Running(answer, EventKind::ToolStarted { call }));
        }
    };
    let entry = driver.journal.finish(Entry::new(key, EntryKind::ToolOutcome(outcome))).await?;
    driver.run.apply(&entry)?;
    Ok(Started::Settled(finished_event(&entry)))
}

/// Runs the tool and records what came of it, documents first.
async fn execute(
    invocation: Invocation,
    key: Key,
    journal: Arc<dyn Journal>,
    store: Arc<dyn DocumentStore>,
) -> Result<Option<Entry>, Fault> {
    let outcome = invoke(invocation).await;
    // The tool has run. Its result counts, and this process still holds the documents.
    if let Err(error) = keep_of_result(&*store, &outcome.result).await {
        tracing::error!(%key, %error, "the documents of a result could not be stored");
    }
    Ok(Some(journal.finish(Entry::new(key, EntryKind::ToolOutcome(outcome))).await?))
}

/// Waits for the caller's result.
fn wait(journal: Arc<dyn Journal>, key: Key, limit: Option<std::time::Duration>) -> Answer {
    Box::pin(async move { Ok(journal.wait(&key, limit).await?) })
}

fn finished_event(entry: &Entry) -> Option<EventKind> {
    match &entry.kind {
        EntryKind::ToolOutcome(outcome) => Some(EventKind::ToolFinished {
            result: Box::new(outcome.result.clone()),
            disposition: outcome.disposition,
        }),
        _ => None,
    }
}

impl Driver {
    /// The calls that the caller answers, and the others. A call whose arguments do not fit is answered here, whoever
    /// would run it.
    fn split(&self, calls: Vec<PendingCall>) -> (Vec<PendingCall>, VecDeque<PendingCall>) {
        let (external, internal): (Vec<_>, Vec<_>) =
            calls.into_iter().partition(|pending| self.waits_for_caller(pending));
        (external, internal.into())
    }

    /// Whether a call waits for the caller's result.
    pub(super) fn waits_for_caller(&self, pending: &PendingCall) -> bool {
        pending.external
            && match self.toolbox.resolve(&pending.call.name) {
                Resolved::External(entry) => entry.unfit(&pending.call.arguments).is_none(),
                // A log may know a tool that is no longer offered.
                Resolved::Tool(_) | Resolved::Unknown(_) => true,
            }
    }

    fn is_sequential(&self, pending: &PendingCall) -> bool {
        match self.toolbox.resolve(&pending.call.name) {
            Resolved::Tool(entry) => entry.spec.metadata.sequential,
            Resolved::External(_) | Resolved::Unknown(_) => false,
        }
    }

    fn context(&self, key: &Key, call: &attache_core::ToolCall) -> ToolContext {
        let mut context = ToolContext::new();
        context.run_id = Some(self.run.id().to_owned());
        context.call_id = Some(call.id.clone());
        context.step = self.run.steps();
        context.principal.clone_from(&self.agent.0.principal);
        context.idempotency_key = Some(format!("{}/{key}", self.run.id()));
        context.store_id = Some(self.agent.0.store.id().to_owned());
        context.documents = self.shelf.documents();
        context.extensions = self.extensions.clone();
        context
    }
}

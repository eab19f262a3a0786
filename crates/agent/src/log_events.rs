//! The events that a log tells, for somebody who looks on from elsewhere.

use std::collections::HashMap;
use std::sync::Arc;

use attache_core::{FinishReason, Message, MessageId, ToolCall, ToolCallId, ToolResult};
use attache_documents::{DocumentDecision, RoutingReport};

use crate::event::{Event, EventKind};
use crate::log::{Disposition, Entry, EntryKind, Hooked, Key, NestedAgent, Reply, ToolOutcome};
use crate::memory::mark::Mark;
use crate::outcome::Outcome;
use crate::run::{Action, ReplayError, Run};

/// The events that the log of a run tells, for somebody who does not drive it: another process follows the log, and a
/// process that goes on with a run tells what came before.
///
/// They are those of the [driver](crate::AgentRun), with these differences. Text and reasoning come with the reply, and
/// not in pieces, and so does the way in which the documents of a request were routed; the report has the decisions alone.
/// The documents and calls of a reply that a hook takes back are told before that is.
/// Things that no log holds are left out: documents that were left out, warnings, pieces of arguments, the progress of
/// calls, how far the window has moved, and the number of results of a round.
/// The start of a call is told where its intent is recorded, which is so for calls with effects. A call that the caller
/// answers is told where the log says that it was let through, and in logs of versions that recorded nothing of that with
/// its result.
///
/// The same entries yield the same events under the same numbers, in any process.
#[derive(Clone, Debug, Default)]
pub struct LogEvents {
    run: Run,
    seq: u64,
    /// The id of the last reply.
    replied: Option<MessageId>,
    /// The calls of the last reply.
    calls: Vec<ToolCall>,
    /// The decisions about the documents of the last request.
    routed: Vec<DocumentDecision>,
    /// The agent that has the conversation.
    agent: Option<String>,
    /// The results that hooks have put in the place of others.
    changed: HashMap<ToolCallId, Box<ToolResult>>,
    /// The runs inside tools, by their scopes.
    inside: HashMap<String, (Arc<[NestedAgent]>, LogEvents)>,
}

impl LogEvents {
    /// No entry is taken yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The run so far.
    pub fn run(&self) -> &Run {
        &self.run
    }

    /// The outcome so far.
    pub fn outcome(&self) -> Outcome {
        self.run.outcome()
    }

    /// The end of a drive that comes no further than the log so far: its [failure](Run::failure), or its outcome, for those
    /// who wait for an answer alone.
    pub fn finish(&mut self) -> Event {
        let ended = self.ended();
        self.event(ended)
    }

    fn ended(&self) -> EventKind {
        EventKind::Finished(self.run.failure().map_or_else(|| Box::new(self.run.outcome()).judged(None), Err))
    }

    /// Takes the next entry of the log, and yields what it tells.
    ///
    /// # Errors
    /// [`ReplayError`] if the entry does not fit those before.
    pub fn take(&mut self, entry: &Entry) -> Result<Vec<Event>, ReplayError> {
        if let Some(scope) = entry.key.outer_scope() {
            return self.take_inside(scope, entry);
        }
        // Its call is open until it is taken.
        let untold = match &entry.kind {
            EntryKind::ToolOutcome(outcome) => self.untold(outcome),
            _ => None,
        };
        let said = matches!(entry.kind, EntryKind::Reply(_)).then(|| self.run.next_id());
        let before = self.run.steps();
        self.run.apply(entry)?;
        let mut kinds = Vec::new();
        match &entry.kind {
            EntryKind::Started(_) => kinds.push(EventKind::RunStarted { run_id: self.run.id().to_owned() }),
            EntryKind::Compacted(compacted) => {
                let mark = compacted.mark.as_deref().and_then(Mark::of);
                let (tokens, summarised) = (compacted.tokens, compacted.model.is_some());
                let usage = compacted.usage.clone();
                let is_told = mark.is_some_and(|mark| summarised || mark.clears.is_some());
                kinds.extend(is_told.then_some(EventKind::Compacted { tokens, summarised, usage }));
            }
            EntryKind::Offered(offered) => {
                kinds.push(EventKind::ToolsOffered { names: offered.names().map(str::to_owned).collect() });
            }
            EntryKind::HandedOff(handed) => {
                let from = self.agent.replace(handed.agent.clone());
                kinds.push(EventKind::HandedOff { from, agent: handed.agent.clone() });
            }
            EntryKind::Routed(routed) => {
                routed.follow(&mut self.routed);
                let mut report = RoutingReport::default();
                report.decisions.clone_from(&self.routed);
                kinds.push(EventKind::DocumentsRouted(Arc::new(report)));
            }
            EntryKind::Reply(reply) => self.reply(reply, said, &mut kinds),
            EntryKind::Asked(asked) => {
                let request = self.run.approvals().into_iter().find(|request| request.id == asked.id);
                kinds.extend(request.map(|request| EventKind::ApprovalRequested(Box::new(request))));
            }
            EntryKind::Decided(decided) => {
                kinds.push(EventKind::ApprovalDecided(Box::new(decided.clone())));
            }
            EntryKind::Deferred(deferred) => {
                let request =
                    self.run.deferred().into_iter().find(|request| request.call.id == deferred.call_id);
                kinds.extend(request.map(|request| EventKind::CallDeferred(Box::new(request))));
            }
            EntryKind::Begun(begun) => {
                kinds.extend(self.as_it_is(&begun.call_id).map(
                    |call| match self.run.is_external(&call.name) {
                        true => EventKind::ExternalPending { call },
                        false => EventKind::ToolStarted { call },
                    },
                ));
            }
            EntryKind::Hooked(Hooked::Result { call_id, result: Some(result) }) => {
                self.changed.insert(call_id.clone(), result.clone());
            }
            EntryKind::Hooked(verdict) if self.run.is_withdrawn(verdict) => {
                kinds.extend(self.replied.take().map(|reply| EventKind::ReplyWithdrawn { reply }));
            }
            EntryKind::ToolOutcome(outcome) => {
                kinds.extend(untold.map(|call| EventKind::ExternalPending { call }));
                kinds.push(self.finished(outcome));
            }
            EntryKind::Failed(failed) => kinds.extend(failed.usage.clone().map(|usage| {
                EventKind::StepFinished { finish_reason: FinishReason::Error, usage, response: None }
            })),
            EntryKind::Ended(_) => kinds.push(self.ended()),
            _ => {}
        }
        let mut events: Vec<_> = kinds.into_iter().map(|kind| self.event(kind)).collect();
        if let EntryKind::Reply(_) = entry.kind {
            // A driver tells them with the number that the step has while it is under way.
            let is_said = |event: &&mut Event| {
                matches!(
                    event.kind,
                    EventKind::StepStarted { .. }
                        | EventKind::Thinking(_)
                        | EventKind::Content(_)
                        | EventKind::Made(_)
                )
            };
            events.iter_mut().filter(is_said).for_each(|event| event.step = before);
        }
        Ok(events)
    }

    fn event(&mut self, kind: EventKind) -> Event {
        self.seq += 1;
        Event { seq: self.seq, step: self.run.steps(), kind }
    }

    fn reply(&mut self, reply: &Reply, id: Option<MessageId>, kinds: &mut Vec<EventKind>) {
        let (Message::Assistant(message), Some(id)) = (&*reply.message, id) else { return };
        let model = reply.model.clone().unwrap_or_default();
        self.replied = Some(id.clone());
        kinds.push(EventKind::StepStarted { model, reply: id });
        let (thinking, text) = (message.thinking(), message.text());
        if !thinking.is_empty() {
            kinds.push(EventKind::Thinking(thinking));
        }
        if !text.is_empty() {
            kinds.push(EventKind::Content(text.clone()));
        }
        kinds.extend(message.documents().cloned().map(|made| EventKind::Made(Box::new(made))));
        self.calls = Vec::new();
        // Calls of a reply that was refused or cut, or came when tools are off, are closed.
        if self.run.awaits_results() {
            let calls = message.tool_calls().filter(|call| !self.run.is_output(&call.name));
            self.calls.extend(calls.cloned());
        }
        if !self.calls.is_empty() {
            kinds.push(EventKind::ToolCallsRequested { calls: self.calls.clone(), content: text });
        }
        let (finish_reason, usage) = (reply.finish_reason.clone(), reply.usage.clone());
        kinds.push(EventKind::StepFinished { finish_reason, usage, response: None });
    }

    /// A call without a result as people and hooks have changed it.
    fn as_it_is(&self, call: &ToolCallId) -> Option<ToolCall> {
        match self.run.next() {
            Action::AnswerCalls { calls } => {
                calls.into_iter().map(|open| open.call).find(|open| open.id == *call)
            }
            _ => None,
        }
    }

    /// The call of which the log says nothing but the caller's result. One in whose place another result stands was refused.
    fn untold(&self, outcome: &ToolOutcome) -> Option<ToolCall> {
        let id = &outcome.call_id;
        if outcome.disposition != Disposition::Submitted
            || self.run.is_let_through(id)
            || self.changed.contains_key(id)
        {
            return None;
        }
        self.as_it_is(id).filter(|call| self.run.is_external(&call.name))
    }

    /// A result as the model reads it.
    fn finished(&mut self, outcome: &ToolOutcome) -> EventKind {
        let changed = match outcome.disposition {
            Disposition::Submitted => self.changed.remove(&outcome.call_id),
            _ => None,
        };
        let result = changed.unwrap_or_else(|| Box::new(outcome.result.clone()));
        EventKind::ToolFinished { result, disposition: outcome.disposition }
    }

    /// Takes an entry of a run inside a tool.
    fn take_inside(&mut self, scope: &str, entry: &Entry) -> Result<Vec<Event>, ReplayError> {
        self.run.apply(entry)?;
        let Some(key) = entry.key.strip(scope) else { return Ok(Vec::new()) };
        if !self.inside.contains_key(scope) {
            let call = self.calls.iter().find(|call| scope.starts_with(&Key::scopes(&call.id)));
            let Some(call) = call else { return Ok(Vec::new()) };
            let path = Arc::from([NestedAgent::new(&call.name, call.id.clone())]);
            self.inside.insert(scope.to_owned(), (path, Self::new()));
        }
        let Some((path, inside)) = self.inside.get_mut(scope) else { return Ok(Vec::new()) };
        let mut entry = entry.clone();
        entry.key = key;
        let (path, events) = (Arc::clone(path), inside.take(&entry)?);
        Ok(events.into_iter().map(|event| self.event(EventKind::nested(&path, event))).collect())
    }
}

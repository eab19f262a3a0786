//! The events that a log tells, for somebody who looks on from elsewhere.

use std::collections::HashMap;
use std::sync::Arc;

use attache_core::{FinishReason, Message, MessageId, ToolCall, ToolCallId, ToolResult};
use attache_documents::{DocumentDecision, RoutingReport};

use crate::event::{Event, EventKind};
use crate::log::{self, Disposition, Entry, EntryKind, Hooked, Key, NestedAgent, Reply, ToolOutcome};
use crate::outcome::Outcome;
use crate::run::{Action, ReplayError, Run};

/// The events that the log of a run tells, for somebody who does not drive it: another process follows the log, and a
/// process that goes on with a run tells what came before.
///
/// They are those of the [driver](crate::AgentRun), with these differences. Text and reasoning come with the reply, and
/// not in pieces, and so does the way in which the documents of a request were routed; the report has the decisions alone.
/// The documents of a reply that a hook takes back are told before that is.
/// Things that no log holds are left out: documents that were left out, warnings, pieces of arguments, the progress of calls.
/// The start of a call is told where its intent is recorded, which is so for calls with effects. A call that the caller
/// answers is told with its reply or, where approvals or hooks look at calls first, once they let it through; logs of
/// versions that recorded nothing of that tell it where somebody approved it.
///
/// The same entries yield the same events under the same numbers, in any process.
#[derive(Clone, Debug)]
pub struct LogEvents {
    run: Run,
    seq: u64,
    /// True if calls for the caller are announced with their reply.
    announces: bool,
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
    pub(crate) fn new(announces: bool) -> Self {
        Self {
            run: Run::new(),
            seq: 0,
            announces,
            replied: None,
            calls: Vec::new(),
            routed: Vec::new(),
            agent: None,
            changed: HashMap::new(),
            inside: HashMap::new(),
        }
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
        // The questions that an entry settles are known before it is taken.
        let asked = match &entry.kind {
            EntryKind::Decided(decided) => {
                self.run.approvals().into_iter().find(|asked| asked.id == decided.id)
            }
            _ => None,
        };
        let said = matches!(entry.kind, EntryKind::Reply(_)).then(|| self.run.next_id());
        let before = self.run.steps();
        self.run.apply(entry)?;
        let mut kinds = Vec::new();
        match &entry.kind {
            EntryKind::Started(_) => kinds.push(EventKind::RunStarted { run_id: self.run.id().to_owned() }),
            EntryKind::Compacted(compacted) => kinds.push(EventKind::Compacted {
                tokens: compacted.tokens,
                summarised: compacted.mark.is_some(),
                usage: compacted.usage.clone(),
            }),
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
                let runs = !matches!(decided.decision, None | Some(log::Decision::Deny(_)));
                let external = asked.filter(|asked| runs && self.run.is_external(&asked.call.name));
                kinds.extend(external.map(|asked| EventKind::ExternalPending { call: asked.call }));
            }
            EntryKind::Deferred(deferred) => {
                let request =
                    self.run.deferred().into_iter().find(|request| request.call.id == deferred.call_id);
                kinds.extend(request.map(|request| EventKind::CallDeferred(Box::new(request))));
            }
            EntryKind::Begun(begun) => {
                let call = self.calls.iter().find(|call| call.id == begun.call_id);
                kinds.extend(call.map(|call| match self.run.is_external(&call.name) {
                    true => EventKind::ExternalPending { call: self.as_it_is(call) },
                    false => EventKind::ToolStarted { call: call.clone() },
                }));
            }
            EntryKind::Hooked(Hooked::Result { call_id, result: Some(result) }) => {
                self.changed.insert(call_id.clone(), result.clone());
            }
            EntryKind::Hooked(verdict) if self.run.is_withdrawn(verdict) => {
                kinds.extend(self.replied.take().map(|reply| EventKind::ReplyWithdrawn { reply }));
            }
            EntryKind::ToolOutcome(outcome) => kinds.push(self.finished(outcome)),
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
        self.calls = message.tool_calls().cloned().collect();
        if !self.calls.is_empty() {
            kinds.push(EventKind::ToolCallsRequested { calls: self.calls.clone(), content: text });
        }
        let (finish_reason, usage) = (reply.finish_reason.clone(), reply.usage.clone());
        kinds.push(EventKind::StepFinished { finish_reason, usage, response: None });
        if self.announces {
            let external = self.calls.iter().filter(|call| self.run.is_external(&call.name));
            kinds.extend(external.map(|call| EventKind::ExternalPending { call: call.clone() }));
        }
    }

    /// A call of the last reply as hooks have changed it.
    fn as_it_is(&self, call: &ToolCall) -> ToolCall {
        let open = match self.run.next() {
            Action::AnswerCalls { calls } => calls,
            _ => Vec::new(),
        };
        open.into_iter().map(|open| open.call).find(|open| open.id == call.id).unwrap_or_else(|| call.clone())
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
            self.inside.insert(scope.to_owned(), (path, Self::new(self.announces)));
        }
        let Some((path, inside)) = self.inside.get_mut(scope) else { return Ok(Vec::new()) };
        let mut entry = entry.clone();
        entry.key = key;
        let (path, events) = (Arc::clone(path), inside.take(&entry)?);
        Ok(events.into_iter().map(|event| self.event(EventKind::nested(&path, event))).collect())
    }
}

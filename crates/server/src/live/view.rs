//! A run so far, for those who come late or fall behind.

use std::sync::Arc;

use attache_agent::{ApprovalRequest, DeferredRequest, Event, EventKind, NestedAgent};
use attache_core::tool::Progress;
use attache_core::{Arguments, Citation, Document, MessageId, ToolCall, ToolCallId, Usage};
use attache_documents::RoutingReport;

use super::entry::{Entry, What, in_memory, weight};
use super::inside::{Inside, Open};
use super::tools_inside::ToolsInside;

/// A run so far: a fold over its events.
#[derive(Clone, Debug, Default)]
pub(crate) struct View {
    pub(crate) step: u32,
    pub(crate) model: Option<String>,
    /// True if the model has said something in the step under way, or in the last one.
    pub(crate) spoke: bool,
    /// Text, reasoning and calls in their order.
    pub(crate) blocks: Vec<Block>,
    /// The steps, each with the id of its reply in the conversation.
    replies: Vec<(u32, MessageId)>,
    /// The replies that hooks blocked or had made again. Their text stays: whoever was told it knows how far it went.
    withdrawn: Vec<MessageId>,
    /// The approvals that nobody has decided about.
    pub(crate) approvals: Vec<ApprovalRequest>,
    /// The calls whose results come later.
    pub(crate) deferred: Vec<DeferredRequest>,
    /// The steps whose documents were routed in another way than before.
    pub(crate) routing: Vec<(u32, Arc<RoutingReport>)>,
    /// The citations, each with the number of replies that had begun until then.
    pub(crate) citations: Vec<(usize, Citation)>,
    /// All tokens, with those of agents inside.
    pub(crate) usage: Usage,
    /// The last entry, once it is there.
    pub(crate) end: Option<Arc<Entry>>,
    /// The agents inside its calls.
    inside: Inside,
    /// The tools of those agents.
    pub(super) tools_inside: ToolsInside,
    /// About the bytes of the results and documents that it holds.
    bytes: usize,
}

/// A piece of a turn.
#[derive(Clone, Debug)]
pub(crate) enum Block {
    Text {
        step: u32,
        text: String,
    },
    Thinking {
        step: u32,
        text: String,
    },
    Call(CallView),
    /// A document that the model made.
    Made {
        step: u32,
        document: Box<Document>,
    },
}

impl Block {
    /// The step that it belongs to.
    pub(crate) fn step(&self) -> u32 {
        match self {
            Self::Text { step, .. } | Self::Thinking { step, .. } | Self::Made { step, .. } => *step,
            Self::Call(call) => call.step,
        }
    }
}

/// A call so far.
#[derive(Clone, Debug)]
pub(crate) struct CallView {
    pub(crate) step: u32,
    pub(crate) id: ToolCallId,
    pub(crate) name: String,
    /// The arguments as the model writes them.
    pub(crate) arguments: String,
    pub(crate) state: CallState,
    /// True if its tool has started.
    pub(crate) has_started: bool,
    /// How far its tool has come.
    pub(crate) progress: Option<Progress>,
    /// The agents on the way to it, if an agent inside made it.
    pub(crate) path: Option<Arc<[NestedAgent]>>,
}

impl CallView {
    /// The call as the model made it.
    pub(super) fn made(&self) -> ToolCall {
        ToolCall::new(&*self.name, Arguments::new(&*self.arguments)).with_id(self.id.clone())
    }
}

#[derive(Clone, Debug)]
pub(crate) enum CallState {
    /// The model writes it.
    Writing,
    /// It is to be run.
    Requested,
    /// Somebody must approve it.
    Approval,
    /// Its result comes later, from elsewhere.
    Deferred,
    /// Its tool runs.
    Running,
    /// The client answers it.
    Client,
    /// It has its result, which this entry tells.
    Finished(Arc<Entry>),
}

impl CallState {
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Writing => "writing",
            Self::Requested => "requested",
            Self::Approval => "waiting_for_approval",
            Self::Deferred => "deferred",
            Self::Running => "running",
            Self::Client => "frontend",
            Self::Finished(_) => "finished",
        }
    }
}

impl View {
    /// The calls in their order.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &CallView> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Call(call) => Some(call),
            _ => None,
        })
    }

    /// About the bytes of the results and documents that it holds.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The calls that the client answers.
    pub(crate) fn client_calls(&self) -> impl Iterator<Item = &CallView> {
        self.calls().filter(|call| matches!(call.state, CallState::Client))
    }

    /// The entries that tell which tools agents inside a call of the run have started, and what these returned, where the
    /// viewer [wants that](super::Viewer::with_results_inside).
    pub(crate) fn tools_inside(&self, call: &ToolCallId) -> impl Iterator<Item = &Arc<Entry>> {
        self.tools_inside.of(call)
    }

    /// True if the client was told that it answers that call.
    pub(super) fn asks_for(&self, call: &ToolCallId) -> bool {
        self.client_calls().any(|known| known.id == *call)
    }

    /// True if somebody was asked for the result of a call, and gave it or is to give it.
    pub(super) fn has_asked(&self) -> bool {
        self.calls().any(|call| match &call.state {
            CallState::Client => true,
            CallState::Finished(entry) => entry.is_submitted(),
            _ => false,
        })
    }

    /// The id that the reply of a step has in the conversation.
    pub(crate) fn reply(&self, step: u32) -> Option<&MessageId> {
        self.replies.iter().rev().find(|(at, _)| *at == step).map(|(_, reply)| reply)
    }

    /// True if a hook blocked the reply of a step, or had it made again.
    pub(crate) fn is_withdrawn(&self, step: u32) -> bool {
        self.reply(step).is_some_and(|reply| self.withdrawn.contains(reply))
    }

    /// The citations of the last reply, if it counts: places in an answer are those of its reply.
    pub(crate) fn cited(&self) -> impl Iterator<Item = &Citation> {
        let last = self.replies.last().filter(|(_, reply)| !self.withdrawn.contains(reply));
        let of_last =
            move |(replies, _): &&(usize, Citation)| last.is_some() && *replies == self.replies.len();
        self.citations.iter().filter(of_last).map(|(_, citation)| citation)
    }

    /// True if nothing goes on before the client has answered calls.
    pub(super) fn waits_for_client(&self) -> bool {
        let mut waits = false;
        // Those of agents inside are a part of the calls around them.
        for call in self.calls().filter(|call| call.path.is_none()) {
            waits |= match call.state {
                CallState::Writing | CallState::Requested => return false,
                CallState::Running => match self.inside.state(&call.id) {
                    Open::Busy => return false,
                    Open::Client => true,
                    Open::Waits => false,
                },
                CallState::Client => true,
                CallState::Approval | CallState::Deferred | CallState::Finished(_) => false,
            };
        }
        waits
    }

    /// Another drive goes on with the run: calls that were under way are to start again.
    pub(super) fn goes_on(&mut self) {
        for block in &mut self.blocks {
            if let Block::Call(CallView { state: state @ CallState::Running, .. }) = block {
                *state = CallState::Requested;
            }
        }
    }

    /// Takes an entry in.
    pub(super) fn add(&mut self, entry: &Arc<Entry>) {
        match &entry.what {
            What::Event(event) => match &event.kind {
                EventKind::Content(piece) => self.say(piece, event.step),
                _ => self.event(event, entry, None),
            },
            What::Paused(_) | What::Broken(_) => {}
        }
        if entry.is_last() {
            self.end = Some(Arc::clone(entry));
        }
    }

    /// Takes a piece of text in. Most events are one, so that it passes through nothing else.
    fn say(&mut self, piece: &str, step: u32) {
        (self.step, self.spoke) = (step, true);
        match self.blocks.last_mut() {
            Some(Block::Text { step: of, text }) if *of == step => text.push_str(piece),
            _ => self.blocks.push(Block::Text { step, text: piece.to_owned() }),
        }
    }

    /// Takes an approval in.
    fn asked(&mut self, asked: &ApprovalRequest, path: Option<&Arc<[NestedAgent]>>) {
        // A run that goes on asks again.
        self.approvals.retain(|known| known.id != asked.id);
        let mut asked = asked.clone();
        asked.path.splice(..0, path.into_iter().flat_map(|path| path.iter()).cloned());
        self.approvals.push(asked);
    }

    /// Takes a call in whose result comes later.
    fn waits(&mut self, request: &DeferredRequest, path: Option<&Arc<[NestedAgent]>>) {
        self.deferred.retain(|known| known.call.id != request.call.id);
        let mut request = request.clone();
        request.path.splice(..0, path.into_iter().flat_map(|path| path.iter()).cloned());
        self.deferred.push(request);
    }

    /// Takes an event in: one of an agent inside has a path.
    fn event(&mut self, event: &Event, entry: &Arc<Entry>, path: Option<&Arc<[NestedAgent]>>) {
        let is_own = path.is_none();
        match path {
            Some(path) => self.inside.event(path, &event.kind),
            None => self.step = event.step,
        }
        match &event.kind {
            EventKind::StepStarted { model, reply } if is_own => {
                (self.model, self.spoke) = (Some(model.clone()), false);
                self.replies.push((event.step, reply.clone()));
            }
            EventKind::Thinking(piece) if is_own => match self.blocks.last_mut() {
                Some(Block::Thinking { step, text }) if *step == event.step => text.push_str(piece),
                _ => self.blocks.push(Block::Thinking { step: event.step, text: piece.clone() }),
            },
            EventKind::Made(made) if is_own => {
                self.bytes += in_memory(made);
                self.blocks.push(Block::Made { step: event.step, document: made.clone() });
            }
            EventKind::ToolCallDelta { id, name, arguments_delta } if is_own => {
                self.call(id, event.step, |call| {
                    if let Some(name) = name {
                        name.clone_into(&mut call.name);
                    }
                    call.arguments.push_str(arguments_delta);
                });
            }
            EventKind::ToolCallsRequested { calls, .. } if is_own => {
                // They belong to the reply that made them, and the step is over when they are told.
                let step = self.replies.last().map_or(event.step, |(step, _)| *step);
                for call in calls {
                    self.set(call, step, CallState::Requested);
                }
            }
            EventKind::ToolStarted { call } if is_own => {
                self.set(call, event.step, CallState::Running);
                self.inside.starts(&call.id);
            }
            EventKind::ToolStarted { .. } => {
                self.bytes += weight(&entry.what);
                path.into_iter().for_each(|path| self.tools_inside.started(path, entry));
            }
            EventKind::ToolProgress { id, progress } if is_own => {
                self.call(id, event.step, |call| call.progress = Some((**progress).clone()));
            }
            EventKind::ExternalPending { call } => {
                self.set(call, event.step, CallState::Client);
                self.call(&call.id, event.step, |call| call.path = path.cloned());
            }
            EventKind::ApprovalRequested(asked) => {
                if is_own {
                    self.set(&asked.call, event.step, CallState::Approval);
                }
                self.asked(asked, path);
            }
            EventKind::ApprovalDecided(decided) => {
                let place = self.approvals.iter().position(|asked| asked.id == decided.id);
                let Some(asked) = place.map(|place| self.approvals.remove(place)) else { return };
                match path {
                    Some(path) => self.inside.decided(path, &asked.call.id),
                    None => self.set(&asked.call, event.step, CallState::Requested),
                }
            }
            EventKind::CallDeferred(request) => {
                if is_own {
                    self.set(&request.call, event.step, CallState::Deferred);
                }
                self.waits(request, path);
            }
            EventKind::ToolFinished { result, .. } => {
                self.approvals.retain(|asked| asked.call.id != result.call_id);
                self.deferred.retain(|request| request.call.id != result.call_id);
                if is_own {
                    self.inside.ends(&result.call_id);
                }
                let known = self.calls().any(|call| call.id == result.call_id);
                if is_own || known {
                    self.bytes += weight(&entry.what);
                    let finished = CallState::Finished(Arc::clone(entry));
                    self.call(&result.call_id, event.step, |call| call.state = finished);
                } else if let Some(path) = path {
                    self.tools_inside.finished(path, &result.call_id);
                }
            }
            EventKind::DocumentsRouted(report) if is_own => {
                // A request that was too long is routed again.
                self.routing.retain(|(step, _)| *step != event.step);
                self.routing.push((event.step, Arc::clone(report)));
            }
            EventKind::ReplyWithdrawn { reply } if is_own => {
                self.spoke = false;
                self.withdrawn.push(reply.clone());
                self.drop_calls(|state| matches!(state, CallState::Writing | CallState::Requested));
            }
            EventKind::StepFinished { usage, .. } => {
                self.usage.add(usage);
                // Those that are executed were told before.
                if is_own {
                    self.drop_calls(|state| matches!(state, CallState::Writing));
                }
            }
            EventKind::Compacted { usage, .. } => self.usage.add(usage),
            EventKind::Source(citation) if is_own => {
                self.citations.push((self.replies.len(), (**citation).clone()));
            }
            EventKind::Finished(_) if is_own => {
                let Some(outcome) = event.kind.outcome() else { return };
                // Nobody decides about calls of a run that was cancelled, or that failed.
                let is_open =
                    |asked: &ApprovalRequest| outcome.approvals.iter().any(|open| open.id == asked.id);
                self.approvals.retain(is_open);
                let is_due = |request: &DeferredRequest| {
                    outcome.deferred.iter().any(|due| due.call.id == request.call.id)
                };
                self.deferred.retain(is_due);
            }
            EventKind::Nested { path, event } => self.event(event, entry, Some(path)),
            _ => {}
        }
    }

    /// Takes calls away that nobody will run: their reply was cut, or does not count.
    fn drop_calls(&mut self, is_void: impl Fn(&CallState) -> bool) {
        self.blocks.retain(|block| !matches!(block, Block::Call(call) if is_void(&call.state)));
    }

    fn set(&mut self, call: &ToolCall, step: u32, state: CallState) {
        self.call(&call.id, step, |known| {
            known.name.clone_from(&call.name);
            call.arguments.raw().clone_into(&mut known.arguments);
            known.has_started |= matches!(state, CallState::Running);
            (known.state, known.progress) = (state, None);
        });
    }

    /// Changes the call of that id, which is added where it is not known.
    fn call(&mut self, id: &ToolCallId, step: u32, change: impl FnOnce(&mut CallView)) {
        let mut calls = self.blocks.iter_mut().rev().filter_map(|block| match block {
            Block::Call(call) => Some(call),
            _ => None,
        });
        if let Some(call) = calls.find(|call| call.id == *id) {
            return change(call);
        }
        let (name, arguments) = (String::new(), String::new());
        let (state, has_started, progress, path) = (CallState::Writing, false, None, None);
        let mut call = CallView { step, id: id.clone(), name, arguments, state, has_started, progress, path };
        change(&mut call);
        self.blocks.push(Block::Call(call));
    }
}

#[cfg(test)]
mod tests {
    use attache_agent::{Agent, AgentRun, tool_fn};
    use attache_core::Approval;
    use attache_testkit::{ScriptedModel, Turn};

    use super::*;

    async fn events(mut run: AgentRun) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = run.next().await {
            events.push(event);
        }
        events
    }

    // Nobody decides about calls of a run that cannot go on; those of one that waits are open.
    #[tokio::test]
    async fn a_run_that_failed_has_no_open_approvals() {
        let pay = tool_fn("pay", "Pays", || Ok("paid")).with_approval(Approval::Always);
        let waits = ScriptedModel::new([Turn::call("pay", serde_json::json!({}))]);
        let mut waits = events(Agent::builder(waits).tool(pay).build().unwrap().run("Pay.")).await;
        let fails = ScriptedModel::new([]).unverified();
        let failed = events(Agent::builder(fails).build().unwrap().run("Pay.")).await.pop().unwrap();
        assert!(matches!(failed.kind, EventKind::Finished(Err(_))), "{failed:?}");
        let open = |events: Vec<Event>| {
            let mut view = View::default();
            for event in events {
                view.add(&Arc::new(Entry { seq: event.seq, what: What::Event(event) }));
            }
            view.approvals.len()
        };
        assert_eq!(open(waits.clone()), 1);
        waits.pop();
        waits.push(failed);
        assert_eq!(open(waits), 0);
    }
}

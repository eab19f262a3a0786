//! An answer as every dialect tells it: what a run says, piece by piece, and what of it was told already.

use attache_agent::{ApprovalRequest, Disposition, EndReason, EventKind, Outcome, Run};
use attache_core::tool::Progress;
use attache_core::{Arguments, Citation, Document, MessageId, Role, ToolCall, ToolCallId, ToolResult, Usage};

pub(crate) use super::ending::{End, PauseForm, end, notice, unsaid};
use super::event_json;
use crate::fault::Fault;
use crate::live::{Block, Broken, CallState, Entry, View, What};

/// The answer so far. Entries and views may come in any mixture: each piece is told once.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// The bytes of text that were told, or held back, or taken back.
    text: usize,
    thinking: usize,
    /// The step of the last text that was told.
    step: Option<u32>,
    /// The words of the step under way, where the answer is told as a whole: a hook may take them back.
    held: Option<Vec<Held>>,
    /// The id of the reply that is told.
    reply: Option<MessageId>,
    /// True if text was told in the step under way.
    spoke: bool,
    calls: Vec<CallTold>,
    /// The approvals that were told.
    approvals: Vec<String>,
    citations: usize,
    /// The documents of the model that were told.
    made: usize,
    usage: Usage,
    pause_form: PauseForm,
    /// True if the client is told what it said itself.
    retells: bool,
}

/// Words, and what stands beside them, that are not told yet.
#[derive(Debug)]
enum Held {
    Text(u32, String),
    Thinking(String),
    Citation(Box<Citation>),
    Made(Box<Document>),
}

/// A call, and what of it was told.
#[derive(Debug)]
struct CallTold {
    id: ToolCallId,
    /// The bytes of its arguments.
    arguments: usize,
    is_written: bool,
    is_for_client: bool,
    has_result: bool,
}

/// A piece of an answer.
pub(crate) enum Piece<'p> {
    /// A call of the model begins.
    Step,
    /// The next pieces are said in the message of that id in the conversation.
    Reply(&'p MessageId),
    /// The next text is said in another step than the one before.
    Break,
    Text(&'p str),
    Thinking(&'p str),
    /// The model begins to write a call.
    Writes {
        id: &'p ToolCallId,
        name: &'p str,
    },
    /// It writes its arguments.
    Arguments {
        id: &'p ToolCallId,
        delta: &'p str,
    },
    /// The call is there.
    Written {
        id: &'p ToolCallId,
        name: &'p str,
        arguments: &'p str,
    },
    /// The client is to answer a call.
    Call {
        index: usize,
        id: &'p ToolCallId,
        name: &'p str,
        arguments: &'p str,
    },
    /// A call has come so far.
    Progress {
        id: &'p ToolCallId,
        progress: &'p Progress,
    },
    /// A call has a result that did not come from the client.
    Result {
        result: &'p ToolResult,
        is_denied: bool,
    },
    Approval(&'p ApprovalRequest),
    Citation(&'p Citation),
    /// A document that the model made, such as an image.
    Made(&'p Document),
    /// There is an answer, and this is its end.
    End {
        end: End,
        /// The tokens of the answer, which may be one of several of its run.
        usage: &'p Usage,
        /// Those of the run so far.
        total: &'p Usage,
        outcome: Option<&'p Outcome>,
    },
    /// There is none, or no whole one.
    Failed(Fault),
}

/// The break between what a model says in one step and in another, where both stand in one text.
pub(crate) const BREAK: &str = "\n\n";

impl Answer {
    pub(crate) fn telling_pauses(pause_form: PauseForm) -> Self {
        Self { pause_form, ..Self::default() }
    }

    /// Tells the words of a step once it is over, and none that a hook took back, if `is_whole`.
    pub(crate) fn whole(self, is_whole: bool) -> Self {
        Self { held: is_whole.then(Vec::new), ..self }
    }

    /// Tells what the client said itself, too: one that comes back has lost it.
    pub(crate) fn retelling(self) -> Self {
        Self { retells: true, ..self }
    }

    /// Takes an entry in, and tells its pieces.
    pub(crate) fn entry(&mut self, entry: &Entry, tell: &mut dyn FnMut(Piece<'_>)) {
        let event = match &entry.what {
            What::Event(event) => event,
            What::Paused(pause) => {
                self.let_out(tell);
                // Some are open from an answer before, in which this client may not have been told of them.
                for call in &pause.calls {
                    self.for_client(&call.id, &call.name, call.arguments.replay_json(), tell);
                }
                let (usage, total) = (&self.usage, &pause.usage);
                return tell(Piece::End { end: End::Calls, usage, total, outcome: None });
            }
            What::Broken(broken) => {
                let fault = match broken {
                    Broken::Failed => Fault::broken(),
                    broken => Fault::unavailable(broken.text()),
                };
                let run = self.reply.as_ref().and_then(Run::that_made).unwrap_or_default();
                return tell(Piece::Failed(fault.of_run(run, !self.calls.is_empty())));
            }
        };
        let mut kind = &event.kind;
        while let EventKind::Nested { event, .. } = kind {
            kind = &event.kind;
            self.spend(kind);
            // Clients answer calls of agents inside, too, and people approve them; the rest is theirs.
            if !matches!(
                kind,
                EventKind::ExternalPending { .. }
                    | EventKind::ApprovalRequested(_)
                    | EventKind::Nested { .. }
            ) {
                return;
            }
        }
        self.spend(kind);
        match kind {
            EventKind::Content(piece) => self.say(event.step, piece, tell),
            EventKind::Thinking(piece) => self.think(piece, tell),
            EventKind::StepStarted { reply, .. } => {
                self.spoke = false;
                tell(Piece::Step);
                self.of(Some(reply), tell);
            }
            EventKind::ReplyWithdrawn { reply } => self.take_back(Some(reply)),
            EventKind::ToolCallDelta { id, name, arguments_delta } => {
                self.delta(id, name.as_deref(), arguments_delta, tell);
            }
            EventKind::ToolCallsRequested { calls, .. } => {
                calls.iter().for_each(|call| self.call(call, tell));
            }
            EventKind::StepFinished { .. } => self.close_unasked(tell),
            EventKind::ToolStarted { call } => self.call(call, tell),
            EventKind::ToolProgress { id, progress } => tell(Piece::Progress { id, progress }),
            EventKind::CallDeferred(request) => self.call(&request.call, tell),
            EventKind::ExternalPending { call } => {
                self.for_client(&call.id, &call.name, call.arguments.replay_json(), tell);
            }
            EventKind::ApprovalRequested(asked) => self.approval(asked, tell),
            EventKind::ToolFinished { result, disposition } => self.result(result, *disposition, tell),
            EventKind::Source(citation) => self.cite(citation, tell),
            EventKind::Made(document) => self.make(document, tell),
            EventKind::Finished(Ok(outcome)) => self.end(outcome, tell),
            EventKind::Finished(Err(error)) => tell(Piece::Failed(Fault::from(error))),
            _ => {}
        }
    }

    /// Counts the tokens of what happened: all that a run counts, with those of agents inside.
    fn spend(&mut self, kind: &EventKind) {
        if let EventKind::StepFinished { usage, .. } | EventKind::Compacted { usage, .. } = kind {
            self.usage.add(usage);
        }
    }

    /// Takes the run so far in, and tells the pieces that were not told.
    pub(crate) fn view(&mut self, view: &View, tell: &mut dyn FnMut(Piece<'_>)) {
        let (mut text, mut thinking, mut made) = (self.text, self.thinking, self.made);
        let spoke = view.spoke;
        for block in &view.blocks {
            let step = block.step();
            if view.is_withdrawn(step) {
                self.take_back(view.reply(step));
                let (told, left, said) = match block {
                    Block::Text { text: said, .. } => (&mut self.text, &mut text, said.len()),
                    Block::Thinking { text: said, .. } => (&mut self.thinking, &mut thinking, said.len()),
                    Block::Made { .. } => (&mut self.made, &mut made, 1),
                    Block::Call(_) => continue,
                };
                *told += said.saturating_sub(*left);
                *left = left.saturating_sub(said);
                continue;
            }
            self.of(view.reply(step), tell);
            match block {
                Block::Text { step, text: said } => match said.get(text..) {
                    Some(untold) if !untold.is_empty() => {
                        text = 0;
                        self.say(*step, untold, tell);
                    }
                    _ => text = text.saturating_sub(said.len()),
                },
                Block::Thinking { text: said, .. } => match said.get(thinking..) {
                    Some(untold) if !untold.is_empty() => {
                        thinking = 0;
                        self.think(untold, tell);
                    }
                    _ => thinking = thinking.saturating_sub(said.len()),
                },
                Block::Made { document, .. } => match made.checked_sub(1) {
                    Some(left) => made = left,
                    None => self.make(document, tell),
                },
                Block::Call(call) => match &call.state {
                    CallState::Writing => {
                        let told = self.known(&call.id).map_or(0, |call| call.arguments);
                        let untold = call.arguments.get(told..).unwrap_or_default();
                        self.delta(&call.id, Some(&call.name), untold, tell);
                    }
                    CallState::Client => self.for_client(&call.id, &call.name, &call.arguments, tell),
                    CallState::Finished(entry) => {
                        // A call of another drive of the run has a result here, and nothing else.
                        if !call.name.is_empty() {
                            self.written(&call.id, &call.name, &call.arguments, tell);
                        }
                        if let Some((result, disposition)) = event_json::result_of(entry) {
                            self.result(result, disposition, tell);
                        }
                    }
                    state => {
                        self.written(&call.id, &call.name, &call.arguments, tell);
                        if let (CallState::Running, Some(progress)) = (state, &call.progress) {
                            tell(Piece::Progress { id: &call.id, progress });
                        }
                    }
                },
            }
        }
        self.spoke = spoke;
        self.usage = view.usage.clone();
        for asked in &view.approvals {
            self.approval(asked, tell);
        }
        for (_, citation) in view.citations.iter().skip(self.citations) {
            self.cite(citation, tell);
        }
        if let Some(end) = &view.end {
            self.entry(end, tell);
        }
    }

    /// Says of which reply the next pieces are.
    fn of(&mut self, reply: Option<&MessageId>, tell: &mut dyn FnMut(Piece<'_>)) {
        let Some(reply) = reply.filter(|reply| self.reply.as_ref() != Some(reply)) else { return };
        self.let_out(tell);
        tell(Piece::Reply(reply));
        self.reply = Some(reply.clone());
    }

    fn say(&mut self, step: u32, piece: &str, tell: &mut dyn FnMut(Piece<'_>)) {
        self.spoke = true;
        self.text += piece.len();
        let Some(held) = &mut self.held else { return self.tell_text(step, piece, tell) };
        match held.last_mut() {
            Some(Held::Text(_, text)) => text.push_str(piece),
            _ => held.push(Held::Text(step, piece.to_owned())),
        }
    }

    fn tell_text(&mut self, step: u32, text: &str, tell: &mut dyn FnMut(Piece<'_>)) {
        if self.step.is_some_and(|last| last != step) {
            tell(Piece::Break);
        }
        self.step = Some(step);
        tell(Piece::Text(text));
    }

    fn think(&mut self, piece: &str, tell: &mut dyn FnMut(Piece<'_>)) {
        self.thinking += piece.len();
        let Some(held) = &mut self.held else { return tell(Piece::Thinking(piece)) };
        match held.last_mut() {
            Some(Held::Thinking(text)) => text.push_str(piece),
            _ => held.push(Held::Thinking(piece.to_owned())),
        }
    }

    fn cite(&mut self, citation: &Citation, tell: &mut dyn FnMut(Piece<'_>)) {
        self.citations += 1;
        match &mut self.held {
            None => tell(Piece::Citation(citation)),
            Some(held) => held.push(Held::Citation(Box::new(citation.clone()))),
        }
    }

    fn make(&mut self, document: &Document, tell: &mut dyn FnMut(Piece<'_>)) {
        self.made += 1;
        match &mut self.held {
            None => tell(Piece::Made(document)),
            Some(held) => held.push(Held::Made(Box::new(document.clone()))),
        }
    }

    /// Tells the words that were held back.
    fn let_out(&mut self, tell: &mut dyn FnMut(Piece<'_>)) {
        for held in self.held.as_mut().map(std::mem::take).unwrap_or_default() {
            match held {
                Held::Text(step, text) => self.tell_text(step, &text, tell),
                Held::Thinking(text) => tell(Piece::Thinking(&text)),
                Held::Citation(citation) => tell(Piece::Citation(&citation)),
                Held::Made(document) => tell(Piece::Made(&document)),
            }
        }
    }

    /// Takes back what the reply said, if it is the last one: a stream has told it, and goes on behind it.
    fn take_back(&mut self, reply: Option<&MessageId>) {
        if self.reply.as_ref() == reply {
            self.spoke = false;
            if let Some(held) = &mut self.held {
                held.clear();
            }
        }
    }

    fn known(&mut self, id: &ToolCallId) -> Option<&mut CallTold> {
        self.calls.iter_mut().find(|call| call.id == *id)
    }

    fn begin(&mut self, id: &ToolCallId, name: &str, tell: &mut dyn FnMut(Piece<'_>)) {
        if self.known(id).is_none() {
            self.calls.push(CallTold {
                id: id.clone(),
                arguments: 0,
                is_written: false,
                is_for_client: false,
                has_result: false,
            });
            tell(Piece::Writes { id, name });
        }
    }

    fn delta(&mut self, id: &ToolCallId, name: Option<&str>, delta: &str, tell: &mut dyn FnMut(Piece<'_>)) {
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            self.begin(id, name, tell);
        }
        // A call whose name is not known yet is told once it is there.
        let Some(call) = self.known(id).filter(|call| !call.is_written) else { return };
        call.arguments += delta.len();
        if !delta.is_empty() {
            tell(Piece::Arguments { id, delta });
        }
    }

    fn call(&mut self, call: &ToolCall, tell: &mut dyn FnMut(Piece<'_>)) {
        self.written(&call.id, &call.name, call.arguments.replay_json(), tell);
    }

    fn written(&mut self, id: &ToolCallId, name: &str, arguments: &str, tell: &mut dyn FnMut(Piece<'_>)) {
        self.begin(id, name, tell);
        let Some(call) = self.known(id).filter(|call| !call.is_written) else { return };
        call.is_written = true;
        if let Some(delta) = arguments.get(call.arguments..).filter(|delta| !delta.is_empty()) {
            call.arguments = arguments.len();
            tell(Piece::Arguments { id, delta });
        }
        tell(Piece::Written { id, name, arguments });
    }

    /// Tells of calls which the model began to write, and that are not asked for: their reply was cut or taken back. Those
    /// that are asked for are told before their step ends.
    fn close_unasked(&mut self, tell: &mut dyn FnMut(Piece<'_>)) {
        for told in self.calls.iter_mut().filter(|told| !told.is_written && !told.has_result) {
            told.has_result = true;
            let call = ToolCall::new("", Arguments::new("{}")).with_id(told.id.clone());
            let result = ToolResult::error(&call, "not executed: its reply was cut or taken back");
            tell(Piece::Result { result: &result, is_denied: false });
        }
    }

    fn for_client(&mut self, id: &ToolCallId, name: &str, arguments: &str, tell: &mut dyn FnMut(Piece<'_>)) {
        self.written(id, name, arguments, tell);
        let index = self.calls.iter().filter(|call| call.is_for_client).count();
        let Some(call) = self.known(id).filter(|call| !call.is_for_client) else { return };
        call.is_for_client = true;
        self.let_out(tell);
        tell(Piece::Call { index, id, name, arguments });
    }

    fn approval(&mut self, asked: &ApprovalRequest, tell: &mut dyn FnMut(Piece<'_>)) {
        if !self.approvals.contains(&asked.id) {
            self.approvals.push(asked.id.clone());
            self.call(&asked.call, tell);
            tell(Piece::Approval(asked));
        }
    }

    fn result(&mut self, result: &ToolResult, disposition: Disposition, tell: &mut dyn FnMut(Piece<'_>)) {
        // The client knows what it said itself.
        if disposition == Disposition::Submitted && !self.retells {
            return;
        }
        if let Some(call) = self.known(&result.call_id)
            && std::mem::replace(&mut call.has_result, true)
        {
            return;
        }
        tell(Piece::Result { result, is_denied: disposition == Disposition::Denied });
    }

    fn end(&mut self, outcome: &Outcome, tell: &mut dyn FnMut(Piece<'_>)) {
        self.let_out(tell);
        self.close_unasked(tell);
        let mut has_text = self.step.is_some();
        // The output of a tool that is the answer, which no model says.
        let is_output = matches!(outcome.reason, EndReason::ReturnDirect | EndReason::FinishTool);
        if let Some(unsaid) = unsaid(outcome, self.spoke && !is_output) {
            // It stands apart from what the model said before.
            if has_text {
                tell(Piece::Break);
            }
            if is_output || outcome.reason == EndReason::GuardrailTripped {
                let mut said = outcome.messages.iter().rev();
                let output = said.find(|message| message.role() == Role::Assistant);
                self.of(output.map(|message| message.id()), tell);
            }
            has_text = true;
            tell(Piece::Text(unsaid));
        }
        let is_asked = self.calls.iter().any(|call| call.is_for_client && !call.has_result);
        let is_turn = is_asked && outcome.reason == EndReason::PendingExternal;
        if let Some(notice) = notice(outcome).filter(|_| !is_turn) {
            match self.pause_form {
                PauseForm::Pieces => {}
                PauseForm::Words => {
                    if has_text {
                        tell(Piece::Break);
                    }
                    tell(Piece::Text(&notice));
                }
                PauseForm::Never => return tell(Piece::Failed(Fault::needs_session(outcome))),
            }
        }
        let end = if is_turn { Some(End::Calls) } else { end(outcome, has_text) };
        let (usage, total) = (&self.usage, &outcome.usage);
        match end {
            Some(end) => tell(Piece::End { end, usage, total, outcome: Some(outcome) }),
            None => tell(Piece::Failed(Fault::unanswered(&outcome.reason, outcome.detail.as_deref()))),
        }
    }
}

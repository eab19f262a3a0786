//! The typed stream of `POST /v1/chat/stream`: lines that each have a type and a content.

use std::sync::Arc;

use attache_agent::{ApprovalRequest, DeferredRequest, EndReason, EventKind};
use attache_core::{ToolCall, ToolCallId, ToolResult};

use crate::dialect::{Shown, Tell, event_json};
use crate::fault::Fault;
use crate::json::{Object, write_json};
use crate::live::{Block, CallState, CallView, Entry, Live, View, What};

/// Lines of a type and a content.
pub(crate) struct Typed {
    task: String,
    session: Option<String>,
    shown: Shown,
    began: bool,
    /// The bytes of content that were told.
    text: usize,
    thinking: usize,
    /// The calls of which each of these was told: that the client answers it, that its tool starts, and its result.
    called: Vec<ToolCallId>,
    started: Vec<ToolCallId>,
    observed: Vec<ToolCallId>,
    /// The approvals and questions that were told.
    asked: Vec<String>,
}

impl Typed {
    pub(crate) fn new(live: &Live, shown: Shown) -> Self {
        let (task, session) = (live.id.clone(), live.session.clone());
        let (began, text, thinking) = (false, 0, 0);
        let (called, started, observed, asked) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { task, session, shown, began, text, thinking, called, started, observed, asked }
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.began, true) {
            out.extend_from_slice(b"data: ");
            Object::begin(out)
                .with("type", "TASK_INFO")
                .with("taskId", &self.task)
                .maybe("sessionId", self.session.as_ref())
                .end();
            out.extend_from_slice(b"\n\n");
        }
    }

    fn text(&mut self, text: &str, out: &mut Vec<u8>) {
        self.text += text.len();
        line("CONTENT", text, out);
    }

    fn think(&mut self, text: &str, out: &mut Vec<u8>) {
        self.thinking += text.len();
        if self.shown.thinking {
            line("THINKING", text, out);
        }
    }

    /// A tool starts to run: its name, its arguments, and that this is all.
    fn action(&mut self, id: &ToolCallId, name: &str, arguments: &str, out: &mut Vec<u8>) {
        if !is_news(&mut self.started, id) {
            return;
        }
        tagged("ACTION_START", name, out, |object| object.with("callId", id));
        if self.shown.details {
            tagged("ACTION", arguments, out, |object| object.with("callId", id));
        }
        tagged("ACTION_END", name, out, |object| object.with("callId", id));
    }

    fn observation(&mut self, result: &ToolResult, out: &mut Vec<u8>) {
        if !is_news(&mut self.observed, &result.call_id) {
            return;
        }
        let judged = if result.is_error() { "failure" } else { "success" };
        let text = result.tree.model_text();
        let content = if self.shown.details { &text } else { judged };
        tagged("OBSERVATION", content, out, |object| {
            let object = object.with("callId", &result.call_id).with("status", judged);
            match self.shown.details && result.tree.shown().next().is_some() {
                true => object.each("documents", result.tree.shown(), event_json::document),
                false => object,
            }
        });
    }

    fn approval(&mut self, asked: &ApprovalRequest, out: &mut Vec<u8>) {
        if is_news(&mut self.asked, &asked.id) {
            let reason = asked.reason.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
            let text = format!("{} waits for approval{reason}", asked.call.name);
            tagged("ASK", &text, out, |object| object.with("approvalId", &asked.id));
        }
    }

    fn question(&mut self, request: &DeferredRequest, out: &mut Vec<u8>) {
        let call = &request.call.id;
        if let Some(prompt) = &request.deferred.prompt
            && is_news(&mut self.asked, &call.to_string())
        {
            tagged("ASK", prompt, out, |object| object.with("callId", call));
        }
    }

    /// The client answers a call: it is told all of it, whatever else is shown.
    fn client_call(&mut self, call: &CallParts<'_>, out: &mut Vec<u8>) {
        if !is_news(&mut self.called, call.id) {
            return;
        }
        out.extend_from_slice(b"data: [Frontend Tool Call] ");
        Object::begin(out)
            .with("type", "FRONTEND_TOOL_CALL")
            .with("callId", call.id)
            .maybe("sessionId", self.session.as_ref())
            .by("toolCall", |out| {
                Object::begin(out)
                    .with("id", call.id)
                    .with("name", call.name)
                    .by("arguments", |out| write_json(out, call.arguments))
                    .end();
            })
            .end();
        out.extend_from_slice(b"\n\n");
    }

    fn kind(&mut self, kind: &EventKind, is_own: bool, out: &mut Vec<u8>) {
        match kind {
            EventKind::Content(text) if is_own => self.text(text, out),
            EventKind::Thinking(text) if is_own => self.think(text, out),
            EventKind::ToolStarted { call } => {
                self.action(&call.id, &call.name, call.arguments.raw(), out);
            }
            EventKind::ExternalPending { call } => self.client_call(&CallParts::of(call), out),
            EventKind::ApprovalRequested(asked) => self.approval(asked, out),
            EventKind::CallDeferred(request) => self.question(request, out),
            EventKind::ToolFinished { result, .. } => self.observation(result, out),
            EventKind::Nested { event, .. } => self.kind(&event.kind, false, out),
            EventKind::Finished(Ok(outcome)) if is_own => {
                match outcome.reason {
                    EndReason::PendingApproval | EndReason::InputRequired | EndReason::PendingExternal => {}
                    EndReason::Cancelled => {
                        let why = outcome.detail.as_deref().unwrap_or("cancelled");
                        tagged("ERROR", why, out, |object| object.with("code", "cancelled"));
                    }
                    _ if outcome.text.is_empty() => {
                        let fault = Fault::unanswered(&outcome.reason, outcome.detail.as_deref());
                        tagged("ERROR", fault.message(), out, |object| object.with("code", fault.code()));
                    }
                    _ => tagged("ANSWER", &outcome.text, out, |object| {
                        object.with("reason", outcome.reason.as_str())
                    }),
                }
                done(out);
            }
            EventKind::Finished(Err(error)) if is_own => {
                let fault = Fault::from(error);
                tagged("ERROR", fault.message(), out, |object| object.with("code", fault.code()));
                done(out);
            }
            _ => {}
        }
    }

    /// Tells what was not told of a call, and of the tools of agents inside it.
    fn call<'e>(&mut self, call: &CallView, inside: impl Iterator<Item = &'e Arc<Entry>>, out: &mut Vec<u8>) {
        let CallView { id, name, arguments, .. } = call;
        if call.has_started {
            self.action(id, name, arguments, out);
        }
        for entry in inside {
            if let What::Event(event) = &entry.what {
                self.kind(&event.kind, false, out);
            }
        }
        match &call.state {
            CallState::Client => self.client_call(&CallParts { id, name, arguments }, out),
            CallState::Finished(entry) => {
                if let Some((result, _)) = event_json::result_of(entry) {
                    self.observation(result, out);
                }
            }
            _ => {}
        }
    }
}

impl Tell for Typed {
    fn entry(&mut self, entry: &Arc<Entry>, out: &mut Vec<u8>) {
        self.begin(out);
        match &entry.what {
            What::Event(event) => self.kind(&event.kind, true, out),
            What::Paused(_) => done(out),
            What::Broken(broken) => {
                tagged("ERROR", broken.text(), out, |object| object.with("code", broken.as_str()));
                done(out);
            }
        }
    }

    fn view(&mut self, view: &View, _: u64, out: &mut Vec<u8>) {
        self.begin(out);
        let (mut text, mut thinking) = (self.text, self.thinking);
        for block in &view.blocks {
            let is_withdrawn = view.is_withdrawn(block.step());
            match block {
                Block::Text { text: said, .. } => match untold(&mut text, said) {
                    "" => {}
                    untold if is_withdrawn => self.text += untold.len(),
                    untold => self.text(untold, out),
                },
                Block::Thinking { text: said, .. } => match untold(&mut thinking, said) {
                    "" => {}
                    untold if is_withdrawn => self.thinking += untold.len(),
                    untold => self.think(untold, out),
                },
                Block::Call(call) => self.call(call, view.tools_inside(&call.id), out),
                Block::Made { .. } => {}
            }
        }
        for asked in &view.approvals {
            self.approval(asked, out);
        }
        for request in &view.deferred {
            self.question(request, out);
        }
        if let Some(end) = &view.end {
            self.entry(end, out);
        }
    }
}

/// The rest of a piece behind the bytes that were told, of which those of the piece are taken away.
fn untold<'p>(told: &mut usize, piece: &'p str) -> &'p str {
    let rest = piece.get(*told..).unwrap_or_default();
    *told = told.saturating_sub(piece.len());
    rest
}

/// True if a thing was not told yet, which is so no more.
fn is_news<T: PartialEq + Clone>(told: &mut Vec<T>, thing: &T) -> bool {
    let is_news = !told.contains(thing);
    if is_news {
        told.push(thing.clone());
    }
    is_news
}

struct CallParts<'c> {
    id: &'c ToolCallId,
    name: &'c str,
    arguments: &'c str,
}

impl<'c> CallParts<'c> {
    fn of(call: &'c ToolCall) -> Self {
        Self { id: &call.id, name: &call.name, arguments: call.arguments.replay_json() }
    }
}

fn line(kind: &str, content: &str, out: &mut Vec<u8>) {
    tagged(kind, content, out, |object| object);
}

fn tagged(kind: &str, content: &str, out: &mut Vec<u8>, more: impl for<'o> FnOnce(Object<'o>) -> Object<'o>) {
    out.extend_from_slice(b"data: ");
    more(Object::begin(out).with("type", kind).text("content", content)).end();
    out.extend_from_slice(b"\n\n");
}

fn done(out: &mut Vec<u8>) {
    out.extend_from_slice(b"data: [DONE]\n\n");
}

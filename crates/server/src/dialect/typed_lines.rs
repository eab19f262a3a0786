//! The typed stream of `POST /v1/chat/stream`: lines that each have a type and a content.

use std::sync::Arc;

use attache_agent::{EndReason, EventKind};
use attache_core::{ToolCall, ToolResult};

use crate::dialect::{Shown, Tell};
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
    /// The calls of the client that were told.
    called: Vec<attache_core::ToolCallId>,
}

impl Typed {
    pub(crate) fn new(live: &Live, shown: Shown) -> Self {
        let (task, session) = (live.id.clone(), live.session.clone());
        Self { task, session, shown, began: false, text: 0, called: Vec::new() }
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

    /// The client answers a call: it is told all of it, whatever else is shown.
    fn client_call(&mut self, call: &CallParts<'_>, out: &mut Vec<u8>) {
        if self.called.contains(call.id) {
            return;
        }
        self.called.push(call.id.clone());
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
            EventKind::Thinking(text) if is_own && self.shown.thinking => line("THINKING", text, out),
            EventKind::ToolStarted { call } => action(call, self.shown, out),
            EventKind::ExternalPending { call } => self.client_call(&CallParts::of(call), out),
            EventKind::ApprovalRequested(asked) => {
                let name = &asked.call.name;
                let reason = asked.reason.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
                let text = format!("{name} waits for approval{reason}");
                tagged("ASK", &text, out, |object| object.with("approvalId", &asked.id));
            }
            EventKind::CallDeferred(request) => {
                if let Some(prompt) = &request.deferred.prompt {
                    tagged("ASK", prompt, out, |object| object.with("callId", &request.call.id));
                }
            }
            EventKind::ToolFinished { result, .. } => observation(result, self.shown, out),
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
        let mut told = self.text;
        for block in &view.blocks {
            match block {
                Block::Text { step, text } if view.is_withdrawn(*step) => {
                    self.text += text.len().saturating_sub(told);
                    told = told.saturating_sub(text.len());
                }
                Block::Text { text, .. } => {
                    if let Some(untold) = text.get(told..).filter(|untold| !untold.is_empty()) {
                        self.text(untold, out);
                    }
                    told = told.saturating_sub(text.len());
                }
                Block::Call(call) if matches!(call.state, CallState::Client) => {
                    let CallView { id, name, arguments, .. } = call;
                    self.client_call(&CallParts { id, name, arguments }, out);
                }
                Block::Call(_) | Block::Thinking { .. } | Block::Made { .. } => {}
            }
        }
        if let Some(end) = &view.end {
            self.entry(end, out);
        }
    }
}

struct CallParts<'c> {
    id: &'c attache_core::ToolCallId,
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

/// A tool starts to run: its name, its arguments, and that this is all.
fn action(call: &ToolCall, shown: Shown, out: &mut Vec<u8>) {
    tagged("ACTION_START", &call.name, out, |object| object.with("callId", &call.id));
    if shown.details {
        tagged("ACTION", call.arguments.raw(), out, |object| object.with("callId", &call.id));
    }
    tagged("ACTION_END", &call.name, out, |object| object.with("callId", &call.id));
}

fn observation(result: &ToolResult, shown: Shown, out: &mut Vec<u8>) {
    let judged = if result.is_error() { "failure" } else { "success" };
    let text = result.tree.model_text();
    let content = if shown.details { &text } else { judged };
    tagged("OBSERVATION", content, out, |object| {
        let object = object.with("callId", &result.call_id).with("status", judged);
        match shown.details && result.tree.shown().next().is_some() {
            true => object.each("documents", result.tree.shown(), super::event_json::document),
            false => object,
        }
    });
}

fn done(out: &mut Vec<u8>) {
    out.extend_from_slice(b"data: [DONE]\n\n");
}

//! AG-UI, in the events of its version 1.0.

use attache_agent::{EndReason, Outcome};
use attache_core::calendar::to_rfc3339;
use attache_core::{MessageId, ToolCallId, Usage};

use super::answer::{Answer, End, Piece};
use super::event_json::{document as describe, progressed};
use super::pieces::TellPieces;
use super::snapshot::{Thread, id_of_result, tool};
use super::{Shown, line, usage};
use crate::json::{Object, write_json};

/// The version of the protocol whose events these are.
const VERSION: &str = "1.0";

/// A run as a client of AG-UI is told of it.
pub(crate) struct AgUi {
    answer: Answer,
    shown: Shown,
    thread: String,
    /// The run, by the client's name for it.
    run: String,
    began: bool,
    open: Option<Open>,
    /// The reply that is told, by its id in the conversation.
    reply: Option<MessageId>,
    /// The messages that were told of it, and its thoughts.
    told: usize,
    thoughts: usize,
    /// The calls that are still written.
    writing: Vec<ToolCallId>,
    /// Those that said how far they have come, and have no result.
    running: Vec<ToolCallId>,
    /// Those that the client is to answer.
    pending: Vec<ToolCallId>,
    /// The event with the messages that the client lacks, until it was told.
    snapshot: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Open {
    Text(String),
    Thinking(String),
}

impl AgUi {
    pub(crate) fn new(thread: String, run: String, shown: Shown) -> Self {
        Self {
            answer: Answer::default(),
            shown,
            thread,
            run,
            began: false,
            open: None,
            reply: None,
            told: 0,
            thoughts: 0,
            writing: Vec::new(),
            running: Vec::new(),
            pending: Vec::new(),
            snapshot: Vec::new(),
        }
    }

    /// Tells the messages of the thread as the run begins.
    pub(crate) fn with_snapshot(mut self, thread: &Thread<'_>) -> Self {
        let (run, shown) = (&self.run, self.shown);
        if thread.is_out_of_order() {
            // Clients leave the messages that they have in their places, and put others behind them.
            event("MESSAGES_SNAPSHOT", &mut self.snapshot, |object| {
                object.by("messages", |out| out.extend_from_slice(b"[]"))
            });
        }
        event("MESSAGES_SNAPSHOT", &mut self.snapshot, |object| {
            object.by("messages", |out| thread.write(run, shown, out))
        });
        self
    }

    /// Tells what the client said itself, too: a page that comes back has lost it.
    pub(crate) fn retelling(mut self) -> Self {
        self.answer = self.answer.retelling();
        self
    }

    /// Ends what the client shows as under way: calls whose results it did not hear.
    pub(crate) fn with_running(mut self, calls: impl IntoIterator<Item = ToolCallId>) -> Self {
        self.running.extend(calls);
        self
    }

    /// Tells of a run that nobody drives: it has ended, or waits.
    pub(crate) fn ended(mut self, outcome: &Outcome) -> Vec<u8> {
        let end = match outcome.reason {
            EndReason::PendingApproval => End::Approval,
            EndReason::InputRequired => End::Input,
            _ => End::Stop,
        };
        let mut out = Vec::new();
        // The snapshot has what it said.
        let outcome = Some(outcome).filter(|_| end != End::Stop);
        let usage = &Usage::default();
        self.piece(Piece::End { end, usage, total: usage, outcome }, &mut out);
        out
    }

    /// The id of the next message of the reply: the first one has that of the reply itself, by which it is known again when
    /// the client sends it.
    fn message(&mut self) -> String {
        self.told += 1;
        match &self.reply {
            Some(reply) if self.told == 1 => reply.to_string(),
            Some(reply) => format!("{reply}-{}", self.told),
            None => format!("{}-{}", self.run, self.told),
        }
    }

    /// The id of the next thoughts of the reply.
    fn thought(&mut self) -> String {
        self.thoughts += 1;
        let whose = self.reply.as_ref().map_or(self.run.as_str(), MessageId::as_str);
        format!("{whose}.thought-{}", self.thoughts)
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        match self.open.take() {
            None => {}
            Some(Open::Text(id)) => event("TEXT_MESSAGE_END", out, |object| object.with("messageId", &id)),
            Some(Open::Thinking(id)) => {
                event("REASONING_MESSAGE_END", out, |object| object.with("messageId", &id));
                event("REASONING_END", out, |object| object.with("messageId", &id));
            }
        }
    }

    fn text(&mut self, text: &str, out: &mut Vec<u8>) {
        if !matches!(self.open, Some(Open::Text(_))) {
            self.close(out);
            let id = self.message();
            event("TEXT_MESSAGE_START", out, |object| {
                object.with("messageId", &id).with("role", "assistant")
            });
            self.open = Some(Open::Text(id));
        }
        if let Some(Open::Text(id)) = &self.open {
            event("TEXT_MESSAGE_CONTENT", out, |object| object.with("messageId", id).text("delta", text));
        }
    }

    fn thinking(&mut self, text: &str, out: &mut Vec<u8>) {
        if !matches!(self.open, Some(Open::Thinking(_))) {
            self.close(out);
            let id = self.thought();
            event("REASONING_START", out, |object| object.with("messageId", &id));
            event("REASONING_MESSAGE_START", out, |object| {
                object.with("messageId", &id).with("role", "reasoning")
            });
            self.open = Some(Open::Thinking(id));
        }
        if let Some(Open::Thinking(id)) = &self.open {
            event("REASONING_MESSAGE_CONTENT", out, |object| {
                object.with("messageId", id).text("delta", text)
            });
        }
    }

    /// Every message, call and activity that began ends before the run does: the stream tells no more of it.
    fn close_all(&mut self, out: &mut Vec<u8>) {
        self.close(out);
        for id in std::mem::take(&mut self.writing) {
            event("TOOL_CALL_END", out, |object| object.with("toolCallId", &id));
        }
        while let Some(id) = self.running.pop() {
            finished(&id, out);
        }
    }

    fn finish(
        &mut self,
        outcome: impl FnOnce(&mut Vec<u8>),
        tokens: Option<&Usage>,
        text: Option<&str>,
        out: &mut Vec<u8>,
    ) {
        self.close_all(out);
        event("RUN_FINISHED", out, |object| {
            let object = object
                .with("threadId", &self.thread)
                .with("runId", &self.run)
                .maybe("result", text)
                .by("outcome", outcome);
            match tokens.filter(|tokens| tokens.input_tokens.is_some()) {
                Some(tokens) => object.each("usage", [tokens], usage::plain),
                None => object,
            }
        });
    }

    fn end_call(&mut self, id: &ToolCallId, out: &mut Vec<u8>) {
        let before = self.writing.len();
        self.writing.retain(|writing| writing != id);
        if self.writing.len() < before {
            event("TOOL_CALL_END", out, |object| object.with("toolCallId", id));
        }
    }
}

/// The type of an activity that shows how far a call has come.
pub(crate) const PROGRESS: &str = "attache.tool_progress";

/// The id of the activity of a call.
fn id_of_progress(call: &ToolCallId) -> String {
    format!("{call}.progress")
}

/// The call whose activity has that id.
pub(crate) fn call_of_progress(id: &str) -> Option<ToolCallId> {
    id.strip_suffix(".progress").and_then(ToolCallId::parse)
}

/// The change of an activity that has ended. It counts for one of a client that says nothing of its end, too.
const FINISHED: &[u8] = b"[{\"op\":\"add\",\"path\":\"/isFinished\",\"value\":true}]";

/// Tells that the activity of a call has ended.
fn finished(call: &ToolCallId, out: &mut Vec<u8>) {
    event("ACTIVITY_DELTA", out, |object| {
        object
            .with("messageId", &id_of_progress(call))
            .with("activityType", PROGRESS)
            .by("patch", |out| out.extend_from_slice(FINISHED))
    });
}

/// The schema of a decision about a call.
const DECISION: &str = "{\"type\":\"object\",\"properties\":{\"approved\":{\"type\":\"boolean\"},\"reason\":{\"type\":\"string\"},\"always\":{\"type\":\"boolean\"},\"editedArgs\":{\"type\":\"object\"}},\"required\":[\"approved\"]}";

/// Writes what people have to say before the run goes on.
fn interrupts(outcome: &Outcome, out: &mut Vec<u8>) {
    let questions = outcome.deferred.iter().filter(|request| request.deferred.prompt.is_some());
    Object::begin(out)
        .with("type", "interrupt")
        .by("interrupts", |out| {
            out.push(b'[');
            let mut is_first = true;
            let mut next = |out: &mut Vec<u8>| {
                if !std::mem::take(&mut is_first) {
                    out.push(b',');
                }
            };
            for asked in &outcome.approvals {
                next(out);
                let message = asked.reason.clone();
                let message = message.unwrap_or_else(|| format!("{} waits for approval", asked.call.name));
                Object::begin(out)
                    .with("id", &asked.id)
                    .with("reason", "tool_call")
                    .text("message", &message)
                    .with("toolCallId", &asked.call.id)
                    .by("responseSchema", |out| out.extend_from_slice(DECISION.as_bytes()))
                    .maybe("expiresAt", to_rfc3339(asked.expires_at).as_ref())
                    .by("metadata", |out| {
                        Object::begin(out)
                            .with("toolName", &asked.call.name)
                            .by("arguments", |out| write_json(out, asked.call.arguments.raw()))
                            .with("expiresAt", &asked.expires_at)
                            .end();
                    })
                    .end();
            }
            for request in questions {
                next(out);
                Object::begin(out)
                    .with("id", &request.call.id)
                    .with("reason", "input_required")
                    .maybe("message", request.deferred.prompt.as_ref())
                    .with("toolCallId", &request.call.id)
                    // The protocol has room for an object alone: `true` says nothing.
                    .maybe(
                        "responseSchema",
                        request.deferred.schema.as_ref().filter(|schema| schema.is_object()),
                    )
                    .maybe("expiresAt", request.deferred.expires_at.and_then(to_rfc3339).as_ref())
                    .end();
            }
            out.push(b']');
        })
        .end();
}

fn event(kind: &str, out: &mut Vec<u8>, more: impl for<'o> FnOnce(Object<'o>) -> Object<'o>) {
    line(out, |out| more(Object::begin(out).with("type", kind)).end());
}

impl TellPieces for AgUi {
    fn answer(&mut self) -> &mut Answer {
        &mut self.answer
    }

    fn piece(&mut self, piece: Piece<'_>, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.began, true) {
            event("RUN_STARTED", out, |object| {
                object
                    .with("threadId", &self.thread)
                    .with("runId", &self.run)
                    .with("protocolVersion", VERSION)
            });
            out.append(&mut self.snapshot);
        }
        if let Piece::Call { id, .. } = &piece {
            self.pending.push((*id).clone());
        }
        match piece {
            Piece::Step | Piece::Break => self.close(out),
            Piece::Reply(reply) => {
                self.close(out);
                (self.reply, self.told, self.thoughts) = (Some(reply.clone()), 0, 0);
            }
            Piece::Text(text) => self.text(text, out),
            Piece::Thinking(text) if self.shown.thinking => self.thinking(text, out),
            Piece::Writes { id, name } => {
                self.close(out);
                self.writing.push(id.clone());
                // The client has it in the message of the reply: text behind it is a message of its own.
                self.told = self.told.max(1);
                event("TOOL_CALL_START", out, |object| {
                    object
                        .with("toolCallId", id)
                        .with("toolCallName", name)
                        .maybe("parentMessageId", self.reply.as_ref())
                });
            }
            Piece::Arguments { id, delta } if self.shown.details => {
                event("TOOL_CALL_ARGS", out, |object| object.with("toolCallId", id).text("delta", delta));
            }
            // The arguments of a client's call come with the call, where others are not shown.
            Piece::Written { id, .. } if self.shown.details => self.end_call(id, out),
            Piece::Call { id, arguments, .. } if !self.shown.details => {
                event("TOOL_CALL_ARGS", out, |object| object.with("toolCallId", id).text("delta", arguments));
                self.end_call(id, out);
            }
            Piece::Progress { id, progress } => {
                if !self.running.contains(id) {
                    self.running.push(id.clone());
                }
                event("ACTIVITY_SNAPSHOT", out, |object| {
                    object
                        .with("messageId", &id_of_progress(id))
                        .with("activityType", PROGRESS)
                        .by("content", |out| {
                            let object = Object::begin(out).with("toolCallId", id);
                            progressed(object, progress, self.shown).with("isFinished", &false).end();
                        })
                        .with("replace", &true)
                });
            }
            Piece::Result { result, .. } => {
                self.end_call(&result.call_id, out);
                self.pending.retain(|pending| *pending != result.call_id);
                let before = self.running.len();
                self.running.retain(|running| *running != result.call_id);
                if self.running.len() < before {
                    finished(&result.call_id, out);
                }
                event("TOOL_CALL_RESULT", out, |object| {
                    let object = object
                        .with("messageId", &id_of_result(&result.call_id))
                        .with("toolCallId", &result.call_id);
                    tool(object, result, self.shown)
                });
            }
            Piece::Citation(citation) => {
                event("CUSTOM", out, |object| object.with("name", "attache.citation").with("value", citation))
            }
            Piece::Made(document) => event("CUSTOM", out, |object| {
                object.with("name", "attache.document").by("value", |out| describe(document, out))
            }),
            Piece::End { end, usage, outcome, .. } => {
                let text = outcome.map(|outcome| outcome.text.as_str()).filter(|text| !text.is_empty());
                let asks = matches!(end, End::Approval | End::Input);
                let pending = std::mem::take(&mut self.pending);
                self.finish(
                    |out| match outcome.filter(|_| asks) {
                        Some(outcome) => interrupts(outcome, out),
                        None => {
                            let pending = Some(pending).filter(|calls| !calls.is_empty());
                            let object = Object::begin(out).with("type", "success");
                            object.maybe("pendingToolCallIds", pending.as_ref()).end();
                        }
                    },
                    Some(usage),
                    text.filter(|_| !asks),
                    out,
                );
            }
            Piece::Failed(fault) if fault.code() == "cancelled" => {
                let cancelled = |out: &mut Vec<u8>| Object::begin(out).with("type", "cancelled").end();
                self.finish(cancelled, None, None, out);
            }
            Piece::Failed(fault) => {
                self.close_all(out);
                event("RUN_ERROR", out, |object| {
                    object.text("message", fault.message()).with("code", fault.code())
                });
            }
            _ => {}
        }
    }
}

//! The messages of a thread as AG-UI has them: those that the client sent, and those that the session has beside them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use attache_agent::Outcome;
use attache_core::message::Metadata;
use attache_core::{
    AssistantMessage, AssistantPart, Document, Message, MessageId, ToolCallId, ToolResult, UserMessage,
    UserPart,
};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::message::is_read;
use super::{Shown, event};
use crate::json::{Object, write, write_json};

/// The metadata of a message with the id that a client has for it.
const CLIENT_ID: &str = "clientId";

/// The message as a client knows it.
pub(crate) fn known_as(metadata: &Metadata, id: &str) -> Metadata {
    metadata.clone().with(CLIENT_ID, id)
}

/// The id of the message with the result of a call.
pub(super) fn id_of_result(call: &ToolCallId) -> String {
    format!("{call}.result")
}

/// A message of a request, and the things by which it is known again.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) id: Option<String>,
    /// The text of a reply.
    pub(crate) text: String,
    /// The calls that it makes.
    pub(crate) calls: Vec<String>,
    /// The call whose result it is.
    pub(crate) result: Option<String>,
    /// The message as the client wrote it.
    pub(crate) raw: Box<RawValue>,
}

/// Takes the messages out of an outcome, without the words that stand for results that are still to come.
pub(crate) fn take_messages(outcome: &mut Outcome) -> Vec<Arc<Message>> {
    let mut messages = std::mem::take(&mut outcome.messages);
    let is_pending = |result: &ToolResult| outcome.pending.iter().any(|call| call.id == result.call_id);
    messages.retain_mut(|message| match &**message {
        Message::ToolResults(told) if told.results.iter().any(is_pending) => {
            let mut there = told.clone();
            there.results.retain(|result| !is_pending(result));
            let is_left = !there.results.is_empty();
            *message = Message::ToolResults(there).shared();
            is_left
        }
        _ => true,
    });
    messages
}

/// The messages of a session and of a request in one order.
pub(crate) struct Thread<'t> {
    messages: Vec<One<'t>>,
    /// The places of the client's messages that others stand for.
    replaced: Vec<usize>,
    /// True if the client lacks some.
    pub(crate) is_news: bool,
}

enum One<'t> {
    Sent(&'t Sent),
    User(&'t UserMessage),
    Assistant(&'t AssistantMessage),
    Result(&'t ToolResult),
}

impl<'t> Thread<'t> {
    /// Brings both together. A message of the session is one that the client has if it has its id, or the one under which
    /// the client sent it; results are known by their calls.
    pub(crate) fn new(session: &'t [Arc<Message>], sent: &'t [Sent]) -> Self {
        let mut thread = Self { messages: Vec::new(), replaced: Vec::new(), is_news: false };
        let known = Known::of(sent);
        let mut from = 0;
        for message in session.iter().filter(|message| is_read(message)) {
            match &**message {
                Message::ToolResults(results) => {
                    for result in &results.results {
                        match known.results.get(result.call_id.as_str()) {
                            Some(at) => thread.take(sent, &mut from, at + 1),
                            None => thread.add(One::Result(result)),
                        }
                    }
                }
                Message::User(user) => match known.message(message).last() {
                    Some(at) => thread.take(sent, &mut from, at + 1),
                    None => thread.add(One::User(user)),
                },
                Message::Assistant(reply) => {
                    let mut pieces = known.message(message).to_vec();
                    pieces.extend(reply.tool_calls().filter_map(|call| known.calls.get(call.id.as_str())));
                    let whole = pieces.iter().max().copied().filter(|_| known.is_whole(reply, message, sent));
                    match (whole, pieces.iter().min()) {
                        (Some(at), _) => thread.take(sent, &mut from, at + 1),
                        (None, None) if says_nothing(reply) => {}
                        (None, first) => {
                            // It comes in the place of what the client has of it.
                            let first = first.copied().unwrap_or(from);
                            thread.take(sent, &mut from, first);
                            thread.replaced.extend(pieces);
                            thread.add(One::Assistant(reply));
                        }
                    }
                }
                // Nothing that people read.
                _ => {}
            }
        }
        thread.take(sent, &mut from, sent.len());
        thread
    }

    /// Takes the client's messages up to that place, as far as it has not come there.
    fn take(&mut self, sent: &'t [Sent], from: &mut usize, end: usize) {
        let passed = sent.iter().enumerate().take(end).skip(*from);
        let kept = passed.filter(|(at, _)| !self.replaced.contains(at));
        self.messages.extend(kept.map(|(_, sent)| One::Sent(sent)));
        *from = end.max(*from);
    }

    fn add(&mut self, one: One<'t>) {
        self.messages.push(one);
        self.is_news = true;
    }

    /// True if messages that the client lacks stand before others that it has.
    pub(super) fn is_out_of_order(&self) -> bool {
        let is_sent = |one: &One<'_>| matches!(one, One::Sent(_));
        self.messages.iter().skip_while(|one| is_sent(one)).any(is_sent)
    }

    /// Writes them as an array. Messages that have no id have one that begins with `run`.
    pub(crate) fn write(&self, run: &str, shown: Shown, out: &mut Vec<u8>) {
        let mut told: HashSet<&str> = HashSet::new();
        told.extend(self.messages.iter().filter_map(|one| match one {
            One::Sent(sent) => sent.id.as_deref(),
            _ => None,
        }));
        out.push(b'[');
        for (at, one) in self.messages.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            match one {
                One::Sent(sent) => echo(&sent.raw, &format!("{run}-sent-{at}"), out),
                One::User(message) => user(message, id(&message.id, &message.metadata, &mut told), out),
                One::Assistant(message) => {
                    assistant(message, id(&message.id, &message.metadata, &mut told), shown, out);
                }
                One::Result(result) => {
                    let id = id_of_result(&result.call_id);
                    let object = Object::begin(out).with("id", &id).with("toolCallId", &result.call_id);
                    tool(object, result, shown).end();
                }
            }
        }
        out.push(b']');
    }
}

/// The places of a client's messages by that by which they are known.
#[derive(Default)]
struct Known<'s> {
    /// A reply may stand in several messages, each with a piece of it.
    ids: HashMap<&'s str, Vec<usize>>,
    calls: HashMap<&'s str, usize>,
    results: HashMap<&'s str, usize>,
}

impl<'s> Known<'s> {
    fn of(sent: &'s [Sent]) -> Self {
        let mut known = Self::default();
        for (at, sent) in sent.iter().enumerate() {
            if let Some(id) = sent.id.as_deref() {
                known.ids.entry(id).or_default().push(at);
                let is_number = |piece: &str| piece.bytes().all(|digit| digit.is_ascii_digit());
                if let Some((reply, _)) = id.rsplit_once('-').filter(|(_, piece)| is_number(piece)) {
                    known.ids.entry(reply).or_default().push(at);
                }
            }
            known.calls.extend(sent.calls.iter().map(|call| (call.as_str(), at)));
            known.results.extend(sent.result.as_deref().map(|call| (call, at)));
        }
        known
    }

    /// The places of a message of the session, in order: it is known by its id, or by that which the client gave it.
    fn message(&self, message: &Message) -> &[usize] {
        let given = message.metadata().get(CLIENT_ID).and_then(Value::as_str);
        let mut ids = [Some(message.id().as_str()), given].into_iter().flatten();
        ids.find_map(|id| self.ids.get(id)).map(Vec::as_slice).unwrap_or_default()
    }

    /// True if the client has all of a reply: one that hung up while it was said has its beginning alone.
    fn is_whole(&self, reply: &AssistantMessage, message: &Message, sent: &[Sent]) -> bool {
        let pieces = self.message(message).iter().filter_map(|at| sent.get(*at));
        let has: String = pieces.map(|sent| sent.text.as_str()).collect();
        let is_cut = reply.text().strip_prefix(has.as_str()).is_some_and(|rest| !rest.trim().is_empty());
        let has_calls = reply.tool_calls().all(|call| self.calls.contains_key(call.id.as_str()));
        has_calls && (!is_cut || has.is_empty() && reply.tool_calls().next().is_some())
    }
}

/// True for a reply that no client of AG-UI is told of, since it has neither text nor calls.
fn says_nothing(reply: &AssistantMessage) -> bool {
    reply.text().trim().is_empty() && reply.tool_calls().next().is_none()
}

/// The words of a user.
fn words(message: &UserMessage) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        UserPart::Text(text) => Some(text.text()),
        _ => None,
    });
    texts.collect()
}

/// The id under which a client is told a message: that which another client gave it, unless it was given twice.
fn id<'m>(own: &'m MessageId, metadata: &'m Metadata, told: &mut HashSet<&'m str>) -> &'m str {
    let given = metadata.get(CLIENT_ID).and_then(Value::as_str);
    given.filter(|id| told.insert(id)).unwrap_or(own.as_str())
}

/// Writes a message as the client wrote it.
fn echo(raw: &RawValue, id: &str, out: &mut Vec<u8>) {
    let members: Map<String, Value> = serde_json::from_str(raw.get()).unwrap_or_default();
    if members.get("id").is_some_and(Value::is_string) {
        return write_json(out, raw.get());
    }
    let mut members = members;
    members.insert("id".to_owned(), id.into());
    write(out, &members);
}

fn user(message: &UserMessage, id: &str, out: &mut Vec<u8>) {
    let object = Object::begin(out).with("id", id).with("role", "user");
    let is_text = |part: &UserPart| matches!(part, UserPart::Text(_));
    // Kinds that are newer than this server are left out.
    let is_told =
        |part: &&UserPart| matches!(part, UserPart::Text(_) | UserPart::Document(_) | UserPart::Object(_));
    match message.parts.iter().all(is_text) {
        true => object.with("content", &words(message)),
        false => object.each("content", message.parts.iter().filter(is_told), |part, out| match part {
            UserPart::Text(text) => {
                Object::begin(out).with("type", "text").with("text", text.text()).end();
            }
            UserPart::Document(document) => self::document(document, out),
            UserPart::Object(tree) => {
                Object::begin(out).with("type", "text").with("text", &*tree.model_text()).end();
            }
            _ => {}
        }),
    }
    .end();
}

/// The word for whoever keeps the documents of a thread.
pub(crate) const PROVIDER: &str = "attache";

/// Writes a document by its id: the session has its content.
fn document(document: &Document, out: &mut Vec<u8>) {
    let media_type = document.media_type().essence();
    let mut own = ["image", "audio", "video"].into_iter();
    let kind = own.find(|kind| media_type.split('/').next() == Some(kind)).unwrap_or("document");
    Object::begin(out)
        .with("type", kind)
        .by("source", |out| {
            Object::begin(out)
                .with("type", "file")
                .with("value", document.id())
                .with("provider", PROVIDER)
                .with("mimeType", media_type)
                .end();
        })
        .by("metadata", |out| Object::begin(out).maybe("filename", document.file_name()).end())
        .end();
}

fn assistant(message: &AssistantMessage, id: &str, shown: Shown, out: &mut Vec<u8>) {
    let object = Object::begin(out).with("id", id).with("role", "assistant");
    let text = message.text();
    let object = object.maybe("content", Some(&*text).filter(|text| !text.is_empty()));
    let calls = || {
        message.parts.iter().filter_map(|part| match part {
            AssistantPart::ToolCall(call) => Some(call),
            _ => None,
        })
    };
    match calls().next() {
        None => object,
        Some(_) => object.each("toolCalls", calls(), |call, out| {
            let arguments = if shown.details { call.arguments.raw() } else { "{}" };
            Object::begin(out)
                .with("id", &call.id)
                .with("type", "function")
                .by("function", |out| {
                    Object::begin(out).with("name", &call.name).with("arguments", arguments).end();
                })
                .end();
        }),
    }
    .end();
}

/// Adds the result of a tool.
pub(super) fn tool<'o>(object: Object<'o>, result: &ToolResult, shown: Shown) -> Object<'o> {
    let judged = if result.is_error() { "failure" } else { "success" };
    let text = result.tree.model_text();
    let content = if shown.details { &*text } else { judged };
    let documents = shown.details && result.tree.shown().next().is_some();
    object.with("content", content).with("role", "tool").by("metadata", |out| {
        let object = Object::begin(out).with("isError", &result.is_error());
        match documents {
            true => object.each("documents", result.tree.shown(), event::document),
            false => object,
        }
        .end();
    })
}

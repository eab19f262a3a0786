//! The messages of a thread as AG-UI has them: those that the client sent, and those that the session has beside them.

use std::sync::Arc;

use attache_agent::Outcome;
use attache_core::{AssistantMessage, AssistantPart, Document, Message, ToolResult, UserMessage, UserPart};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::message::is_read;
use super::{Shown, event};
use crate::json::{Object, write, write_json};

/// A message of a request.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) said: Said,
    /// The message as the client wrote it.
    pub(crate) raw: Box<RawValue>,
}

/// The things by which a message is known again.
#[derive(Debug)]
pub(crate) enum Said {
    User(String),
    Assistant {
        text: String,
        calls: Vec<String>,
    },
    /// The result of that call.
    Result(String),
    /// One that no session keeps.
    Other,
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
    /// True if the client lacks some.
    pub(crate) is_news: bool,
}

enum One<'t> {
    Sent(&'t Sent),
    User(&'t UserMessage),
    Assistant(&'t AssistantMessage),
    Result { result: &'t ToolResult, id: String },
}

impl<'t> Thread<'t> {
    /// Brings both together. Nothing tells which messages are the same but that they say the same in the same order: the
    /// ids of a client are its own.
    pub(crate) fn new(session: &'t [Arc<Message>], sent: &'t [Sent]) -> Self {
        let mut thread = Self { messages: Vec::new(), is_news: false };
        let mut from = 0;
        for message in session.iter().filter(|message| is_read(message)) {
            match &**message {
                Message::ToolResults(results) => {
                    for (at, result) in results.results.iter().enumerate() {
                        let call = result.call_id.as_str();
                        let is_same = |sent: &Sent| matches!(&sent.said, Said::Result(id) if id == call);
                        let found = sent.iter().skip(from).position(is_same).map(|at| from + at);
                        match found {
                            Some(found) => thread.take(sent, &mut from, found + 1),
                            None => {
                                let id = format!("{}-{at}", message.id());
                                thread.add(One::Result { result, id });
                            }
                        }
                    }
                }
                Message::User(message) => match end_of_user(message, sent, from) {
                    Some(end) => thread.take(sent, &mut from, end),
                    None => thread.add(One::User(message)),
                },
                Message::Assistant(message) => match end_of_reply(message, sent, from) {
                    Some(end) => thread.take(sent, &mut from, end),
                    None => thread.add(One::Assistant(message)),
                },
                // Nothing that people read.
                _ => {}
            }
        }
        thread.take(sent, &mut from, sent.len());
        thread
    }

    fn take(&mut self, sent: &'t [Sent], from: &mut usize, end: usize) {
        self.messages.extend(sent.get(*from..end).unwrap_or_default().iter().map(One::Sent));
        *from = end;
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
        out.push(b'[');
        for (at, one) in self.messages.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            match one {
                One::Sent(sent) => echo(&sent.raw, &format!("{run}-sent-{at}"), out),
                One::User(message) => user(message, out),
                One::Assistant(message) => assistant(message, shown, out),
                One::Result { result, id } => {
                    let object = Object::begin(out).with("id", id).with("toolCallId", &result.call_id);
                    tool(object, result, shown).end();
                }
            }
        }
        out.push(b']');
    }
}

/// The place behind the message of a client that says the same as one of the session.
fn end_of_user(message: &UserMessage, sent: &[Sent], from: usize) -> Option<usize> {
    let words = words(message);
    let is_same = |sent: &Sent| matches!(&sent.said, Said::User(said) if said.trim() == words.trim());
    sent.iter().skip(from).position(is_same).map(|at| from + at + 1)
}

/// The same for a reply of the model, which may stand in several messages of a client, each with a piece of it.
fn end_of_reply(message: &AssistantMessage, sent: &[Sent], from: usize) -> Option<usize> {
    let text = message.text();
    let mut left = text.trim();
    let mut calls: Vec<&str> = message.tool_calls().map(|call| call.id.as_str()).collect();
    if left.is_empty() && calls.is_empty() {
        return Some(from);
    }
    for (at, sent) in sent.iter().enumerate().skip(from) {
        let Said::Assistant { text, calls: told } = &sent.said else { continue };
        left = left.strip_prefix(text.trim()).unwrap_or(left).trim_start();
        calls.retain(|call| !told.iter().any(|told| told == call));
        if left.is_empty() && calls.is_empty() {
            return Some(at + 1);
        }
    }
    None
}

/// The words of a user, by which a message is known again: documents come in many forms.
fn words(message: &UserMessage) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        UserPart::Text(text) => Some(text.text()),
        _ => None,
    });
    texts.collect()
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

fn user(message: &UserMessage, out: &mut Vec<u8>) {
    let object = Object::begin(out).with("id", &message.id).with("role", "user");
    let is_text = |part: &UserPart| matches!(part, UserPart::Text(_));
    match message.parts.iter().all(is_text) {
        true => object.with("content", &words(message)),
        false => object.each("content", &message.parts, |part, out| match part {
            UserPart::Text(text) => {
                Object::begin(out).with("type", "text").with("text", text.text()).end();
            }
            UserPart::Document(document) => self::document(document, out),
            UserPart::Object(tree) => {
                Object::begin(out).with("type", "text").with("text", &*tree.model_text()).end();
            }
            _ => Object::begin(out).with("type", "text").with("text", "").end(),
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

fn assistant(message: &AssistantMessage, shown: Shown, out: &mut Vec<u8>) {
    let object = Object::begin(out).with("id", &message.id).with("role", "assistant");
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

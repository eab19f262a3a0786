//! The messages of a thread as AG-UI has them: those that the client sent, and those that the session has beside them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use attache_agent::{Outcome, is_read};
use attache_core::message::{Metadata, UserOrigin};
use attache_core::{
    AssistantMessage, AssistantPart, Document, Message, MessageId, ToolCallId, ToolResult, UserMessage,
    UserPart,
};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::event_json as event;
use crate::dialect::Shown;
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
    pub(crate) role: String,
    /// The text of a reply, or the words of a user.
    pub(crate) text: String,
    /// The calls that it makes.
    pub(crate) calls: Vec<String>,
    /// The call whose result it is.
    pub(crate) result: Option<String>,
    /// The call that it shows as under way.
    pub(crate) running: Option<ToolCallId>,
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
    /// the client sent it; results are known by their calls. Where an id is missing, the words tell.
    pub(crate) fn new(session: &'t [Arc<Message>], sent: &'t [Sent]) -> Self {
        let mut thread = Self { messages: Vec::new(), replaced: Vec::new(), is_news: false };
        let known = Known::of(sent);
        let read: Vec<&Message> =
            session.iter().map(|message| &**message).filter(|message| is_read(message)).collect();
        let mut from = 0;
        for (message, mut pieces) in read.iter().copied().zip(known.places(&read, sent)) {
            match message {
                Message::ToolResults(results) => {
                    for result in &results.results {
                        match known.results.get(result.call_id.as_str()) {
                            Some(at) => thread.take(sent, &mut from, at + 1),
                            None => thread.add(One::Result(result)),
                        }
                    }
                }
                Message::User(user) => match pieces.last() {
                    Some(at) => thread.take(sent, &mut from, at + 1),
                    None => thread.add(One::User(user)),
                },
                Message::Assistant(reply) => {
                    let is_whole = known.is_whole(reply, &pieces, sent);
                    pieces.extend(known.calls_of(message));
                    let whole = pieces.iter().max().copied().filter(|_| is_whole);
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
        let mut ids = Ids::of(&self.messages);
        out.push(b'[');
        for (at, one) in self.messages.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            match one {
                One::Sent(sent) => echo(&sent.raw, &format!("{run}-sent-{at}"), out),
                One::User(message) => user(message, &ids.id(&message.id, &message.metadata), out),
                One::Assistant(message) => {
                    assistant(message, &ids.id(&message.id, &message.metadata), shown, out);
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

/// The ids under which a client is told messages: no two have the same.
struct Ids<'m> {
    sent: HashSet<&'m str>,
    /// Those that are taken: the client's, those of the session itself, and others that were told.
    taken: HashSet<Cow<'m, str>>,
}

impl<'m> Ids<'m> {
    fn of(messages: &[One<'m>]) -> Self {
        let (mut sent, mut taken) = (HashSet::new(), HashSet::new());
        for message in messages {
            match *message {
                One::Sent(message) => sent.extend(message.id.as_deref()),
                One::User(message) => drop(taken.insert(message.id.as_str().into())),
                One::Assistant(message) => drop(taken.insert(message.id.as_str().into())),
                One::Result(result) => drop(taken.insert(id_of_result(&result.call_id).into())),
            }
        }
        taken.extend(sent.iter().map(|id| Cow::Borrowed(*id)));
        Self { sent, taken }
    }

    /// The id of a message of the session: that which another client gave it, or its own; where the client has another
    /// message of that id, one by which it is known as a piece of this one.
    fn id(&mut self, own: &'m MessageId, metadata: &'m Metadata) -> Cow<'m, str> {
        let given = metadata.get(CLIENT_ID).and_then(Value::as_str).map(Cow::Borrowed);
        if let Some(given) = given.filter(|id| self.taken.insert(id.clone())) {
            return given;
        }
        if !self.sent.contains(own.as_str()) {
            return own.as_str().into();
        }
        let pieces = (1_u64..).map(|piece| Cow::<str>::Owned(format!("{own}-{piece}")));
        let mut free = pieces.filter(|id| self.taken.insert(id.clone()));
        free.next().unwrap_or_default()
    }
}

/// The places of a client's messages by that by which they are known.
#[derive(Default)]
struct Known<'s> {
    /// By role and id. A reply may stand in several messages, each with a piece of it.
    ids: HashMap<(&'s str, &'s str), Vec<usize>>,
    calls: HashMap<&'s str, usize>,
    results: HashMap<&'s str, usize>,
}

impl<'s> Known<'s> {
    fn of(sent: &'s [Sent]) -> Self {
        let mut known = Self::default();
        for (at, sent) in sent.iter().enumerate() {
            if let Some(id) = sent.id.as_deref() {
                let role = sent.role.as_str();
                known.ids.entry((role, id)).or_default().push(at);
                let is_number = |piece: &str| piece.bytes().all(|digit| digit.is_ascii_digit());
                if let Some((reply, _)) = id.rsplit_once('-').filter(|(_, piece)| is_number(piece)) {
                    known.ids.entry((role, reply)).or_default().push(at);
                }
            }
            known.calls.extend(sent.calls.iter().map(|call| (call.as_str(), at)));
            known.results.extend(sent.result.as_deref().map(|call| (call, at)));
        }
        known
    }

    /// The places of a message of the session, in order: it is known by its id, or by that which the client gave it.
    fn named<'k>(&'k self, message: &'k Message) -> &'k [usize] {
        let role = match message {
            Message::User(_) => USER,
            Message::Assistant(_) => ASSISTANT,
            _ => return &[],
        };
        let mut ids = [Some(message.id().as_str()), given(message)].into_iter().flatten();
        ids.find_map(|id| self.ids.get(&(role, id))).map(Vec::as_slice).unwrap_or_default()
    }

    /// The places of the calls of a message.
    fn calls_of(&self, message: &Message) -> impl Iterator<Item = usize> {
        let calls = match message {
            Message::Assistant(reply) => Some(reply.tool_calls()),
            _ => None,
        };
        calls.into_iter().flatten().filter_map(|call| self.calls.get(call.id.as_str()).copied())
    }

    /// The places of what is known of a message by ids: its own, and those of its calls and results.
    fn anchors(&self, message: &Message) -> Vec<usize> {
        let results = match message {
            Message::ToolResults(told) => told.results.as_slice(),
            _ => &[],
        };
        let results = results.iter().filter_map(|result| self.results.get(result.call_id.as_str()));
        self.named(message).iter().chain(results).copied().chain(self.calls_of(message)).collect()
    }

    /// The places of each message of the session. One that has no id of a client, and one that the client sent without an
    /// id, are known by role and words: each message of the client stands for one of them, in order, and between those
    /// that are known by ids.
    fn places(&self, read: &[&Message], sent: &[Sent]) -> Vec<Vec<usize>> {
        let mut places: Vec<Vec<usize>> = read.iter().map(|message| self.named(message).to_vec()).collect();
        let mut unnamed = Unnamed::of(sent, &places.iter().flatten().copied().collect());
        let anchors: Vec<Vec<usize>> = read.iter().map(|message| self.anchors(message)).collect();
        // The first place of those behind each message.
        let mut before = vec![sent.len(); read.len()];
        let mut next = sent.len();
        for (before, anchors) in before.iter_mut().zip(&anchors).rev() {
            *before = next;
            next = anchors.iter().copied().fold(next, usize::min);
        }
        let mut from = 0;
        for (((message, places), anchors), before) in read.iter().zip(&mut places).zip(&anchors).zip(before) {
            // Calls stand beside the text, or in a message of their own.
            let has_text = |at: usize| sent.get(at).is_some_and(|sent| !sent.text.trim().is_empty());
            if places.is_empty() && !self.calls_of(message).any(has_text) {
                places.extend(unnamed.take(message, from..before));
            }
            from = anchors.iter().map(|at| at + 1).fold(from, usize::max);
        }
        places
    }

    /// True if the client has all of a reply: one that hung up while it was said has its beginning alone.
    fn is_whole(&self, reply: &AssistantMessage, pieces: &[usize], sent: &[Sent]) -> bool {
        let pieces = pieces.iter().filter_map(|at| sent.get(*at));
        let has: String = pieces.map(|sent| sent.text.as_str()).collect();
        let is_cut = reply.text().strip_prefix(has.as_str()).is_some_and(|rest| !rest.trim().is_empty());
        let has_calls = reply.tool_calls().all(|call| self.calls.contains_key(call.id.as_str()));
        has_calls && (!is_cut || has.is_empty() && reply.tool_calls().next().is_some())
    }
}

const USER: &str = "user";
const ASSISTANT: &str = "assistant";

/// The id that a client gave a message.
fn given(message: &Message) -> Option<&str> {
    message.metadata().get(CLIENT_ID).and_then(Value::as_str)
}

/// The messages of a client that no id ties to one of the session, by role and words.
struct Unnamed<'s> {
    users: HashMap<&'s str, Places>,
    replies: HashMap<&'s str, Places>,
}

/// Places of messages, in order, and whether these have ids.
type Places = VecDeque<(usize, bool)>;

impl<'s> Unnamed<'s> {
    fn of(sent: &'s [Sent], named: &HashSet<usize>) -> Self {
        let (mut users, mut replies) = (HashMap::new(), HashMap::new());
        // Messages behind the last reply are new.
        let new = sent.iter().rposition(|sent| sent.role == ASSISTANT).unwrap_or_default();
        for (at, sent) in sent.iter().enumerate() {
            let text = sent.text.trim();
            let said: &mut HashMap<&str, Places> = match sent.role.as_str() {
                USER if at < new => &mut users,
                // Others are known by their calls.
                ASSISTANT if sent.calls.is_empty() && !text.is_empty() => &mut replies,
                _ => continue,
            };
            if !named.contains(&at) {
                said.entry(text).or_default().push_back((at, sent.id.is_some()));
            }
        }
        Self { users, replies }
    }

    /// Takes the first one within these places that may stand for a message of the session.
    fn take(&mut self, message: &Message, within: Range<usize>) -> Option<usize> {
        let (said, words) = match message {
            Message::User(said) if said.origin != UserOrigin::Event => (&mut self.users, words(said)),
            Message::Assistant(reply) => (&mut self.replies, reply.text()),
            _ => return None,
        };
        let said = said.get_mut(words.trim())?;
        while said.front().is_some_and(|(at, _)| *at < within.start) {
            said.pop_front();
        }
        let is_named = given(message).is_some();
        let mut inside = said.iter().take_while(|(at, _)| *at < within.end);
        let found = inside.position(|(_, has_id)| !(is_named && *has_id))?;
        said.remove(found).map(|(at, _)| at)
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
                Object::begin(out).with("type", "text").text("text", text.text()).end();
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
                    Object::begin(out).with("name", &call.name).text("arguments", arguments).end();
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
    object.text("content", content).with("role", "tool").by("metadata", |out| {
        let object = Object::begin(out).with("isError", &result.is_error());
        match documents {
            true => object.each("documents", result.tree.shown(), event::document),
            false => object,
        }
        .end();
    })
}

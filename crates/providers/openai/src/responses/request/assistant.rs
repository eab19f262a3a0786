//! Replies of the model as they go back to it: the items that it sent, in their order (openai.md B.7).

use std::borrow::Cow;
use std::collections::BTreeMap;

use attache_core::message::{MadeDocument, OpaquePart, ReplayData};
use attache_core::{AssistantMessage, AssistantPart, ReasoningPart, TextPart, ToolCall};
use attache_transport::Fill::{Json, Text};
use attache_transport::{ItemWriter, joined, note, separate, template, unknown_part};
use bytes::Bytes;
use serde_json::value::RawValue;

use super::messages::Renderer;
use crate::error::Result;
use crate::profile::{ItemIds, ReasoningItems, ResponsesRules};
use crate::responses::response::wire::CUSTOM_CALL;

/// The member that a text has for itself among those of its message.
const ANNOTATIONS: &str = "annotations";

/// An item of a reply.
#[derive(Debug)]
enum Item<'a> {
    /// Reasoning, or what we do not understand.
    Verbatim(&'a str),
    /// An item that the server made, and its bytes.
    Made(&'a str, Bytes),
    /// Texts that came in one message, and whether the reasoning that produced them stands before them.
    Message(Vec<&'a TextPart>, bool),
    /// A call by its number, and the same.
    Call(usize, &'a ToolCall, bool),
    /// A word in the place of a document whose item does not go back.
    Note(TextPart),
}

/// The fate of the reasoning that an item came behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    /// There was none.
    None,
    /// It goes back.
    Kept,
    /// It does not, so that what it produced stands alone.
    Lost,
}

/// Finds the items of a reply.
struct Finder<'a> {
    renderer: &'a Renderer<'a>,
    items: Vec<Item<'a>>,
    /// Reasoning that has produced nothing so far. If that stays so, the server would miss its product.
    pending: Vec<&'a str>,
    reason: Reason,
    calls: usize,
    /// The item before goes back, and with it the documents that stand in it.
    holds: bool,
}

impl Renderer<'_> {
    /// Writes a reply of the model, whose calls have these ids; `false` if nothing of it can go back.
    pub(super) fn assistant(
        &self,
        message: &AssistantMessage,
        ids: &[String],
        out: &mut ItemWriter<'_>,
    ) -> Result<bool> {
        let items = Finder::new(self).find(message)?;
        let mut used = Vec::new();
        let mut first = true;
        for item in &items {
            separate(&mut first, out);
            match item {
                Item::Verbatim(json) => self.verbatim(json, out),
                Item::Made(json, bytes) => {
                    out.raw(json.trim_end().strip_suffix('}').unwrap_or(json));
                    out.raw(",\"result\":\"");
                    out.base64(bytes);
                    out.raw("\"}");
                }
                Item::Message(texts, paired) => self.message(texts, *paired, &mut used, out),
                Item::Note(note) => self.message(&[note], false, &mut used, out),
                Item::Call(at, call, paired) => {
                    let id = ids.get(*at).map_or(call.id.as_str(), String::as_str);
                    self.call(call, id, *paired, &mut used, out);
                }
            }
        }
        Ok(!first)
    }

    fn rules(&self) -> &ResponsesRules {
        &self.server.profile.responses
    }

    /// Data that came from this profile.
    fn known<'r>(&self, replay: Option<&'r ReplayData>) -> Option<&'r ReplayData> {
        replay.filter(|replay| replay.family() == self.server.profile.name)
    }

    /// Data that came from this profile and model, to which ids and encrypted content belong.
    fn own<'r>(&self, replay: Option<&'r ReplayData>) -> Option<&'r ReplayData> {
        self.known(replay).filter(|replay| replay.model() == &*self.server.model)
    }

    fn verbatim(&self, json: &str, out: &mut ItemWriter<'_>) {
        let without_id = self.rules().item_ids == ItemIds::Never;
        match without_id.then(|| members(json)).flatten() {
            Some(members) => {
                out.raw("{");
                let mut first = true;
                for (name, value) in members.iter().filter(|(name, _)| *name != "id") {
                    separate(&mut first, out);
                    out.fill(template!("$:$"), &[Text(name), Json(value.get())]);
                }
                out.raw("}");
            }
            _ => out.raw(json),
        }
    }

    /// The id of an item with these members, if it goes back. No two items of a reply have the same.
    fn item_id<'m>(&self, members: &'m Members<'_>, paired: bool, used: &mut Vec<String>) -> Option<&'m str> {
        let id = members.get("id").filter(|_| paired && self.rules().item_ids == ItemIds::WithReasoning)?;
        let plain: String = serde_json::from_str(id.get()).ok()?;
        if plain.is_empty() || used.contains(&plain) {
            return None;
        }
        used.push(plain);
        Some(id.get())
    }

    fn message(&self, texts: &[&TextPart], paired: bool, used: &mut Vec<String>, out: &mut ItemWriter<'_>) {
        let replay = texts.first().and_then(|text| text.replay());
        let known = self.known(replay).and_then(|replay| members(replay.json())).unwrap_or_default();
        let id = self.item_id(&known, paired && self.own(replay).is_some(), used);
        out.raw(r#"{"type":"message","role":"assistant""#);
        match id {
            Some(_) => rest(&known, &["type", "role", "content", ANNOTATIONS], out),
            // The phase is of use without the id; the API is known to have it, since it came from there.
            None => rest(&known, &["type", "role", "content", ANNOTATIONS, "id", "status"], out),
        }
        out.raw(r#","content":"#);
        let refuses = self.server.profile.refusal_parts && texts.iter().any(|text| text.is_refusal());
        if id.is_none() && !refuses && (texts.len() == 1 || self.server.profile.joined_texts) {
            joined(texts.iter().map(|text| text.text()), "", out);
        } else {
            out.raw("[");
            let mut first = true;
            for text in texts {
                separate(&mut first, out);
                if text.is_refusal() && self.server.profile.refusal_parts {
                    out.fill(template!(r#"{"type":"refusal","refusal":$}"#), &[Text(text.text())]);
                } else {
                    let known = self.known(text.replay()).and_then(|replay| members(replay.json()));
                    let annotations = known.and_then(|known| known.get(ANNOTATIONS).copied());
                    let annotations = annotations.map_or("[]", RawValue::get);
                    out.fill(
                        template!(r#"{"type":"output_text","annotations":$,"text":$}"#),
                        &[Json(annotations), Text(text.text())],
                    );
                }
            }
            out.raw("]");
        }
        out.raw("}");
    }

    /// A call with what else came with it. Name, id and arguments are those that the results and tools go by.
    fn call(
        &self,
        call: &ToolCall,
        call_id: &str,
        paired: bool,
        used: &mut Vec<String>,
        out: &mut ItemWriter<'_>,
    ) {
        let own = self.own(call.replay.as_deref()).and_then(|replay| members(replay.json()));
        let own = own.unwrap_or_default();
        out.raw(r#"{"type":"function_call""#);
        match self.item_id(&own, paired, used) {
            Some(_) => rest(&own, &["type", "call_id", "name", "arguments"], out),
            None => rest(&own, &["type", "call_id", "name", "arguments", "id", "status"], out),
        }
        out.fill(
            template!(r#","call_id":$,"name":$,"arguments":$}"#),
            &[
                Text(call_id),
                Text(&self.request.tools.wire_name(&call.name)),
                Text(call.arguments.replay_json()),
            ],
        );
    }
}

impl<'a> Finder<'a> {
    fn new(renderer: &'a Renderer<'a>) -> Self {
        let (items, pending) = (Vec::new(), Vec::new());
        Self { renderer, items, pending, reason: Reason::None, calls: 0, holds: false }
    }

    fn find(mut self, message: &'a AssistantMessage) -> Result<Vec<Item<'a>>> {
        for part in &message.parts {
            match part {
                AssistantPart::Text(text) => self.text(text),
                AssistantPart::Reasoning(reasoning) => self.reasoning(reasoning),
                AssistantPart::ToolCall(call) => {
                    let paired = self.product();
                    self.items.push(Item::Call(self.calls, call, paired));
                    self.calls += 1;
                }
                AssistantPart::Opaque(opaque) => {
                    self.holds = self.opaque(opaque);
                    continue;
                }
                AssistantPart::Document(made) => {
                    self.document(made);
                    continue;
                }
                _ => return Err(unknown_part(&message.id)),
            }
            self.holds = false;
        }
        if !self.is_paired() && !self.items.is_empty() {
            self.product();
        }
        if self.renderer.rules().calls_last {
            self.items.sort_by_key(|item| matches!(item, Item::Call(..)));
        }
        Ok(self.items)
    }

    fn is_paired(&self) -> bool {
        self.renderer.rules().reasoning == ReasoningItems::Paired
    }

    /// Reasoning waits for what it produced; of another model or server it does not go back.
    fn reasoning(&mut self, part: &'a ReasoningPart) {
        let takes = |json: &str| !self.is_paired() || self.renderer.stored || has_encrypted_content(json);
        match self.renderer.own(part.replay()).map(|replay| replay.json()).filter(|json| takes(json)) {
            Some(json) if self.pending.last() == Some(&json) => {}
            Some(json) => self.pending.push(json),
            // Reasoning of a server that takes all of it still goes back.
            None => {
                if self.is_paired() {
                    self.pending.clear();
                }
                self.reason = Reason::Lost;
            }
        }
    }

    /// Puts the reasoning that waits before the item that comes next. Yields whether reasoning of it is there.
    fn product(&mut self) -> bool {
        // Only the last one leads to it. The item that another one led to is not there any more, which OpenAI would
        // miss.
        let over = if self.is_paired() { self.pending.len().saturating_sub(1) } else { 0 };
        for json in self.pending.drain(..).skip(over) {
            self.items.push(Item::Verbatim(json));
            self.reason = Reason::Kept;
        }
        self.reason == Reason::Kept
    }

    fn text(&mut self, text: &'a TextPart) {
        if let (Some(Item::Message(texts, _)), true) = (self.items.last_mut(), self.pending.is_empty())
            && texts.last().is_some_and(|last| is_one_message(last.replay(), text.replay()))
        {
            texts.push(text);
            return;
        }
        let paired = self.product();
        self.items.push(Item::Message(vec![text], paired));
    }

    /// Items that we do not understand go back to where they came from, unless they belong to reasoning that does not,
    /// or are sealed for another model. A call without its output, which the server kept, is one that nobody answered.
    /// Yields whether it goes back.
    fn opaque(&mut self, part: &'a OpaquePart) -> bool {
        let Some(replay) = self.renderer.known(Some(&part.replay)) else { return false };
        let sealed = || self.renderer.own(Some(replay)).is_none() && has_encrypted_content(replay.json());
        if &*part.kind == CUSTOM_CALL || self.is_orphan() || sealed() {
            return false;
        }
        self.product();
        self.items.push(Item::Verbatim(replay.json()));
        true
    }

    /// True if what comes next was led to by reasoning that does not go back.
    fn is_orphan(&self) -> bool {
        self.pending.is_empty() && self.reason == Reason::Lost
    }

    /// A document goes back as its own item, or inside the item before it, which has nothing beside it. Where that
    /// item stays behind, a note tells of it. Documents of other servers are notes already.
    fn document(&mut self, made: &'a MadeDocument) {
        let Some(replay) = self.renderer.known(made.replay.as_ref()) else { return };
        let stands_inside = replay.json() == "{}";
        match made.document.bytes() {
            _ if stands_inside && self.holds => {}
            Some(bytes) if !stands_inside && !self.is_orphan() => {
                self.product();
                self.items.push(Item::Made(replay.json(), bytes));
            }
            _ => self.items.extend(TextPart::new(note(&made.document)).map(Item::Note)),
        }
    }
}

/// True if texts with this beside them came in one message.
fn is_one_message(a: Option<&ReplayData>, b: Option<&ReplayData>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return a.is_none() && b.is_none() };
    let shell = |replay: &ReplayData| {
        let members = members(replay.json()).unwrap_or_default().into_iter();
        let members = members.filter(|(name, _)| name != ANNOTATIONS);
        members.map(|(name, value)| (name.into_owned(), value.get().to_owned())).collect::<Vec<_>>()
    };
    let same_place = a.family() == b.family() && a.model() == b.model();
    same_place && (a.json() == b.json() || shell(a) == shell(b))
}

type Members<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

fn members(json: &str) -> Option<Members<'_>> {
    serde_json::from_str(json).ok()
}

/// Writes the members but for some and those that are null, each behind a comma.
fn rest(members: &Members<'_>, without: &[&str], out: &mut ItemWriter<'_>) {
    for (name, value) in members {
        if !without.contains(&name.as_ref()) && value.get() != "null" {
            out.fill(template!(",$:$"), &[Text(name), Json(value.get())]);
        }
    }
}

fn has_encrypted_content(json: &str) -> bool {
    let blob = members(json).and_then(|members| members.get("encrypted_content").copied());
    blob.is_some_and(|blob| blob.get().starts_with('"') && blob.get() != "\"\"")
}

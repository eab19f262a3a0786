//! Messages as content blocks (bedrock.md 3).

use attache_core::capability::Place;
use attache_core::message::OpaquePart;
use attache_core::{
    AssistantMessage, AssistantPart, Document, DocumentSource, MediaKind, Message, ReasoningPart, ToolCall,
    ToolResult, ToolSet, UserMessage, UserPart,
};
use attache_transport::Fill::{Bare, Json, Text};
use attache_transport::claude::{CITED, UNCITED, passages};
use attache_transport::{
    Codec as _, ItemWriter, RoleTag, Shown, cannot_take, check_result_routed, check_routed, comma,
    place_of_result, place_of_user, shown, template,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::documents;
use super::history::{ASSISTANT, Plan, RESULTS, is_file, is_of_model, is_replayed};
use crate::capabilities::FAMILY;
use crate::codec::ConverseCodec;
use crate::error::{self, Result};

/// The text where the API demands words and there are none.
pub(super) const PLACEHOLDER: &str = ".";

/// The text that keeps two messages of the user apart, which the API would merge otherwise.
pub(super) const APART: &str =
    r#"]},{"role":"assistant","content":[{"text":"."}]},{"role":"user","content":["#;

/// Renders the messages of one conversation.
pub(super) struct Renderer<'a> {
    pub(super) codec: &'a ConverseCodec,
    pub(super) tools: &'a ToolSet,
    pub(super) plan: &'a Plan,
    /// The assistant's message that the conversation ends with, if it does: its text must not end in white space.
    pub(super) ending: Option<usize>,
    /// The documents are to be cited.
    pub(super) cites: bool,
}

/// A message that is being written.
struct Page<'w, 'i, 'n> {
    item: &'w mut ItemWriter<'i>,
    /// The names of the message's documents that are left.
    names: std::slice::Iter<'n, String>,
    has_text: bool,
    /// True if a document stands in it, outside of results.
    has_file: bool,
}

impl Renderer<'_> {
    /// Writes the blocks of the message at `index`, separated by commas; nothing for one that leaves nothing.
    pub(super) fn message(
        &self,
        index: usize,
        message: &Message,
        item: &mut ItemWriter<'_>,
    ) -> Result<Option<RoleTag>> {
        let names = self.plan.names(index).iter();
        let role = match message {
            Message::System(_) if index < self.plan.leading() => return Ok(None),
            // Instructions have one place. Later ones stay where they were given, as marked text, so that what
            // stands before them is still read from the cache.
            Message::System(system) => {
                for part in &system.parts {
                    comma(item);
                    item.fill(template!(r#"{"text":"<system>\n$\n</system>"}"#), &[Bare(part.text())]);
                    item.marker_here();
                }
                self.plan.role(index)
            }
            Message::User(user) => {
                self.user(user, &mut Page::new(item, names))?;
                self.plan.role(index)
            }
            Message::Assistant(assistant) => {
                // Reasoning alone is taken for the beginning of an answer, and refused.
                if assistant.parts.iter().any(|part| self.is_said(part, assistant)) {
                    self.assistant(assistant, self.ending == Some(index), item);
                }
                ASSISTANT
            }
            Message::ToolResults(results) => {
                let mut page = Page::new(item, names);
                for result in &results.results {
                    self.result(result, &mut page)?;
                }
                RESULTS
            }
            _ => return Err(error::configuration("this kind of message is not known here")),
        };
        Ok((!item.is_empty()).then_some(role))
    }

    fn user(&self, message: &UserMessage, page: &mut Page<'_, '_, '_>) -> Result<()> {
        check_routed(message)?;
        let place = place_of_user(message);
        for content in message.shown() {
            self.content(content, place, page)?;
        }
        page.say_something();
        Ok(())
    }

    fn content(&self, content: &UserPart, place: Place, page: &mut Page<'_, '_, '_>) -> Result<()> {
        match content {
            UserPart::Text(part) => page.text(part.text()),
            UserPart::Object(tree) if tree.is_blank() => {}
            UserPart::Object(tree) => page.literal(&tree.model_text_literal()),
            UserPart::Document(document) => self.document(document, place, page)?,
            _ => return Err(error::configuration("this kind of content is not known here")),
        }
        Ok(())
    }

    fn document(&self, document: &Document, place: Place, page: &mut Page<'_, '_, '_>) -> Result<()> {
        let name = if is_file(document) { page.names.next() } else { None };
        let media = document.media_type();
        let (model, capabilities) = (self.codec.model(), self.codec.capabilities());
        let cannot = |why: &str| Err(cannot_take(model, document, place, why));
        // A type that stands nowhere is told before one that cannot stand there.
        let is_address = matches!(document.source(), DocumentSource::External { .. });
        if is_address && capabilities.place(place).accepts(media) {
            return cannot("the API fetches nothing from addresses");
        }
        let cites = self.cites && capabilities.place(place).cites(media);
        let (bytes, is_text) = match shown(model, capabilities, document, place, false, None)? {
            Shown::Text(bytes) => (bytes, true),
            Shown::Bytes(bytes) => (bytes, false),
            Shown::Address(_) | Shown::File(_) => return cannot("the API fetches nothing from addresses"),
        };
        if self.cites && !cites && is_file(document) {
            return cannot(UNCITED);
        }
        if bytes.trim_ascii().is_empty() {
            return cannot("it is empty");
        }
        if is_text {
            match std::str::from_utf8(&bytes).ok().filter(|text| !text.trim().is_empty()) {
                Some(text) if cites => page.search_result(document, text),
                Some(text) => page.text(text),
                None => return cannot("it is not readable as text"),
            }
            return Ok(());
        }
        let Some((block, format)) = documents::block(media) else {
            return cannot("the API has no block for this type");
        };
        comma(page.item);
        page.item.raw("{\"");
        page.item.raw(block);
        page.item.raw(r#"":{"format":""#);
        page.item.raw(format);
        if let Some(name) = name {
            page.has_file |= matches!(place, Place::User | Place::AfterToolResults);
            page.item.raw(r#"","name":""#);
            page.item.raw(name);
        }
        page.item.raw(r#"","source":{"bytes":""#);
        page.item.base64(&bytes);
        page.item.raw(r#""}"#);
        if cites {
            page.item.raw(CITED);
        }
        page.item.raw("}}");
        if media.kind() == MediaKind::Image {
            page.item.marker_here();
        }
        Ok(())
    }

    fn result(&self, result: &ToolResult, page: &mut Page<'_, '_, '_>) -> Result<()> {
        check_result_routed(result)?;
        let family = self.codec.family();
        let id = self.plan.ids().of_result(result);
        let item = &mut *page.item;
        comma(item);
        item.fill(template!(r#"{"toolResult":{"toolUseId":$"#), &[Text(id)]);
        if result.is_error() && family.status {
            item.raw(r#","status":"error""#);
        }
        let text = result.tree.model_text_literal();
        if result.is_error() && !family.status {
            item.raw(r#","content":[{"text":"Error: "#);
            item.raw(text.strip_prefix('"').unwrap_or(&text));
            item.raw("}");
        } else if !family.json_results {
            item.fill(template!(r#","content":[{"text":$}"#), &[Json(&text)]);
        } else if result.tree.json().starts_with('{') {
            item.fill(template!(r#","content":[{"json":$}"#), &[Json(result.tree.json())]);
        } else {
            item.raw(r#","content":[{"json":{"result":"#);
            item.raw(if result.tree.is_blank() { &text } else { result.tree.json() });
            item.raw("}}");
        }
        let place = place_of_result(result);
        for content in result.attached() {
            self.content(content, place, page)?;
        }
        page.item.raw("]}}");
        // Nothing inside a result takes a cache point behind it; the result does.
        page.item.marker_here();
        Ok(())
    }

    /// True if a part of the assistant's leaves a block other than reasoning.
    fn is_said(&self, part: &AssistantPart, message: &AssistantMessage) -> bool {
        match part {
            AssistantPart::Text(_) | AssistantPart::ToolCall(_) => true,
            AssistantPart::Opaque(part) => self.goes_back(part, message),
            _ => false,
        }
    }

    /// True if a block of the provider goes back. Media may not stand on the assistant's side, and a call of a server
    /// tool that was never answered never will be.
    fn goes_back(&self, part: &OpaquePart, message: &AssistantMessage) -> bool {
        if !is_of_model(&part.replay, self.codec)
            || matches!(part.kind.as_str(), "image" | "document" | "video" | "audio")
        {
            return false;
        }
        let Some(ServerBlock { tool_use: Some(ServerId { id: Some(id) }), .. }) = part.replay.read(FAMILY)
        else {
            return true;
        };
        message.parts.iter().any(|part| match part {
            AssistantPart::Opaque(part) => {
                let block: Option<ServerBlock> = part.replay.read(FAMILY);
                block
                    .and_then(|block| block.tool_result)
                    .is_some_and(|answer| answer.id.as_ref() == Some(&id))
            }
            _ => false,
        })
    }

    fn assistant(&self, message: &AssistantMessage, ending: bool, item: &mut ItemWriter<'_>) {
        let is_written = |part: &AssistantPart| match part {
            AssistantPart::Reasoning(part) => is_replayed(part, self.codec),
            part => self.is_said(part, message),
        };
        let last = if ending { message.parts.iter().rposition(is_written) } else { None };
        for (at, part) in message.parts.iter().enumerate() {
            match part {
                AssistantPart::Text(part) => {
                    comma(item);
                    item.raw(r#"{"text":"#);
                    item.string(if last == Some(at) { part.text().trim_end() } else { part.text() });
                    item.raw("}");
                    item.marker_here();
                }
                AssistantPart::Reasoning(part) if is_replayed(part, self.codec) => reasoning(part, item),
                AssistantPart::ToolCall(call) => self.call(call, item),
                AssistantPart::Opaque(part) if self.goes_back(part, message) => {
                    comma(item);
                    item.raw(part.replay.json().trim());
                }
                // Reasoning and blocks that mean nothing to this model.
                _ => {}
            }
        }
    }

    fn call(&self, call: &ToolCall, item: &mut ItemWriter<'_>) {
        comma(item);
        item.fill(
            template!(r#"{"toolUse":{"toolUseId":$,"name":$,"input":$}}"#),
            &[
                Text(self.plan.ids().of_call(call)),
                Text(&self.tools.wire_name(&call.name)),
                Json(call.arguments.replay_json()),
            ],
        );
        item.marker_here();
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ServerBlock {
    tool_use: Option<ServerId>,
    tool_result: Option<ServerId>,
}

#[derive(Deserialize)]
struct ServerId {
    #[serde(rename = "toolUseId")]
    id: Option<String>,
}

impl<'w, 'i, 'n> Page<'w, 'i, 'n> {
    fn new(item: &'w mut ItemWriter<'i>, names: std::slice::Iter<'n, String>) -> Self {
        Self { item, names, has_text: false, has_file: false }
    }

    fn text(&mut self, text: &str) {
        comma(self.item);
        self.item.raw(r#"{"text":"#);
        self.item.string(text);
        self.end_text();
    }

    /// A text that is a JSON string already.
    fn literal(&mut self, literal: &str) {
        comma(self.item);
        self.item.raw(r#"{"text":"#);
        self.item.raw(literal);
        self.end_text();
    }

    fn end_text(&mut self) {
        self.item.raw("}");
        self.item.marker_here();
        self.has_text = true;
    }

    /// A text that is to be cited, passage by passage.
    fn search_result(&mut self, document: &Document, text: &str) {
        comma(self.item);
        self.item.raw(r#"{"searchResult":{"source":"#);
        self.item.string(document.id().as_str());
        self.item.raw(r#","title":"#);
        self.item.string(document.file_name().unwrap_or_else(|| document.id().short()));
        self.item.raw(r#","content":["#);
        for (at, passage) in passages(text).into_iter().enumerate() {
            self.item.raw(if at > 0 { r#",{"text":"# } else { r#"{"text":"# });
            self.item.string(passage);
            self.item.raw("}");
        }
        self.item.raw("]");
        self.item.raw(CITED);
        self.item.raw("}}");
    }

    /// Documents need words beside them.
    fn say_something(&mut self) {
        if self.has_file && !self.has_text {
            self.text(PLACEHOLDER);
        }
    }
}

/// Thinking with its signature, or the hidden block as it came. Neither takes a cache point behind it.
fn reasoning(part: &ReasoningPart, item: &mut ItemWriter<'_>) {
    #[derive(Deserialize)]
    struct Replay {
        signature: Box<RawValue>,
    }
    let Some(replay) = part.replay() else { return };
    if part.is_redacted() {
        comma(item);
        item.fill(template!(r#"{"reasoningContent":$}"#), &[Json(replay.json().trim())]);
    } else if let Some(Replay { signature }) = replay.read(FAMILY) {
        comma(item);
        item.fill(
            template!(r#"{"reasoningContent":{"reasoningText":{"text":$,"signature":$}}}"#),
            &[Text(part.text()), Json(signature.get())],
        );
    }
}

//! Messages as content blocks (anthropic.md 3, 4).

use attache_core::capability::Place;
use attache_core::files::FileReferences;
use attache_core::{
    AssistantMessage, AssistantPart, Document, MediaKind, Message, ReasoningPart, TextPart, ToolCall,
    ToolResult, ToolSet, UserMessage, UserPart,
};
use attache_transport::Fill::{Bare, Base64, Json, Text};
use attache_transport::claude::{CITED, UNCITED, passages};
use attache_transport::{
    Codec as _, ItemWriter, RoleTag, Shown, cannot_take, check_result_routed, check_routed, comma,
    place_of_result, place_of_user, shown, template,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::history::{CallReplay, Plan, is_block, is_replayed};
use crate::capabilities::FAMILY;
use crate::codec::MessagesCodec;
use crate::error::{self, Result};
use crate::response::is_explanation;

pub(super) const USER: RoleTag = RoleTag::new(0);
pub(super) const ASSISTANT: RoleTag = RoleTag::new(1);

/// Renders the messages of one conversation.
pub(super) struct Renderer<'a> {
    pub(super) codec: &'a MessagesCodec,
    pub(super) tools: &'a ToolSet,
    pub(super) files: &'a FileReferences,
    /// The documents are to be cited.
    pub(super) cites: bool,
    pub(super) plan: &'a Plan,
    /// Where the assistant's last message stands if the conversation ends with it: its text must not end in white
    /// space.
    pub(super) ending: Option<&'a Message>,
    /// System messages that stand at the top level.
    pub(super) leading: Vec<&'a Message>,
}

impl Renderer<'_> {
    /// Writes the blocks of `message`, separated by commas; nothing for one that leaves nothing.
    pub(super) fn message(&self, message: &Message, item: &mut ItemWriter<'_>) -> Result<Option<RoleTag>> {
        let role = match message {
            Message::System(_) if self.leading.iter().any(|leading| std::ptr::eq(*leading, message)) => {
                return Ok(None);
            }
            // The API has one place for instructions. Later ones stay where they were given, as marked text, so
            // that what stands before them is still read from the cache.
            Message::System(system) => {
                for part in &system.parts {
                    comma(item);
                    item.fill(
                        template!(r#"{"type":"text","text":"<system>\n$\n</system>""#),
                        &[Bare(part.text())],
                    );
                    end(item);
                }
                USER
            }
            Message::User(user) => {
                self.user(user, item)?;
                USER
            }
            Message::Assistant(assistant) => {
                let ending = self.ending.is_some_and(|ending| std::ptr::eq(ending, message));
                self.assistant(assistant, ending, item);
                ASSISTANT
            }
            Message::ToolResults(results) => {
                for result in &results.results {
                    self.result(result, item)?;
                }
                USER
            }
            _ => return Err(error::configuration("this kind of message is not known here")),
        };
        Ok((!item.is_empty()).then_some(role))
    }

    fn user(&self, message: &UserMessage, item: &mut ItemWriter<'_>) -> Result<()> {
        check_routed(message)?;
        let (place, unrouted) = (place_of_user(message), message.routed.is_none());
        message.shown().iter().try_for_each(|content| self.content(content, place, unrouted, item))
    }

    fn content(
        &self,
        content: &UserPart,
        place: Place,
        unrouted: bool,
        item: &mut ItemWriter<'_>,
    ) -> Result<()> {
        match content {
            UserPart::Text(part) => text(part.text(), item),
            UserPart::Object(tree) if tree.is_blank() => {}
            UserPart::Object(tree) => {
                comma(item);
                item.fill(template!(r#"{"type":"text","text":$"#), &[Json(&tree.model_text_literal())]);
                end(item);
            }
            UserPart::Document(document) => self.document(document, place, unrouted, item)?,
            _ => return Err(error::configuration("this kind of content is not known here")),
        }
        Ok(())
    }

    fn document(
        &self,
        document: &Document,
        place: Place,
        unrouted: bool,
        item: &mut ItemWriter<'_>,
    ) -> Result<()> {
        let media = document.media_type();
        let cannot = |why: &str| cannot_take(self.codec.model(), document, place, why);
        if place == Place::FailedResult {
            return Err(cannot("only text may stand there"));
        }
        let block = match media.kind() {
            MediaKind::Image => Some(r#"{"type":"image","source":{"type":""#),
            MediaKind::Pdf | MediaKind::Text => Some(r#"{"type":"document","source":{"type":""#),
            _ => None,
        };
        let (model, capabilities) = (self.codec.model(), self.codec.capabilities());
        let source = shown(model, capabilities, document, place, unrouted, Some(self.files))?;
        let block = block.ok_or_else(|| cannot("the API has no block for this type"))?;
        if let Shown::Text(bytes) | Shown::Bytes(bytes) = &source
            && bytes.trim_ascii().is_empty()
        {
            return Err(cannot("it is empty"));
        }
        let text = match &source {
            Shown::Text(bytes) => std::str::from_utf8(bytes).map_err(|_| cannot("its text is not UTF-8"))?,
            _ => "",
        };
        let cites = self.cites && capabilities.place(place).cites(media);
        if self.cites && !cites && media.kind() != MediaKind::Image {
            return Err(cannot(UNCITED));
        }
        if cites && matches!(source, Shown::Text(_)) {
            return search_result(document, text, item).ok_or_else(|| cannot("it is blank"));
        }
        comma(item);
        item.raw(block);
        match &source {
            Shown::File(id) => item.fill(template!(r#"file","file_id":$}"#), &[Text(id)]),
            Shown::Address(url) => item.fill(template!(r#"url","url":$}"#), &[Text(url)]),
            Shown::Text(_) => {
                item.fill(template!(r#"text","media_type":"text/plain","data":$}"#), &[Text(text)])
            }
            Shown::Bytes(bytes) => {
                item.fill(
                    template!(r#"base64","media_type":$,"data":"$"}"#),
                    &[Text(media.essence()), Base64(bytes)],
                );
            }
        }
        if media.kind() != MediaKind::Image
            && let Some(name) = document.file_name()
        {
            item.fill(template!(r#","title":$"#), &[Text(title(name))]);
        }
        if cites {
            item.raw(CITED);
        }
        end(item);
        Ok(())
    }

    fn result(&self, result: &ToolResult, item: &mut ItemWriter<'_>) -> Result<()> {
        check_result_routed(result)?;
        let id = self.plan.ids().of_result(result);
        comma(item);
        item.fill(template!(r#"{"type":"tool_result","tool_use_id":$"#), &[Text(id)]);
        if result.is_error() {
            item.raw(r#","is_error":true"#);
        }
        item.raw(r#","content":"#);
        let text = result.tree.model_text_literal();
        if result.attached().is_empty() {
            item.raw(&text);
        } else {
            item.fill(template!(r#"[{"type":"text","text":$}"#), &[Json(&text)]);
            let place = place_of_result(result);
            for content in result.attached() {
                self.content(content, place, false, item)?;
            }
            item.raw("]");
        }
        if let Some(name) = self.plan.toolset(&result.call_id) {
            item.fill(template!(r#","toolset_name":$"#), &[Json(name.get())]);
        }
        // Blocks inside a result take no marker; the result does.
        end(item);
        Ok(())
    }

    fn assistant(&self, message: &AssistantMessage, ending: bool, item: &mut ItemWriter<'_>) {
        let is_written = |part: &&AssistantPart| self.is_written(part);
        let last = if ending { message.parts.iter().rfind(is_written) } else { None };
        for part in message.parts.iter().filter(is_written) {
            let is_last = last.is_some_and(|last| std::ptr::eq(last, part));
            match part {
                AssistantPart::Text(part) => said(part, is_last, item),
                AssistantPart::Reasoning(part) => reasoning(part, item),
                AssistantPart::ToolCall(call) => self.call(call, item),
                AssistantPart::Opaque(part) => {
                    comma(item);
                    item.raw(part.replay.json().trim());
                }
                _ => {}
            }
        }
    }

    /// True unless a part is reasoning, or a block, that means nothing to this model, or the API's own word.
    fn is_written(&self, part: &AssistantPart) -> bool {
        match part {
            AssistantPart::Text(part) => !is_explanation(part),
            AssistantPart::ToolCall(_) => true,
            AssistantPart::Reasoning(part) => is_replayed(part, self.codec),
            AssistantPart::Opaque(part) => is_block(part) && !self.plan.is_orphan(part),
            _ => false,
        }
    }

    fn call(&self, call: &ToolCall, item: &mut ItemWriter<'_>) {
        comma(item);
        item.fill(
            template!(r#"{"type":"tool_use","id":$,"name":$,"input":$"#),
            &[
                Text(self.plan.ids().of_call(call)),
                Text(&self.tools.wire_name(&call.name)),
                Json(call.arguments.replay_json()),
            ],
        );
        if let Some(replay) = call.replay.as_ref().and_then(|replay| replay.read::<CallReplay>(FAMILY)) {
            for (member, value) in [("caller", replay.caller), ("toolset_name", replay.toolset_name)] {
                if let Some(value) = value {
                    item.fill(template!(r#","$":$"#), &[Bare(member), Json(value.get())]);
                }
            }
        }
        end(item);
    }
}

/// A text of the model, with the citations that came with it.
fn said(part: &TextPart, ending: bool, item: &mut ItemWriter<'_>) {
    #[derive(Deserialize)]
    struct Replay {
        citations: Box<RawValue>,
    }
    comma(item);
    let text = if ending { part.text().trim_end() } else { part.text() };
    item.fill(template!(r#"{"type":"text","text":$"#), &[Text(text)]);
    if let Some(replay) = part.replay().and_then(|replay| replay.read::<Replay>(FAMILY)) {
        item.fill(template!(r#","citations":$"#), &[Json(replay.citations.get())]);
    }
    end(item);
}

/// Thinking with its signature, or the hidden block as it came. Neither takes a marker.
fn reasoning(part: &ReasoningPart, item: &mut ItemWriter<'_>) {
    #[derive(Deserialize)]
    struct Replay {
        signature: Box<RawValue>,
    }
    let Some(replay) = part.replay() else { return };
    if part.is_redacted() {
        comma(item);
        item.raw(replay.json().trim());
    } else if let Some(Replay { signature }) = replay.read(FAMILY) {
        comma(item);
        item.fill(
            template!(r#"{"type":"thinking","thinking":$,"signature":$}"#),
            &[Text(part.text()), Json(signature.get())],
        );
    }
}

/// As much of a name as a title may have: 500 characters.
fn title(name: &str) -> &str {
    name.char_indices().nth(500).and_then(|(end, _)| name.get(..end)).unwrap_or(name)
}

/// A text that is to be cited, passage by passage; nothing if it is blank.
fn search_result(document: &Document, text: &str, item: &mut ItemWriter<'_>) -> Option<()> {
    let passages = passages(text);
    if passages.is_empty() {
        return None;
    }
    comma(item);
    item.fill(
        template!(r#"{"type":"search_result","source":$,"title":$,"content":["#),
        &[Text(document.id().as_str()), Text(document.file_name().unwrap_or_else(|| document.id().short()))],
    );
    for (at, passage) in passages.into_iter().enumerate() {
        item.raw(if at > 0 { "," } else { "" });
        item.fill(template!(r#"{"type":"text","text":$}"#), &[Text(passage)]);
    }
    item.fill(template!("]$"), &[Json(CITED)]);
    end(item);
    Some(())
}

fn text(text: &str, item: &mut ItemWriter<'_>) {
    comma(item);
    item.fill(template!(r#"{"type":"text","text":$"#), &[Text(text)]);
    end(item);
}

/// The end of a block that may carry a cache marker.
fn end(item: &mut ItemWriter<'_>) {
    item.marker_here();
    item.raw("}");
}

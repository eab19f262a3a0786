//! Messages as the API wants them (cohere.md 3).

use attache_core::capability::{Place, ReasoningReplay};
use attache_core::message::ReplayData;
use attache_core::{
    AssistantMessage, AssistantPart, Document, DocumentSource, ErrorKind, MediaKind, ProviderError,
    SystemMessage, TextPart, ToolCall, ToolResult, ToolResultsMessage, ToolSet, UserMessage, UserPart,
};
use attache_transport::Fill::{DataUri, Json, Text};
use attache_transport::{
    Codec as _, ItemWriter, bytes_of, cannot_send, check_result_routed, check_routed,
    invalid_history as invalid, is_blank, joined, place_of_result, place_of_user, set_member, template,
    unknown_part, wire_ids, with_text_of,
};
use serde_json::{Map, json};

use crate::capabilities::FAMILY;
use crate::codec::CohereCodec;
use crate::response::TOOL_PLAN;
use crate::response::citations::CITATIONS;

/// The text that the model reads where a failed call left none.
const FAILED: &str = "\"the tool failed\"";

/// Writes messages for one model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Renderer<'a> {
    pub(super) codec: &'a CohereCodec,
    pub(super) tools: &'a ToolSet,
}

impl Renderer<'_> {
    /// Writes instructions that stand behind other messages, as words of the user: the API takes a turn of the system at
    /// the start alone (cohere.md 3). `false` if there are none.
    pub(super) fn instructions(&self, message: &SystemMessage, out: &mut ItemWriter<'_>) -> bool {
        if message.parts.is_empty() {
            return false;
        }
        out.raw(r#"{"role":"user","content":"#);
        joined(message.parts.iter().map(TextPart::text), "\n\n", out);
        out.raw("}");
        true
    }

    /// Writes a message of the user's side, as routing wants it shown; `false` if it says nothing.
    pub(super) fn user(
        &self,
        message: &UserMessage,
        out: &mut ItemWriter<'_>,
    ) -> Result<bool, ProviderError> {
        check_routed(message)?;
        let place = place_of_user(message);
        let parts: Vec<&UserPart> = message.shown().iter().filter(|part| !is_blank(part)).collect();
        if parts.is_empty() {
            return Ok(false);
        }
        if let [UserPart::Text(text)] = parts.as_slice() {
            out.fill(template!(r#"{"role":"user","content":$}"#), &[Text(text.text())]);
            return Ok(true);
        }
        out.raw(r#"{"role":"user","content":"#);
        for (at, part) in parts.into_iter().enumerate() {
            out.raw(if at == 0 { "[" } else { "," });
            match part {
                UserPart::Text(text) => text_block(text.text(), out),
                UserPart::Object(tree) => text_block(&tree.model_text(), out),
                UserPart::Document(document) => {
                    self.document(document, place, message.routed.is_some(), out)?;
                }
                _ => return Err(unknown_part(&message.id)),
            }
        }
        out.raw("]}");
        Ok(true)
    }

    /// Writes a document where a user speaks: an image, or the text that it is. Routing decides which addresses may be
    /// shown.
    fn document(
        &self,
        document: &Document,
        place: Place,
        is_routed: bool,
        out: &mut ItemWriter<'_>,
    ) -> Result<(), ProviderError> {
        let (media, capabilities) = (document.media_type(), self.codec.capabilities());
        if !capabilities.place(place).accepts(media) {
            return Err(cannot_send(document, "the model does not take this media type here"));
        }
        let image = template!(r#"{"type":"image_url","image_url":{"url":$}}"#);
        match (media.kind(), document.source()) {
            (_, DocumentSource::External { .. }) if !is_routed => {
                return Err(cannot_send(document, "its address was not cleared for the model"));
            }
            (MediaKind::Image, DocumentSource::External { url }) if capabilities.takes_url(place, media) => {
                out.fill(image, &[Text(url)]);
            }
            (MediaKind::Image, _) => out.fill(image, &[DataUri(media.essence(), &bytes_of(document)?)]),
            (MediaKind::Text, _) => with_text_of(document, |text| text_block(text, out))?,
            _ => return Err(cannot_send(document, "the API has no block for this media type")),
        }
        Ok(())
    }

    /// Writes a reply of the model as it goes back; `false` if nothing of it can.
    pub(super) fn assistant(
        &self,
        message: &AssistantMessage,
        out: &mut ItemWriter<'_>,
    ) -> Result<bool, ProviderError> {
        let (mut plan, mut citations) = (None, None);
        let (mut blocks, mut left_out) = (0_usize, false);
        out.raw(r#"{"role":"assistant""#);
        for part in &message.parts {
            let open = |out: &mut ItemWriter<'_>| out.raw(if blocks == 0 { r#","content":["# } else { "," });
            match part {
                AssistantPart::Text(text) => {
                    open(out);
                    text_block(text.text(), out);
                }
                AssistantPart::Reasoning(part) if self.takes_thinking(part.replay()) => {
                    open(out);
                    out.fill(template!(r#"{"type":"thinking","thinking":$}"#), &[Text(part.text())]);
                }
                AssistantPart::Reasoning(_) => {
                    left_out = true;
                    continue;
                }
                AssistantPart::Opaque(part) => {
                    match part.kind.as_str() {
                        TOOL_PLAN if part.replay.family() == FAMILY => plan = Some(part.replay.json()),
                        CITATIONS => citations = self.own(&part.replay),
                        _ => {
                            if let Some(block) = self.own(&part.replay) {
                                open(out);
                                out.raw(block);
                                blocks += 1;
                            }
                        }
                    }
                    continue;
                }
                AssistantPart::ToolCall(_) => continue,
                _ => return Err(unknown_part(&message.id)),
            }
            blocks += 1;
        }
        if blocks > 0 {
            out.raw("]");
        }
        let calls: Vec<&ToolCall> = message.tool_calls().collect();
        if let Some(plan) = plan.filter(|_| !calls.is_empty()) {
            out.fill(template!(r#","tool_plan":$"#), &[Json(plan)]);
        }
        for (at, (call, id)) in calls.iter().zip(ids(&calls)).enumerate() {
            out.raw(if at == 0 { r#","tool_calls":["# } else { "," });
            self.call(call, &id, out);
        }
        if !calls.is_empty() {
            out.raw("]");
        }
        // They count the blocks of the content, so that all must be there.
        if let Some(citations) = citations.filter(|_| blocks > 0 && !left_out) {
            out.fill(template!(r#","citations":$"#), &[Json(citations)]);
        }
        out.raw("}");
        Ok(blocks > 0 || !calls.is_empty())
    }

    fn call(&self, call: &ToolCall, id: &str, out: &mut ItemWriter<'_>) {
        out.fill(
            template!(r#"{"id":$,"type":"function","function":{"name":$,"arguments":$}}"#),
            &[Text(id), Text(&self.tools.wire_name(&call.name)), Text(call.arguments.replay_json())],
        );
    }

    /// Thinking is not signed, so that it may come from any model of this API.
    fn takes_thinking(&self, replay: Option<&ReplayData>) -> bool {
        self.codec.capabilities().reasoning_replay != ReasoningReplay::None
            && replay.is_some_and(|replay| replay.family() == FAMILY)
    }

    /// Data that this model made, which alone may go back verbatim.
    fn own<'r>(&self, replay: &'r ReplayData) -> Option<&'r str> {
        (replay.family() == FAMILY && replay.model() == self.codec.model()).then(|| replay.json())
    }

    /// Writes the results of the calls of `asked`, in call order; `false` if there are none.
    pub(super) fn results(
        &self,
        message: &ToolResultsMessage,
        asked: &AssistantMessage,
        out: &mut ItemWriter<'_>,
    ) -> Result<bool, ProviderError> {
        let calls: Vec<&ToolCall> = asked.tool_calls().collect();
        for (at, (call, id)) in calls.iter().zip(ids(&calls)).enumerate() {
            let result = message.results.iter().find(|result| result.call_id == call.id);
            let result = result.ok_or_else(|| invalid(format!("the call {} has no result", call.id)))?;
            out.raw(if at == 0 { "" } else { "," });
            out.raw(r#"{"role":"tool","tool_call_id":"#);
            out.string(&id);
            out.raw(r#","content":["#);
            self.result(result, out)?;
            out.raw("]}");
        }
        Ok(!calls.is_empty())
    }

    /// The blocks of a result: its text, then what routing attached.
    fn result(&self, result: &ToolResult, out: &mut ItemWriter<'_>) -> Result<(), ProviderError> {
        check_result_routed(result)?;
        if result.is_error() {
            // The API has no flag for failures.
            let problem = if result.tree.is_blank() { FAILED } else { result.tree.json() };
            text_block(&format!("{{\"error\":{problem}}}"), out);
        } else {
            out.fill(template!(r#"{"type":"text","text":$}"#), &[Json(&result.tree.model_text_literal())]);
        }
        let place = place_of_result(result);
        for content in result.attached().iter().filter(|content| !is_blank(content)) {
            out.raw(",");
            match content {
                UserPart::Text(text) => text_block(text.text(), out),
                UserPart::Object(tree) => text_block(&tree.model_text(), out),
                UserPart::Document(document) => {
                    if !self.codec.capabilities().place(place).accepts(document.media_type()) {
                        return Err(cannot_send(document, "a tool result takes only text"));
                    }
                    document_block(document, out)?;
                }
                _ => return Err(unsupported_content(result)),
            }
        }
        Ok(())
    }
}

/// The ids of a message's calls. The API takes back whatever it sent, and those of others.
fn ids(calls: &[&ToolCall]) -> Vec<String> {
    wire_ids(calls, str::to_owned)
}

fn text_block(text: &str, out: &mut ItemWriter<'_>) {
    out.fill(template!(r#"{"type":"text","text":$}"#), &[Text(text)]);
}

/// A text document in a tool result, as a block that the model can cite.
fn document_block(document: &Document, out: &mut ItemWriter<'_>) -> Result<(), ProviderError> {
    let mut data = Map::new();
    set_member(&mut data, "title", document.file_name());
    with_text_of(document, |text| set_member(&mut data, "text", Some(text)))?;
    out.raw(r#"{"type":"document","document":"#);
    out.json(&json!({"id": document.id().as_str(), "data": data}))?;
    out.raw("}");
    Ok(())
}

fn unsupported_content(result: &ToolResult) -> ProviderError {
    let text = format!("the result of call {} holds content that this API does not know", result.call_id);
    ProviderError::new(ErrorKind::Unsupported, text)
}

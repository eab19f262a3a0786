//! Messages in the form of Ollama's own API: texts are strings, images stand beside them, arguments are objects.

use attache_core::capability::PlaceCapabilities;
use attache_core::{
    AssistantMessage, AssistantPart, Document, MediaKind, ModelCapabilities, SystemMessage, TextPart,
    ToolResultsMessage, ToolSet, UserMessage, UserPart,
};
use attache_transport::Fill::{Bare, Json, Text};
use attache_transport::{
    ItemWriter, bytes_of, cannot_send, check_routed, is_blank, joined, place_of_user, plain_text, separate,
    template, unknown_part,
};

use crate::chat::{NOT_HERE, result_content, text_of};
use crate::error::Result;
use crate::ollama::codec::NAME;

/// Writes messages for one model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Renderer<'a> {
    pub(super) capabilities: &'a ModelCapabilities,
    pub(super) tools: &'a ToolSet,
}

impl Renderer<'_> {
    /// Writes instructions; `false` if there are none.
    pub(super) fn system(&self, message: &SystemMessage, out: &mut ItemWriter<'_>) -> bool {
        if message.parts.is_empty() {
            return false;
        }
        out.raw(r#"{"role":"system","content":"#);
        joined(message.parts.iter().map(TextPart::text), "\n\n", out);
        out.raw("}");
        true
    }

    /// Writes a message of the user's side; `false` if it says nothing.
    pub(super) fn user(&self, message: &UserMessage, out: &mut ItemWriter<'_>) -> Result<bool> {
        check_routed(message)?;
        let place = self.capabilities.place(place_of_user(message));
        let parts: Vec<_> = message.shown().iter().filter(|part| !is_blank(part)).collect();
        if parts.is_empty() {
            return Ok(false);
        }
        out.raw(r#"{"role":"user","content":""#);
        let mut images: Vec<&Document> = Vec::new();
        let mut separator = "";
        for part in parts {
            match (part, plain_text(part)) {
                (_, Some(text)) => {
                    out.escaped(separator);
                    out.escaped(&text);
                }
                (UserPart::Document(document), None) if document.media_type().kind() == MediaKind::Image => {
                    images.push(document);
                    continue;
                }
                (UserPart::Document(document), None) => text_of(document, place, |text| {
                    out.escaped(separator);
                    out.escaped(text);
                })?,
                (_, None) => return Err(unknown_part(&message.id)),
            }
            separator = "\n";
        }
        out.raw("\"");
        self.images(&images, place, out)?;
        out.raw("}");
        Ok(true)
    }

    /// Images stand beside the text, in their order. The server fetches no URLs.
    fn images(
        &self,
        images: &[&Document],
        place: &PlaceCapabilities,
        out: &mut ItemWriter<'_>,
    ) -> Result<()> {
        for (at, image) in images.iter().enumerate() {
            if !place.accepts(image.media_type()) {
                return Err(cannot_send(image, NOT_HERE));
            }
            out.raw(if at == 0 { r#","images":[""# } else { ",\"" });
            out.base64(&bytes_of(image)?);
            out.raw("\"");
        }
        if !images.is_empty() {
            out.raw("]");
        }
        Ok(())
    }

    /// Writes a reply of the model; `false` if nothing of it goes back.
    pub(super) fn assistant(&self, message: &AssistantMessage, out: &mut ItemWriter<'_>) -> Result<bool> {
        let known = |part: &AssistantPart| {
            matches!(
                part,
                AssistantPart::Text(_)
                    | AssistantPart::ToolCall(_)
                    | AssistantPart::Reasoning(_)
                    | AssistantPart::Opaque(_)
            )
        };
        if !message.parts.iter().all(known) {
            return Err(unknown_part(&message.id));
        }
        let says = message.parts.iter().any(|part| matches!(part, AssistantPart::Text(_)));
        if !says && !message.has_tool_calls() {
            return Ok(false);
        }
        out.raw(r#"{"role":"assistant","content":""#);
        for part in &message.parts {
            if let AssistantPart::Text(text) = part {
                out.escaped(text.text());
            }
        }
        out.raw("\"");
        // Plain text may go to another model of the same server.
        let mut thinking = message.parts.iter().filter_map(|part| match part {
            AssistantPart::Reasoning(part) if part.replay().is_some_and(|replay| replay.family() == NAME) => {
                Some(part.text())
            }
            _ => None,
        });
        if let Some(first) = thinking.next() {
            out.fill(template!(r#","thinking":"$"#), &[Bare(first)]);
            thinking.for_each(|text| out.escaped(text));
            out.raw("\"");
        }
        for (at, call) in message.tool_calls().enumerate() {
            out.raw(if at == 0 { r#","tool_calls":[{"# } else { ",{" });
            if let Some(id) = &call.provider_id {
                out.fill(template!(r#""id":$,"#), &[Text(id.as_str())]);
            }
            out.fill(
                template!(r#""function":{"name":$,"arguments":$}}"#),
                &[Text(&self.tools.wire_name(&call.name)), Json(call.arguments.replay_json())],
            );
        }
        out.raw(if message.has_tool_calls() { "]}" } else { "}" });
        Ok(true)
    }

    /// Writes the results of the calls of `asked`, in call order; `false` if there are none. Older servers know no ids:
    /// there order and name tell which call a result belongs to.
    pub(super) fn results(
        &self,
        message: &ToolResultsMessage,
        asked: &AssistantMessage,
        out: &mut ItemWriter<'_>,
    ) -> Result<bool> {
        let mut first = true;
        for call in asked.tool_calls() {
            let Some(result) = message.results.iter().find(|result| result.call_id == call.id) else {
                continue;
            };
            separate(&mut first, out);
            out.fill(
                template!(r#"{"role":"tool","tool_name":$"#),
                &[Text(&self.tools.wire_name(&call.name))],
            );
            if let Some(id) = &call.provider_id {
                out.fill(template!(r#","tool_call_id":$"#), &[Text(id.as_str())]);
            }
            out.raw(r#","content":"#);
            result_content(result, out)?;
            out.raw("}");
        }
        Ok(!first)
    }
}

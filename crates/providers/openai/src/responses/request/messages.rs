//! Messages and results as input items (openai.md B.2).

use attache_core::capability::PlaceCapabilities;
use attache_core::{
    AssistantMessage, ChatRequest, Document, DocumentSource, MediaKind, SystemMessage, TextPart, ToolResult,
    ToolResultsMessage, UserMessage, UserPart,
};
use attache_transport::Fill::{DataUri, Json, Text};
use attache_transport::{
    ItemWriter, bytes_of, cannot_send, check_result_routed, is_blank, joined, place_of_result, place_of_user,
    plain_text, separate, template, unknown_part, with_text_of,
};

use crate::error::Result;
use crate::request::{check_routed, file_name, invalid, open_result};
use crate::server::Server;

/// Writes items for one profile and model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Renderer<'a> {
    pub(super) server: &'a Server,
    pub(super) request: &'a ChatRequest,
    /// True if answers are kept at the server, so that reasoning can be named by its id alone.
    pub(super) stored: bool,
}

impl Renderer<'_> {
    /// Writes instructions under a role; `false` if there are none.
    pub(super) fn system(&self, message: &SystemMessage, role: &str, out: &mut ItemWriter<'_>) -> bool {
        if message.parts.is_empty() {
            return false;
        }
        open(role, out);
        joined(message.parts.iter().map(TextPart::text), "\n\n", out);
        out.raw("}");
        true
    }

    /// Writes a message of the user's side; `false` if it says nothing.
    pub(super) fn user(&self, message: &UserMessage, out: &mut ItemWriter<'_>) -> Result<bool> {
        check_routed(message)?;
        let place = self.server.capabilities.place(place_of_user(message));
        let parts: Vec<_> = message.shown().iter().filter(|part| !is_blank(part)).collect();
        if parts.is_empty() {
            return Ok(false);
        }
        open("user", out);
        let texts: Option<Vec<_>> = parts.iter().map(|part| plain_text(part)).collect();
        match texts {
            Some(texts) if texts.len() == 1 || self.server.profile.joined_texts => joined(texts, "\n", out),
            _ => {
                out.raw("[");
                let mut first = true;
                for part in parts {
                    separate(&mut first, out);
                    if !self.content(part, place, out)? {
                        return Err(unknown_part(&message.id));
                    }
                }
                out.raw("]");
            }
        }
        out.raw("}");
        Ok(true)
    }

    /// Writes a part of the user's side or of a result; `false` if its kind is unknown.
    fn content(
        &self,
        content: &UserPart,
        place: &PlaceCapabilities,
        out: &mut ItemWriter<'_>,
    ) -> Result<bool> {
        match (content, plain_text(content)) {
            (UserPart::Document(document), _) => self.document(document, place, out)?,
            (_, Some(text)) => text_part(&text, out),
            (_, None) => return Ok(false),
        }
        Ok(true)
    }

    fn document(
        &self,
        document: &Document,
        place: &PlaceCapabilities,
        out: &mut ItemWriter<'_>,
    ) -> Result<()> {
        let media = document.media_type();
        // That an address may be shown is for routing to decide, which leaves only such addresses here.
        if let DocumentSource::External { url } = document.source() {
            let fetched = self.server.capabilities.files.urls == Some(true) && place.accepts_url(media);
            let part = match media.kind() {
                MediaKind::Image if fetched => {
                    template!(r#"{"type":"input_image","detail":"auto","image_url":$}"#)
                }
                // A name beside an address is an error. (openai.md D 31)
                MediaKind::Pdf | MediaKind::Other if fetched => {
                    template!(r#"{"type":"input_file","file_url":$}"#)
                }
                _ => return Err(cannot_send(document, "an address cannot stand here")),
            };
            out.fill(part, &[Text(url)]);
            return Ok(());
        }
        if !place.accepts(media) {
            return Err(cannot_send(document, "the model does not take this media type here"));
        }
        if let Some(id) = self.request.files.get(document).filter(|_| place.refers(media)) {
            let part = match media.kind() {
                MediaKind::Image => Some(template!(r#"{"type":"input_image","detail":"auto","file_id":$}"#)),
                // The name is that of the upload, and one beside an id is an error too.
                MediaKind::Pdf | MediaKind::Other => Some(template!(r#"{"type":"input_file","file_id":$}"#)),
                _ => None,
            };
            if let Some(part) = part {
                out.fill(part, &[Text(id)]);
                return Ok(());
            }
        }
        if media.kind() == MediaKind::Text {
            return with_text_of(document, |text| text_part(text, out));
        }
        let bytes = bytes_of(document)?;
        let uri = DataUri(media.essence(), &bytes);
        match media.kind() {
            MediaKind::Image => {
                out.fill(template!(r#"{"type":"input_image","detail":"auto","image_url":$}"#), &[uri])
            }
            MediaKind::Pdf | MediaKind::Other => {
                let part = template!(r#"{"type":"input_file","filename":$,"file_data":$}"#);
                out.fill(part, &[Text(&file_name(document)), uri]);
            }
            _ => return Err(cannot_send(document, "the API has no part for this media type")),
        }
        Ok(())
    }

    /// Writes the results of the calls of `asked`, which have these ids, in call order; `false` if there are none.
    pub(super) fn results(
        &self,
        message: &ToolResultsMessage,
        asked: &AssistantMessage,
        ids: &[String],
        out: &mut ItemWriter<'_>,
    ) -> Result<bool> {
        let mut first = true;
        for (call, id) in asked.tool_calls().zip(ids) {
            let Some(result) = message.results.iter().find(|result| result.call_id == call.id) else {
                continue;
            };
            separate(&mut first, out);
            out.fill(template!(r#"{"type":"function_call_output","call_id":$,"output":"#), &[Text(id)]);
            self.output(result, out)?;
            out.raw("}");
        }
        Ok(!first)
    }

    /// The result of a call: a string, or a list of parts where documents are attached.
    fn output(&self, result: &ToolResult, out: &mut ItemWriter<'_>) -> Result<()> {
        check_result_routed(result)?;
        let attached: Vec<_> = result.attached().iter().filter(|content| !is_blank(content)).collect();
        let texts: Option<Vec<_>> = attached.iter().map(|content| plain_text(content)).collect();
        if let Some(texts) = texts {
            open_result(result, out);
            for text in texts {
                out.escaped("\n");
                out.escaped(&text);
            }
            out.raw("\"");
            return Ok(());
        }
        let place = self.server.capabilities.place(place_of_result(result));
        out.raw(r#"[{"type":"input_text","text":"#);
        open_result(result, out);
        out.raw("\"}");
        for content in attached {
            out.raw(",");
            if !self.content(content, place, out)? {
                return Err(invalid(format!(
                    "the result of call {} holds a part that this API does not know",
                    result.call_id
                )));
            }
        }
        out.raw("]");
        Ok(())
    }
}

fn open(role: &str, out: &mut ItemWriter<'_>) {
    out.fill(template!(r#"{"type":"message","role":"$","content":"#), &[Json(role)]);
}

fn text_part(text: &str, out: &mut ItemWriter<'_>) {
    out.fill(template!(r#"{"type":"input_text","text":$}"#), &[Text(text)]);
}

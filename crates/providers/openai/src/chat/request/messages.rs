//! Messages in the form of Chat Completions (openai.md A.2).

use std::borrow::Cow;

use attache_core::capability::PlaceCapabilities;
use attache_core::{
    AssistantMessage, ChatRequest, Document, DocumentSource, ErrorKind, MediaKind, Message, ProviderError,
    SystemMessage, TextPart, ToolResult, ToolResultsMessage, UserMessage, UserPart,
};
use attache_transport::Fill::{Bare, Base64, DataUri, Json, Text};
use attache_transport::{
    ItemWriter, bytes_of, cannot_send, check_result_routed, is_blank, joined, place_of_user, plain_text,
    separate, template, unknown_part, wire_ids, with_text_of,
};

use super::ids::legal;
use crate::error::Result;
use crate::profile::{AudioForm, FileForm};
use crate::request::{check_routed, file_name, open_result};
use crate::server::Server;

pub(crate) const NOT_HERE: &str = "the model does not take this media type here";
const NO_ADDRESS: &str = "an address cannot stand here";

/// A piece of a user message.
enum Piece<'a> {
    Text(Cow<'a, str>),
    Document(&'a Document, &'a PlaceCapabilities),
}

impl Piece<'_> {
    fn is_text(&self) -> bool {
        match self {
            Self::Text(_) => true,
            Self::Document(document, _) => document.media_type().kind() == MediaKind::Text,
        }
    }
}

/// Writes messages for one profile and model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Renderer<'a> {
    pub(super) server: &'a Server,
    pub(super) request: &'a ChatRequest,
    /// Messages are lists of parts, which can carry markers of the prompt cache.
    pub(super) marks: bool,
}

impl Renderer<'_> {
    /// Writes instructions under a role; `false` if there are none.
    pub(super) fn system(&self, message: &SystemMessage, role: &str, out: &mut ItemWriter<'_>) -> bool {
        if message.parts.is_empty() {
            return false;
        }
        open(role, out);
        if self.marks {
            out.raw(r#"[{"type":"text","text":"#);
        }
        joined(message.parts.iter().map(TextPart::text), "\n\n", out);
        out.raw(if self.marks { "}]}" } else { "}" });
        true
    }

    /// True if nothing of a message of the user's side is seen.
    pub(super) fn is_silent(message: &UserMessage) -> bool {
        message.shown().iter().all(is_blank)
    }

    /// Writes messages of the user's side as one; `false` if they say nothing. Instructions among them are spoken by
    /// the user.
    pub(super) fn user_turn(&self, members: &[&Message], out: &mut ItemWriter<'_>) -> Result<bool> {
        let mut pieces: Vec<(&str, Piece<'_>)> = Vec::new();
        for member in members {
            match member {
                Message::System(system) => {
                    let texts = system.parts.iter().map(|part| ("\n\n", Piece::Text(part.text().into())));
                    pieces.extend(texts);
                }
                Message::User(user) => self.user(user, &mut pieces)?,
                _ => {}
            }
        }
        if pieces.is_empty() {
            return Ok(false);
        }
        open("user", out);
        let all_text = pieces.iter().all(|(_, piece)| piece.is_text());
        if !self.marks && all_text && (pieces.len() == 1 || self.server.profile.joined_texts) {
            out.raw("\"");
            for (at, (separator, piece)) in pieces.iter().enumerate() {
                out.escaped(if at == 0 { "" } else { separator });
                match piece {
                    Piece::Text(text) => out.escaped(text),
                    Piece::Document(document, place) => text_of(document, place, |text| out.escaped(text))?,
                }
            }
            out.raw("\"}");
            return Ok(true);
        }
        for (at, (_, piece)) in pieces.into_iter().enumerate() {
            out.raw(if at == 0 { "[" } else { "," });
            match piece {
                Piece::Text(text) if self.marks => marked_part(&text, out),
                Piece::Text(text) => text_part(&text, out),
                Piece::Document(document, place) => self.document(document, place, out)?,
            }
        }
        out.raw("]}");
        Ok(true)
    }

    /// The contents of a message of the user's side, each with the text before it in a string.
    fn user<'m>(
        &'m self,
        message: &'m UserMessage,
        pieces: &mut Vec<(&'static str, Piece<'m>)>,
    ) -> Result<()> {
        check_routed(message)?;
        let place = self.server.capabilities.place(place_of_user(message));
        let mut separator = "\n\n";
        for part in message.shown().iter().filter(|part| !is_blank(part)) {
            let piece = match (part, plain_text(part)) {
                (UserPart::Document(document), _) => Piece::Document(document, place),
                (_, Some(text)) => Piece::Text(text),
                (_, None) => return Err(unknown_part(&message.id)),
            };
            pieces.push((std::mem::replace(&mut separator, "\n"), piece));
        }
        Ok(())
    }

    fn document(
        &self,
        document: &Document,
        place: &PlaceCapabilities,
        out: &mut ItemWriter<'_>,
    ) -> Result<()> {
        let media = document.media_type();
        if media.kind() == MediaKind::Text {
            return text_of(document, place, |text| text_part(text, out));
        }
        if let (Some(id), MediaKind::Pdf | MediaKind::Other, FileForm::File) =
            (self.request.files.get(document), media.kind(), self.server.profile.files)
            && place.refers(media)
        {
            out.fill(template!(r#"{"type":"file","file":{"file_id":$}}"#), &[Text(id)]);
            return Ok(());
        }
        let essence = media.essence();
        let bytes;
        // That an address may be shown is for routing to decide, which leaves only such addresses here.
        let source = match document.source() {
            DocumentSource::External { url }
                if self.server.capabilities.files.urls == Some(true) && place.accepts_url(media) =>
            {
                Text(url)
            }
            DocumentSource::External { .. } => return Err(cannot_send(document, NO_ADDRESS)),
            _ if !place.accepts(media) => return Err(cannot_send(document, NOT_HERE)),
            _ => {
                bytes = bytes_of(document)?;
                DataUri(essence, &bytes)
            }
        };
        match (media.kind(), source) {
            (MediaKind::Image, _) if self.server.profile.plain_image_urls => {
                out.fill(template!(r#"{"type":"image_url","image_url":$}"#), &[source]);
            }
            (MediaKind::Image, _) => {
                out.fill(template!(r#"{"type":"image_url","image_url":{"url":$}}"#), &[source])
            }
            (MediaKind::Video, _) => {
                out.fill(template!(r#"{"type":"video_url","video_url":{"url":$}}"#), &[source])
            }
            (MediaKind::Audio, DataUri(_, bytes)) if matches!(essence, "audio/wav" | "audio/mpeg") => {
                let format = if essence == "audio/wav" { "wav" } else { "mp3" };
                match self.server.profile.audio {
                    AudioForm::Bare => {
                        out.fill(template!(r#"{"type":"input_audio","input_audio":"$"}"#), &[Base64(bytes)]);
                    }
                    AudioForm::DataUri => out.fill(
                        template!(r#"{"type":"input_audio","input_audio":{"data":$,"format":"$"}}"#),
                        &[source, Bare(format)],
                    ),
                    AudioForm::Base64 => out.fill(
                        template!(r#"{"type":"input_audio","input_audio":{"data":"$","format":"$"}}"#),
                        &[Base64(bytes), Bare(format)],
                    ),
                }
            }
            (MediaKind::Pdf | MediaKind::Other, _) => {
                let part = match (self.server.profile.files, source) {
                    (FileForm::FileUrl, DataUri(..)) => {
                        return Err(cannot_send(document, "the API takes files as addresses only"));
                    }
                    (FileForm::FileUrl, _) => {
                        out.fill(template!(r#"{"type":"file_url","file_url":{"url":$}}"#), &[source]);
                        return Ok(());
                    }
                    (FileForm::File, _) => {
                        template!(r#"{"type":"file","file":{"filename":$,"file_data":$}}"#)
                    }
                    (FileForm::DocumentUrl, _) => {
                        template!(r#"{"type":"document_url","document_name":$,"document_url":$}"#)
                    }
                };
                out.fill(part, &[Text(&file_name(document)), source]);
            }
            _ => return Err(cannot_send(document, "the API has no part for this media type")),
        }
        Ok(())
    }

    /// Writes the results of the calls of `asked`, in call order; `false` if there are none.
    pub(super) fn results(
        &self,
        message: &ToolResultsMessage,
        asked: &AssistantMessage,
        out: &mut ItemWriter<'_>,
    ) -> Result<bool> {
        let calls: Vec<_> = asked.tool_calls().collect();
        let ids = wire_ids(&calls, |id| legal(id, self.server.profile.call_ids));
        let mut first = true;
        for (call, id) in calls.iter().zip(ids) {
            let Some(result) = message.results.iter().find(|result| result.call_id == call.id) else {
                continue;
            };
            separate(&mut first, out);
            out.fill(template!(r#"{"role":"tool","tool_call_id":$,"content":"#), &[Text(&id)]);
            if self.marks {
                out.raw(r#"[{"type":"text","text":"#);
                result_content(result, out)?;
                out.marker_here();
                out.raw("}]}");
            } else {
                result_content(result, out)?;
                out.raw("}");
            }
        }
        Ok(!first)
    }
}

/// Hands on the text of a document that reads as text.
pub(crate) fn text_of(
    document: &Document,
    place: &PlaceCapabilities,
    write: impl FnOnce(&str),
) -> Result<()> {
    match place.accepts(document.media_type()) {
        true => with_text_of(document, write),
        false => Err(cannot_send(document, NOT_HERE)),
    }
}

/// The content of a tool message, which is text: no other part is known there (openai.md A.2).
///
/// Content behind the text stands on lines of its own.
pub(crate) fn result_content(result: &ToolResult, out: &mut ItemWriter<'_>) -> Result<()> {
    check_result_routed(result)?;
    open_result(result, out);
    for content in result.attached() {
        if is_blank(content) {
            continue;
        }
        let Some(text) = plain_text(content) else {
            let text = format!(
                "the result of call {} has a document, and tool messages take only text",
                result.call_id
            );
            return Err(ProviderError::new(ErrorKind::Unsupported, text));
        };
        out.escaped("\n");
        out.escaped(&text);
    }
    out.raw("\"");
    Ok(())
}

fn open(role: &str, out: &mut ItemWriter<'_>) {
    out.fill(template!(r#"{"role":"$","content":"#), &[Json(role)]);
}

/// The same, where a marker may stand.
fn marked_part(text: &str, out: &mut ItemWriter<'_>) {
    out.fill(template!(r#"{"type":"text","text":$"#), &[Text(text)]);
    out.marker_here();
    out.raw("}");
}

pub(super) fn text_part(text: &str, out: &mut ItemWriter<'_>) {
    out.fill(template!(r#"{"type":"text","text":$}"#), &[Text(text)]);
}

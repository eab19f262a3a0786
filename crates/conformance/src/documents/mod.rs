//! The documents in a request, decoded as the provider would see them (C33).

mod chat;
mod converse;
mod gemini;
mod label;
mod messages;
mod responses;

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::api::Api;

/// A document as it stands in a request body.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SeenDocument {
    /// Where it stands.
    pub place: SeenPlace,
    /// The wire id of the tool call it belongs to: of the tool result around it, or of the label before it.
    pub tool_call_id: Option<String>,
    /// The media type that the request states; empty where it states none.
    pub media_type: String,
    /// The file name or title that the request states; else the one of the label before it.
    pub file_name: Option<String>,
    /// The SHA-256 of the decoded bytes in hexadecimal; absent where the request only refers to them, or
    /// where they cannot be decoded.
    pub sha256: Option<String>,
    /// How many bytes were decoded.
    pub bytes_len: usize,
    /// The text of a document that is sent as text.
    pub text: Option<String>,
    /// The URL or file id of a document that is only referred to.
    pub reference: Option<String>,
}

/// Where a document stands in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SeenPlace {
    /// In a user message.
    User,
    /// Inside a tool result.
    ToolResult,
}

/// The documents of a request body, in order of appearance.
///
/// What counts is what the API itself takes for an image, a file, audio or a document. Besides, a text part that
/// directly follows a document label (`<document … />`, `<doc … />` in a part of its own) is that document as
/// text, with whatever fence is drawn around it; a label also gives its attributes to the block after it.
pub fn seen_documents(api: Api, body: &Value) -> Vec<SeenDocument> {
    let list = |key: &str| body.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    match api {
        Api::ChatCompletions => chat::documents(list("messages")),
        Api::Messages => messages::documents(list("messages")),
        Api::Responses => responses::documents(list("input")),
        Api::Gemini => gemini::documents(body),
        Api::Converse => converse::documents(list("messages")),
    }
}

impl SeenDocument {
    fn new(place: SeenPlace, media_type: &str) -> Self {
        Self {
            place,
            tool_call_id: None,
            media_type: media_type.to_owned(),
            file_name: None,
            sha256: None,
            bytes_len: 0,
            text: None,
            reference: None,
        }
    }

    fn with_base64(self, data: &str) -> Self {
        self.with_bytes(crate::media::decode_base64(data))
    }

    fn with_bytes(mut self, bytes: Option<Vec<u8>>) -> Self {
        if let Some(bytes) = bytes {
            self.sha256 = Some(sha256_hex(&bytes));
            self.bytes_len = bytes.len();
        }
        self
    }

    fn with_text(mut self, text: String) -> Self {
        self.sha256 = Some(sha256_hex(text.as_bytes()));
        self.bytes_len = text.len();
        self.text = Some(text);
        self
    }

    fn with_reference(mut self, reference: &str) -> Self {
        self.reference = Some(reference.to_owned());
        self
    }
}

/// The SHA-256 of bytes in lower-case hexadecimal, as [`SeenDocument::sha256`] holds it.
pub fn sha256_hex(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

fn text_of<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The text of a part that is tagged `text`; empty for any other.
fn tagged_text(part: &Value) -> &str {
    if text_of(part, "type") == "text" { text_of(part, "text") } else { "" }
}

/// Walks the parts of one content list: labels are remembered for the part after them. `text_of_part` is empty
/// for a part that is no text.
fn walk<'v>(
    parts: &'v [Value],
    place: SeenPlace,
    found: &mut Vec<SeenDocument>,
    text_of_part: impl Fn(&'v Value) -> &'v str,
    mut media: impl FnMut(&'v Value) -> Option<SeenDocument>,
) {
    let mut label: Option<label::Label> = None;
    for part in parts {
        let text = text_of_part(part);
        let next_label = label::parse(text);
        let labelled_text = label.is_some() && next_label.is_none() && !text.is_empty();
        let document = media(part).or_else(|| {
            labelled_text.then(|| SeenDocument::new(place, "text/plain").with_text(text.to_owned()))
        });
        if let Some(mut document) = document {
            let label = label.take().unwrap_or_default();
            document.tool_call_id = document.tool_call_id.or(label.tool_call_id);
            document.file_name = document.file_name.or(label.file_name);
            found.push(document);
        }
        label = next_label;
    }
}

//! Documents in a Chat Completions body: user parts; tool messages hold text only.

use serde_json::Value;

use super::parts::{tagged_text, text_of, walk};
use super::seen::{SeenDocument, SeenPlace};
use crate::media::parse_data_uri;

pub(super) fn documents(messages: &[Value]) -> Vec<SeenDocument> {
    let mut found = Vec::new();
    for message in messages.iter().filter(|message| text_of(message, "role") == "user") {
        let parts = message.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        walk(parts, SeenPlace::User, &mut found, tagged_text, document);
    }
    found
}

pub(super) fn document(part: &Value) -> Option<SeenDocument> {
    let kind = text_of(part, "type");
    let spec = part.get(kind)?;
    match kind {
        "image_url" => Some(from_url(url_of(spec))),
        "file" => {
            let mut document = match spec.get("file_id").and_then(Value::as_str) {
                Some(id) => SeenDocument::new(SeenPlace::User, "").with_reference(id),
                None => from_url(text_of(spec, "file_data")),
            };
            document.file_name = spec.get("filename").and_then(Value::as_str).map(str::to_owned);
            Some(document)
        }
        // Parts of compatible servers.
        "video_url" | "file_url" => Some(from_url(url_of(spec))),
        "document_url" => {
            let mut document = from_url(spec.as_str()?);
            document.file_name = part.get("document_name").and_then(Value::as_str).map(str::to_owned);
            Some(document)
        }
        "input_audio" => {
            let media_type = format!("audio/{}", text_of(spec, "format"));
            Some(SeenDocument::new(SeenPlace::User, &media_type).with_base64(text_of(spec, "data")))
        }
        _ => None,
    }
}

/// Some servers take the URL itself where others take an object around it.
fn url_of(spec: &Value) -> &str {
    spec.as_str().unwrap_or_else(|| text_of(spec, "url"))
}

fn from_url(url: &str) -> SeenDocument {
    match parse_data_uri(url) {
        Some(uri) => SeenDocument::new(SeenPlace::User, uri.media_type).with_base64(uri.data),
        None => SeenDocument::new(SeenPlace::User, "").with_reference(url),
    }
}

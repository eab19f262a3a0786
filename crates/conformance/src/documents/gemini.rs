//! Documents in a Gemini body: parts of user contents and of the function responses in them.

use serde_json::Value;

use super::parts::walk;
use super::seen::{SeenDocument, SeenPlace};
use crate::media::decode_any_base64;
use crate::members::{list, member, text};

pub(super) fn documents(body: &Value) -> Vec<SeenDocument> {
    let mut found = Vec::new();
    for content in list(body, "contents").iter().filter(|content| text(content, "role") != "model") {
        let parts = list(content, "parts");
        for response in parts.iter().filter_map(|part| member(part, "function_response")) {
            let id = text(response, "id");
            walk(
                list(response, "parts"),
                SeenPlace::ToolResult,
                &mut found,
                |part| text(part, "text"),
                |part| {
                    let mut document = document(part, SeenPlace::ToolResult)?;
                    document.tool_call_id = Some(id.to_owned()).filter(|id| !id.is_empty());
                    Some(document)
                },
            );
        }
        walk(
            parts,
            SeenPlace::User,
            &mut found,
            |part| text(part, "text"),
            |part| document(part, SeenPlace::User),
        );
    }
    found
}

fn document(part: &Value, place: SeenPlace) -> Option<SeenDocument> {
    let (data, mut document) = if let Some(blob) = member(part, "inline_data") {
        let bytes = decode_any_base64(text(blob, "data"));
        (blob, SeenDocument::new(place, text(blob, "mime_type")).with_bytes(bytes))
    } else {
        let file = member(part, "file_data")?;
        (file, SeenDocument::new(place, text(file, "mime_type")).with_reference(text(file, "file_uri")))
    };
    document.file_name = Some(text(data, "display_name").to_owned()).filter(|name| !name.is_empty());
    Some(document)
}

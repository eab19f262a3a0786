//! Documents in a Responses body: parts of user messages and of call outputs.

use serde_json::Value;

use super::parts::{text_of, walk};
use super::seen::{SeenDocument, SeenPlace};
use crate::media::parse_data_uri;

pub(super) fn documents(input: &[Value]) -> Vec<SeenDocument> {
    let mut found = Vec::new();
    for item in input {
        let parts = |key: &str| item.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        match text_of(item, "type") {
            "" | "message" if text_of(item, "role") == "user" => {
                walk(parts("content"), SeenPlace::User, &mut found, text, |part| {
                    document(part, SeenPlace::User)
                });
            }
            "function_call_output" => {
                let id = text_of(item, "call_id");
                walk(parts("output"), SeenPlace::ToolResult, &mut found, text, |part| {
                    let mut document = document(part, SeenPlace::ToolResult)?;
                    document.tool_call_id = Some(id.to_owned());
                    Some(document)
                });
            }
            _ => {}
        }
    }
    found
}

fn text(part: &Value) -> &str {
    if text_of(part, "type") == "input_text" { text_of(part, "text") } else { "" }
}

fn document(part: &Value, place: SeenPlace) -> Option<SeenDocument> {
    let data = match text_of(part, "type") {
        "input_image" => text_of(part, "image_url"),
        "input_file" => text_of(part, "file_data"),
        _ => return None,
    };
    let reference =
        ["file_id", "file_url"].into_iter().map(|key| text_of(part, key)).find(|text| !text.is_empty());
    let mut document = match (parse_data_uri(data), reference) {
        (Some(uri), _) => SeenDocument::new(place, uri.media_type).with_base64(uri.data),
        (None, reference) => SeenDocument::new(place, "").with_reference(reference.unwrap_or(data)),
    };
    document.file_name = part.get("filename").and_then(Value::as_str).map(str::to_owned);
    Some(document)
}

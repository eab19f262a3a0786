//! Documents in a Messages body: blocks of user messages and of the tool results in them.

use serde_json::Value;

use super::parts::{tagged_text, text_of, walk};
use super::seen::{SeenDocument, SeenPlace};

pub(super) fn documents(messages: &[Value]) -> Vec<SeenDocument> {
    let mut found = Vec::new();
    for message in messages.iter().filter(|message| text_of(message, "role") == "user") {
        let blocks = list(message.get("content"));
        // Results come first in a message, so this is the order of appearance.
        for result in blocks.iter().filter(|block| text_of(block, "type") == "tool_result") {
            let id = text_of(result, "tool_use_id");
            walk(list(result.get("content")), SeenPlace::ToolResult, &mut found, tagged_text, |block| {
                let mut document = document(block, SeenPlace::ToolResult)?;
                document.tool_call_id = Some(id.to_owned());
                Some(document)
            });
        }
        walk(blocks, SeenPlace::User, &mut found, tagged_text, |block| document(block, SeenPlace::User));
    }
    found
}

fn list(content: Option<&Value>) -> &[Value] {
    content.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn document(block: &Value, place: SeenPlace) -> Option<SeenDocument> {
    if !matches!(text_of(block, "type"), "image" | "document") {
        return None;
    }
    let source = block.get("source")?;
    let document = SeenDocument::new(place, text_of(source, "media_type"));
    let mut document = match text_of(source, "type") {
        "base64" => document.with_base64(text_of(source, "data")),
        "text" => document.with_text(text_of(source, "data").to_owned()),
        "content" => document.with_text(content_text(source.get("content"))),
        "url" => document.with_reference(text_of(source, "url")),
        "file" => document.with_reference(text_of(source, "file_id")),
        _ => document,
    };
    document.file_name = block.get("title").and_then(Value::as_str).map(str::to_owned);
    Some(document)
}

/// The text of a document that is given as content blocks.
fn content_text(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        other => list(other).iter().map(|block| text_of(block, "text")).collect::<Vec<_>>().join("\n"),
    }
}

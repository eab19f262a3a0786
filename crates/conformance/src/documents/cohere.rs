//! Documents in a body of Cohere's chat: images of users, and what tool messages hold (cohere.md 3).

use serde_json::Value;

use super::parts::{tagged_text, text_of, walk};
use super::seen::{SeenDocument, SeenPlace};

pub(super) fn documents(messages: &[Value]) -> Vec<SeenDocument> {
    let mut found = Vec::new();
    for message in messages {
        let blocks = message.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        match text_of(message, "role") {
            "user" => walk(blocks, SeenPlace::User, &mut found, tagged_text, super::chat::document),
            "tool" => {
                let id = text_of(message, "tool_call_id");
                walk(blocks, SeenPlace::ToolResult, &mut found, tagged_text, |block| document(block, id));
            }
            _ => {}
        }
    }
    found
}

fn document(block: &Value, id: &str) -> Option<SeenDocument> {
    let data = block.pointer("/document/data")?;
    let text = text_of(data, "text").to_owned();
    let mut document = SeenDocument::new(SeenPlace::ToolResult, "text/plain").with_text(text);
    document.tool_call_id = Some(id.to_owned());
    document.file_name = data.get("title").and_then(Value::as_str).map(str::to_owned);
    Some(document)
}

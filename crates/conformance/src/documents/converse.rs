//! Documents in a Converse body: blocks of user messages and of the tool results in them.

use serde_json::Value;

use super::parts::{text_of, walk};
use super::seen::{SeenDocument, SeenPlace};

pub(super) fn documents(messages: &[Value]) -> Vec<SeenDocument> {
    let mut found = Vec::new();
    for message in messages.iter().filter(|message| text_of(message, "role") == "user") {
        let blocks = list(message.get("content"));
        // A block on its own side of a result is seen where it stands.
        for part in blocks.chunk_by(|one, other| is_result(one) == is_result(other)) {
            for result in part.iter().filter_map(|block| block.get("toolResult")) {
                let id = text_of(result, "toolUseId");
                walk(list(result.get("content")), SeenPlace::ToolResult, &mut found, text_block, |block| {
                    let mut document = document(block, SeenPlace::ToolResult)?;
                    document.tool_call_id = Some(id.to_owned());
                    Some(document)
                });
            }
            walk(part, SeenPlace::User, &mut found, text_block, |block| document(block, SeenPlace::User));
        }
    }
    found
}

/// The text of a block; empty for any other, since a block is named by its only member.
fn text_block(block: &Value) -> &str {
    text_of(block, "text")
}

fn is_result(block: &Value) -> bool {
    block.get("toolResult").is_some()
}

fn list(content: Option<&Value>) -> &[Value] {
    content.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn document(block: &Value, place: SeenPlace) -> Option<SeenDocument> {
    let kinds = ["image", "document", "video", "audio"];
    let (kind, medium) = kinds.into_iter().find_map(|kind| Some((kind, block.get(kind)?)))?;
    let source = medium.get("source")?;
    let text = |key: &str| source.get(key).and_then(Value::as_str);
    let document = SeenDocument::new(place, &media_type(kind, text_of(medium, "format")));
    let mut document = if let Some(data) = text("bytes") {
        document.with_base64(data)
    } else if let Some(text) = text("text") {
        document.with_text(text.to_owned())
    } else if let Some(location) = source.get("s3Location") {
        document.with_reference(text_of(location, "uri"))
    } else {
        let texts = list(source.get("content")).iter().map(|block| text_of(block, "text"));
        document.with_text(texts.collect::<Vec<_>>().join("\n"))
    };
    document.file_name = medium.get("name").and_then(Value::as_str).map(str::to_owned);
    Some(document)
}

/// The media type that a format stands for; empty for one that is not known.
fn media_type(kind: &str, format: &str) -> String {
    let known = match (kind, format) {
        ("document", "pdf") => "application/pdf",
        ("document", "csv") => "text/csv",
        ("document", "doc") => "application/msword",
        ("document", "docx") => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        ("document", "xls") => "application/vnd.ms-excel",
        ("document", "xlsx") => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        ("document", "html") => "text/html",
        ("document", "txt") => "text/plain",
        ("document", "md") => "text/markdown",
        ("video", "three_gp") => "video/3gpp",
        ("document", _) | (_, "") => "",
        _ => return format!("{kind}/{format}"),
    };
    known.to_owned()
}

//! The parts of one content list, and the labels between them.

use serde_json::Value;

use super::label;
use super::seen::{SeenDocument, SeenPlace};

pub(super) fn text_of<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The text of a part that is tagged `text`; empty for any other.
pub(super) fn tagged_text(part: &Value) -> &str {
    if text_of(part, "type") == "text" { text_of(part, "text") } else { "" }
}

/// Walks the parts of one content list: labels are remembered for the part after them. `text_of_part` is empty
/// for a part that is no text.
pub(super) fn walk<'v>(
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

//! Files among the members of a body.

use serde_json::Value;

use super::reference::{flag, resolved, text};
use crate::endpoint::BodyFormat;
use crate::write::is_json;

/// The choices inside of choices that are looked through.
const DEEPEST: usize = 4;

pub(super) enum File {
    One,
    Many,
}

/// The files of a member: bytes in a form, bytes as base64 in JSON. `part_type` is the media type that a form gives it.
pub(super) fn file_of(
    document: &Value,
    schema: &Value,
    format: BodyFormat,
    part_type: Option<&str>,
) -> Option<File> {
    let schema = without_null(document, schema);
    if is_file(schema, format, part_type) {
        return Some(File::One);
    }
    let items = without_null(document, schema.get("items")?);
    (is_of_type(schema, "array") && is_file(items, format, part_type)).then_some(File::Many)
}

fn is_file(schema: &Value, format: BodyFormat, part_type: Option<&str>) -> bool {
    let is_text = schema.get("type").is_none() || is_of_type(schema, "string");
    let is_binary = text(schema, "format") == Some("binary");
    let is_media = schema.get("contentMediaType").is_some();
    let is_base64 = text(schema, "contentEncoding") == Some("base64");
    is_text
        && match format {
            BodyFormat::Multipart => {
                is_binary || is_media || is_base64 || says_nothing(schema) && part_type.is_some_and(is_bytes)
            }
            BodyFormat::Json => is_binary || is_media && is_base64,
            BodyFormat::Form => false,
        }
}

/// True if a schema takes values of that type, and nothing else but `null`.
fn is_of_type(schema: &Value, kind: &str) -> bool {
    match schema.get("type") {
        Some(Value::Array(kinds)) => {
            kinds.iter().any(|known| known == kind)
                && kinds.iter().all(|known| known == kind || known == "null")
        }
        only => only.is_some_and(|known| known == kind),
    }
}

/// True if `null` fits a schema.
pub(super) fn may_be_null(document: &Value, schema: &Value) -> bool {
    let mut schema = schema;
    for _ in 0..DEEPEST {
        schema = resolved(document, schema).unwrap_or(schema);
        let choices = ["anyOf", "oneOf"].iter().find_map(|word| schema.get(word)?.as_array());
        let is_said = flag(schema, "nullable") || is_null(document, schema);
        let is_listed = schema
            .get("type")
            .and_then(Value::as_array)
            .is_some_and(|kinds| kinds.iter().any(|kind| kind == "null"));
        let is_chosen = choices.is_some_and(|choices| choices.iter().any(|choice| is_null(document, choice)));
        if is_said || is_listed || is_chosen {
            return true;
        }
        let Some([only]) = choices.map(Vec::as_slice) else { return false };
        schema = only;
    }
    false
}

/// A schema, or the only one of its choices that is not `null`: so are members written that may be left out.
fn without_null<'d>(document: &'d Value, schema: &'d Value) -> &'d Value {
    let mut schema = schema;
    for _ in 0..DEEPEST {
        schema = resolved(document, schema).unwrap_or(schema);
        let choices = ["anyOf", "oneOf"].iter().find_map(|word| schema.get(word)?.as_array());
        let mut others = choices.into_iter().flatten().filter(|choice| !is_null(document, choice));
        let (Some(only), None) = (others.next(), others.next()) else { break };
        schema = only;
    }
    schema
}

fn is_null(document: &Value, schema: &Value) -> bool {
    resolved(document, schema).is_ok_and(|schema| text(schema, "type") == Some("null"))
}

/// True for a schema that says of a value no more than what it is for: the bytes of a part have none. (OpenAPI 3.1)
fn says_nothing(schema: &Value) -> bool {
    const WORDS: [&str; 6] = ["title", "description", "example", "examples", "deprecated", "writeOnly"];
    schema.as_object().is_some_and(|members| members.keys().all(|word| WORDS.contains(&&**word)))
}

/// True if one of the media types of a part is none of a text.
fn is_bytes(part_type: &str) -> bool {
    let is_text = |media: &str| {
        let media = media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        media.is_empty() || media.starts_with("text/") || media.ends_with("xml") || is_json(&media)
    };
    part_type.split(',').any(|media| !is_text(media))
}

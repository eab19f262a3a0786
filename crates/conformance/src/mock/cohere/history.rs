//! Messages: roles, blocks, tool calls and their results (cohere.md 3, 4).

use serde_json::{Map, Value};

use crate::media::parse_data_uri;
use crate::mock::chat::parts::check_image_url;
use crate::mock::chat::problems::{
    Check, array, bad_value, invalid, missing, object, one_of, only, optional, optional_string, string,
    wrong_type,
};
use crate::mock::rules::{Path, Violation};

const MAX_IMAGES: usize = 20;
const MAX_IMAGE_BYTES: usize = 20_000_000;
const ROLES: &[&str] = &["system", "user", "assistant", "tool"];

pub(super) fn check(messages: &[Value]) -> Check {
    let root = Path::Root.key("messages");
    let mut images = Vec::new();
    let mut calls: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let path = root.index(index);
        let message = object(message, &path)?;
        let role = string(message, "role", &path)?;
        if role == "tool" {
            check_result(message, &calls, &path)?;
        } else {
            calls.extend(check_message(message, role, index, &path)?);
        }
        check_content(message, role, &mut images, &path)?;
    }
    let (count, bytes) = (images.len(), images.iter().sum::<usize>());
    if count > MAX_IMAGES || bytes > MAX_IMAGE_BYTES {
        let message =
            format!("at most {MAX_IMAGES} images of {MAX_IMAGE_BYTES} bytes in all, got {count} of {bytes}");
        return Err(invalid(&root, "invalid_value", message));
    }
    Ok(())
}

fn check_result(message: &Map<String, Value>, calls: &[&str], path: &Path<'_>) -> Check {
    only(message, &["role", "tool_call_id", "content"], path)?;
    if calls.contains(&string(message, "tool_call_id", path)?) {
        return Ok(());
    }
    let message = "tool call id not found in previous tool calls";
    Err(invalid(&path.key("tool_call_id"), "invalid_value", message))
}

/// Checks all but the content of a message; returns the ids of its calls.
fn check_message<'v>(
    message: &'v Map<String, Value>,
    role: &str,
    index: usize,
    path: &Path<'_>,
) -> Result<Vec<&'v str>, Violation> {
    match role {
        "assistant" => {
            only(message, &["role", "content", "tool_plan", "tool_calls", "citations"], path)?;
            optional_string(message, "tool_plan", path)?;
            if let Some(other) = optional(message, "citations").filter(|list| !list.is_array()) {
                return Err(wrong_type(&path.key("citations"), "an array", other));
            }
            return check_calls(message, path);
        }
        "system" if index > 0 => {
            let message = "system turn must be the first in the list";
            return Err(invalid(&path.key("role"), "invalid_value", message));
        }
        "system" | "user" => only(message, &["role", "content"], path)?,
        other => return Err(bad_value(&path.key("role"), other, ROLES)),
    }
    Ok(Vec::new())
}

fn check_calls<'v>(message: &'v Map<String, Value>, path: &Path<'_>) -> Result<Vec<&'v str>, Violation> {
    let path = path.key("tool_calls");
    let Some(calls) = optional(message, "tool_calls") else { return Ok(Vec::new()) };
    let mut ids = Vec::new();
    for (index, call) in array(calls, &path)?.iter().enumerate() {
        let path = path.index(index);
        let call = object(call, &path)?;
        only(call, &["id", "type", "function"], &path)?;
        let id = string(call, "id", &path)?;
        if id.is_empty() || ids.contains(&id) {
            return Err(invalid(&path.key("id"), "invalid_value", "an id of a call is empty or not unique"));
        }
        ids.push(id);
        one_of(
            call.get("type").ok_or_else(|| missing(&path.key("type")))?,
            &["function"],
            &path.key("type"),
        )?;
        let path = path.key("function");
        let spec = object(call.get("function").ok_or_else(|| missing(&path))?, &path)?;
        only(spec, &["name", "arguments"], &path)?;
        string(spec, "name", &path)?;
        if !matches!(serde_json::from_str(string(spec, "arguments", &path)?), Ok(Value::Object(_))) {
            let message = "expected a string that holds a JSON object";
            return Err(invalid(&path.key("arguments"), "invalid_value", message));
        }
    }
    Ok(ids)
}

/// Checks a content; adds the sizes of its images.
fn check_content(
    message: &Map<String, Value>,
    role: &str,
    images: &mut Vec<usize>,
    path: &Path<'_>,
) -> Check {
    let path = path.key("content");
    let is_call = optional(message, "tool_calls").is_some();
    let empty = || Err(invalid(&path, "invalid_value", "the message is empty"));
    match optional(message, "content") {
        None if is_call => Ok(()),
        None => Err(missing(&path)),
        Some(Value::String(text)) if text.trim().is_empty() => empty(),
        Some(Value::String(_)) => Ok(()),
        Some(Value::Array(blocks)) if blocks.is_empty() && !is_call => empty(),
        Some(Value::Array(blocks)) => blocks
            .iter()
            .enumerate()
            .try_for_each(|(index, block)| check_block(block, role, images, &path.index(index))),
        Some(other) => Err(wrong_type(&path, "a string or an array of blocks", other)),
    }
}

fn check_block(block: &Value, role: &str, images: &mut Vec<usize>, path: &Path<'_>) -> Check {
    let block = object(block, path)?;
    let known: &[&str] = match role {
        "user" => &["text", "image_url"],
        "assistant" => &["text", "thinking"],
        "tool" => &["text", "document"],
        _ => &["text"],
    };
    let kind = string(block, "type", path)?;
    if !known.contains(&kind) {
        return Err(bad_value(&path.key("type"), kind, known));
    }
    only(block, &["type", kind], path)?;
    let inner = path.key(kind);
    let inside = || object(block.get(kind).ok_or_else(|| missing(&inner))?, &inner);
    match kind {
        "image_url" => {
            let image = inside()?;
            only(image, &["url", "detail"], &inner)?;
            if let Some(detail) = optional(image, "detail") {
                one_of(detail, &["auto", "low", "high"], &inner.key("detail"))?;
            }
            let url = string(image, "url", &inner)?;
            check_image_url(url, &inner.key("url"))?;
            // Each four signs of base64 are three bytes. The size at an address is not known.
            images.push(parse_data_uri(url).map_or(0, |uri| uri.data.trim_end_matches('=').len() * 3 / 4));
        }
        "document" => {
            let document = inside()?;
            only(document, &["id", "data"], &inner)?;
            optional_string(document, "id", &inner)?;
            let path = inner.key("data");
            object(document.get("data").ok_or_else(|| missing(&path))?, &path)?;
        }
        _ if string(block, kind, path)?.is_empty() => {
            return Err(invalid(&inner, "invalid_value", "the block is empty"));
        }
        _ => {}
    }
    Ok(())
}

//! Messages: roles, blocks, tool calls and their results (cohere.md 3, 4).

use serde_json::{Map, Value};

use crate::mock::chat::parts::check_image_url;
use crate::mock::chat::problems::{
    Check, array, bad_value, invalid, missing, object, one_of, only, optional, optional_string, string,
    wrong_type,
};
use crate::mock::chat::tools::check_name;
use crate::mock::rules::{Path, Violation};

const MAX_IMAGES: usize = 20;
const ROLES: &[&str] = &["system", "user", "assistant", "tool"];

pub(super) fn check(messages: &[Value]) -> Check {
    let root = Path::Root.key("messages");
    let mut images = 0;
    // The calls whose results have not come.
    let mut open: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let path = root.index(index);
        let message = object(message, &path)?;
        let role = string(message, "role", &path)?;
        if role == "tool" {
            check_result(message, &mut open, &path)?;
        } else {
            check_answered(&open, &path)?;
            open = check_message(message, role, index, &path)?;
        }
        images += check_content(message, role, &path)?;
    }
    if images > MAX_IMAGES {
        let message = format!("too many images: a request has at most {MAX_IMAGES}, got {images}");
        return Err(invalid(&root, "invalid_value", message));
    }
    check_answered(&open, &root.index(messages.len()))
}

fn check_result(message: &Map<String, Value>, open: &mut Vec<&str>, path: &Path<'_>) -> Check {
    only(message, &["role", "tool_call_id", "content"], path)?;
    let id = string(message, "tool_call_id", path)?;
    match open.iter().position(|open| *open == id) {
        Some(at) => {
            open.remove(at);
            Ok(())
        }
        None => {
            let message = format!("the tool_call_id '{id}' is that of no call of the message before");
            Err(invalid(&path.key("tool_call_id"), "invalid_value", message))
        }
    }
}

fn check_answered(open: &[&str], path: &Path<'_>) -> Check {
    if open.is_empty() {
        return Ok(());
    }
    let message = format!("tool calls without a tool message: {}", open.join(", "));
    Err(invalid(path, "invalid_value", message))
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
        check_name(spec, &path)?;
        if !matches!(serde_json::from_str(string(spec, "arguments", &path)?), Ok(Value::Object(_))) {
            let message = "expected a string that holds a JSON object";
            return Err(invalid(&path.key("arguments"), "invalid_value", message));
        }
    }
    Ok(ids)
}

/// Checks a content; returns how many images it has.
fn check_content(message: &Map<String, Value>, role: &str, path: &Path<'_>) -> Result<usize, Violation> {
    let path = path.key("content");
    let is_call = optional(message, "tool_calls").is_some();
    let empty = || Err(invalid(&path, "invalid_value", "the message is empty"));
    match optional(message, "content") {
        None if is_call => Ok(0),
        None => Err(missing(&path)),
        Some(Value::String(text)) if text.trim().is_empty() => empty(),
        Some(Value::String(_)) => Ok(0),
        Some(Value::Array(blocks)) if blocks.is_empty() => {
            if is_call {
                Ok(0)
            } else {
                empty()
            }
        }
        Some(Value::Array(blocks)) => {
            let mut images = 0;
            for (index, block) in blocks.iter().enumerate() {
                images += usize::from(check_block(block, role, &path.index(index))?);
            }
            Ok(images)
        }
        Some(other) => Err(wrong_type(&path, "a string or an array of blocks", other)),
    }
}

/// Checks a block; returns whether it is an image.
fn check_block(block: &Value, role: &str, path: &Path<'_>) -> Result<bool, Violation> {
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
            check_image_url(string(image, "url", &inner)?, &inner.key("url"))?;
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
    Ok(kind == "image_url")
}

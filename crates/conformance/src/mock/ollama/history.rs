//! Messages: texts, images, tool calls and their results (openai.md C.13).

use serde_json::{Map, Value};

use crate::media::sniff;
use crate::mock::chat::parts::decode;
use crate::mock::chat::problems::{
    Check, array, bad_value, invalid, missing, object, one_of, only, optional, optional_string, string,
};
use crate::mock::rules::{Path, Violation};

/// A call without its result: its id, which older servers do not give, and its name.
type Open<'v> = (Option<&'v str>, &'v str);

pub(super) fn check(messages: &[Value]) -> Check {
    let root = Path::Root.key("messages");
    let mut open: Vec<Open<'_>> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let path = root.index(index);
        let message = object(message, &path)?;
        // The official SDK leaves an empty one out.
        optional_string(message, "content", &path)?;
        let known: &[&str] = match string(message, "role", &path)? {
            "tool" => {
                check_result(message, &mut open, &path)?;
                continue;
            }
            "system" => &["role", "content"],
            "user" => &["role", "content", "images"],
            "assistant" => &["role", "content", "thinking", "tool_calls"],
            other => {
                return Err(bad_value(&path.key("role"), other, &["system", "user", "assistant", "tool"]));
            }
        };
        only(message, known, &path)?;
        optional_string(message, "thinking", &path)?;
        check_images(message, &path)?;
        open.extend(check_calls(message, &path)?);
    }
    Ok(())
}

/// A result goes by the id of its call or, as on older servers, by the tool's name: the first call of a tool is answered
/// first.
fn check_result(message: &Map<String, Value>, open: &mut Vec<Open<'_>>, path: &Path<'_>) -> Check {
    only(message, &["role", "content", "tool_name", "tool_call_id"], path)?;
    let text = |key| message.get(key).and_then(Value::as_str);
    for key in ["tool_name", "tool_call_id"] {
        optional_string(message, key, path)?;
    }
    let (id, name) = (text("tool_call_id"), text("tool_name"));
    let is_meant = |open: &Open<'_>| (id.is_none() || id == open.0) && name.is_none_or(|name| name == open.1);
    let Some(at) = open.iter().position(is_meant) else {
        return Err(invalid(path, "invalid_value", "the result is that of no open call"));
    };
    open.remove(at);
    Ok(())
}

/// Images are base64 without a prefix.
fn check_images(message: &Map<String, Value>, path: &Path<'_>) -> Check {
    let path = path.key("images");
    let Some(images) = optional(message, "images") else { return Ok(()) };
    for (index, image) in array(images, &path)?.iter().enumerate() {
        let path = path.index(index);
        let bytes = decode(image.as_str().unwrap_or_default(), &path)?;
        if !sniff(&bytes).is_some_and(|kind| kind.starts_with("image/")) {
            return Err(invalid(&path, "invalid_value", "the bytes are no image"));
        }
    }
    Ok(())
}

fn check_calls<'v>(message: &'v Map<String, Value>, path: &Path<'_>) -> Result<Vec<Open<'v>>, Violation> {
    let path = path.key("tool_calls");
    let Some(calls) = optional(message, "tool_calls") else { return Ok(Vec::new()) };
    let mut open = Vec::new();
    for (index, call) in array(calls, &path)?.iter().enumerate() {
        let path = path.index(index);
        let call = object(call, &path)?;
        only(call, &["id", "type", "function"], &path)?;
        optional_string(call, "id", &path)?;
        if let Some(kind) = optional(call, "type") {
            one_of(kind, &["function"], &path.key("type"))?;
        }
        let path = path.key("function");
        let function = object(call.get("function").ok_or_else(|| missing(&path))?, &path)?;
        only(function, &["index", "name", "arguments"], &path)?;
        let name = string(function, "name", &path)?;
        let path = path.key("arguments");
        object(function.get("arguments").ok_or_else(|| missing(&path))?, &path)?;
        open.push((call.get("id").and_then(Value::as_str), name));
    }
    Ok(open)
}

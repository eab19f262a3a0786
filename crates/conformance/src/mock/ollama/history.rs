//! Messages: texts, images, tool calls and their results (openai.md C.13).

use serde_json::{Map, Value};

use crate::media::sniff;
use crate::mock::chat::parts::decode;
use crate::mock::chat::problems::{
    Check, array, bad_value, invalid, missing, object, one_of, only, optional, optional_string, string,
};
use crate::mock::chat::tools::check_name;
use crate::mock::rules::{Path, Violation};

/// A call without its result: its id, which older servers do not give, and its name.
type Open<'v> = (Option<&'v str>, &'v str);

pub(super) fn check(messages: &[Value]) -> Check {
    let root = Path::Root.key("messages");
    let mut open: Vec<Open<'_>> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let path = root.index(index);
        let message = object(message, &path)?;
        string(message, "content", &path)?;
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
        check_answered(&open, &path)?;
        optional_string(message, "thinking", &path)?;
        check_images(message, &path)?;
        open = check_calls(message, &path)?;
    }
    check_answered(&open, &root.index(messages.len()))
}

/// Results come in the order of their calls, by which older servers and templates tell them apart.
fn check_result<'v>(message: &'v Map<String, Value>, open: &mut Vec<Open<'v>>, path: &Path<'_>) -> Check {
    only(message, &["role", "content", "tool_name", "tool_call_id"], path)?;
    let name = string(message, "tool_name", path)?;
    optional_string(message, "tool_call_id", path)?;
    let id = message.get("tool_call_id").and_then(Value::as_str);
    if open.first() != Some(&(id, name)) {
        let message = format!("the result of '{name}' is not that of the next call");
        return Err(invalid(&path.key("tool_name"), "invalid_value", message));
    }
    open.remove(0);
    Ok(())
}

fn check_answered(open: &[Open<'_>], path: &Path<'_>) -> Check {
    let Some((_, name)) = open.first() else { return Ok(()) };
    Err(invalid(path, "invalid_value", format!("a call of '{name}' has no result")))
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
        let name = check_name(function, &path)?;
        let path = path.key("arguments");
        object(function.get("arguments").ok_or_else(|| missing(&path))?, &path)?;
        open.push((call.get("id").and_then(Value::as_str), name));
    }
    Ok(open)
}

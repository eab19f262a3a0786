//! Messages: roles, tool calls and their results (openai.md A.2).

use serde_json::{Map, Value};

use super::problems::{
    Check, array, bad_pattern, bad_value, invalid, missing, object, only, optional, optional_string, string,
    too_long, wrong_type,
};
use super::{parts, tools};
use crate::mock::rules::{Path, Rules, Violation, is_plain_name};

const MAX_ID: usize = 64;

pub(super) fn check(messages: &[Value], rules: &Rules) -> Check {
    let root = Path::Root.key("messages");
    let mut open: Vec<&str> = Vec::new();
    let mut previous = "";
    for (index, message) in messages.iter().enumerate() {
        let path = root.index(index);
        let message = object(message, &path)?;
        let role = string(message, "role", &path)?;
        if role == "tool" {
            check_result(message, &path, previous, &mut open, rules)?;
        } else {
            check_answered(&open, &path)?;
            open = check_message(message, role, &path, rules)?;
            if rules.alternation_or(false) && role == previous && matches!(role, "user" | "assistant") {
                let message = format!(
                    "Invalid '{}': roles must alternate, got two '{role}' messages in a row.",
                    path.bracketed()
                );
                return Err(invalid(&path, "invalid_value", message));
            }
        }
        previous = role;
    }
    check_answered(&open, &root.index(messages.len()))
}

fn check_answered(open: &[&str], path: &Path<'_>) -> Check {
    if open.is_empty() {
        return Ok(());
    }
    let message = format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. \
         The following tool_call_ids did not have response messages: {}",
        open.join(", ")
    );
    Err(invalid(&path.key("role"), "invalid_value", message))
}

fn check_result(
    message: &Map<String, Value>,
    path: &Path<'_>,
    previous: &str,
    open: &mut Vec<&str>,
    rules: &Rules,
) -> Check {
    if open.is_empty() && previous != "tool" {
        let message = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with \
                       'tool_calls'.";
        return Err(invalid(&path.key("role"), "invalid_value", message));
    }
    let id = string(message, "tool_call_id", path)?;
    let Some(at) = open.iter().position(|open| *open == id) else {
        let message = format!(
            "Invalid parameter: 'tool_call_id' of '{id}' not found in 'tool_calls' of previous message, or answered \
             already."
        );
        return Err(invalid(&path.key("tool_call_id"), "invalid_value", message));
    };
    open.remove(at);
    if !rules.compatible_fields() {
        only(message, &["role", "tool_call_id", "content"], path)?;
    }
    check_content(message, "tool", path, rules)
}

/// Checks any message but a tool result; returns the ids of its calls.
fn check_message<'v>(
    message: &'v Map<String, Value>,
    role: &str,
    path: &Path<'_>,
    rules: &Rules,
) -> Result<Vec<&'v str>, Violation> {
    let known: &[&str] = match role {
        "system" | "developer" | "user" => &["role", "content", "name"],
        "assistant" => &["role", "content", "refusal", "tool_calls", "audio", "name"],
        other => {
            let roles = ["system", "developer", "user", "assistant", "tool"];
            return Err(bad_value(&path.key("role"), other, &roles));
        }
    };
    if !rules.compatible_fields() {
        only(message, known, path)?;
    }
    optional_string(message, "name", path)?;
    if role != "assistant" {
        check_content(message, role, path, rules)?;
        return Ok(Vec::new());
    }
    optional_string(message, "refusal", path)?;
    let ids = check_calls(message, path, rules)?;
    let says_something =
        !ids.is_empty() || ["refusal", "audio"].iter().any(|key| optional(message, key).is_some());
    if !says_something || optional(message, "content").is_some() {
        check_content(message, role, path, rules)?;
    }
    Ok(ids)
}

fn check_calls<'v>(
    message: &'v Map<String, Value>,
    path: &Path<'_>,
    rules: &Rules,
) -> Result<Vec<&'v str>, Violation> {
    let path = path.key("tool_calls");
    let Some(calls) = message.get("tool_calls") else { return Ok(Vec::new()) };
    let mut ids = Vec::new();
    for (index, call) in array(calls, &path)?.iter().enumerate() {
        let path = path.index(index);
        let call = object(call, &path)?;
        let id = string(call, "id", &path)?;
        if !rules.compatible_fields() {
            check_id(id, &path.key("id"))?;
            if ids.contains(&id) {
                let message = format!("Invalid '{}': duplicate tool call id '{id}'.", path.bracketed());
                return Err(invalid(&path.key("id"), "invalid_value", message));
            }
        }
        ids.push(id);
        let kind = string(call, "type", &path)?;
        if !rules.compatible_fields() {
            only(call, &["id", "type", kind], &path)?;
        }
        let spec_path = path.key(kind);
        let spec = object(call.get(kind).ok_or_else(|| missing(&spec_path))?, &spec_path)?;
        tools::check_name(spec, &spec_path)?;
        match kind {
            "function" => {
                only(spec, &["name", "arguments"], &spec_path)?;
                check_arguments(string(spec, "arguments", &spec_path)?, &spec_path)?;
            }
            "custom" => {
                only(spec, &["name", "input"], &spec_path)?;
                string(spec, "input", &spec_path)?;
            }
            other => return Err(bad_value(&path.key("type"), other, &["function", "custom"])),
        }
    }
    Ok(ids)
}

fn check_id(id: &str, path: &Path<'_>) -> Check {
    if id.len() > MAX_ID {
        Err(too_long(path, MAX_ID, id.len()))
    } else if is_plain_name(id, MAX_ID) {
        Ok(())
    } else {
        Err(bad_pattern(path))
    }
}

fn check_arguments(text: &str, path: &Path<'_>) -> Check {
    match serde_json::from_str(text) {
        Ok(Value::Object(_)) => Ok(()),
        _ => {
            let path = path.key("arguments");
            let message =
                format!("Invalid '{}': expected a string that holds a JSON object.", path.bracketed());
            Err(invalid(&path, "invalid_value", message))
        }
    }
}

fn check_content(message: &Map<String, Value>, role: &str, path: &Path<'_>, rules: &Rules) -> Check {
    let path = path.key("content");
    match message.get("content") {
        Some(Value::String(_)) => Ok(()),
        Some(content @ Value::Array(_)) => {
            for (index, part) in array(content, &path)?.iter().enumerate() {
                parts::check(part, role, &path.index(index), rules)?;
            }
            Ok(())
        }
        None => Err(missing(&path)),
        Some(other) => Err(wrong_type(&path, "one of a string or array of objects", other)),
    }
}

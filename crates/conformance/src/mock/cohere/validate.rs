//! The request's own fields (cohere.md 2, 5).

use serde_json::{Map, Value};

use super::{history, tools};
use crate::mock::chat::problems::{
    Check, array, bad_value, check_decimal, check_integer, invalid, missing, object, one_of, only, optional,
    string, wrong_type,
};
use crate::mock::rules::Path;

/// The arguments of the official SDK's `chat`, and `stream`, which it sets itself.
const FIELDS: &[&str] = &[
    "model",
    "messages",
    "stream",
    "tools",
    "strict_tools",
    "documents",
    "citation_options",
    "response_format",
    "safety_mode",
    "max_tokens",
    "stop_sequences",
    "temperature",
    "seed",
    "frequency_penalty",
    "presence_penalty",
    "k",
    "p",
    "logprobs",
    "tool_choice",
    "thinking",
    "priority",
];

const MAX_STOPS: usize = 5;

pub(super) fn check(body: &Value) -> Check {
    let root = Path::Root;
    let request = object(body, &root)?;
    only(request, FIELDS, &root)?;
    if string(request, "model", &root)?.is_empty() {
        return Err(missing(&root.key("model")));
    }
    let path = root.key("messages");
    let messages = array(request.get("messages").ok_or_else(|| missing(&path))?, &path)?;
    check_numbers(request)?;
    for key in ["stream", "strict_tools", "logprobs"] {
        if let Some(value) = optional(request, key).filter(|value| !value.is_boolean()) {
            return Err(wrong_type(&root.key(key), "a boolean", value));
        }
    }
    if let Some(mode) = optional(request, "safety_mode") {
        one_of(mode, &["CONTEXTUAL", "STRICT", "OFF"], &root.key("safety_mode"))?;
    }
    check_stops(request)?;
    tools::check(request)?;
    check_response_format(request)?;
    check_thinking(request)?;
    history::check(messages)
}

fn check_numbers(request: &Map<String, Value>) -> Check {
    for (key, min, max) in [
        ("temperature", 0.0, f64::MAX),
        ("p", 0.01, 0.99),
        ("frequency_penalty", 0.0, 1.0),
        ("presence_penalty", 0.0, 1.0),
    ] {
        check_decimal(request, key, min, max)?;
    }
    for (key, max) in [("max_tokens", u64::MAX), ("k", 500), ("seed", u64::MAX), ("priority", u64::MAX)] {
        check_integer(request, key, 0, max)?;
    }
    Ok(())
}

fn check_stops(request: &Map<String, Value>) -> Check {
    let Some(stops) = optional(request, "stop_sequences") else { return Ok(()) };
    let path = Path::Root.key("stop_sequences");
    let stops = array(stops, &path)?;
    if stops.len() > MAX_STOPS {
        return Err(invalid(&path, "invalid_value", "Invalid 'stop_sequences': at most 5 are allowed."));
    }
    match stops.iter().find(|stop| !stop.is_string()) {
        Some(other) => Err(wrong_type(&path, "an array of strings", other)),
        None => Ok(()),
    }
}

fn check_response_format(request: &Map<String, Value>) -> Check {
    let Some(format) = optional(request, "response_format") else { return Ok(()) };
    let path = Path::Root.key("response_format");
    let format = object(format, &path)?;
    match string(format, "type", &path)? {
        "text" => return only(format, &["type"], &path),
        "json_object" => only(format, &["type", "json_schema"], &path)?,
        other => return Err(bad_value(&path.key("type"), other, &["text", "json_object"])),
    }
    if let Some(schema) = optional(format, "json_schema") {
        object(schema, &path.key("json_schema"))?;
    }
    for key in ["tools", "documents"] {
        let is_there = optional(request, key).and_then(Value::as_array).is_some_and(|list| !list.is_empty());
        if is_there {
            let message = format!("'response_format' is not supported together with '{key}'.");
            return Err(invalid(&path, "invalid_value", message));
        }
    }
    Ok(())
}

fn check_thinking(request: &Map<String, Value>) -> Check {
    let Some(thinking) = optional(request, "thinking") else { return Ok(()) };
    let path = Path::Root.key("thinking");
    let thinking = object(thinking, &path)?;
    only(thinking, &["type", "token_budget"], &path)?;
    one_of(
        thinking.get("type").ok_or_else(|| missing(&path.key("type")))?,
        &["enabled", "disabled"],
        &path.key("type"),
    )?;
    check_integer(thinking, "token_budget", 1, u64::MAX)
}

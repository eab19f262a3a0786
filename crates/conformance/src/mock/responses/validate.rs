//! The request's own fields (openai.md B.1, B.5).

use serde_json::{Map, Value};

use super::{items, tools};
use crate::mock::chat::models::{Model, Reasoning, model};
use crate::mock::chat::problems::{
    Check, array, bad_pattern, bad_value, check_decimal, check_integer, invalid, missing, object, one_of,
    only, optional, optional_string, string, wrong_type,
};
use crate::mock::chat::validate::{EFFORTS, check_limits};
use crate::mock::rules::{Path, Rules, Violation, is_plain_name};
use crate::mock::schema::{self, Dialect};

const FIELDS: &[&str] = &[
    "model",
    "input",
    "instructions",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "max_output_tokens",
    "reasoning",
    "text",
    "include",
    "store",
    "previous_response_id",
    "conversation",
    "stream",
    "stream_options",
    "truncation",
    "temperature",
    "top_p",
    "top_logprobs",
    "service_tier",
    "metadata",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "background",
    "max_tool_calls",
    "prompt",
    "context_management",
    "moderation",
    "access_programs",
    "image",
    "user",
];

/// Names in Chat Completions, and those here.
const MOVED: &[(&str, &str)] = &[
    ("messages", "input"),
    ("max_tokens", "max_output_tokens"),
    ("max_completion_tokens", "max_output_tokens"),
    ("response_format", "text.format"),
    ("reasoning_effort", "reasoning.effort"),
    ("verbosity", "text.verbosity"),
];

const INCLUDES: &[&str] = &[
    "reasoning.encrypted_content",
    "message.output_text.logprobs",
    "message.input_image.image_url",
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "code_interpreter_call.outputs",
    "computer_call_output.output.image_url",
];

pub(super) fn check(body: &Value, rules: &Rules) -> Check {
    let root = Path::Root;
    let Some(request) = body.as_object() else {
        return Err(invalid(&root, "invalid_type", "the request body must be a JSON object"));
    };
    if !rules.compatible_fields() {
        check_known(request)?;
    }
    match request.get("model") {
        Some(Value::String(name)) if !name.is_empty() => {}
        None => return Err(missing(&root.key("model"))),
        Some(other) => return Err(wrong_type(&root.key("model"), "a non-empty string", other)),
    }
    check_plain(request)?;
    check_state(request)?;
    tools::check(request, rules)?;
    check_model(request)?;
    check_text(request)?;
    check_input(request, rules)
}

fn check_known(request: &Map<String, Value>) -> Check {
    for (old, new) in MOVED {
        if request.contains_key(*old) {
            let message = format!(
                "Unsupported parameter: '{old}'. In the Responses API, this parameter has moved to '{new}'. Try again \
                 with the new parameter."
            );
            return Err(invalid(&Path::Root.key(old), "unsupported_parameter", message));
        }
    }
    only(request, FIELDS, &Path::Root)
}

/// Numbers, flags, closed lists.
fn check_plain(request: &Map<String, Value>) -> Check {
    check_decimal(request, "temperature", 0.0, 2.0)?;
    check_decimal(request, "top_p", 0.0, 1.0)?;
    check_integer(request, "max_output_tokens", 16, u64::MAX)?;
    check_integer(request, "max_tool_calls", 1, u64::MAX)?;
    check_integer(request, "top_logprobs", 0, 20)?;
    for key in ["stream", "store", "parallel_tool_calls", "background"] {
        if let Some(value) = optional(request, key).filter(|value| !value.is_boolean()) {
            return Err(wrong_type(&Path::Root.key(key), "a boolean", value));
        }
    }
    for key in ["instructions", "prompt_cache_key", "user"] {
        optional_string(request, key, &Path::Root)?;
    }
    for (key, values) in [
        ("truncation", &["auto", "disabled"][..]),
        ("service_tier", &["auto", "default", "flex", "scale", "priority", "fast", "ultrafast"][..]),
        ("prompt_cache_retention", &["in_memory", "24h"][..]),
    ] {
        if let Some(value) = optional(request, key) {
            one_of(value, values, &Path::Root.key(key))?;
        }
    }
    if let Some(options) = optional(request, "prompt_cache_options") {
        let path = Path::Root.key("prompt_cache_options");
        let options = object(options, &path)?;
        only(options, &["mode", "ttl", "comparison_response_id", "prewarm"], &path)?;
        for (key, values) in [("mode", &["implicit", "explicit"]), ("ttl", &["30m", "12h"])] {
            if let Some(value) = optional(options, key) {
                one_of(value, values, &path.key(key))?;
            }
        }
    }
    if let Some(options) = optional(request, "stream_options") {
        let path = Path::Root.key("stream_options");
        if request.get("stream") != Some(&Value::Bool(true)) {
            let message = "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
            return Err(invalid(&path, "invalid_parameter", message));
        }
        only(object(options, &path)?, &["include_obfuscation"], &path)?;
    }
    let path = Path::Root.key("include");
    if let Some(include) = optional(request, "include") {
        let Some(include) = include.as_array() else { return Err(wrong_type(&path, "an array", include)) };
        for (index, value) in include.iter().enumerate() {
            one_of(value, INCLUDES, &path.index(index))?;
        }
    }
    check_limits(request)
}

/// Checks the options about the server's memory (openai.md B.7).
fn check_state(request: &Map<String, Value>) -> Check {
    let path = Path::Root.key("previous_response_id");
    if optional(request, "previous_response_id").is_some() {
        if optional(request, "conversation").is_some() {
            let message = "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Ensure you are only \
                           providing one of them.";
            return Err(invalid(&path, "mutually_exclusive_parameters", message));
        }
        let id = string(request, "previous_response_id", &Path::Root)?;
        if !id.starts_with("resp") {
            let message =
                format!("Invalid 'previous_response_id': '{id}'. Expected an ID that begins with 'resp'.");
            return Err(invalid(&path, "invalid_value", message));
        }
    }
    let path = Path::Root.key("conversation");
    match optional(request, "conversation") {
        None | Some(Value::String(_)) => Ok(()),
        Some(conversation) => {
            let conversation = object(conversation, &path)?;
            only(conversation, &["id"], &path)?;
            string(conversation, "id", &path).map(drop)
        }
    }
}

/// Checks the options that the model takes (openai.md A.6).
fn check_model(request: &Map<String, Value>) -> Check {
    let name = request.get("model").and_then(Value::as_str).unwrap_or_default();
    let known = model(name);
    let path = Path::Root.key("reasoning");
    let mut effort = None;
    if let Some(reasoning) = optional(request, "reasoning") {
        let reasoning = object(reasoning, &path)?;
        only(reasoning, &["effort", "summary", "context", "mode", "generate_summary"], &path)?;
        for (key, values) in [
            ("effort", EFFORTS),
            ("summary", &["auto", "concise", "detailed"][..]),
            ("generate_summary", &["auto", "concise", "detailed"][..]),
            ("context", &["auto", "current_turn", "all_turns"][..]),
            ("mode", &["standard", "pro"][..]),
        ] {
            if let Some(value) = optional(reasoning, key) {
                one_of(value, values, &path.key(key))?;
            }
        }
        effort = optional(reasoning, "effort").and_then(Value::as_str);
        if let Some(model) = known {
            check_reasoning(reasoning, effort, model, &path)?;
        }
    }
    let Some(model) = known else { return Ok(()) };
    let asks_for_blob = optional(request, "include")
        .and_then(Value::as_array)
        .is_some_and(|include| include.iter().any(|value| value == "reasoning.encrypted_content"));
    if model.reasoning == Reasoning::Never && asks_for_blob {
        let message = "Encrypted content is not supported with this model.";
        return Err(invalid(&Path::Root.key("include"), "unsupported_parameter", message));
    }
    if !model.reasons(effort) {
        return Ok(());
    }
    for key in ["temperature", "top_p", "top_logprobs"] {
        let default = if key == "top_logprobs" { 0.0 } else { 1.0 };
        if optional(request, key).is_some_and(|value| value.as_f64() != Some(default)) {
            return Err(unsupported(&Path::Root.key(key)));
        }
    }
    Ok(())
}

fn check_reasoning(
    reasoning: &Map<String, Value>,
    effort: Option<&str>,
    model: Model,
    path: &Path<'_>,
) -> Check {
    let path_of_effort = path.key("effort");
    match (model.reasoning, effort) {
        (Reasoning::Never, _) => match reasoning.iter().find(|(_, value)| !value.is_null()) {
            Some((key, _)) => Err(unsupported(&path.key(key))),
            None => Ok(()),
        },
        (Reasoning::Always, Some("none")) => Err(bad_value(&path_of_effort, "none", EFFORTS)),
        (_, Some("minimal")) if !model.minimal_effort => Err(bad_value(&path_of_effort, "minimal", EFFORTS)),
        _ => Ok(()),
    }
}

fn unsupported(path: &Path<'_>) -> Violation {
    let message = format!("Unsupported parameter: '{}' is not supported with this model.", path.bracketed());
    invalid(path, "unsupported_parameter", message)
}

fn check_text(request: &Map<String, Value>) -> Check {
    let path = Path::Root.key("text");
    let Some(text) = optional(request, "text") else { return Ok(()) };
    let text = object(text, &path)?;
    only(text, &["format", "verbosity"], &path)?;
    if let Some(verbosity) = optional(text, "verbosity") {
        one_of(verbosity, &["low", "medium", "high"], &path.key("verbosity"))?;
    }
    let path = path.key("format");
    let Some(format) = optional(text, "format") else { return Ok(()) };
    let format = object(format, &path)?;
    match string(format, "type", &path)? {
        "text" => only(format, &["type"], &path),
        "json_object" => {
            only(format, &["type"], &path)?;
            if request.get("input").is_some_and(mentions_json) {
                return Ok(());
            }
            let message = "Response input messages must contain the word 'json' in some form to use 'text.format' of \
                           type 'json_object'.";
            Err(Violation::invalid(message).with_path("input".to_owned()))
        }
        "json_schema" => {
            // A nested `json_schema` is the shape of Chat Completions.
            let name = string(format, "name", &path)?;
            only(format, &["type", "name", "description", "schema", "strict"], &path)?;
            if !is_plain_name(name, 64) {
                return Err(bad_pattern(&path.key("name")));
            }
            optional_string(format, "description", &path)?;
            let schema_path = path.key("schema");
            let schema = format.get("schema").ok_or_else(|| missing(&schema_path))?;
            object(schema, &schema_path)?;
            if tools::strict(format, &path)? == Some(true)
                && let Err(problem) = schema::check_strict(schema, Dialect::OpenAi)
            {
                let message = format!("Invalid schema for response_format '{name}': {problem}");
                return Err(invalid(&schema_path, "invalid_json_schema", message));
            }
            Ok(())
        }
        other => Err(bad_value(&path.key("type"), other, &["text", "json_object", "json_schema"])),
    }
}

/// True if a text of the input has the word that JSON mode demands.
fn mentions_json(input: &Value) -> bool {
    let has = |value: Option<&Value>| {
        value.and_then(Value::as_str).is_some_and(|text| text.to_ascii_lowercase().contains("json"))
    };
    let contents = |item: &Value| match item.get("content") {
        Some(Value::Array(parts)) => parts.iter().any(|part| has(part.get("text"))),
        other => has(other),
    };
    has(Some(input)) || input.as_array().is_some_and(|items| items.iter().any(contents))
}

fn check_input(request: &Map<String, Value>, rules: &Rules) -> Check {
    let path = Path::Root.key("input");
    let continues =
        ["previous_response_id", "conversation", "prompt"].iter().any(|key| optional(request, key).is_some());
    let stored = request.get("store") != Some(&Value::Bool(false));
    match optional(request, "input") {
        Some(Value::String(_)) => Ok(()),
        Some(Value::Array(list)) if list.is_empty() && continues => Ok(()),
        Some(list @ Value::Array(_)) => items::check(array(list, &path)?, continues, stored, rules),
        Some(other) => Err(wrong_type(&path, "one of a string or array of input items", other)),
        None if continues => Ok(()),
        None => {
            let message = "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation_id' must be provided.";
            Err(invalid(&path, "missing_required_parameter", message))
        }
    }
}

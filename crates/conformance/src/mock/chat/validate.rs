//! The request's own fields (openai.md A.1, A.4).

use serde_json::{Map, Value};

use super::models::{Reasoning, model};
use super::problems::{
    Check, array, bad_pattern, bad_value, check_decimal, check_integer, empty_array, invalid, missing,
    object, one_of, only, optional, optional_string, string, wrong_type,
};
use super::{dialect, history, tools};
use crate::mock::rules::{Path, Rules, Violation, is_plain_name};
use crate::mock::schema::{self, Dialect};

const FIELDS: &[&str] = &[
    "model",
    "messages",
    "stream",
    "stream_options",
    "max_completion_tokens",
    "max_tokens",
    "temperature",
    "top_p",
    "presence_penalty",
    "frequency_penalty",
    "stop",
    "n",
    "seed",
    "logprobs",
    "top_logprobs",
    "logit_bias",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "response_format",
    "reasoning_effort",
    "verbosity",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "safety_identifier",
    "service_tier",
    "store",
    "metadata",
    "modalities",
    "audio",
    "prediction",
    "web_search_options",
    "moderation",
    "user",
];

pub(crate) const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh", "max"];

pub(super) fn check(body: &Value, rules: &Rules) -> Check {
    let root = Path::Root;
    let Some(request) = body.as_object() else {
        return Err(invalid(&root, "invalid_type", "the request body must be a JSON object"));
    };
    if !rules.compatible_fields() {
        only(request, FIELDS, &root)?;
    }
    check_model(request)?;
    let messages = request.get("messages").ok_or_else(|| missing(&root.key("messages")))?;
    let messages = array(messages, &root.key("messages"))?;
    if let Some(server) = rules.server() {
        dialect::check(server, request, messages)?;
    }
    check_numbers(request)?;
    check_flags(request, rules)?;
    check_stop(request)?;
    check_limits(request)?;
    let names = tools::check(request, rules)?;
    check_reasoning(request, !names.is_empty())?;
    check_response_format(request, messages, rules)?;
    history::check(messages, rules)?;
    super::parts::check_audio_model(request, messages)
}

fn check_model(request: &Map<String, Value>) -> Check {
    match request.get("model") {
        None => Err(invalid(&Path::Root, "missing_required_parameter", "you must provide a model parameter")),
        Some(Value::String(name)) if !name.is_empty() => Ok(()),
        Some(other) => Err(wrong_type(&Path::Root.key("model"), "a non-empty string", other)),
    }
}

fn check_numbers(request: &Map<String, Value>) -> Check {
    for (key, min, max) in [
        ("temperature", 0.0, 2.0),
        ("top_p", 0.0, 1.0),
        ("presence_penalty", -2.0, 2.0),
        ("frequency_penalty", -2.0, 2.0),
    ] {
        check_decimal(request, key, min, max)?;
    }
    for (key, min, max) in [
        ("max_tokens", 1, u64::MAX),
        ("max_completion_tokens", 1, u64::MAX),
        ("n", 1, 128),
        ("top_logprobs", 0, 20),
    ] {
        check_integer(request, key, min, max)?;
    }
    match optional(request, "seed") {
        Some(value) if !(value.is_i64() || value.is_u64()) => {
            Err(wrong_type(&Path::Root.key("seed"), "an integer", value))
        }
        _ => Ok(()),
    }
}

fn check_flags(request: &Map<String, Value>, rules: &Rules) -> Check {
    for key in ["stream", "store", "logprobs", "parallel_tool_calls"] {
        if let Some(value) = optional(request, key).filter(|value| !value.is_boolean()) {
            return Err(wrong_type(&Path::Root.key(key), "a boolean", value));
        }
    }
    for key in ["prompt_cache_key", "user"] {
        optional_string(request, key, &Path::Root)?;
    }
    for (key, values) in [
        ("verbosity", &["low", "medium", "high"][..]),
        ("service_tier", &["auto", "default", "flex", "scale", "priority", "fast"][..]),
        ("prompt_cache_retention", &["in_memory", "24h"][..]),
        ("reasoning_effort", EFFORTS),
    ] {
        match optional(request, key) {
            // Compatible servers have words of their own.
            None | Some(Value::String(_)) if rules.compatible_fields() => {}
            None => {}
            Some(value) => one_of(value, values, &Path::Root.key(key))?,
        }
    }
    if let Some(options) = optional(request, "stream_options") {
        let path = Path::Root.key("stream_options");
        if request.get("stream") != Some(&Value::Bool(true)) {
            let message = "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
            return Err(invalid(&path, "invalid_parameter", message));
        }
        let options = object(options, &path)?;
        if !rules.compatible_fields() {
            only(options, &["include_usage", "include_obfuscation"], &path)?;
        }
    }
    if optional(request, "max_tokens").is_some() && optional(request, "max_completion_tokens").is_some() {
        let message = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.";
        return Err(invalid(&Path::Root.key("max_tokens"), "invalid_parameter_combination", message));
    }
    Ok(())
}

fn check_stop(request: &Map<String, Value>) -> Check {
    let path = Path::Root.key("stop");
    match optional(request, "stop") {
        None | Some(Value::String(_)) => Ok(()),
        Some(Value::Array(stops)) if stops.is_empty() => Err(empty_array(&path)),
        Some(Value::Array(stops)) if stops.len() > 4 => {
            let message = "Invalid 'stop': array too long. Expected an array with maximum length 4.";
            Err(invalid(&path, "array_above_max_length", message))
        }
        Some(Value::Array(stops)) if stops.iter().all(Value::is_string) => Ok(()),
        Some(other) => Err(wrong_type(&path, "a string or an array of strings", other)),
    }
}

/// `safety_identifier` and `metadata`.
pub(crate) fn check_limits(request: &Map<String, Value>) -> Check {
    let too_long = |path: &Path<'_>, max, text: &str| match text.chars().count() {
        got if got > max => Err(super::problems::too_long(path, max, got)),
        _ => Ok(()),
    };
    if optional(request, "safety_identifier").is_some() {
        let text = string(request, "safety_identifier", &Path::Root)?;
        too_long(&Path::Root.key("safety_identifier"), 128, text)?;
    }
    let path = Path::Root.key("metadata");
    if let Some(metadata) = optional(request, "metadata") {
        let metadata = object(metadata, &path)?;
        if metadata.len() > 16 {
            let message =
                "Invalid 'metadata': too many properties. Expected an object with at most 16 properties.";
            return Err(invalid(&path, "object_above_max_properties", message));
        }
        for key in metadata.keys() {
            too_long(&path.key(key), 64, key)?;
            too_long(&path.key(key), 512, string(metadata, key, &path)?)?;
        }
    }
    Ok(())
}

fn check_reasoning(request: &Map<String, Value>, has_tools: bool) -> Check {
    let name = request.get("model").and_then(Value::as_str).unwrap_or_default();
    let effort = optional(request, "reasoning_effort").and_then(Value::as_str);
    let Some(model) = model(name) else { return Ok(()) };
    let unsupported = |key: &str, hint: &str| {
        let message = format!("Unsupported parameter: '{key}' is not supported with this model.{hint}");
        Err(invalid(&Path::Root.key(key), "unsupported_parameter", message))
    };
    let path = Path::Root.key("reasoning_effort");
    match (model.reasoning, effort) {
        (Reasoning::Never, Some(_)) => return unsupported("reasoning_effort", ""),
        (Reasoning::Always, Some("none")) => return Err(bad_value(&path, "none", EFFORTS)),
        (_, Some("minimal")) if !model.minimal_effort => return Err(bad_value(&path, "minimal", EFFORTS)),
        _ => {}
    }
    if model.reasoning == Reasoning::Never {
        return Ok(());
    }
    if optional(request, "max_tokens").is_some() {
        return unsupported("max_tokens", " Use 'max_completion_tokens' instead.");
    }
    if !model.stop && optional(request, "stop").is_some() {
        return unsupported("stop", "");
    }
    if !model.reasons(effort) {
        return Ok(());
    }
    for (key, default) in
        [("temperature", 1.0), ("top_p", 1.0), ("presence_penalty", 0.0), ("frequency_penalty", 0.0)]
    {
        if let Some(value) = optional(request, key).filter(|value| value.as_f64() != Some(default)) {
            let message = format!(
                "Unsupported value: '{key}' does not support {value} with this model. Only the default ({default}) \
                 value is supported."
            );
            return Err(invalid(&Path::Root.key(key), "unsupported_value", message));
        }
    }
    if optional(request, "logprobs") == Some(&Value::Bool(true)) {
        return unsupported("logprobs", "");
    }
    if has_tools && model.no_tools_with_reasoning {
        let message = format!(
            "Function tools with reasoning are not supported for {name} in /v1/chat/completions. Use /v1/responses or \
             set 'reasoning_effort' to 'none'."
        );
        return Err(Violation::invalid(message).with_path(path.bracketed()));
    }
    Ok(())
}

fn check_response_format(request: &Map<String, Value>, messages: &[Value], rules: &Rules) -> Check {
    let path = Path::Root.key("response_format");
    let Some(format) = optional(request, "response_format") else { return Ok(()) };
    let format = object(format, &path)?;
    match string(format, "type", &path)? {
        "text" => only(format, &["type"], &path),
        "json_object" => {
            // Some take a schema there.
            if !rules.compatible_fields() {
                only(format, &["type"], &path)?;
            }
            if mentions_json(messages) {
                return Ok(());
            }
            let message = "'messages' must contain the word 'json' in some form, to use 'response_format' of type \
                           'json_object'.";
            Err(invalid(&Path::Root.key("messages"), "invalid_value", message))
        }
        "json_schema" => {
            only(format, &["type", "json_schema"], &path)?;
            let path = path.key("json_schema");
            let spec = object(format.get("json_schema").ok_or_else(|| missing(&path))?, &path)?;
            only(spec, &["name", "description", "schema", "strict"], &path)?;
            if !is_plain_name(string(spec, "name", &path)?, 64) {
                return Err(bad_pattern(&path.key("name")));
            }
            optional_string(spec, "description", &path)?;
            let schema_path = path.key("schema");
            let schema = spec.get("schema").ok_or_else(|| missing(&schema_path))?;
            object(schema, &schema_path)?;
            if spec.get("strict") == Some(&Value::Bool(true))
                && let Err(problem) = schema::check_strict(schema, Dialect::OpenAi)
            {
                let message = format!("Invalid schema for response_format: {problem}");
                return Err(invalid(&schema_path, "invalid_json_schema", message));
            }
            Ok(())
        }
        other => Err(bad_value(&path.key("type"), other, &["text", "json_object", "json_schema"])),
    }
}

fn mentions_json(messages: &[Value]) -> bool {
    let has = |text: &str| text.to_ascii_lowercase().contains("json");
    messages.iter().filter_map(|message| message.get("content")).any(|content| match content {
        Value::String(text) => has(text),
        Value::Array(parts) => parts.iter().filter_map(|part| part.get("text")?.as_str()).any(has),
        _ => false,
    })
}

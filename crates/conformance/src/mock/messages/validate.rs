//! The request's own fields (anthropic.md 2).

use serde_json::{Map, Value};

use super::context::{Context, WITHOUT_SAMPLING};
use super::models::Model;
use super::problems::{Check, array, bad, filled, object, one_of, only, optional_bool, required, string};
use super::{blocks, cache, history, thinking, tools};
use crate::mock::rules::{Path, Rules, Violation};
use crate::mock::schema::{self, Dialect};

const FIELDS: &[&str] = &[
    "model",
    "max_tokens",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "stop_sequences",
    "stream",
    "metadata",
    "service_tier",
    "speed",
    "inference_geo",
    "cache_control",
    "container",
    "diagnostics",
    "temperature",
    "top_p",
    "top_k",
];

/// Fields that need a beta flag.
const BETA_FIELDS: &[&str] = &["context_management", "mcp_servers", "fallbacks", "thread", "compaction"];

const MAX_OUTPUT: u64 = 128_000;
const MAX_MESSAGES: usize = 100_000;

pub(super) fn check(body: &Value, rules: &Rules) -> Check {
    let root = Path::Root;
    let Some(request) = body.as_object() else {
        return Err(bad(&root, "the request body must be a JSON object"));
    };
    let known = |key: &str| FIELDS.contains(&key) || (rules.has_betas() && BETA_FIELDS.contains(&key));
    if let Some(key) = request.keys().find(|key| !known(key)) {
        return Err(bad(&root.key(key), "Extra inputs are not permitted"));
    }
    let name = filled(request, "model", &root)?;
    let context = Context { request, model: Model::parse(name), rules };
    check_max_tokens(&context)?;
    check_small_fields(&context)?;
    check_sampling(&context)?;
    thinking::check(&context)?;
    check_output_config(&context)?;
    tools::check(&context)?;

    let path = root.key("messages");
    let messages = array(request.get("messages").ok_or_else(|| required(&path))?, &path)?;
    if messages.is_empty() || messages.len() > MAX_MESSAGES {
        return Err(bad(&path, format_args!("List should have between 1 and {MAX_MESSAGES} items")));
    }
    let mut checker = blocks::Checker::new(&context);
    checker.system(request.get("system"))?;
    history::check(messages, &context, &mut checker)?;
    checker.finish()?;
    thinking::check_replay(messages, &context)?;
    cache::check(&context)
}

/// Judges the sampling, thinking and output parameters alone, for an API that hands them through to the model.
pub(crate) fn check_parameters(model: &str, request: &Map<String, Value>, rules: &Rules) -> Check {
    let context = Context { request, model: Model::parse(model), rules };
    check_sampling(&context)?;
    thinking::check(&context)?;
    check_output_config(&context)
}

fn check_max_tokens(context: &Context<'_>) -> Check {
    let path = Path::Root.key("max_tokens");
    let value = context.request.get("max_tokens").ok_or_else(|| required(&path))?;
    let Some(tokens) = value.as_u64() else {
        return Err(bad(&path, "Input should be a valid integer, 0 or more"));
    };
    if tokens > MAX_OUTPUT && !context.rules.has_beta("output-") {
        let what =
            format_args!("{tokens} > {MAX_OUTPUT}, which is the maximum allowed number of output tokens");
        return Err(bad(&path, what));
    }
    if tokens == 0 {
        let clash = [
            (context.flag("stream"), "stream"),
            (context.thinking() == Some("enabled"), "thinking"),
            (context.output_format().is_some(), "output_config.format"),
            (context.forces_tool(), "tool_choice"),
        ];
        if let Some((_, field)) = clash.into_iter().find(|(set, _)| *set) {
            return Err(bad(&path, format_args!("0 cannot be combined with `{field}`")));
        }
    }
    Ok(())
}

fn check_small_fields(context: &Context<'_>) -> Check {
    let (request, root) = (context.request, Path::Root);
    optional_bool(request, "stream", &root)?;
    if let Some(stops) = request.get("stop_sequences") {
        let path = root.key("stop_sequences");
        for (index, stop) in array(stops, &path)?.iter().enumerate() {
            match stop.as_str() {
                Some(text) if !text.trim().is_empty() => {}
                Some(_) => return Err(bad(&path, "each stop sequence must contain non-whitespace")),
                None => return Err(bad(&path.index(index), "Input should be a valid string")),
            }
        }
    }
    if let Some(metadata) = request.get("metadata") {
        let path = root.key("metadata");
        only(object(metadata, &path)?, &["user_id"], &path)?;
    }
    for (key, values) in [("service_tier", ["auto", "standard_only"]), ("speed", ["standard", "fast"])] {
        if request.contains_key(key) {
            one_of(string(request, key, &root)?, &values, &root.key(key))?;
        }
    }
    Ok(())
}

fn check_sampling(context: &Context<'_>) -> Check {
    let (request, root) = (context.request, Path::Root);
    let sent = |key: &str| request.get(key).filter(|value| !value.is_null());
    for key in ["temperature", "top_p", "top_k"] {
        let Some(value) = sent(key) else { continue };
        let path = root.key(key);
        if context.rules.anthropic_version() == WITHOUT_SAMPLING {
            return Err(bad(&path, "Extra inputs are not permitted"));
        }
        if context.model.is_some_and(Model::rejects_sampling) {
            return Err(bad(&root, format_args!("`{key}` is not supported for this model")));
        }
        match value.as_f64() {
            Some(number) if key == "top_k" && number >= 0.0 && value.is_u64() => {}
            Some(number) if key != "top_k" && (0.0..=1.0).contains(&number) => {}
            _ if key == "top_k" => return Err(bad(&path, "Input should be a valid integer, 0 or more")),
            _ => return Err(bad(&path, "Input should be a number from 0 to 1")),
        }
    }
    if sent("temperature").is_some()
        && sent("top_p").is_some()
        && context.model.is_some_and(Model::takes_one_sampling_parameter)
    {
        let what = "`temperature` and `top_p` cannot both be specified for this model. Please use only one.";
        return Err(bad(&root, what));
    }
    Ok(())
}

fn check_output_config(context: &Context<'_>) -> Check {
    let path = Path::Root.key("output_config");
    let Some(config) = context.request.get("output_config") else { return Ok(()) };
    let config = object(config, &path)?;
    let known: &[&str] =
        if context.rules.has_betas() { &["effort", "format", "task_budget"] } else { &["effort", "format"] };
    only(config, known, &path)?;
    if config.get("effort").is_some_and(|effort| !effort.is_null()) {
        let effort = string(config, "effort", &path)?;
        one_of(effort, &["low", "medium", "high", "xhigh", "max"], &path.key("effort"))?;
        check_effort(effort, context)?;
    }
    let path = path.key("format");
    let Some(format) = context.output_format() else { return Ok(()) };
    let format = object(format, &path)?;
    only(format, &["type", "schema"], &path)?;
    one_of(string(format, "type", &path)?, &["json_schema"], &path.key("type"))?;
    let path = path.key("schema");
    let schema = format.get("schema").ok_or_else(|| required(&path))?;
    schema::check_strict(schema, Dialect::Anthropic).map_err(|problem| bad(&path, problem))
}

fn check_effort(effort: &str, context: &Context<'_>) -> Result<(), Violation> {
    let Some(model) = context.model else { return Ok(()) };
    match model.efforts() {
        [] => Err(bad(&Path::Root, "This model does not support the effort parameter.")),
        levels if levels.contains(&effort) => Ok(()),
        levels => {
            let levels = levels.join(", ");
            let what =
                format!("This model does not support effort level '{effort}'. Supported levels: {levels}.");
            Err(bad(&Path::Root, what))
        }
    }
}

//! Parameters: `inferenceConfig`, `outputConfig` and what is handed to the model as it is (bedrock.md 2, 5, 11).

use serde_json::{Map, Value, json};

use super::context::Context;
use super::family::Family;
use super::problems::{
    Check, constraint, extraneous, list, member, object, of_model, one_of, only, optional_filled,
    optional_one_of, refused, required_object, string, unsupported,
};
use crate::mock::messages;
use crate::mock::rules::{Path, Violation};
use crate::mock::schema::{self, Dialect};

const MAX_STOPS: usize = 2500;
/// The tokens that Claude may write where the request sets no limit.
const CLAUDE_OUTPUT: u64 = 128_000;

/// The fields that Claude takes beside those of Converse.
const CLAUDE_FIELDS: &[&str] =
    &["thinking", "output_config", "top_k", "anthropic_beta", "tool_choice", "anthropic_version"];
/// The fields that it takes with a beta flag.
const CLAUDE_BETA_FIELDS: &[&str] = &["tools", "context_management"];

pub(super) fn check(context: &Context<'_>) -> Check {
    check_inference(context)?;
    check_output(context)?;
    let path = Path::Root.key("additionalModelRequestFields");
    if let Some(additional) = member(context.request, "additionalModelRequestFields") {
        let additional = object(additional, &path)?;
        check_additional(additional, context, &path)?;
    }
    if context.family.is_claude() { check_claude(context) } else { Ok(()) }
}

fn check_inference(context: &Context<'_>) -> Check {
    let path = Path::Root.key("inferenceConfig");
    let Some(config) = member(context.request, "inferenceConfig") else { return Ok(()) };
    let config = object(config, &path)?;
    only(config, &["maxTokens", "temperature", "topP", "stopSequences"], &path)?;
    if member(config, "maxTokens").is_some_and(|tokens| tokens.as_u64().is_none_or(|tokens| tokens == 0)) {
        let what = "Member must be an integer greater than or equal to 1";
        return Err(constraint(&path.key("maxTokens"), what));
    }
    let unknown = ["temperature", "topP", "stopSequences"].into_iter().find(|key| config.contains_key(*key));
    if let Some(key) = unknown.filter(|_| context.family == Family::Gpt) {
        return Err(unsupported(&path.key(key)));
    }
    for key in ["temperature", "topP"] {
        let Some(value) = member(config, key) else { continue };
        if !value.as_f64().is_some_and(|value| (0.0..=1.0).contains(&value)) {
            return Err(constraint(&path.key(key), "Member must be a number from 0 to 1"));
        }
    }
    if let Some(stops) = member(config, "stopSequences") {
        let path = path.key("stopSequences");
        let stops = list(stops, &path)?;
        if stops.len() > MAX_STOPS {
            return Err(constraint(&path, format_args!("Member must have length at most {MAX_STOPS}")));
        }
        for (index, stop) in stops.iter().enumerate() {
            if stop.as_str().is_none_or(str::is_empty) {
                let what = "Member must be a string of at least 1 character";
                return Err(constraint(&path.index(index), what));
            }
        }
    }
    Ok(())
}

fn check_output(context: &Context<'_>) -> Check {
    let path = Path::Root.key("outputConfig");
    let Some(config) = member(context.request, "outputConfig") else { return Ok(()) };
    let config = object(config, &path)?;
    only(config, &["effort", "textFormat"], &path)?;
    optional_one_of(config, "effort", &["low", "medium", "high", "xhigh", "max"], &path)?;
    let Some(format) = member(config, "textFormat") else { return Ok(()) };
    let path = path.key("textFormat");
    if !context.family.compiles_schemas() {
        return Err(unsupported(&path));
    }
    let format = object(format, &path)?;
    only(format, &["type", "structure"], &path)?;
    one_of(string(format, "type", &path)?, &["json_schema"], &path.key("type"))?;
    let structure = required_object(format, "structure", &path)?;
    let path = path.key("structure");
    only(structure, &["jsonSchema"], &path)?;
    let definition = required_object(structure, "jsonSchema", &path)?;
    let path = path.key("jsonSchema");
    only(definition, &["schema", "name", "description"], &path)?;
    optional_filled(definition, "name", &path)?;
    optional_filled(definition, "description", &path)?;
    // A string with JSON inside.
    let text = string(definition, "schema", &path)?;
    let path = path.key("schema");
    let schema: Value = serde_json::from_str(text)
        .map_err(|_| refused(&path, format!("The value at {} is not valid JSON.", path.dotted())))?;
    schema::check_strict(&schema, Dialect::Bedrock).map_err(|problem| of_model(&path, problem))
}

fn check_additional(additional: &Map<String, Value>, context: &Context<'_>, path: &Path<'_>) -> Check {
    let foreign = |known: &[&str]| match additional.keys().find(|key| !known.contains(&key.as_str())) {
        // The model behind the API sees one body, so the place is its root.
        Some(key) => Err(Violation { path: path.key(key).dotted(), ..extraneous(key, &Path::Root) }),
        None => Ok(()),
    };
    let choice = |key: &str, values: &[&str]| optional_one_of(additional, key, values, path).map(drop);
    match context.family {
        Family::Claude(_) => {
            let betas = member(additional, "anthropic_beta");
            if betas.is_some_and(|betas| !betas.is_array()) {
                return Err(of_model(&path.key("anthropic_beta"), "Input should be a valid list"));
            }
            let mut known = CLAUDE_FIELDS.to_vec();
            if betas.is_some() {
                known.extend(CLAUDE_BETA_FIELDS);
            }
            foreign(&known)
        }
        Family::Nova2 => {
            foreign(&["inferenceConfig", "reasoningConfig"])?;
            let Some(config) = member(additional, "reasoningConfig") else { return Ok(()) };
            let path = path.key("reasoningConfig");
            let config = object(config, &path)?;
            only(config, &["type", "maxReasoningEffort"], &path)?;
            one_of(string(config, "type", &path)?, &["enabled", "disabled"], &path.key("type"))?;
            optional_one_of(config, "maxReasoningEffort", &["low", "medium", "high"], &path).map(drop)
        }
        family if family.is_nova() => foreign(&["inferenceConfig"]),
        Family::GptOss => choice("reasoning_effort", &["low", "medium", "high"]),
        Family::Gpt => {
            if let Some(key) = additional.keys().find(|key| *key != "reasoning") {
                return Err(of_model(&path.key(key), format_args!("Unknown parameter: '{key}'.")));
            }
            let Some(reasoning) = member(additional, "reasoning") else { return Ok(()) };
            let path = path.key("reasoning");
            let efforts = &["none", "low", "medium", "high", "xhigh", "max"];
            optional_one_of(object(reasoning, &path)?, "effort", efforts, &path).map(drop)
        }
        Family::Qwen => choice("reasoning_config", &["low", "high"]),
        _ => Ok(()),
    }
}

/// Checks Claude's parameters, which reach it as those of its own API.
fn check_claude(context: &Context<'_>) -> Check {
    let empty = Map::new();
    let additional = context.additional().unwrap_or(&empty);
    let own = |field: &str| member(context.request, field).and_then(Value::as_object).unwrap_or(&empty);
    let (inference, output) = (own("inferenceConfig"), own("outputConfig"));
    let mut config = additional.get("output_config").cloned().unwrap_or_else(|| json!({}));
    if config.get("format").is_some() && member(output, "textFormat").is_some() {
        let path = Path::Root.key("outputConfig");
        let message = "outputConfig.textFormat and output_config.format must not both be set";
        return Err(of_model(&path.key("textFormat"), message));
    }
    if let (Some(effort), Some(config)) = (member(output, "effort"), config.as_object_mut()) {
        config.insert("effort".to_owned(), effort.clone());
    }
    let mut request = Map::new();
    request.insert("output_config".to_owned(), config);
    let max_tokens = member(inference, "maxTokens").cloned();
    request.insert("max_tokens".to_owned(), max_tokens.unwrap_or_else(|| CLAUDE_OUTPUT.into()));
    for (key, value) in [
        ("temperature", member(inference, "temperature")),
        ("top_p", member(inference, "topP")),
        ("top_k", member(additional, "top_k")),
        ("thinking", member(additional, "thinking")),
    ] {
        request.extend(value.map(|value| (key.to_owned(), value.clone())));
    }
    let choice = own("toolConfig").get("toolChoice").and_then(Value::as_object);
    if let Some(kind) = choice.and_then(|choice| choice.keys().next()) {
        request.insert("tool_choice".to_owned(), json!({"type": kind}));
    }
    let betas = member(additional, "anthropic_beta").and_then(Value::as_array).into_iter().flatten();
    let rules = context.rules.clone().with_anthropic_betas(betas.filter_map(Value::as_str));
    messages::check_parameters(context.model_id, &request, &rules).map_err(|violation| {
        let of_model = of_model(&Path::Root, &violation.message);
        of_model.with_path(violation.path)
    })
}

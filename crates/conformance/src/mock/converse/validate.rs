//! The request's own fields (bedrock.md 2).

use serde_json::{Map, Value};

use super::context::Context;
use super::family::{Family, is_model_id, lacks_profile};
use super::problems::{
    Check, VALIDATION, constraint, filled, list, member, missing, object, one_of, only, optional_one_of,
    refused, required_list, string,
};
use super::{blocks, cache, history, parameters, tools};
use crate::mock::rules::{Path, Rules, Violation};

const FIELDS: &[&str] = &[
    "messages",
    "system",
    "inferenceConfig",
    "toolConfig",
    "outputConfig",
    "additionalModelRequestFields",
    "additionalModelResponseFieldPaths",
    "guardrailConfig",
    "performanceConfig",
    "serviceTier",
    "requestMetadata",
    "promptVariables",
];

const MAX_METADATA: usize = 16;
const MAX_METADATA_VALUE: usize = 256;
const MAX_RESPONSE_PATHS: usize = 10;

pub(super) fn check(model_id: &str, body: &Value, rules: &Rules) -> Check {
    let root = Path::Root;
    if !is_model_id(model_id) {
        return Err(Violation::new(400, VALIDATION, "The provided model identifier is invalid."));
    }
    if lacks_profile(model_id) {
        let message = format!(
            "Invocation of model ID {model_id} with on-demand throughput isn\u{2019}t supported. Retry your request \
             with the ID or ARN of an inference profile that contains this model."
        );
        return Err(Violation::new(400, VALIDATION, message));
    }
    let request = object(body, &root)?;
    only(request, FIELDS, &root)?;
    let context = Context { request, model_id, family: Family::of(model_id), rules };
    check_small_fields(&context)?;
    parameters::check(&context)?;
    tools::check(&context)?;
    check_system(&context)?;
    let messages = required_list(request, "messages", &root)?;
    if messages.is_empty() {
        let message = "A conversation must have at least one message. Try again with one.";
        return Err(refused(&root.key("messages"), message));
    }
    let mut checker = blocks::Checker::new(&context);
    history::check(messages, &context, &mut checker)?;
    cache::check(&context)
}

fn check_system(context: &Context<'_>) -> Check {
    let path = Path::Root.key("system");
    let Some(system) = member(context.request, "system") else { return Ok(()) };
    let system = list(system, &path)?;
    if !system.is_empty() && !context.family.takes_system() {
        return Err(refused(&path, "This model doesn't support system messages. Try again without one."));
    }
    system.iter().enumerate().try_for_each(|(index, block)| blocks::system_block(block, &path.index(index)))
}

fn check_small_fields(context: &Context<'_>) -> Check {
    let (request, root) = (context.request, Path::Root);
    if let Some(paths) = member(request, "additionalModelResponseFieldPaths") {
        let path = root.key("additionalModelResponseFieldPaths");
        let paths = list(paths, &path)?;
        if paths.len() > MAX_RESPONSE_PATHS {
            let what = format_args!("Member must have length less than or equal to {MAX_RESPONSE_PATHS}");
            return Err(constraint(&path, what));
        }
        for (index, pointer) in paths.iter().enumerate() {
            if !pointer.as_str().is_some_and(|pointer| pointer.starts_with('/') && pointer.len() <= 256) {
                return Err(constraint(&path.index(index), "Member must be a JSON pointer"));
            }
        }
    }
    if let Some(guardrail) = member(request, "guardrailConfig") {
        let path = root.key("guardrailConfig");
        let guardrail = object(guardrail, &path)?;
        let known = ["guardrailIdentifier", "guardrailVersion", "trace", "streamProcessingMode"];
        only(guardrail, &known, &path)?;
        filled(guardrail, "guardrailIdentifier", &path)?;
        filled(guardrail, "guardrailVersion", &path)?;
        optional_one_of(guardrail, "trace", &["enabled", "disabled", "enabled_full"], &path)?;
        optional_one_of(guardrail, "streamProcessingMode", &["sync", "async"], &path)?;
    }
    for (field, key, values) in [
        ("performanceConfig", "latency", &["standard", "optimized"][..]),
        ("serviceTier", "type", &["priority", "default", "flex", "reserved"][..]),
    ] {
        let path = root.key(field);
        let Some(config) = member(request, field) else { continue };
        let config = object(config, &path)?;
        only(config, &[key], &path)?;
        one_of(string(config, key, &path)?, values, &path.key(key))?;
    }
    if let Some(variables) = member(request, "promptVariables") {
        object(variables, &root.key("promptVariables"))?;
    }
    check_metadata(request)
}

fn check_metadata(request: &Map<String, Value>) -> Check {
    let path = Path::Root.key("requestMetadata");
    let Some(metadata) = member(request, "requestMetadata") else { return Ok(()) };
    let metadata = object(metadata, &path)?;
    if !(1..=MAX_METADATA).contains(&metadata.len()) {
        return Err(constraint(&path, format_args!("Map must have 1 to {MAX_METADATA} entries")));
    }
    for (key, value) in metadata {
        let path = path.key(key);
        match value {
            Value::Null => return Err(missing(&path)),
            Value::String(text) if text.chars().count() <= MAX_METADATA_VALUE => {}
            _ => {
                let what = format_args!("Member must be a string of at most {MAX_METADATA_VALUE} characters");
                return Err(constraint(&path, what));
            }
        }
    }
    Ok(())
}

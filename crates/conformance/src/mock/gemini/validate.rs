//! The request as a whole: fields, generation config, cached content (gemini.md 2, 4, 6, 10).

use serde_json::Value;

use super::context::Context;
use super::models::Thinking;
use super::parts::Checker;
use super::proto::{self, Check, invalid};
use super::{fields, history, schema, tools};
use crate::members::{get, list, member, text};
use crate::mock::rules::{Path, Rules, Violation};

pub(super) fn check(resource: &str, body: &Value, rules: &Rules) -> Check {
    let context = Context::new(resource);
    proto::check(&fields::REQUEST, body, &Path::Root, context.platform)?;
    let cached = member(body, "cached_content").is_some();
    if cached && ["system_instruction", "tools", "tool_config"].iter().any(|key| holds(body, key)) {
        let message = "CachedContent can not be used with GenerateContent request setting system_instruction, tools or \
                       tool_config.\n\nProposed fix: move those values to CachedContent from GenerateContent request.";
        return Err(invalid(&Path::Root.key("cached_content"), message));
    }
    check_contents(body, "GenerateContentRequest", cached, &context)?;
    if rules.alternation_or(false) {
        history::check_alternation(list(body, "contents"))?;
    }
    check_generation(body, &context)
}

/// Checks the parts that a request and a cached content have in common.
pub(super) fn check_contents(body: &Value, name: &str, cached: bool, context: &Context<'_>) -> Check {
    let contents = list(body, "contents");
    let path = Path::Root.key("contents");
    if contents.is_empty() && name == "GenerateContentRequest" {
        return Err(invalid(&path, format!("* {name}.contents: contents is not specified\n")));
    }
    let checker = Checker::new(name, context);
    if let Some(instruction) = member(body, "system_instruction") {
        checker.system(instruction, &Path::Root.key("system_instruction"))?;
    }
    for (index, content) in contents.iter().enumerate() {
        checker.content(content, &path.index(index))?;
    }
    tools::check(body, context)?;
    history::check(contents, cached, context)
}

/// True if a member holds more than an empty value.
fn holds(body: &Value, key: &str) -> bool {
    member(body, key).is_some_and(|value| match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => members.values().any(|member| !member.is_null()),
        _ => true,
    })
}

fn check_generation(body: &Value, context: &Context<'_>) -> Check {
    let Some(config) = member(body, "generation_config") else { return Ok(()) };
    let path = Path::Root.key("generation_config");
    let number = |key: &str| member(config, key).and_then(as_number);
    for (key, min, max) in [
        ("temperature", 0.0, 2.0),
        ("top_p", 0.0, 1.0),
        ("top_k", 1.0, f64::MAX),
        ("max_output_tokens", 1.0, f64::MAX),
        ("candidate_count", 1.0, 8.0),
    ] {
        if let Some(value) = number(key).filter(|value| !(min..=max).contains(value)) {
            let message = format!(
                "* GenerateContentRequest.generation_config.{key}: {key} must be in the range [{min}, {max}], got {value}.\n"
            );
            return Err(invalid(&path.key(key), message));
        }
    }
    if number("candidate_count").is_some_and(|count| count > 1.0)
        && context.model.is_some()
        && !context.is_old()
    {
        let message = "Multiple candidates is not enabled for this model";
        return Err(invalid(&path.key("candidate_count"), message));
    }
    if list(config, "stop_sequences").len() > 5 {
        let message = "* GenerateContentRequest.generation_config.stop_sequences: the number of stop sequences must be at most 5\n";
        return Err(invalid(&path.key("stop_sequences"), message));
    }
    check_output(body, config, &path, context)?;
    match member(config, "thinking_config") {
        Some(thinking) => check_thinking(thinking, &path.key("thinking_config"), context),
        None => Ok(()),
    }
}

/// A number as protobuf JSON writes it.
fn as_number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

fn check_output(body: &Value, config: &Value, path: &Path<'_>, context: &Context<'_>) -> Check {
    let media_type = text(config, "response_mime_type");
    let path_of_type = path.key("response_mime_type");
    let known = ["", "text/plain", "application/json", "application/xml", "application/yaml", "text/x.enum"];
    if !known.contains(&media_type) {
        let message = "* GenerateContentRequest.generation_config.response_mime_type: allowed mimetypes are `text/plain`, \
                       `application/json`, `application/xml`, `application/yaml` and `text/x.enum`.\n";
        return Err(invalid(&path_of_type, message));
    }
    let schema_path = path.key("response_schema");
    let json_path = path.key("response_json_schema");
    match (member(config, "response_schema"), member(config, "response_json_schema")) {
        (Some(_), Some(_)) => {
            let message = "Only one of response_schema and response_json_schema can be set.";
            return Err(invalid(&json_path, message));
        }
        (Some(_), None) | (None, Some(_)) if !matches!(media_type, "application/json" | "text/x.enum") => {
            let message = "* GenerateContentRequest.generation_config.response_schema: only allowed when \
                           response_mime_type is `application/json` or `text/x.enum`\n";
            return Err(invalid(&path_of_type, message));
        }
        (Some(schema), None) => {
            schema::check(schema, "GenerateContentRequest.generation_config.response_schema", &schema_path)?;
        }
        (None, Some(schema)) => schema::check_json(schema, &json_path)?,
        (None, None) => {}
    }
    if media_type == "application/json" && context.is_old() && tools::declares_functions(body) {
        let message = "Function calling with a response mime type: 'application/json' is unsupported";
        return Err(invalid(&path_of_type, message));
    }
    Ok(())
}

fn check_thinking(config: &Value, path: &Path<'_>, context: &Context<'_>) -> Check {
    let budget = member(config, "thinking_budget").and_then(as_number);
    let level = member(config, "thinking_level").and_then(Value::as_str);
    let refuse = |key: &str, message: String| Err(invalid(&path.key(key), message));
    if budget.is_some() && level.is_some() {
        return refuse(
            "thinking_level",
            "You can only set only one of thinking budget and thinking level.".to_owned(),
        );
    }
    let Some(model) = context.model else { return Ok(()) };
    let unsupported = || -> Violation {
        invalid(path, "Unable to submit request because thinking is not supported by this model.")
    };
    match model.thinking() {
        Thinking::None
            if config.as_object().is_some_and(|config| {
                ["thinking_budget", "thinking_level", "include_thoughts"]
                    .iter()
                    .any(|key| get(config, key).is_some())
            }) =>
        {
            Err(unsupported())
        }
        Thinking::None => Ok(()),
        Thinking::Budget { min, max, off } => {
            if level.is_some() {
                return refuse(
                    "thinking_level",
                    "Thinking level is not supported for this model.".to_owned(),
                );
            }
            let Some(budget) = budget else { return Ok(()) };
            #[expect(
                clippy::cast_precision_loss,
                reason = "the bounds are far below what a double holds exactly"
            )]
            let inside = (min as f64..=max as f64).contains(&budget);
            if inside || budget == -1.0 || (off && budget == 0.0) {
                return Ok(());
            }
            let message = if budget == 0.0 {
                "Budget 0 is invalid. This model only works in thinking mode.".to_owned()
            } else {
                format!(
                    "The thinking budget {budget} is invalid. Please choose a value between {min} and {max}."
                )
            };
            refuse("thinking_budget", message)
        }
        Thinking::Levels(levels) => match level {
            Some(level) if !levels.iter().any(|known| known.eq_ignore_ascii_case(level)) => {
                let message =
                    format!("Thinking level {} is not supported for this model.", level.to_ascii_uppercase());
                refuse("thinking_level", message)
            }
            _ => Ok(()),
        },
    }
}

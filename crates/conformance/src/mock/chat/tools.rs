//! Tools and the choice among them (openai.md A.3).

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::problems::{
    Check, array, bad_pattern, bad_value, invalid, missing, object, one_of, only, optional, optional_string,
    string, too_long, wrong_type,
};
use crate::mock::rules::{Path, Rules, Violation, is_plain_name};
use crate::mock::schema::{self, Dialect};

const MAX_TOOLS: usize = 128;

/// Checks `tools`, `tool_choice` and `parallel_tool_calls`; returns the tools' names.
pub(super) fn check<'v>(
    request: &'v Map<String, Value>,
    rules: &Rules,
) -> Result<HashSet<&'v str>, Violation> {
    let mut names = HashSet::new();
    if let Some(tools) = optional(request, "tools") {
        let path = Path::Root.key("tools");
        let tools = array(tools, &path)?;
        if tools.len() > MAX_TOOLS {
            let message = format!(
                "Invalid 'tools': array too long. Expected an array with maximum length {MAX_TOOLS}, but got an array \
                 with length {} instead.",
                tools.len()
            );
            return Err(invalid(&path, "array_above_max_length", message));
        }
        for (index, tool) in tools.iter().enumerate() {
            let path = path.index(index);
            let name = check_tool(tool, &path, rules)?;
            if !names.insert(name) {
                let message = format!("Invalid '{}': duplicate tool name '{name}'.", path.bracketed());
                return Err(invalid(&path, "invalid_value", message));
            }
        }
    }
    for key in ["tool_choice", "parallel_tool_calls"] {
        if names.is_empty() && optional(request, key).is_some() {
            let message =
                format!("Invalid value for '{key}': '{key}' is only allowed when 'tools' are specified.");
            return Err(invalid(&Path::Root.key(key), "invalid_value", message));
        }
    }
    if let Some(choice) = optional(request, "tool_choice") {
        check_choice(choice, &names, rules)?;
    }
    Ok(names)
}

fn check_tool<'v>(tool: &'v Value, path: &Path<'_>, rules: &Rules) -> Result<&'v str, Violation> {
    let tool = object(tool, path)?;
    let kind = match tool.get("type") {
        None if rules.compatible_fields() => "function",
        _ => string(tool, "type", path)?,
    };
    if !matches!(kind, "function" | "custom") {
        return Err(bad_value(&path.key("type"), kind, &["function", "custom"]));
    }
    only(tool, &["type", kind], path)?;
    let path = path.key(kind);
    let spec = object(tool.get(kind).ok_or_else(|| missing(&path))?, &path)?;
    let name = check_name(spec, &path)?;
    optional_string(spec, "description", &path)?;
    if kind == "custom" {
        only(spec, &["name", "description", "format"], &path)?;
        return Ok(name);
    }
    only(spec, &["name", "description", "parameters", "strict"], &path)?;
    let strict = match optional(spec, "strict") {
        None => false,
        Some(Value::Bool(strict)) => *strict,
        Some(other) => return Err(wrong_type(&path.key("strict"), "a boolean", other)),
    };
    let bad_schema = |problem: String| {
        let message = format!("Invalid schema for function '{name}': {problem}");
        invalid(&path.key("parameters"), "invalid_function_parameters", message)
    };
    if let Some(parameters) = optional(spec, "parameters") {
        let schema = object(parameters, &path.key("parameters"))?;
        if rules.compatible_fields() {
            schema::check_root(schema).map_err(bad_schema)?;
        } else {
            schema::check_function(schema).map_err(bad_schema)?;
        }
        if strict {
            schema::check_strict(parameters, Dialect::OpenAi).map_err(bad_schema)?;
        }
    }
    Ok(name)
}

/// A function in OpenAI's form, as servers take it that do not demand OpenAI's names and schemas.
pub(crate) fn check_plain(tool: &Value, path: &Path<'_>) -> Check {
    let tool = object(tool, path)?;
    only(tool, &["type", "function"], path)?;
    one_of(tool.get("type").ok_or_else(|| missing(&path.key("type")))?, &["function"], &path.key("type"))?;
    let path = path.key("function");
    let spec = object(tool.get("function").ok_or_else(|| missing(&path))?, &path)?;
    only(spec, &["name", "description", "parameters"], &path)?;
    string(spec, "name", &path)?;
    optional_string(spec, "description", &path)?;
    let path = path.key("parameters");
    object(spec.get("parameters").ok_or_else(|| missing(&path))?, &path).map(drop)
}

/// A function name: `^[A-Za-z0-9_-]{1,64}$`.
pub(crate) fn check_name<'v>(spec: &'v Map<String, Value>, path: &Path<'_>) -> Result<&'v str, Violation> {
    let name = string(spec, "name", path)?;
    if name.len() > 64 {
        return Err(too_long(&path.key("name"), 64, name.len()));
    }
    if !is_plain_name(name, 64) {
        return Err(bad_pattern(&path.key("name")));
    }
    Ok(name)
}

fn check_choice(choice: &Value, names: &HashSet<&str>, rules: &Rules) -> Check {
    let path = Path::Root.key("tool_choice");
    if choice.is_string() {
        if rules.compatible_fields() && choice == "any" {
            return Ok(());
        }
        return one_of(choice, &["none", "auto", "required"], &path);
    }
    let choice = object(choice, &path)?;
    match string(choice, "type", &path)? {
        kind @ ("function" | "custom") => check_reference(choice, kind, &path, names),
        "allowed_tools" => {
            only(choice, &["type", "allowed_tools"], &path)?;
            let path = path.key("allowed_tools");
            let allowed = object(choice.get("allowed_tools").ok_or_else(|| missing(&path))?, &path)?;
            only(allowed, &["mode", "tools"], &path)?;
            one_of(
                allowed.get("mode").ok_or_else(|| missing(&path.key("mode")))?,
                &["auto", "required"],
                &path.key("mode"),
            )?;
            let path = path.key("tools");
            let tools = array(allowed.get("tools").ok_or_else(|| missing(&path))?, &path)?;
            for (index, tool) in tools.iter().enumerate() {
                let path = path.index(index);
                let tool = object(tool, &path)?;
                check_reference(tool, string(tool, "type", &path)?, &path, names)?;
            }
            Ok(())
        }
        other => Err(bad_value(&path.key("type"), other, &["function", "allowed_tools", "custom"])),
    }
}

fn check_reference(choice: &Map<String, Value>, kind: &str, path: &Path<'_>, names: &HashSet<&str>) -> Check {
    only(choice, &["type", kind], path)?;
    let path = path.key(kind);
    let reference = object(choice.get(kind).ok_or_else(|| missing(&path))?, &path)?;
    only(reference, &["name"], &path)?;
    let name = string(reference, "name", &path)?;
    if names.contains(name) {
        return Ok(());
    }
    let message = format!("Tool choice '{name}' not found in 'tools' parameter.");
    Err(invalid(&Path::Root.key("tool_choice"), "invalid_value", message))
}

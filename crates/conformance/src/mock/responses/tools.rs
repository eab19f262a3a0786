//! Tools and the choice among them (openai.md B.4).

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::mock::chat::problems::{
    Check, array, bad_value, invalid, missing, object, one_of, only, optional, optional_string, string,
    wrong_type,
};
use crate::mock::chat::tools::check_name;
use crate::mock::rules::{Path, Rules, Violation};
use crate::mock::schema::{self, Dialect};

/// Tools that the provider runs; their members are its own.
const BUILT_IN: &[&str] = &[
    "web_search",
    "web_search_preview",
    "file_search",
    "code_interpreter",
    "image_generation",
    "mcp",
    "computer_use_preview",
    "computer",
    "local_shell",
    "shell",
    "apply_patch",
    "tool_search",
    "namespace",
    "programmatic_tool_calling",
];

/// Checks `tools` and `tool_choice`.
pub(super) fn check(request: &Map<String, Value>, rules: &Rules) -> Check {
    let path = Path::Root.key("tools");
    let mut names = HashSet::new();
    let mut kinds = HashSet::new();
    if let Some(tools) = optional(request, "tools") {
        let Some(tools) = tools.as_array() else { return Err(wrong_type(&path, "an array", tools)) };
        for (index, tool) in tools.iter().enumerate() {
            let path = path.index(index);
            let tool = object(tool, &path)?;
            kinds.insert(string(tool, "type", &path)?);
            if let Some(name) = check_tool(tool, &path, rules)?
                && !names.insert(name)
            {
                let message = format!("Invalid '{}': duplicate tool name '{name}'.", path.bracketed());
                return Err(invalid(&path, "invalid_value", message));
            }
        }
    }
    match optional(request, "tool_choice") {
        Some(choice) => check_choice(choice, &names, &kinds),
        None => Ok(()),
    }
}

/// Checks one tool; returns the name of one that the client runs.
pub(super) fn check_tool<'v>(
    tool: &'v Map<String, Value>,
    path: &Path<'_>,
    rules: &Rules,
) -> Result<Option<&'v str>, Violation> {
    let name = match string(tool, "type", path)? {
        // The name first: a tool nested as in Chat Completions has none.
        "function" => check_function(tool, check_name(tool, path)?, path, rules)?,
        "custom" => {
            only(tool, &["type", "name", "description", "format", "defer_loading"], path)?;
            check_name(tool, path)?
        }
        kind if BUILT_IN.contains(&kind) || rules.compatible_fields() => return Ok(None),
        other => {
            let known: Vec<&str> =
                ["function", "custom"].into_iter().chain(BUILT_IN.iter().copied()).collect();
            return Err(bad_value(&path.key("type"), other, &known));
        }
    };
    optional_string(tool, "description", path)?;
    Ok(Some(name))
}

fn check_function<'v>(
    tool: &'v Map<String, Value>,
    name: &'v str,
    path: &Path<'_>,
    rules: &Rules,
) -> Result<&'v str, Violation> {
    if !rules.compatible_fields() {
        let known = [
            "type",
            "name",
            "description",
            "parameters",
            "strict",
            "output_schema",
            "defer_loading",
            "allowed_callers",
            "async",
        ];
        only(tool, &known, path)?;
    }
    let strict = strict(tool, path)?;
    let path = path.key("parameters");
    let bad_schema = |problem: String| {
        let message = format!("Invalid schema for function '{name}': {problem}");
        invalid(&path, "invalid_function_parameters", message)
    };
    if let Some(parameters) = optional(tool, "parameters") {
        let schema = object(parameters, &path)?;
        if rules.compatible_fields() {
            schema::check_root(schema).map_err(bad_schema)?;
        } else {
            schema::check_function(schema).map_err(bad_schema)?;
        }
        // Without the member the server tries strict mode, and goes without where the schema does not fit.
        if strict == Some(true) {
            schema::check_strict(parameters, Dialect::OpenAi).map_err(bad_schema)?;
        }
    }
    Ok(name)
}

/// The member `strict`, where it is there.
pub(super) fn strict(spec: &Map<String, Value>, path: &Path<'_>) -> Result<Option<bool>, Violation> {
    match optional(spec, "strict") {
        None => Ok(None),
        Some(Value::Bool(strict)) => Ok(Some(*strict)),
        Some(other) => Err(wrong_type(&path.key("strict"), "a boolean", other)),
    }
}

fn check_choice(choice: &Value, names: &HashSet<&str>, kinds: &HashSet<&str>) -> Check {
    let path = Path::Root.key("tool_choice");
    if choice.is_string() {
        one_of(choice, &["none", "auto", "required"], &path)?;
        if choice == "required" && kinds.is_empty() {
            return Err(not_found(&path, "required"));
        }
        return Ok(());
    }
    let choice = object(choice, &path)?;
    if string(choice, "type", &path)? != "allowed_tools" {
        return check_reference(choice, &path, names, kinds);
    }
    only(choice, &["type", "mode", "tools"], &path)?;
    let mode = path.key("mode");
    one_of(choice.get("mode").ok_or_else(|| missing(&mode))?, &["auto", "required"], &mode)?;
    let path = path.key("tools");
    let tools = array(choice.get("tools").ok_or_else(|| missing(&path))?, &path)?;
    for (index, tool) in tools.iter().enumerate() {
        let path = path.index(index);
        check_reference(object(tool, &path)?, &path, names, kinds)?;
    }
    Ok(())
}

fn check_reference(
    choice: &Map<String, Value>,
    path: &Path<'_>,
    names: &HashSet<&str>,
    kinds: &HashSet<&str>,
) -> Check {
    match string(choice, "type", path)? {
        "function" | "custom" => {
            let name = string(choice, "name", path)?;
            only(choice, &["type", "name"], path)?;
            if names.contains(name) { Ok(()) } else { Err(not_found(path, name)) }
        }
        kind if kinds.contains(kind) => Ok(()),
        kind => Err(not_found(path, kind)),
    }
}

fn not_found(path: &Path<'_>, what: &str) -> Violation {
    invalid(path, "invalid_value", format!("Tool choice '{what}' not found in 'tools' parameter."))
}

//! Tools and the choice among them (anthropic.md 6).

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::context::Context;
use super::models::Model;
use super::problems::{
    Check, array, bad, filled, object, one_of, only, optional_bool, optional_string, required, string,
};
use crate::mock::rules::{Path, Violation, is_plain_name};
use crate::mock::schema::{self, Dialect};

const FIELDS: &[&str] = &[
    "type",
    "name",
    "description",
    "input_schema",
    "strict",
    "cache_control",
    "eager_input_streaming",
    "defer_loading",
    "input_examples",
    "allowed_callers",
];

const MAX_NAME: usize = 128;
const MAX_STRICT: usize = 20;
pub(super) fn check(context: &Context<'_>) -> Check {
    let path = Path::Root.key("tools");
    let tools = match context.request.get("tools") {
        None => &[][..],
        Some(tools) => array(tools, &path)?,
    };
    let mut names = HashSet::new();
    let mut strict = Vec::new();
    for (index, tool) in tools.iter().enumerate() {
        let path = path.index(index);
        let tool = object(tool, &path)?;
        let name = check_tool(tool, &path)?;
        if tool.get("strict") == Some(&Value::Bool(true)) {
            strict.extend(tool.get("input_schema"));
        }
        if !names.insert(name) {
            return Err(bad(&Path::Root.key("tools"), "Tool names must be unique."));
        }
    }
    if strict.len() > MAX_STRICT {
        let what = format_args!("Too many strict tools ({}). The maximum is {MAX_STRICT}.", strict.len());
        return Err(bad(&path, what));
    }
    strict.extend(context.output_format().and_then(|format| format.get("schema")));
    schema::check_together(strict).map_err(Violation::invalid)?;
    match context.request.get("tool_choice") {
        None => Ok(()),
        Some(choice) => check_choice(choice, &names, context),
    }
}

fn check_tool<'v>(tool: &'v Map<String, Value>, path: &Path<'_>) -> Result<&'v str, Violation> {
    let kind = match tool.get("type") {
        None | Some(Value::Null) => "custom",
        Some(_) => string(tool, "type", path)?,
    };
    let path = path.key(kind);
    let name = filled(tool, "name", &path)?;
    if !is_plain_name(name, MAX_NAME) {
        return Err(bad(&path.key("name"), "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"));
    }
    if kind != "custom" {
        // A typed tool has its schema at the provider.
        return match tool.get("input_schema") {
            None => Ok(name),
            Some(_) => Err(bad(&path.key("input_schema"), "Extra inputs are not permitted")),
        };
    }
    only(tool, FIELDS, &path)?;
    optional_string(tool, "description", &path)?;
    for key in ["eager_input_streaming", "defer_loading"] {
        optional_bool(tool, key, &path)?;
    }
    let path_of_schema = path.key("input_schema");
    let schema = tool.get("input_schema").ok_or_else(|| required(&path_of_schema))?;
    let members = object(schema, &path_of_schema)?;
    if string(members, "type", &path_of_schema)? != "object" {
        return Err(bad(&path_of_schema.key("type"), "Input should be 'object'"));
    }
    if let Some(key) = ["oneOf", "allOf", "anyOf"].into_iter().find(|key| members.contains_key(*key)) {
        let what = format_args!(
            "input_schema does not support oneOf, allOf, or anyOf at the top level, found {key}"
        );
        return Err(bad(&path_of_schema, what));
    }
    if optional_bool(tool, "strict", &path)? == Some(true) {
        schema::check_strict(schema, Dialect::Anthropic).map_err(|problem| bad(&path_of_schema, problem))?;
    }
    Ok(name)
}

fn check_choice(choice: &Value, names: &HashSet<&str>, context: &Context<'_>) -> Check {
    let path = Path::Root.key("tool_choice");
    let choice = object(choice, &path)?;
    let kind = one_of(string(choice, "type", &path)?, &["auto", "any", "tool", "none"], &path.key("type"))?;
    if names.is_empty() {
        return Err(bad(&path, "tool_choice may only be specified while providing tools"));
    }
    let known: &[&str] = match kind {
        "tool" => &["type", "name", "disable_parallel_tool_use"],
        "none" => &["type"],
        _ => &["type", "disable_parallel_tool_use"],
    };
    only(choice, known, &path.key(kind))?;
    optional_bool(choice, "disable_parallel_tool_use", &path)?;
    if kind == "tool" {
        let name = filled(choice, "name", &path.key(kind))?;
        if !names.contains(name) {
            return Err(bad(&path, format_args!("Tool '{name}' not found in provided tools")));
        }
    }
    if context.forces_tool() && context.model.is_some_and(Model::rejects_forced_tools) {
        return Err(bad(&path, "forced tool use is not supported for this model"));
    }
    Ok(())
}

//! Tools and the choice among them (bedrock.md 3, 11).

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::blocks::check_tool_name;
use super::context::Context;
use super::family::Family;
use super::problems::{
    Check, constraint, member, missing, object, of_model, only, optional_bool, optional_filled, refused,
    required_list, required_object, string, union, unsupported,
};
use crate::mock::rules::{Path, Violation};
use crate::mock::schema::{self, Dialect};

const MAX_STRICT: usize = 20;

pub(super) fn check(context: &Context<'_>) -> Check {
    let path = Path::Root.key("toolConfig");
    let Some(config) = member(context.request, "toolConfig") else { return check_history(context) };
    let config = object(config, &path)?;
    only(config, &["tools", "toolChoice"], &path)?;
    if !context.family.takes_tools() {
        return Err(refused(&path, "This model doesn't support tool use."));
    }
    let tools = required_list(config, "tools", &path)?;
    let at = path.key("tools");
    let mut names = HashSet::new();
    let mut strict = Vec::new();
    for (index, tool) in tools.iter().enumerate() {
        let path = at.index(index);
        let (kind, tool) = union(tool, &["toolSpec", "systemTool", "cachePoint"], &path)?;
        let path = path.key(kind);
        let tool = object(tool, &path)?;
        let name = match kind {
            "toolSpec" => check_spec(tool, context, &path)?,
            "systemTool" => check_system_tool(tool, context, &path)?,
            // Cache points are checked in their own order.
            _ => continue,
        };
        if tool.get("strict") == Some(&Value::Bool(true)) {
            strict.extend(tool.get("inputSchema").and_then(|schema| schema.get("json")));
        }
        if !names.insert(name) {
            return Err(refused(&path.key("name"), format!("The tool {name} is defined more than once.")));
        }
    }
    if names.is_empty() {
        return Err(constraint(&at, "Member must have length greater than or equal to 1"));
    }
    if context.family.is_claude() {
        if strict.len() > MAX_STRICT {
            let what = format_args!("Too many strict tools ({}). The maximum is {MAX_STRICT}.", strict.len());
            return Err(of_model(&at, what));
        }
        let answer = context
            .request
            .get("outputConfig")
            .and_then(|config| config.pointer("/textFormat/structure/jsonSchema/schema")?.as_str());
        // Another check says what is no JSON.
        let answer: Option<Value> = answer.and_then(|text| serde_json::from_str(text).ok());
        strict.extend(&answer);
        schema::check_together(strict).map_err(|problem| of_model(&at, problem))?;
    }
    match member(config, "toolChoice") {
        None => Ok(()),
        Some(choice) => check_choice(choice, &names, context),
    }
}

/// A history with tool blocks needs the tools, whatever is to be called.
fn check_history(context: &Context<'_>) -> Check {
    let blocks = context.messages().iter().filter_map(|message| message.get("content")?.as_array()).flatten();
    let mut tools = blocks.filter(|block| block.get("toolUse").or_else(|| block.get("toolResult")).is_some());
    match tools.next() {
        None => Ok(()),
        Some(_) => Err(refused(
            &Path::Root.key("toolConfig"),
            "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
        )),
    }
}

fn check_spec<'v>(
    spec: &'v Map<String, Value>,
    context: &Context<'_>,
    path: &Path<'_>,
) -> Result<&'v str, Violation> {
    only(spec, &["name", "description", "inputSchema", "strict"], path)?;
    let name = string(spec, "name", path)?;
    check_tool_name(name, &path.key("name"))?;
    optional_filled(spec, "description", path)?;
    let schema = required_object(spec, "inputSchema", path)?;
    let path_of_schema = path.key("inputSchema");
    only(schema, &["json"], &path_of_schema)?;
    let path_of_schema = path_of_schema.key("json");
    let json = schema.get("json").ok_or_else(|| missing(&path_of_schema))?;
    if object(json, &path_of_schema)?.get("type").and_then(Value::as_str) != Some("object") {
        let path = path_of_schema.key("type");
        let message = format!("The value at {} must be one of the following: object.", path.dotted());
        return Err(refused(&path, message));
    }
    if optional_bool(spec, "strict", path)? == Some(true) {
        if !context.family.compiles_schemas() {
            return Err(unsupported(&path.key("strict")));
        }
        schema::check_strict(json, Dialect::Bedrock).map_err(|problem| of_model(&path_of_schema, problem))?;
    }
    Ok(name)
}

fn check_system_tool<'v>(
    tool: &'v Map<String, Value>,
    context: &Context<'_>,
    path: &Path<'_>,
) -> Result<&'v str, Violation> {
    if context.family != Family::Nova2 {
        return Err(unsupported(path));
    }
    only(tool, &["name"], path)?;
    let name = string(tool, "name", path)?;
    check_tool_name(name, &path.key("name"))?;
    Ok(name)
}

fn check_choice(choice: &Value, names: &HashSet<&str>, context: &Context<'_>) -> Check {
    let path = Path::Root.key("toolConfig");
    let path = path.key("toolChoice");
    let (kind, value) = union(choice, &["auto", "any", "tool"], &path)?;
    let at = path.key(kind);
    let value = object(value, &at)?;
    if !context.family.choices().contains(&kind) {
        return Err(unsupported(&at));
    }
    only(value, if kind == "tool" { &["name"] } else { &[] }, &at)?;
    if kind == "tool" {
        let name = string(value, "name", &at)?;
        if !names.contains(name) {
            let message = format!("The tool {name} of toolConfig.toolChoice is not among toolConfig.tools.");
            return Err(refused(&at.key("name"), message));
        }
    }
    Ok(())
}

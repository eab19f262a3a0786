//! Tools and how they are called (gemini.md 5).

use std::collections::HashSet;

use serde_json::Value;

use super::context::Context;
use super::proto::{Check, invalid};
use super::schema;
use crate::members::{list, member, text};
use crate::mock::rules::Path;

const MAX_DECLARATIONS: usize = 512;
const MAX_NAME: usize = 128;

const BUILT_IN: [&str; 10] = [
    "google_search",
    "google_search_retrieval",
    "url_context",
    "code_execution",
    "google_maps",
    "computer_use",
    "file_search",
    "mcp_servers",
    "retrieval",
    "enterprise_web_search",
];

/// True if there is a function to call.
pub(super) fn declares_functions(body: &Value) -> bool {
    list(body, "tools").iter().any(|tool| !list(tool, "function_declarations").is_empty())
}

pub(super) fn check(body: &Value, context: &Context<'_>) -> Check {
    let tools = list(body, "tools");
    let root = Path::Root.key("tools");
    let mut names = HashSet::new();
    for (index, tool) in tools.iter().enumerate() {
        let path = root.index(index);
        let path = path.key("function_declarations");
        for (index, declaration) in list(tool, "function_declarations").iter().enumerate() {
            let path = path.index(index);
            check_declaration(declaration, &path)?;
            let name = text(declaration, "name");
            if !names.insert(name) {
                return Err(invalid(&path, format!("Duplicate function declaration found: {name}")));
            }
        }
    }
    if names.len() > MAX_DECLARATIONS {
        let message = format!(
            "At most {MAX_DECLARATIONS} function declarations are supported, the request has {}.",
            names.len()
        );
        return Err(invalid(&root, message));
    }
    let built_in = tools.iter().any(|tool| BUILT_IN.iter().any(|name| member(tool, name).is_some()));
    if built_in && !names.is_empty() && context.is_old() {
        return Err(invalid(&root, "Tool use with function calling is unsupported"));
    }
    let config = member(body, "tool_config").and_then(|config| member(config, "function_calling_config"));
    match config {
        Some(config) => check_config(config, &names),
        None => Ok(()),
    }
}

fn check_declaration(declaration: &Value, path: &Path<'_>) -> Check {
    let name = text(declaration, "name");
    let mut bytes = name.bytes();
    let starts = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    if !starts
        || name.len() > MAX_NAME
        || !bytes.all(|byte| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte))
    {
        let message = format!(
            "* GenerateContentRequest.{}: Invalid function name. Must start with a letter or an underscore. Must be \
             alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length \
             of {MAX_NAME}.\n",
            path.key("name").bracketed()
        );
        return Err(invalid(&path.key("name"), message));
    }
    for (proto, json) in [("parameters", "parameters_json_schema"), ("response", "response_json_schema")] {
        match (member(declaration, proto), member(declaration, json)) {
            (Some(_), Some(_)) => {
                let message =
                    format!("Only one of {proto} and {json} can be set in function declaration `{name}`.");
                return Err(invalid(&path.key(json), message));
            }
            (Some(schema), None) => {
                let path = path.key(proto);
                if !text(schema, "type").eq_ignore_ascii_case("object") && proto == "parameters" {
                    let message =
                        format!("* GenerateContentRequest.{}.type: must be OBJECT\n", path.bracketed());
                    return Err(invalid(&path.key("type"), message));
                }
                schema::check(schema, &format!("GenerateContentRequest.{}", path.bracketed()), &path)?;
            }
            (None, Some(schema)) => schema::check_json(schema, &path.key(json))?,
            (None, None) => {}
        }
    }
    Ok(())
}

fn check_config(config: &Value, names: &HashSet<&str>) -> Check {
    let path = Path::Root.key("tool_config");
    let path = path.key("function_calling_config");
    if names.is_empty() {
        return Err(invalid(&path, "Function calling config is set without function_declarations."));
    }
    let allowed = list(config, "allowed_function_names");
    let path = path.key("allowed_function_names");
    let mode = text(config, "mode").to_ascii_uppercase();
    if !allowed.is_empty() && !matches!(mode.as_str(), "ANY" | "VALIDATED") {
        let message =
            "Allowed function names should only be set when function calling mode is ANY or VALIDATED.";
        return Err(invalid(&path, message));
    }
    let mut undeclared = allowed.iter().filter_map(Value::as_str).filter(|name| !names.contains(name));
    match undeclared.next() {
        Some(name) => {
            let message =
                format!("Allowed function name `{name}` is not found in the function declarations.");
            Err(invalid(&path, message))
        }
        None => Ok(()),
    }
}

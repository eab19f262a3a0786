//! The rules of schemas beyond their fields' types (gemini.md 5).

use serde_json::Value;

use super::proto::{Check, invalid};
use crate::members::{list, member, text};
use crate::mock::rules::Path;

/// A bound on our own recursion, far beyond what is served.
const MAX_DEPTH: usize = 100;

/// Checks a schema in protobuf's form; `name` is how errors name it.
pub(super) fn check(schema: &Value, name: &str, path: &Path<'_>) -> Check {
    node(schema, name, path, 0)
}

fn node(schema: &Value, name: &str, path: &Path<'_>, depth: usize) -> Check {
    let refuse = |key: &str, what: &str| Err(invalid(&path.key(key), format!("* {name}.{key}: {what}\n")));
    if depth > MAX_DEPTH {
        return refuse("properties", "the schema is nested too deeply");
    }
    let kind = text(schema, "type").to_ascii_uppercase();
    let alternatives = list(schema, "any_of");
    if kind.is_empty() && alternatives.is_empty() {
        return refuse("type", "must be specified");
    }
    if !list(schema, "enum").is_empty() && kind != "STRING" {
        return refuse("enum", "only allowed for STRING type");
    }
    let format = text(schema, "format");
    let formats: &[&str] = match kind.as_str() {
        "STRING" => &["enum", "date-time"],
        "INTEGER" => &["int32", "int64"],
        "NUMBER" => &["float", "double"],
        _ => &[],
    };
    if !format.is_empty() && !formats.contains(&format) {
        let known = formats.join("' and '");
        return refuse("format", &format!("only '{known}' are supported for {kind} type"));
    }
    for (index, child) in alternatives.iter().enumerate() {
        let (inner, any_of) = (format!("{name}.any_of[{index}]"), path.key("any_of"));
        node(child, &inner, &any_of.index(index), depth + 1)?;
    }
    match member(schema, "items") {
        Some(items) => node(items, &format!("{name}.items"), &path.key("items"), depth + 1)?,
        None if kind == "ARRAY" => return refuse("items", "missing field."),
        None => {}
    }
    let properties = member(schema, "properties").and_then(Value::as_object);
    for (index, (key, child)) in properties.into_iter().flatten().enumerate() {
        let (inner, properties) = (format!("{name}.properties[{key}]"), path.key("properties"));
        let entry = properties.index(index);
        node(child, &inner, &entry.key("value"), depth + 1)?;
    }
    let defined = |key: &&Value| {
        key.as_str().is_some_and(|key| properties.is_some_and(|properties| properties.contains_key(key)))
    };
    match list(schema, "required").iter().position(|key| !defined(&key)) {
        Some(index) => refuse(&format!("required[{index}]"), "property is not defined"),
        None => Ok(()),
    }
}

/// Checks a real JSON Schema: an object whose references lead somewhere.
pub(super) fn check_json(schema: &Value, path: &Path<'_>) -> Check {
    if !schema.is_object() {
        return Err(invalid(path, "A JSON schema must be an object."));
    }
    let mut rest = vec![schema];
    while let Some(value) = rest.pop() {
        if let Some(reference) = value.get("$ref").and_then(Value::as_str) {
            let target = reference.strip_prefix('#').and_then(|pointer| schema.pointer(pointer));
            if target.is_none() {
                let message = format!("Reference `{reference}` cannot be resolved inside the JSON schema.");
                return Err(invalid(path, message));
            }
        }
        match value {
            Value::Object(members) => rest.extend(members.values()),
            Value::Array(items) => rest.extend(items),
            _ => {}
        }
    }
    Ok(())
}

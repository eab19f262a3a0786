//! Roots of tools' schemas as the families of models take them (fact sheet §11).

use serde_json::{Map, Value, json};

/// How often a reference is followed inside another; tools are far below.
const MAX_DEPTH: usize = 32;

/// The keyword that a tool's schema must not have at its root, if it has one.
pub(super) fn root_combinator(schema: &Value) -> Option<&'static str> {
    ["anyOf", "oneOf", "allOf"].into_iter().find(|keyword| schema.get(keyword).is_some())
}

/// A tool's schema without combinators at its root: the properties of all branches stand side by side. What only
/// some branches require is no longer required, so every call that was valid stays so.
pub(super) fn without_root_combinators(schema: &Value) -> Value {
    let mut root = schema.as_object().cloned().unwrap_or_default();
    let mut required = root.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut properties = root.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let branches = root.shift_remove(keyword);
        for branch in branches.as_ref().and_then(Value::as_array).into_iter().flatten() {
            let known = branch.get("properties").and_then(Value::as_object).into_iter().flatten();
            for (name, property) in known {
                properties.entry(name.clone()).or_insert_with(|| property.clone());
            }
            if keyword == "allOf" {
                let names = branch.get("required").and_then(Value::as_array).into_iter().flatten();
                required.extend(names.filter(|name| !required.contains(name)).cloned().collect::<Vec<_>>());
            }
        }
    }
    // A combination may forbid what a branch does not name; side by side they must not forbid each other.
    root.shift_remove("additionalProperties");
    root.insert("type".to_owned(), json!("object"));
    root.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        root.insert("required".to_owned(), Value::Array(required));
    }
    Value::Object(root)
}

/// A tool's schema with nothing but `type`, `properties` and `required` at its root: definitions stand where they
/// are referred to.
///
/// # Errors
/// Says which reference has no end, or leads out of the schema.
pub(super) fn bare_root(schema: &Value) -> Result<Value, String> {
    let mut root = Map::new();
    for (key, value) in schema.as_object().into_iter().flatten() {
        if matches!(key.as_str(), "type" | "properties" | "required") {
            root.insert(key.clone(), inlined(value, schema, 0)?);
        }
    }
    root.insert("type".to_owned(), json!("object"));
    root.entry("properties").or_insert_with(|| json!({}));
    Ok(Value::Object(root))
}

fn inlined(node: &Value, root: &Value, depth: usize) -> Result<Value, String> {
    match node {
        Value::Object(members) => {
            let mut whole = Map::new();
            if let Some(Value::String(reference)) = members.get("$ref") {
                if depth > MAX_DEPTH {
                    return Err(format!("{reference} is recursive"));
                }
                let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
                let target = target.ok_or_else(|| format!("{reference} is not in the schema"))?;
                if let Value::Object(target) = inlined(target, root, depth + 1)? {
                    whole = target;
                }
            }
            for (key, value) in members.iter().filter(|(key, _)| *key != "$ref") {
                whole.insert(key.clone(), inlined(value, root, depth)?);
            }
            Ok(Value::Object(whole))
        }
        Value::Array(items) => items.iter().map(|item| inlined(item, root, depth)).collect(),
        plain => Ok(plain.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinators_at_the_root_are_flattened() {
        let schema = json!({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"],
            "anyOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]},
                      {"properties": {"b": {"type": "string"}}, "required": ["b"]}],
            "allOf": [{"properties": {"c": {"type": "string"}}, "required": ["c"]}],
            "additionalProperties": false});
        assert_eq!(root_combinator(&schema), Some("anyOf"));
        let flat = without_root_combinators(&schema);
        assert_eq!(root_combinator(&flat), None);
        assert_eq!(
            flat,
            json!({"type": "object",
                "properties": {"id": {"type": "string"}, "c": {"type": "string"}, "a": {"type": "string"},
                    "b": {"type": "string"}},
                "required": ["id", "c"]})
        );
    }

    // bedrock.md §11: Nova 1
    #[test]
    fn definitions_move_to_where_they_are_used() {
        let schema = json!({"type": "object", "description": "x", "additionalProperties": false,
            "properties": {"who": {"$ref": "#/$defs/person", "description": "The payer."}},
            "required": ["who"],
            "$defs": {"person": {"type": "object", "properties": {"home": {"$ref": "#/$defs/place"}}},
                      "place": {"type": "string"}}});
        assert_eq!(
            bare_root(&schema),
            Ok(json!({"type": "object",
                "properties": {"who": {"type": "object", "properties": {"home": {"type": "string"}},
                    "description": "The payer."}},
                "required": ["who"]}))
        );
        let endless = json!({"properties": {"a": {"$ref": "#/$defs/a"}},
            "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}});
        assert_eq!(bare_root(&endless), Err("#/$defs/a is recursive".to_owned()));
        assert!(bare_root(&json!({"properties": {"a": {"$ref": "https://elsewhere/x"}}})).is_err());
    }
}

//! Roots of tools' schemas as the families of models take them (bedrock.md 11).

use serde_json::{Map, Value, json};

/// How often a reference is followed inside another; tools are far below.
const MAX_DEPTH: usize = 32;

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

    // bedrock.md 11: Nova 1
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

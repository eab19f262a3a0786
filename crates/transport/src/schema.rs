//! Schemas as APIs for Claude models take them: the subset that is compiled for structured output (anthropic.md 6,
//! bedrock.md 11).

use serde_json::{Map, Value};

/// String formats that are compiled.
const FORMATS: [&str; 10] =
    ["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"];

/// Levels of nesting; what a provider compiles is far below.
const MAX_DEPTH: usize = 64;

/// A schema inside the subset.
#[derive(Debug, PartialEq)]
#[non_exhaustive]
pub struct FittedSchema {
    /// The schema.
    pub schema: Value,
    /// Constraints that the model reads in a description instead of being held to them, as `keyword at path`.
    pub described: Vec<String>,
}

/// Brings a schema into the subset of structured output: objects are closed, `oneOf` becomes `anyOf`, and
/// constraints that cannot be compiled move into the description of their place. `kept` are constraints that the API
/// compiles beyond those that all do.
///
/// # Errors
/// Says why the schema has no equivalent: open objects, recursion, references to elsewhere.
pub fn fit_schema(schema: &Value, kept: &[&str]) -> Result<FittedSchema, String> {
    references(schema, schema, &mut Vec::new(), &mut Vec::new(), 0)?;
    let mut described = Vec::new();
    let schema = node(schema, kept, "", &mut described, 0)?;
    Ok(FittedSchema { schema, described })
}

fn node(
    schema: &Value,
    kept: &[&str],
    path: &str,
    described: &mut Vec<String>,
    depth: usize,
) -> Result<Value, String> {
    let place = if path.is_empty() { "the root" } else { path };
    if depth > MAX_DEPTH {
        return Err(format!("it is nested deeper than {MAX_DEPTH} levels"));
    }
    let Value::Object(members) = schema else { return Err(format!("{place} takes anything")) };
    let mut fitted = Map::new();
    let mut moved = Map::new();
    for (key, value) in members {
        let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        match (key.as_str(), value) {
            ("properties" | "$defs" | "definitions", Value::Object(children)) => {
                let mut all = Map::new();
                for (name, child) in children {
                    all.insert(name.clone(), node(child, kept, &below(name), described, depth + 1)?);
                }
                fitted.insert(key.clone(), Value::Object(all));
            }
            ("items", item) => {
                fitted.insert(key.clone(), node(item, kept, &below("items"), described, depth + 1)?);
            }
            ("anyOf" | "allOf" | "oneOf", Value::Array(branches)) => {
                let branches = branches.iter().map(|branch| node(branch, kept, path, described, depth + 1));
                let branches = Value::Array(branches.collect::<Result<_, _>>()?);
                let name = if key == "oneOf" { "anyOf" } else { key };
                if fitted.insert(name.to_owned(), branches).is_some() {
                    return Err(format!("{place} has both anyOf and oneOf"));
                }
            }
            ("additionalProperties", Value::Bool(false)) => {}
            ("additionalProperties" | "patternProperties", _) => {
                return Err(format!("{place} is an object of free keys"));
            }
            ("format", Value::String(format)) if FORMATS.contains(&format.as_str()) => {
                fitted.insert(key.clone(), value.clone());
            }
            ("minItems", Value::Number(least)) if matches!(least.as_u64(), Some(0 | 1)) => {
                fitted.insert(key.clone(), value.clone());
            }
            ("type" | "required" | "enum" | "const" | "$ref" | "title" | "description" | "default", _) => {
                fitted.insert(key.clone(), value.clone());
            }
            (key, _) if kept.contains(&key) => {
                fitted.insert(key.to_owned(), value.clone());
            }
            // About the schema, not about the value.
            ("$schema" | "$id" | "$comment" | "deprecated" | "readOnly" | "writeOnly", _) => {}
            // Hints; `format` with any other word is one too.
            ("examples" | "format", _) => {
                moved.insert(key.clone(), value.clone());
            }
            _ => {
                described.push(format!("{key} at {place}"));
                moved.insert(key.clone(), value.clone());
            }
        }
    }
    if fitted.contains_key("properties") || is_object(&fitted) {
        fitted.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    if !moved.is_empty() {
        let moved = Value::Object(moved).to_string();
        let text = match fitted.get("description").and_then(Value::as_str) {
            Some(text) if !text.trim().is_empty() => format!("{text}\n\n{moved}"),
            _ => moved,
        };
        fitted.insert("description".to_owned(), Value::String(text));
    }
    Ok(Value::Object(fitted))
}

fn is_object(schema: &Map<String, Value>) -> bool {
    match schema.get("type") {
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        _ => false,
    }
}

/// Follows every reference: each must be found inside the schema and never lead back to itself.
fn references<'v>(
    root: &'v Value,
    node: &'v Value,
    following: &mut Vec<&'v str>,
    followed: &mut Vec<&'v str>,
    depth: usize,
) -> Result<(), String> {
    if depth > 4 * MAX_DEPTH {
        return Err("it is nested too deep".to_owned());
    }
    match node {
        Value::Object(members) => {
            if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
                if following.contains(&reference) {
                    return Err(format!("{reference} is recursive"));
                }
                let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
                let target = target.ok_or_else(|| format!("{reference} is not in the schema"))?;
                if !followed.contains(&reference) {
                    following.push(reference);
                    references(root, target, following, followed, depth + 1)?;
                    following.pop();
                    followed.push(reference);
                }
            }
            members.values().try_for_each(|child| references(root, child, following, followed, depth + 1))
        }
        Value::Array(children) => {
            children.iter().try_for_each(|child| references(root, child, following, followed, depth + 1))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // anthropic.md 6: the schema subset
    #[test]
    fn constraints_move_into_descriptions() {
        let schema = json!({"$schema": "x", "type": "object", "title": "Invoice",
            "properties": {
                "total": {"type": "number", "description": "In euros.", "minimum": 0, "maximum": 10},
                "due": {"type": "string", "format": "date"},
                "count": {"type": "integer", "format": "uint32"},
                "tags": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "string"}},
                "who": {"oneOf": [{"$ref": "#/$defs/person"}, {"type": "null"}]}},
            "required": ["total"],
            "$defs": {"person": {"type": "object", "properties": {"name": {"type": "string"}}}}});
        let fitted = fit_schema(&schema, &[]).unwrap();
        assert_eq!(
            fitted.schema,
            json!({"type": "object", "title": "Invoice",
                "properties": {
                    "total": {"type": "number", "description": "In euros.\n\n{\"minimum\":0,\"maximum\":10}"},
                    "due": {"type": "string", "format": "date"},
                    "count": {"type": "integer", "description": "{\"format\":\"uint32\"}"},
                    "tags": {"type": "array", "minItems": 1, "items": {"type": "string"},
                        "description": "{\"maxItems\":3}"},
                    "who": {"anyOf": [{"$ref": "#/$defs/person"}, {"type": "null"}]}},
                "required": ["total"],
                "$defs": {"person": {"type": "object", "properties": {"name": {"type": "string"}},
                    "additionalProperties": false}},
                "additionalProperties": false})
        );
        assert_eq!(fitted.described, ["minimum at total", "maximum at total", "maxItems at tags"]);
        assert_eq!(
            fit_schema(&fitted.schema, &[]).unwrap().schema,
            fitted.schema,
            "fitting twice changes nothing"
        );
    }

    #[test]
    fn what_has_no_equivalent() {
        for (schema, problem) in [
            (
                json!({"type": "object", "additionalProperties": {"type": "string"}}),
                "the root is an object of free keys",
            ),
            (json!({"type": "object", "properties": {"any": true}}), "any takes anything"),
            (
                json!({"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}}),
                "#/$defs/a is recursive",
            ),
            (json!({"$ref": "https://elsewhere/x"}), "https://elsewhere/x is not in the schema"),
        ] {
            assert_eq!(fit_schema(&schema, &[]).unwrap_err(), problem);
        }
        let mut deep = json!({"type": "string"});
        for _ in 0..200 {
            deep = json!({"type": "array", "items": deep});
        }
        assert!(fit_schema(&deep, &[]).is_err());
    }

    // bedrock.md 11
    #[test]
    fn some_apis_compile_more() {
        let schema = json!({"type": "object", "properties": {"due": {"type": "string", "maxLength": 10}},
            "required": ["due"], "additionalProperties": false});
        let kept = fit_schema(&schema, &["maxLength"]).unwrap();
        assert_eq!((&kept.schema["properties"], kept.described.len()), (&schema["properties"], 0));
        assert_eq!(fit_schema(&schema, &[]).unwrap().described, ["maxLength at due"]);
    }
}

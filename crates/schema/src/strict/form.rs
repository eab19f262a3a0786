//! The forms that strict schemas are made of.

use serde_json::{Map, Value, json};

use super::restore::Back;

const TEXT_OF_JSON: &str = "any JSON value, written as a text of JSON";

/// The types that a schema names, or that its keywords mean.
pub(super) fn kinds_of(members: &Map<String, Value>) -> Vec<&str> {
    let mut kinds: Vec<&str> = match members.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        Some(kind) => kind.as_str().into_iter().collect(),
        None => Vec::new(),
    };
    if kinds.is_empty() {
        let values = members
            .get("const")
            .into_iter()
            .chain(members.get("enum").and_then(Value::as_array).into_iter().flatten());
        for kind in values.map(kind_of) {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
    }
    if kinds.is_empty() {
        let has = |keyword: &&str| members.contains_key(*keyword);
        let of_objects = ["properties", "required", "additionalProperties", "patternProperties"];
        let kind = match () {
            () if of_objects.iter().any(has) => Some("object"),
            () if ["items", "prefixItems"].iter().any(has) => Some("array"),
            () => None,
        };
        kinds.extend(kind);
    }
    if members.get("nullable") == Some(&Value::Bool(true)) && !kinds.is_empty() && !kinds.contains(&"null") {
        kinds.push("null");
    }
    kinds
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// True if a value is one of that type.
pub(super) fn is_of_kind(kind: &str, value: &Value) -> bool {
    match kind {
        "number" => value.is_number(),
        // 1.0 is one too.
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        kind => kind_of(value) == kind,
    }
}

/// True if any of the values that a schema lists is of that type, if it lists values.
pub(super) fn has_values(kind: &str, members: &Map<String, Value>) -> bool {
    // OpenAPI's `nullable` is meant beside lists that leave `null` out.
    if kind == "null" && members.get("nullable") == Some(&Value::Bool(true)) {
        return true;
    }
    let list = members.get("enum").and_then(Value::as_array);
    list.is_none_or(|values| values.iter().any(|value| is_of_kind(kind, value)))
        && members.get("const").is_none_or(|only| is_of_kind(kind, only))
}

/// True if the schema of an object lists its properties, and lists none.
pub(super) fn has_no_members(members: &Map<String, Value>) -> bool {
    let is_empty_list = |required: &Value| required.as_array().is_some_and(Vec::is_empty);
    members.get("properties").and_then(Value::as_object).is_some_and(Map::is_empty)
        && !members.contains_key("additionalProperties")
        && !members.contains_key("patternProperties")
        // A schema that asks for members means some of any names.
        && members.get("required").is_none_or(is_empty_list)
        && members.get("minProperties").is_none_or(|least| least.as_u64() == Some(0))
}

/// A place that takes anything.
pub(super) fn any(description: Option<&str>) -> (Map<String, Value>, Back) {
    let mut said = Map::from_iter([("type".to_owned(), json!("string"))]);
    if let Some(description) = description {
        said.insert("description".to_owned(), description.into());
    }
    describe(&mut said, TEXT_OF_JSON);
    (said, Back::Json)
}

/// An object of these properties, with those that must be there.
pub(super) fn closed(
    properties: Map<String, Value>,
    is_required: impl Fn(&str) -> bool,
) -> Map<String, Value> {
    let required = properties.keys().filter(|name| is_required(name)).map(|name| json!(name)).collect();
    Map::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), Value::Object(properties)),
        ("required".to_owned(), required),
        ("additionalProperties".to_owned(), json!(false)),
    ])
}

/// The same schema, or `null`.
pub(super) fn nullable(mut said: Map<String, Value>) -> Map<String, Value> {
    if let Some(Value::Array(branches)) = said.get_mut("anyOf") {
        if !branches.iter().any(|branch| branch.get("type") == Some(&json!("null"))) {
            branches.push(json!({"type": "null"}));
        }
        return said;
    }
    if said.contains_key("$ref") || said.contains_key("const") {
        let description = said.shift_remove("description");
        let mut either = Map::from_iter([("anyOf".to_owned(), json!([said, {"type": "null"}]))]);
        if let Some(description) = description {
            either.insert("description".to_owned(), description);
        }
        return either;
    }
    if let Some(Value::Array(choices)) = said.get_mut("enum")
        && !choices.contains(&Value::Null)
    {
        choices.push(Value::Null);
    }
    if let Some(kind) = said.get_mut("type") {
        *kind = match kind.take() {
            Value::Array(mut kinds) => {
                if !kinds.contains(&json!("null")) {
                    kinds.push(json!("null"));
                }
                Value::Array(kinds)
            }
            kind => json!([kind, "null"]),
        };
    }
    said
}

/// The same schema without `null`, where that is one of its types alone.
pub(super) fn not_null(said: &mut Map<String, Value>) {
    if said.contains_key("enum") {
        return;
    }
    if let Some(kind @ Value::Array(_)) = said.get_mut("type")
        && let Value::Array(kinds) = kind
    {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            *kind = only.clone();
        }
    }
}

/// Adds a text to the description.
pub(super) fn describe(said: &mut Map<String, Value>, text: &str) {
    if text.is_empty() {
        return;
    }
    let text = match said.get("description").and_then(Value::as_str) {
        Some(given) => format!("{given} ({text})"),
        None => text.to_owned(),
    };
    said.insert("description".to_owned(), text.into());
}

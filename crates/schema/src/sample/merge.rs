//! Two schemas as one that demands what both demand.

use serde_json::{Map, Value};

pub(super) fn merged(one: &Value, other: &Value) -> Value {
    let (one, other) = match (one, other) {
        (Value::Bool(true), other) => return other.clone(),
        (one, Value::Bool(true)) => return one.clone(),
        (Value::Object(one), Value::Object(other)) => (one, other),
        _ => return Value::Bool(false),
    };
    let mut both = one.clone();
    for (word, value) in other {
        let joined = match both.get(word) {
            None => value.clone(),
            Some(own) if own == value => continue,
            Some(own) => match join(word, own, value) {
                Some(joined) => joined,
                // Both stand, and the value is checked against both.
                None => {
                    let mut more = Map::new();
                    more.insert(word.clone(), value.clone());
                    let all = both.entry("allOf").or_insert_with(|| Value::Array(Vec::new()));
                    if let Value::Array(all) = all {
                        all.push(Value::Object(more));
                    }
                    continue;
                }
            },
        };
        both.insert(word.clone(), joined);
    }
    Value::Object(both)
}

/// The demand of both values of a keyword; `None` if one schema cannot say it.
fn join(word: &str, one: &Value, other: &Value) -> Option<Value> {
    let larger = |larger: bool| match one.as_f64().partial_cmp(&other.as_f64()) {
        Some(std::cmp::Ordering::Less) => {
            if larger {
                other.clone()
            } else {
                one.clone()
            }
        }
        _ => {
            if larger {
                one.clone()
            } else {
                other.clone()
            }
        }
    };
    Some(match word {
        "properties" | "patternProperties" | "$defs" | "definitions" => {
            let mut both = one.as_object()?.clone();
            for (name, schema) in other.as_object()? {
                let joined = both.get(name).map_or_else(|| schema.clone(), |own| merged(own, schema));
                both.insert(name.clone(), joined);
            }
            Value::Object(both)
        }
        "required" => {
            let (one, other) = (one.as_array()?, other.as_array()?);
            one.iter().chain(other.iter().filter(|name| !one.contains(name))).cloned().collect()
        }
        "enum" => {
            let other = other.as_array()?;
            one.as_array()?.iter().filter(|value| other.contains(value)).cloned().collect()
        }
        "type" => {
            let list = |value: &Value| match value {
                Value::Array(types) => types.clone(),
                one => vec![one.clone()],
            };
            let others = list(other);
            let holds = |kind: &Value| {
                others.contains(kind) || kind == "integer" && others.contains(&"number".into())
            };
            let mut both: Vec<Value> = list(one).into_iter().filter(holds).collect();
            if both.is_empty() && list(one).contains(&"number".into()) && others.contains(&"integer".into()) {
                both.push("integer".into());
            }
            Value::Array(both)
        }
        "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties" | "minContains" => {
            larger(true)
        }
        "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties" => larger(false),
        "items" | "additionalProperties" | "propertyNames" if !one.is_array() && !other.is_array() => {
            merged(one, other)
        }
        "allOf" => one.as_array()?.iter().chain(other.as_array()?).cloned().collect(),
        "title" | "description" | "default" | "examples" | "$schema" | "$id" | "format" | "deprecated" => {
            other.clone()
        }
        _ => return None,
    })
}

//! The API's own words for what is wrong with a request.

use serde_json::{Map, Value};

use crate::mock::rules::{Path, Violation};

pub(crate) type Check = Result<(), Violation>;

pub(crate) fn invalid(path: &Path<'_>, code: &'static str, message: impl Into<String>) -> Violation {
    Violation::invalid(message).with_code(code).with_path(path.bracketed())
}

pub(crate) fn missing(path: &Path<'_>) -> Violation {
    let message = format!("Missing required parameter: '{}'.", path.bracketed());
    invalid(path, "missing_required_parameter", message)
}

pub(crate) fn unknown(path: &Path<'_>) -> Violation {
    invalid(path, "unknown_parameter", format!("Unknown parameter: '{}'.", path.bracketed()))
}

pub(crate) fn wrong_type(path: &Path<'_>, expected: &str, got: &Value) -> Violation {
    let got = match got {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    let message =
        format!("Invalid type for '{}': expected {expected}, but got {got} instead.", path.bracketed());
    invalid(path, "invalid_type", message)
}

pub(crate) fn bad_value(path: &Path<'_>, got: &str, supported: &[&str]) -> Violation {
    let supported = supported.iter().map(|value| format!("'{value}'")).collect::<Vec<_>>().join(", ");
    invalid(path, "invalid_value", format!("Invalid value: '{got}'. Supported values are: {supported}."))
}

pub(crate) fn empty_array(path: &Path<'_>) -> Violation {
    let message = format!(
        "Invalid '{}': empty array. Expected an array with minimum length 1, but got an empty array instead.",
        path.bracketed()
    );
    invalid(path, "empty_array", message)
}

pub(crate) fn too_long(path: &Path<'_>, max: usize, got: usize) -> Violation {
    let message = format!(
        "Invalid '{}': string too long. Expected a string with maximum length {max}, but got a string with length \
         {got} instead.",
        path.bracketed()
    );
    invalid(path, "string_above_max_length", message)
}

pub(crate) fn bad_pattern(path: &Path<'_>) -> Violation {
    let message = format!(
        "Invalid '{}': string does not match pattern. Expected a string that matches the pattern \
         '^[a-zA-Z0-9_-]+$'.",
        path.bracketed()
    );
    invalid(path, "invalid_value", message)
}

pub(crate) fn object<'v>(value: &'v Value, path: &Path<'_>) -> Result<&'v Map<String, Value>, Violation> {
    value.as_object().ok_or_else(|| wrong_type(path, "an object", value))
}

/// A non-empty array.
pub(crate) fn array<'v>(value: &'v Value, path: &Path<'_>) -> Result<&'v [Value], Violation> {
    match value {
        Value::Array(items) if items.is_empty() => Err(empty_array(path)),
        Value::Array(items) => Ok(items),
        other => Err(wrong_type(path, "an array", other)),
    }
}

/// A required string member.
pub(crate) fn string<'v>(
    object: &'v Map<String, Value>,
    key: &str,
    path: &Path<'_>,
) -> Result<&'v str, Violation> {
    match object.get(key) {
        None => Err(missing(&path.key(key))),
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(wrong_type(&path.key(key), "a string", other)),
    }
}

/// A member that must be a string where it is present; `null` counts as absent.
pub(crate) fn optional_string(object: &Map<String, Value>, key: &str, path: &Path<'_>) -> Check {
    match optional(object, key) {
        None | Some(Value::String(_)) => Ok(()),
        Some(other) => Err(wrong_type(&path.key(key), "a string", other)),
    }
}

/// A member that may be absent or `null`.
pub(crate) fn optional<'v>(object: &'v Map<String, Value>, key: &str) -> Option<&'v Value> {
    object.get(key).filter(|value| !value.is_null())
}

/// Refuses members that the API does not know.
pub(crate) fn only(object: &Map<String, Value>, known: &[&str], path: &Path<'_>) -> Check {
    match object.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(unknown(&path.key(key))),
        None => Ok(()),
    }
}

/// A string out of a closed list.
pub(crate) fn one_of(value: &Value, values: &[&str], path: &Path<'_>) -> Check {
    match value.as_str() {
        Some(text) if values.contains(&text) => Ok(()),
        Some(text) => Err(bad_value(path, text, values)),
        None => Err(wrong_type(path, "a string", value)),
    }
}

/// A member that must be a number in a range where it is present.
pub(crate) fn check_decimal(object: &Map<String, Value>, key: &str, min: f64, max: f64) -> Check {
    let Some(value) = optional(object, key) else { return Ok(()) };
    let path = Path::Root.key(key);
    let number = value.as_f64().ok_or_else(|| wrong_type(&path, "a decimal", value))?;
    let (code, rule) = if number < min {
        ("decimal_below_min_value", format!("decimal below minimum value. Expected a value >= {min}"))
    } else if number > max {
        ("decimal_above_max_value", format!("decimal above maximum value. Expected a value <= {max}"))
    } else {
        return Ok(());
    };
    Err(invalid(&path, code, format!("Invalid '{key}': {rule}, but got {value} instead.")))
}

/// A member that must be an integer in a range where it is present.
pub(crate) fn check_integer(object: &Map<String, Value>, key: &str, min: u64, max: u64) -> Check {
    let Some(value) = optional(object, key) else { return Ok(()) };
    let path = Path::Root.key(key);
    let number = value.as_u64().ok_or_else(|| wrong_type(&path, "a non-negative integer", value))?;
    let (code, rule) = if number < min {
        ("integer_below_min_value", format!("integer below minimum value. Expected a value >= {min}"))
    } else if number > max {
        ("integer_above_max_value", format!("integer above maximum value. Expected a value <= {max}"))
    } else {
        return Ok(());
    };
    Err(invalid(&path, code, format!("Invalid '{key}': {rule}, but got {number} instead.")))
}

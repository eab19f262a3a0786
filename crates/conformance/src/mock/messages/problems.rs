//! The API's own words for what is wrong with a request.

use std::fmt::Display;

use serde_json::{Map, Value};

use crate::mock::rules::{Path, Violation};

pub(super) type Check = Result<(), Violation>;

/// `path: what`, or `what` alone for the request as a whole.
pub(super) fn bad(path: &Path<'_>, what: impl Display) -> Violation {
    let path = path.dotted();
    let message = if path.is_empty() { what.to_string() } else { format!("{path}: {what}") };
    Violation::invalid(message).with_path(path)
}

pub(super) fn required(path: &Path<'_>) -> Violation {
    bad(path, "Field required")
}

pub(super) fn object<'v>(value: &'v Value, path: &Path<'_>) -> Result<&'v Map<String, Value>, Violation> {
    value.as_object().ok_or_else(|| bad(path, "Input should be a valid dictionary"))
}

pub(super) fn array<'v>(value: &'v Value, path: &Path<'_>) -> Result<&'v [Value], Violation> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| bad(path, "Input should be a valid list"))
}

/// A required string member.
pub(super) fn string<'v>(
    object: &'v Map<String, Value>,
    key: &str,
    path: &Path<'_>,
) -> Result<&'v str, Violation> {
    match object.get(key) {
        None => Err(required(&path.key(key))),
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(bad(&path.key(key), "Input should be a valid string")),
    }
}

/// A required member that is a string and not empty.
pub(super) fn filled<'v>(
    object: &'v Map<String, Value>,
    key: &str,
    path: &Path<'_>,
) -> Result<&'v str, Violation> {
    match string(object, key, path)? {
        "" => Err(bad(&path.key(key), "String should have at least 1 character")),
        text => Ok(text),
    }
}

/// A member that is a string or `null` where it is present.
pub(super) fn optional_string(object: &Map<String, Value>, key: &str, path: &Path<'_>) -> Check {
    match object.get(key) {
        None | Some(Value::Null | Value::String(_)) => Ok(()),
        Some(_) => Err(bad(&path.key(key), "Input should be a valid string")),
    }
}

/// A member that is a boolean where it is present.
pub(super) fn optional_bool(
    object: &Map<String, Value>,
    key: &str,
    path: &Path<'_>,
) -> Result<Option<bool>, Violation> {
    match object.get(key) {
        None => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(_) => Err(bad(&path.key(key), "Input should be a valid boolean")),
    }
}

/// A string out of a closed list.
pub(super) fn one_of<'v>(value: &'v str, values: &[&str], path: &Path<'_>) -> Result<&'v str, Violation> {
    if values.contains(&value) {
        return Ok(value);
    }
    let values = values.iter().map(|value| format!("'{value}'")).collect::<Vec<_>>().join(", ");
    Err(bad(path, format_args!("Input should be one of {values}")))
}

/// Refuses members that the API does not know.
pub(super) fn only(object: &Map<String, Value>, known: &[&str], path: &Path<'_>) -> Check {
    match object.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(bad(&path.key(key), "Extra inputs are not permitted")),
        None => Ok(()),
    }
}

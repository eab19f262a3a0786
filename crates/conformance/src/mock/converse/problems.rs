//! The API's answers to broken requests: its own checks, those of its schema, and those of the model behind it.

use std::fmt::Display;

use serde_json::{Map, Value};

use crate::mock::rules::{Path, Violation};

pub(super) type Check = Result<(), Violation>;

pub(super) const VALIDATION: &str = "ValidationException";

/// A request without the right to make it.
pub(super) fn forbidden(kind: &'static str, message: impl Into<String>) -> Violation {
    Violation::new(403, kind, message)
}

/// A message that names its place itself, or needs none.
pub(super) fn refused(path: &Path<'_>, message: impl Into<String>) -> Violation {
    Violation::new(400, VALIDATION, message).with_path(path.dotted())
}

/// A value outside of what the service model allows.
pub(super) fn constraint(path: &Path<'_>, what: impl Display) -> Violation {
    let place = path.dotted();
    let message =
        format!("1 validation error detected: Value at '{place}' failed to satisfy constraint: {what}");
    refused(path, message)
}

/// An error of the model's vendor, in the envelope of the API.
pub(super) fn of_model(path: &Path<'_>, what: impl Display) -> Violation {
    let place = path.dotted();
    let separator = if place.is_empty() { "" } else { ": " };
    refused(path, format!("The model returned the following errors: {place}{separator}{what}"))
}

pub(super) fn missing(path: &Path<'_>) -> Violation {
    constraint(path, "Member must not be null")
}

/// A field that this model does not have.
pub(super) fn unsupported(path: &Path<'_>) -> Violation {
    let field = path.dotted();
    refused(path, format!("This model doesn't support the {field} field. Remove {field} and try again."))
}

/// A member that is there; `null` stands for absence.
pub(super) fn member<'v>(object: &'v Map<String, Value>, key: &str) -> Option<&'v Value> {
    object.get(key).filter(|value| !value.is_null())
}

pub(super) fn object<'v>(value: &'v Value, path: &Path<'_>) -> Result<&'v Map<String, Value>, Violation> {
    value.as_object().ok_or_else(|| constraint(path, "Member must be a structure"))
}

pub(super) fn list<'v>(value: &'v Value, path: &Path<'_>) -> Result<&'v [Value], Violation> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| constraint(path, "Member must be a list"))
}

/// A required member that is a list.
pub(super) fn required_list<'v>(
    object: &'v Map<String, Value>,
    key: &str,
    path: &Path<'_>,
) -> Result<&'v [Value], Violation> {
    let path = path.key(key);
    list(member(object, key).ok_or_else(|| missing(&path))?, &path)
}

/// A required member that is a structure.
pub(super) fn required_object<'v>(
    holder: &'v Map<String, Value>,
    key: &str,
    path: &Path<'_>,
) -> Result<&'v Map<String, Value>, Violation> {
    let path = path.key(key);
    object(member(holder, key).ok_or_else(|| missing(&path))?, &path)
}

/// A required member that is a string.
pub(super) fn string<'v>(
    object: &'v Map<String, Value>,
    key: &str,
    path: &Path<'_>,
) -> Result<&'v str, Violation> {
    match member(object, key) {
        None => Err(missing(&path.key(key))),
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(constraint(&path.key(key), "Member must be a string")),
    }
}

/// A required member that is a string of at least one character.
pub(super) fn filled<'v>(
    object: &'v Map<String, Value>,
    key: &str,
    path: &Path<'_>,
) -> Result<&'v str, Violation> {
    match string(object, key, path)? {
        "" => Err(constraint(&path.key(key), "Member must have length greater than or equal to 1")),
        text => Ok(text),
    }
}

/// A member that is a string of at least one character where it is present.
pub(super) fn optional_filled(object: &Map<String, Value>, key: &str, path: &Path<'_>) -> Check {
    if member(object, key).is_some() { filled(object, key, path).map(drop) } else { Ok(()) }
}

/// A member that is a boolean where it is present.
pub(super) fn optional_bool(
    object: &Map<String, Value>,
    key: &str,
    path: &Path<'_>,
) -> Result<Option<bool>, Violation> {
    match member(object, key) {
        None => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(_) => Err(constraint(&path.key(key), "Member must be a boolean")),
    }
}

/// A string out of a closed list.
pub(super) fn one_of<'v>(value: &'v str, values: &[&str], path: &Path<'_>) -> Result<&'v str, Violation> {
    if values.contains(&value) {
        return Ok(value);
    }
    let values = values.join(", ");
    Err(constraint(path, format_args!("Member must satisfy enum value set: [{values}]")))
}

/// A member out of a closed list, where it is present.
pub(super) fn optional_one_of<'v>(
    object: &'v Map<String, Value>,
    key: &str,
    values: &[&str],
    path: &Path<'_>,
) -> Result<Option<&'v str>, Violation> {
    if member(object, key).is_none() {
        return Ok(None);
    }
    one_of(string(object, key, path)?, values, &path.key(key)).map(Some)
}

/// Refuses members that the API does not know.
pub(super) fn only(object: &Map<String, Value>, known: &[&str], path: &Path<'_>) -> Check {
    match object.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(extraneous(key, path)),
        None => Ok(()),
    }
}

pub(super) fn extraneous(key: &str, path: &Path<'_>) -> Violation {
    let place = path.dotted();
    let pointer = if place.is_empty() { "#".to_owned() } else { format!("#/{}", place.replace('.', "/")) };
    let message = format!(
        "Malformed input request: {pointer}: extraneous key [{key}] is not permitted, please reformat your input and \
         try again."
    );
    refused(&path.key(key), message)
}

/// The one member of a union.
pub(super) fn union<'v>(
    value: &'v Value,
    known: &[&str],
    path: &Path<'_>,
) -> Result<(&'v str, &'v Value), Violation> {
    let members = object(value, path)?;
    only(members, known, path)?;
    let mut present = members.iter().filter(|(_, value)| !value.is_null());
    match (present.next(), present.next()) {
        (Some((key, value)), None) => Ok((key, value)),
        (None, _) => Err(constraint(path, "A union must have a member")),
        (Some(_), Some((key, _))) => Err(constraint(&path.key(key), "A union must have exactly one member")),
    }
}

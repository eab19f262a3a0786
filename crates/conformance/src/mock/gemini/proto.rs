//! Protobuf JSON as Google's servers read it: known fields of known types, spelled in camel or snake case.

use serde_json::Value;

use crate::media::decode_any_base64;
use crate::members::is_spelling_of;
use crate::mock::rules::{Path, Violation};

pub(super) type Check = Result<(), Violation>;

/// The platform, one of two, that knows a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Platform {
    /// The Gemini API for developers.
    Developer,
    /// Vertex AI.
    Vertex,
}

/// A message type.
pub(super) struct Message {
    pub(super) name: &'static str,
    pub(super) fields: &'static [Field],
}

/// A field of a message; its name is in snake case.
pub(super) struct Field {
    name: &'static str,
    kind: Kind,
    repeated: bool,
    only_on: Option<Platform>,
}

impl Field {
    pub(super) const fn one(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, repeated: false, only_on: None }
    }

    pub(super) const fn many(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, repeated: true, only_on: None }
    }

    pub(super) const fn on(mut self, platform: Platform) -> Self {
        self.only_on = Some(platform);
        self
    }
}

/// The type of a field.
pub(super) enum Kind {
    Text,
    Bytes,
    Bool,
    Integer,
    Number,
    /// One of these names in any case.
    Enum(&'static [&'static str]),
    Message(&'static Message),
    /// An object whose members are of one type.
    Map(&'static Kind),
    /// Any object.
    Struct,
    /// Any JSON.
    Any,
}

/// An error of the kind `INVALID_ARGUMENT`.
pub(super) fn invalid(path: &Path<'_>, message: impl Into<String>) -> Violation {
    Violation::new(400, "INVALID_ARGUMENT", message).with_path(path.bracketed())
}

fn at(path: &Path<'_>) -> String {
    match path {
        Path::Root => String::new(),
        path => format!(" at '{}'", path.bracketed()),
    }
}

fn unknown(name: &str, path: &Path<'_>, why: &str) -> Violation {
    let message = format!("Invalid JSON payload received. Unknown name \"{name}\"{}: {why}", at(path));
    invalid(&path.key(name), message)
}

fn bad_value(path: &Path<'_>, kind: &str, value: impl std::fmt::Display) -> Violation {
    invalid(path, format!("Invalid value at '{}' ({kind}), {value}", path.bracketed()))
}

/// Checks a value against a message type.
pub(super) fn check(message: &Message, value: &Value, path: &Path<'_>, platform: Platform) -> Check {
    let Some(object) = value.as_object() else {
        let kind = format!("type.googleapis.com/google.ai.generativelanguage.v1beta.{}", message.name);
        return Err(bad_value(path, &kind, value));
    };
    for (key, value) in object {
        let field = message.fields.iter().find(|field| {
            is_spelling_of(key, field.name) && field.only_on.is_none_or(|only| only == platform)
        });
        let Some(field) = field else { return Err(unknown(key, path, "Cannot find field.")) };
        if value.is_null() {
            continue;
        }
        let inner = path.key(field.name);
        if field.repeated {
            let Some(items) = value.as_array() else {
                return Err(bad_value(&inner, "repeated field", value));
            };
            for (index, item) in items.iter().enumerate() {
                check_kind(&field.kind, item, &inner.index(index), platform)?;
            }
        } else if value.is_array() && !matches!(field.kind, Kind::Any) {
            return Err(unknown(key, path, "Proto field is not repeating, cannot start list."));
        } else {
            check_kind(&field.kind, value, &inner, platform)?;
        }
    }
    Ok(())
}

fn check_kind(kind: &Kind, value: &Value, path: &Path<'_>, platform: Platform) -> Check {
    let text = value.as_str();
    let (name, fits) = match kind {
        Kind::Any => return Ok(()),
        Kind::Message(message) => return check(message, value, path, platform),
        Kind::Map(kind) => {
            let Some(entries) = value.as_object() else { return Err(bad_value(path, "map", value)) };
            for (index, entry) in entries.values().enumerate() {
                check_kind(kind, entry, &path.index(index).key("value"), platform)?;
            }
            return Ok(());
        }
        Kind::Bytes => match text {
            Some(data) if decode_any_base64(data).is_none() => {
                let shown: String = data.chars().take(40).collect();
                return Err(bad_value(
                    path,
                    "TYPE_BYTES",
                    format_args!("Base64 decoding failed for \"{shown}\""),
                ));
            }
            _ => ("TYPE_BYTES", text.is_some()),
        },
        Kind::Text => ("TYPE_STRING", text.is_some()),
        Kind::Bool => ("TYPE_BOOL", value.is_boolean()),
        Kind::Integer => {
            let whole = value.as_f64().is_some_and(|number| number.fract() == 0.0);
            ("TYPE_INT32", whole || text.is_some_and(|text| text.parse::<i64>().is_ok()))
        }
        Kind::Number => {
            ("TYPE_DOUBLE", value.is_number() || text.is_some_and(|text| text.parse::<f64>().is_ok()))
        }
        Kind::Enum(names) => {
            ("TYPE_ENUM", text.is_some_and(|text| names.iter().any(|name| name.eq_ignore_ascii_case(text))))
        }
        Kind::Struct => ("type.googleapis.com/google.protobuf.Struct", value.is_object()),
    };
    if fits { Ok(()) } else { Err(bad_value(path, name, value)) }
}

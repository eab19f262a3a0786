//! References inside a document.

use attache_transport::percent_decoded;
use serde_json::Value;

use crate::error::HttpToolsError;

/// Longer documents are none that a person wrote or a tool could use.
pub(super) const LONGEST: usize = 64 << 20;

/// The maximum number of references that may lead to one another.
pub(super) const LONGEST_CHAIN: usize = 16;

/// A member that is a text.
pub(super) fn text<'v>(object: &'v Value, name: &str) -> Option<&'v str> {
    object.get(name)?.as_str()
}

pub(super) fn flag(object: &Value, name: &str) -> bool {
    object.get(name).and_then(Value::as_bool).unwrap_or(false)
}

/// The value at a reference.
pub(super) fn at<'d>(document: &'d Value, reference: &str) -> Result<&'d Value, HttpToolsError> {
    let pointer = reference.strip_prefix('#').ok_or_else(|| {
        HttpToolsError::new(format!("its reference {reference:?} leads into another file, which is not read"))
    })?;
    let pointer = String::from_utf8(percent_decoded(pointer)).unwrap_or_default();
    document
        .pointer(&pointer)
        .ok_or_else(|| HttpToolsError::new(format!("its reference {reference:?} leads nowhere")))
}

/// A value, or what it refers to.
pub(super) fn resolved<'d>(document: &'d Value, value: &'d Value) -> Result<&'d Value, HttpToolsError> {
    let mut value = value;
    for _ in 0..LONGEST_CHAIN {
        match text(value, "$ref") {
            Some(reference) => value = at(document, reference)?,
            None => return Ok(value),
        }
    }
    Err(HttpToolsError::new("its references lead in a circle"))
}

/// True if a flag stands on a schema, or on one that it refers to.
pub(super) fn is_marked(document: &Value, schema: &Value, name: &str) -> bool {
    let mut schema = schema;
    for _ in 0..LONGEST_CHAIN {
        if flag(schema, name) {
            return true;
        }
        match text(schema, "$ref").and_then(|reference| at(document, reference).ok()) {
            Some(next) => schema = next,
            None => return false,
        }
    }
    false
}

//! Ollama's own chat: rules and rendering. It has no headers of its own.

mod history;
mod render;
mod tools;
mod validate;

#[cfg(test)]
mod tests;

use bytes::Bytes;
use serde_json::{Value, json};

pub(crate) use self::render::{render, render_stream};

use super::answer::ErrorAnswer;
use super::rules::Violation;

/// The content type of a stream: JSON line by line.
pub(crate) const LINES: &str = "application/x-ndjson";

/// Judges the body of a request to Ollama's own chat.
///
/// The server ignores what it does not know and forgives much; this judges as the official SDK and the API's
/// description want it. The words are those of Chat Completions.
///
/// # Errors
///
/// The first broken rule.
pub fn validate_ollama(body: &Value) -> Result<(), Violation> {
    validate::check(body)
}

/// An error is a text alone (openai.md C.13).
pub(crate) fn error_body(error: &ErrorAnswer<'_>) -> Value {
    json!({"error": error.message})
}

pub(crate) fn line(value: &Value) -> Bytes {
    format!("{value}\n").into()
}

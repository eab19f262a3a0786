//! Cohere's chat, version 2: headers, rules and rendering.

mod history;
mod render;
mod tools;
mod validate;

#[cfg(test)]
mod tests;

use bytes::Bytes;
use http::HeaderMap;
use serde_json::{Value, json};

pub(crate) use self::render::{render, render_stream};

use super::answer::{ErrorAnswer, request_id};
use super::rules::{Rules, Violation};

/// Judges the body of a request to Cohere's chat.
///
/// # Errors
///
/// The first broken rule. The API's own words are recorded for few of them; the others have those of Chat Completions.
pub fn validate_cohere(body: &Value) -> Result<(), Violation> {
    validate::check(body)
}

/// The key is a bearer token (cohere.md 1).
pub(crate) fn check_headers(headers: &HeaderMap, rules: &Rules) -> Result<(), Violation> {
    let value = headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let has_key = value.strip_prefix("Bearer ").is_some_and(|key| !key.trim().is_empty());
    if has_key || !rules.authentication() {
        return Ok(());
    }
    Err(Violation::new(401, "", "no api key supplied"))
}

/// An error has no type (cohere.md 7).
pub(crate) fn error_body(error: &ErrorAnswer<'_>, index: usize) -> Value {
    json!({"id": request_id(index), "message": error.message})
}

/// The event that ends a stream by a failure: its finish reason is `word` (cohere.md 6).
pub(crate) fn error_event(word: &str, message: &str) -> Bytes {
    render::end(word, Some(message), None)
}

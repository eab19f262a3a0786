//! Chat Completions: headers, rules and rendering.

mod dialect;
mod history;
pub(crate) mod models;
pub(crate) mod parts;
pub(crate) mod problems;
mod render;
pub(crate) mod tools;
pub(crate) mod validate;

#[cfg(test)]
mod tests;

use http::HeaderMap;
use serde_json::{Value, json};

pub(crate) use self::render::{render, render_stream};

use super::answer::ErrorAnswer;
use super::rules::{Rules, Violation};

/// Judges the body of a Chat Completions request by the strict rules.
///
/// # Errors
///
/// The first broken rule, as the real API would report it.
pub fn validate_chat(body: &Value) -> Result<(), Violation> {
    validate::check(body, &Rules::new())
}

/// Judges the body of a Chat Completions request by rules of your own.
///
/// # Errors
///
/// The first broken rule, as the real API would report it.
pub fn validate_chat_with(body: &Value, rules: &Rules) -> Result<(), Violation> {
    validate::check(body, rules)
}

/// A key comes as `Authorization: Bearer …`, or as Azure's `api-key`.
pub(crate) fn check_headers(headers: &HeaderMap, rules: &Rules) -> Result<(), Violation> {
    if !rules.authentication() {
        return Ok(());
    }
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let bearer = text("authorization").strip_prefix("Bearer ").unwrap_or_default();
    if bearer.trim().is_empty() && text("api-key").trim().is_empty() {
        let message = "You didn't provide an API key. You need to provide your API key in an Authorization header \
                       using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).";
        return Err(Violation::new(401, "invalid_request_error", message));
    }
    Ok(())
}

pub(crate) fn error_body(error: &ErrorAnswer<'_>) -> Value {
    let kind = error.kind.unwrap_or(match error.status {
        401 => "authentication_error",
        429 => "requests",
        500.. => "server_error",
        _ => "invalid_request_error",
    });
    let code = error.code.or(match error.status {
        429 => Some("rate_limit_exceeded"),
        _ => None,
    });
    json!({"error": {"message": error.message, "type": kind, "param": error.path, "code": code}})
}

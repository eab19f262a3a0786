//! Gemini generateContent: headers, rules, cached contents and rendering.

mod caches;
mod context;
mod fields;
mod history;
mod models;
mod parts;
mod proto;
mod render;
mod schema;
pub(crate) mod timestamp;
mod tools;
mod validate;

#[cfg(test)]
mod tests;

use bytes::Bytes;
use serde_json::{Map, Value, json};

pub(crate) use self::caches::Caches;
pub(crate) use self::models::resource;
pub(crate) use self::render::{render, render_array, render_stream};

use super::answer::ErrorAnswer;
use super::record::RecordedRequest;
use super::rules::{Rules, Violation};

/// Judges the body of a Gemini request by the strict rules.
///
/// `model` is the model's name or resource name, which a request carries in its path: `gemini-2.5-flash`,
/// `models/gemini-2.5-flash`. One with `projects/` or `publishers/` in it is judged as Vertex AI does, any other
/// as the Gemini API.
///
/// # Errors
///
/// The first broken rule, as the real API would report it.
pub fn validate_gemini(model: &str, body: &Value) -> Result<(), Violation> {
    validate::check(model, body, &Rules::new())
}

/// Judges the body of a Gemini request, as [`validate_gemini`] does, by rules of your own.
///
/// # Errors
///
/// The first broken rule, as the real API would report it.
pub fn validate_gemini_with(model: &str, body: &Value, rules: &Rules) -> Result<(), Violation> {
    validate::check(model, body, rules)
}

/// A key comes in `x-goog-api-key` or in the query, a token as `Authorization: Bearer …`.
pub(crate) fn check_headers(request: &RecordedRequest, rules: &Rules) -> Result<(), Violation> {
    if !rules.authentication() {
        return Ok(());
    }
    let bearer = request.header("authorization").strip_prefix("Bearer ").unwrap_or_default();
    let in_query = request.query("key").is_some_and(|key| !key.is_empty());
    if in_query || !bearer.trim().is_empty() || !request.header("x-goog-api-key").trim().is_empty() {
        return Ok(());
    }
    Err(match models::platform(request.uri.path()) {
        proto::Platform::Vertex => {
            let message = "Request is missing required authentication credential. Expected OAuth 2 access token, login \
                           cookie or other valid authentication credential.";
            Violation::new(401, "UNAUTHENTICATED", message)
        }
        proto::Platform::Developer => {
            let message = "Method doesn't allow unregistered callers (callers without established identity). Please use API \
                           Key or other form of API consumer identity to call this API.";
            Violation::new(403, "PERMISSION_DENIED", message)
        }
    })
}

/// True if a stream comes as server-sent events; without `alt=sse` it is one JSON array, written piece by piece.
pub(crate) fn wants_events(request: &RecordedRequest) -> bool {
    request.query("alt") == Some("sse")
}

/// The canonical statuses and their HTTP codes.
const STATUSES: &[(&str, u16)] = &[
    ("INVALID_ARGUMENT", 400),
    ("FAILED_PRECONDITION", 400),
    ("UNAUTHENTICATED", 401),
    ("PERMISSION_DENIED", 403),
    ("NOT_FOUND", 404),
    ("ABORTED", 409),
    ("RESOURCE_EXHAUSTED", 429),
    ("CANCELLED", 499),
    ("INTERNAL", 500),
    ("UNIMPLEMENTED", 501),
    ("UNAVAILABLE", 503),
    ("DEADLINE_EXCEEDED", 504),
];

pub(crate) fn error_body(error: &ErrorAnswer<'_>) -> Value {
    // Rules that all APIs share name the kind in the words of another one.
    let own = error.kind.filter(|kind| kind.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_'));
    let status = own.unwrap_or_else(|| {
        STATUSES.iter().find(|(_, code)| *code == error.status).map_or("UNKNOWN", |(status, _)| status)
    });
    let mut body = Map::new();
    body.insert("code".to_owned(), Value::from(error.status));
    body.insert("message".to_owned(), Value::from(error.message));
    body.insert("status".to_owned(), Value::from(status));
    if let Some(details) = error.details {
        body.insert("details".to_owned(), details.clone());
    } else if let Some(path) = error.path {
        let violation = json!({"field": path, "description": error.message});
        let details =
            json!([{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [violation]}]);
        body.insert("details".to_owned(), details);
    }
    json!({"error": body})
}

/// The chunk that ends a stream by an error of that status word.
pub(crate) fn error_event(status: &str, message: &str) -> Bytes {
    let code = STATUSES.iter().find(|(word, _)| *word == status).map_or(500, |(_, code)| *code);
    let answer =
        ErrorAnswer { status: code, kind: Some(status), code: None, path: None, message, details: None };
    render::data_event(&error_body(&answer))
}

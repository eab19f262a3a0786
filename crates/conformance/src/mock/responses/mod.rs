//! OpenAI Responses: rules and rendering. Headers and error envelopes are those of Chat Completions.

mod ids;
mod items;
mod parts;
mod render;
mod stream;
mod tools;
mod validate;

#[cfg(test)]
mod tests;

use bytes::Bytes;
use serde_json::{Value, json};

pub(crate) use self::render::render;
pub(crate) use self::stream::render_stream;

use super::answer::{ErrorAnswer, named_event};
use super::rules::{Rules, Violation};

/// Judges the body of a Responses request by the strict rules.
///
/// # Errors
///
/// The first broken rule, as the real API would report it.
pub fn validate_responses(body: &Value) -> Result<(), Violation> {
    validate::check(body, &Rules::new())
}

/// Judges the body of a Responses request by rules of your own.
///
/// # Errors
///
/// The first broken rule, as the real API would report it.
pub fn validate_responses_with(body: &Value, rules: &Rules) -> Result<(), Violation> {
    validate::check(body, rules)
}

/// The event that ends a stream by an error; `number` is its sequence number.
pub(crate) fn error_event(error: &ErrorAnswer<'_>, number: usize) -> Bytes {
    let event = json!({
        "type": "error", "code": error.kind, "message": error.message, "param": error.path,
        "sequence_number": number,
    });
    named_event("error", &event)
}

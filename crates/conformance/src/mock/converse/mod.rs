//! Bedrock Converse: authentication, rules and rendering.

mod blocks;
mod cache;
mod context;
mod family;
mod frame;
mod history;
mod media;
mod parameters;
mod problems;
mod render;
mod sigv4;
mod tools;
mod validate;

#[cfg(test)]
mod tests;

use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use serde_json::{Value, json};

pub(crate) use self::frame::error as error_frame;
pub use self::frame::event_frame;
pub(crate) use self::render::{render, render_stream};

use self::problems::{VALIDATION, forbidden};
use super::answer::{ErrorAnswer, Rendered};
use super::record::RecordedRequest;
use super::rules::{Rules, Violation};
use crate::paths::converse_model;

pub(crate) const EVENT_STREAM: &str = "application/vnd.amazon.eventstream";

/// The largest request, 25 MB.
const MAX_REQUEST_BYTES: usize = 25_000_000;

/// Judges the body of a Converse or ConverseStream request to that model by the strict rules.
///
/// The model id is the one of the path, decoded: an id, an inference profile or an ARN. Much of what may be sent
/// depends on the model's family.
///
/// # Errors
///
/// The first broken rule, as the real API would report it.
pub fn validate_converse(model_id: &str, body: &Value) -> Result<(), Violation> {
    validate::check(model_id, body, &Rules::new())
}

/// Judges the body of a Converse or ConverseStream request to that model by rules of your own.
///
/// # Errors
///
/// The first broken rule, as the real API would report it.
pub fn validate_converse_with(model_id: &str, body: &Value, rules: &Rules) -> Result<(), Violation> {
    validate::check(model_id, body, rules)
}

/// Judges a whole request: its authentication, its form, its body.
pub(crate) fn judge(request: &RecordedRequest, rules: &Rules) -> Result<(), Violation> {
    if rules.authentication() {
        check_authentication(request, rules)?;
    }
    request.check_content_type().map_err(|violation| Violation { kind: VALIDATION, ..violation })?;
    if request.body.len() > MAX_REQUEST_BYTES {
        return Err(Violation::new(413, "RequestEntityTooLargeException", "The request is over 25 MB."));
    }
    let Some(body) = request.json.as_deref() else {
        return Err(Violation::new(400, "SerializationException", "The request body is not valid JSON."));
    };
    match converse_model(request.uri.path()).and_then(percent_decoded) {
        Some(model_id) => validate_converse_with(&model_id, body, rules),
        None => Err(Violation::new(400, VALIDATION, "The provided model identifier is invalid.")),
    }
}

/// A bearer key, any one, or a signature that holds.
fn check_authentication(request: &RecordedRequest, rules: &Rules) -> Result<(), Violation> {
    let authorization = request.header("authorization");
    if sigv4::is_signed(authorization) {
        let (headers, body) = (&request.headers, &request.body);
        let signed = sigv4::Signed { method: &request.method, uri: &request.uri, headers, body };
        return sigv4::verify(&signed, rules.aws_credentials());
    }
    if authorization.strip_prefix("Bearer ").is_some_and(|key| !key.trim().is_empty()) {
        return Ok(());
    }
    if authorization.is_empty() {
        return Err(forbidden("MissingAuthenticationTokenException", "Missing Authentication Token"));
    }
    Err(forbidden("AccessDeniedException", "Authentication failed: Please make sure your API Key is valid."))
}

fn percent_decoded(segment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                u8::try_from(digit(rest.next())? * 16 + digit(rest.next())?).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

/// An error response: the type stands in a header, with the address of its definition behind it.
pub(crate) fn error(answer: &ErrorAnswer<'_>) -> Rendered {
    let kind = match answer.kind {
        // The mock's own word, for a method that the API does not have.
        Some("invalid_request_error") => "UnknownOperationException",
        Some(kind) => kind,
        None => match answer.status {
            401 | 403 => "AccessDeniedException",
            404 => "ResourceNotFoundException",
            408 => "ModelTimeoutException",
            424 => "ModelErrorException",
            429 => "ThrottlingException",
            503 => "ServiceUnavailableException",
            500.. => "InternalServerException",
            _ => VALIDATION,
        },
    };
    let kind = format!("{kind}:http://internal.amazon.com/coral/com.amazon.bedrock/");
    let mut rendered = Rendered::json(answer.status, &json!({"message": answer.message}));
    if let Ok(kind) = HeaderValue::try_from(kind) {
        rendered.headers.push((HeaderName::from_static("x-amzn-errortype"), kind));
    }
    rendered
}

/// The exception that ends a stream.
pub(crate) fn error_event(kind: &str, message: &str) -> Bytes {
    frame::exception(kind, message)
}

//! Errors of the API, before and inside a stream (anthropic.md 11).

use attache_core::{ErrorKind, ProviderError};
use attache_transport::{ErrorBody, ErrorResponse, excerpt, kind_of_status, tells_of_full_window};
use serde::Deserialize;
use serde_json::value::RawValue;

pub(crate) use attache_transport::configuration;

/// The outcome of what may fail as a provider, or we in its place, would tell it.
pub(crate) type Result<T, E = ProviderError> = std::result::Result<T, E>;

/// Reads a response with an error status.
pub(crate) fn read(response: &ErrorResponse) -> ProviderError {
    let status = response.status.as_u16();
    let Some(body) = Body::parse(response.body.as_bytes()) else {
        // A page of a proxy or of the network in front of the API.
        return response.to_error();
    };
    // Servers that imitate the API have types of their own.
    let foreign = || ErrorBody::parse(response.body.as_bytes())?.kind();
    let kind = body.kind().or_else(foreign).unwrap_or_else(|| kind_of_status(status));
    body.describe(response.error(kind, body.message()))
}

/// Reads an `error` event, or an error object under status 200. Servers that imitate the API have shapes of their
/// own.
pub(crate) fn in_stream(json: &[u8]) -> ProviderError {
    let error = match Body::parse(json) {
        Some(body) => {
            let kind = body.kind().or_else(|| foreign(json).map(|error| error.kind()));
            body.describe(ProviderError::new(kind.unwrap_or(ErrorKind::Api), body.message()))
        }
        None => foreign(json).unwrap_or_else(|| ProviderError::new(ErrorKind::Api, NAMELESS)),
    };
    error.with_response_body(excerpt(json))
}

/// Reads a JSON body under status 200 that is neither a message nor an error of this API.
pub(crate) fn of_foreign_shape(json: &[u8]) -> ProviderError {
    let unknown = || ProviderError::new(ErrorKind::Malformed, "the reply is not a message of the API");
    foreign(json).unwrap_or_else(unknown).with_response_body(excerpt(json))
}

/// True if JSON without a type is an error object: it has a member of that name, which says something.
pub(crate) fn is_error(json: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Outline<'a> {
        #[serde(borrow)]
        error: &'a RawValue,
    }
    let says = |raw: &RawValue| raw.get().starts_with(['{', '"']) && !matches!(raw.get(), "{}" | "\"\"");
    serde_json::from_slice::<Outline<'_>>(json).is_ok_and(|outline| says(outline.error))
        && foreign(json).is_some()
}

/// An error in one of the shapes that other APIs have.
fn foreign(json: &[u8]) -> Option<ProviderError> {
    ErrorBody::parse(json).filter(|body| body.message.is_some()).map(|body| body.to_error())
}

/// The message of an error that says nothing.
const NAMELESS: &str = "the provider reported an error without saying which";

/// An error object: `{"type":"error","error":{"type","message","details"},"request_id"}`.
struct Body {
    error_type: Option<String>,
    /// The finer code that some errors carry.
    code: Option<String>,
    message: String,
    request_id: Option<String>,
}

impl Body {
    fn parse(json: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Wire {
            error: Inner,
            request_id: Option<String>,
        }
        #[derive(Deserialize)]
        struct Inner {
            #[serde(rename = "type")]
            error_type: Option<String>,
            message: Option<String>,
            details: Option<serde_json::Value>,
        }
        let Wire { error, request_id } = serde_json::from_slice(json).ok()?;
        let code = error.details.as_ref().and_then(|details| details.get("error_code")?.as_str());
        Some(Self {
            code: code.map(str::to_owned),
            error_type: error.error_type,
            message: error.message.unwrap_or_default(),
            request_id,
        })
    }

    fn message(&self) -> &str {
        match (self.message.trim(), &self.error_type) {
            ("", Some(error_type)) => error_type,
            ("", None) => NAMELESS,
            (message, _) => message,
        }
    }

    /// The kind that type, code and wording stand for. The wording of messages is unstable, so it only refines.
    fn kind(&self) -> Option<ErrorKind> {
        let message = self.message.to_ascii_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
        if self.code.as_deref().is_some_and(|code| code.ends_with("spend_limit_reached"))
            || says(&["credit balance is too low", "specified api usage limits"])
        {
            return Some(ErrorKind::QuotaExceeded);
        }
        Some(match self.error_type.as_deref()? {
            "authentication_error" => ErrorKind::Authentication,
            "billing_error" => ErrorKind::QuotaExceeded,
            "permission_error" => ErrorKind::Permission,
            "not_found_error" => ErrorKind::NotFound,
            "rate_limit_error" => ErrorKind::RateLimited,
            "overloaded_error" | "api_error" | "conflict_error" => ErrorKind::Overloaded,
            "timeout_error" => ErrorKind::Timeout,
            "request_too_large" => ErrorKind::InvalidRequest,
            "invalid_request_error" if tells_of_full_window(&message) => ErrorKind::ContextTooLong,
            "invalid_request_error" if says(&HISTORY) => ErrorKind::InvalidHistory,
            "invalid_request_error" if says(&["not support", "not available on this model"]) => {
                ErrorKind::Unsupported
            }
            "invalid_request_error" => ErrorKind::InvalidRequest,
            _ => return None,
        })
    }

    fn describe(&self, error: ProviderError) -> ProviderError {
        let id = error.request_id().map(str::to_owned).or_else(|| self.request_id.clone());
        error
            .with_code(self.code.clone().or_else(|| self.error_type.clone()))
            .with_param(param(&self.message).map(str::to_owned))
            .with_request_id(id)
    }
}

/// The API's messages about histories that break its rules (anthropic.md 3, 4, 6, 8).
const HISTORY: [&str; 10] = [
    "`tool_use` ids were found without",
    "unexpected `tool_use_id`",
    "`tool_use` ids must be unique",
    "text content blocks must",
    "invalid `signature`",
    "expected `thinking`",
    "cannot be modified",
    "must end with a user message",
    "roles must alternate",
    "trailing whitespace",
];

/// The field that a message begins with: `messages.1.content: …`.
fn param(message: &str) -> Option<&str> {
    let (field, _) = message.split_once(": ")?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '[' | ']');
    (!field.is_empty() && field.chars().all(plain) && !field.starts_with('.')).then_some(field)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::{HeaderValue, StatusCode};

    use http::HeaderMap;

    use super::*;

    fn of(status: u16, body: &str, headers: &[(&'static str, &str)]) -> ProviderError {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, HeaderValue::from_str(value).unwrap());
        }
        read(&ErrorResponse::new(StatusCode::from_u16(status).unwrap(), map, body.as_bytes()))
    }

    fn body(error_type: &str, message: &str) -> String {
        format!(
            r#"{{"type":"error","error":{{"type":"{error_type}","message":"{message}"}},"request_id":"req_1"}}"#
        )
    }

    // P25, anthropic.md 11
    #[test]
    fn the_table_of_errors() {
        for (status, error_type, kind, retryable) in [
            (400, "invalid_request_error", ErrorKind::InvalidRequest, false),
            (401, "authentication_error", ErrorKind::Authentication, false),
            (402, "billing_error", ErrorKind::QuotaExceeded, false),
            (403, "permission_error", ErrorKind::Permission, false),
            (404, "not_found_error", ErrorKind::NotFound, false),
            (408, "timeout_error", ErrorKind::Timeout, true),
            (409, "conflict_error", ErrorKind::Overloaded, true),
            (413, "request_too_large", ErrorKind::InvalidRequest, false),
            (422, "invalid_request_error", ErrorKind::InvalidRequest, false),
            (429, "rate_limit_error", ErrorKind::RateLimited, true),
            (500, "api_error", ErrorKind::Overloaded, true),
            (504, "timeout_error", ErrorKind::Timeout, true),
            (529, "overloaded_error", ErrorKind::Overloaded, true),
        ] {
            let error = of(status, &body(error_type, "m"), &[]);
            assert_eq!((error.kind(), error.is_retryable()), (kind, retryable), "{status} {error_type}");
            assert_eq!(error.status(), Some(status));
            assert_eq!((error.code(), error.message()), (Some(error_type), "m"));
            assert_eq!(error.request_id(), Some("req_1"));
        }
    }

    #[test]
    fn wording_refines_the_kind() {
        for (message, kind) in [
            ("prompt is too long: 210000 tokens > 200000 maximum", ErrorKind::ContextTooLong),
            ("input length and `max_tokens` exceed context limit: 1 + 2 > 2", ErrorKind::ContextTooLong),
            ("Your credit balance is too low to access the API.", ErrorKind::QuotaExceeded),
            ("messages.1: `tool_use` ids were found without `tool_result` blocks", ErrorKind::InvalidHistory),
            ("messages: text content blocks must be non-empty", ErrorKind::InvalidHistory),
            ("This model does not support effort level 'xhigh'.", ErrorKind::Unsupported),
        ] {
            assert_eq!(of(400, &body("invalid_request_error", message), &[]).kind(), kind, "{message}");
        }
        // Servers that imitate the API have types of their own.
        let foreign = body("bad_request_error", "invalid params, context window exceeds limit (2013)");
        assert_eq!(of(400, &foreign, &[]).kind(), ErrorKind::ContextTooLong);
        assert_eq!(in_stream(foreign.as_bytes()).kind(), ErrorKind::ContextTooLong);
        assert_eq!(of(400, &body("bad_request_error", "no"), &[]).kind(), ErrorKind::InvalidRequest);
        let spent = r#"{"type":"error","error":{"type":"rate_limit_error","message":"m",
            "details":{"error_code":"enforced_spend_limit_reached"}}}"#;
        let error = of(429, spent, &[]);
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::QuotaExceeded, false));
        assert_eq!(error.code(), Some("enforced_spend_limit_reached"));
        let ramp = spent.replace("enforced_spend_limit_reached", "ramp_limit_exceeded");
        assert_eq!(of(429, &ramp, &[]).kind(), ErrorKind::RateLimited);
    }

    // P26
    #[test]
    fn headers_say_when_to_ask_again() {
        let limited = body("rate_limit_error", "m");
        let error = of(429, &limited, &[("retry-after", "7"), ("request-id", "req_2")]);
        assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
        assert_eq!(error.request_id(), Some("req_2"), "the header is nearer than the body");
        assert!(!of(429, &limited, &[("x-should-retry", "false")]).is_retryable());
        assert!(of(400, &body("invalid_request_error", "m"), &[("x-should-retry", "true")]).is_retryable());
    }

    #[test]
    fn pages_are_no_surprise() {
        let error = of(413, "<html><head><title>413 Request Entity Too Large</title></head></html>", &[]);
        assert_eq!((error.kind(), error.status()), (ErrorKind::InvalidRequest, Some(413)));
        assert!(!error.to_string().contains("<html>"), "{error}");
        assert_eq!(of(529, "", &[]).kind(), ErrorKind::Overloaded);
        assert_eq!(of(503, "upstream connect error", &[]).kind(), ErrorKind::Overloaded);
    }

    #[test]
    fn the_field_in_question() {
        assert_eq!(
            param("tools.0.custom.input_schema.type: Field required"),
            Some("tools.0.custom.input_schema.type")
        );
        assert_eq!(param("messages: at least one"), Some("messages"));
        assert_eq!(param("Schema is too complex for compilation. Try: less"), None);
        assert_eq!(param("Invalid"), None);
    }

    // anthropic.md (a) 12
    #[test]
    fn errors_inside_a_stream() {
        let error = in_stream(body("overloaded_error", "Overloaded").as_bytes());
        assert_eq!((error.kind(), error.is_retryable(), error.status()), (ErrorKind::Overloaded, true, None));
        assert_eq!(error.request_id(), Some("req_1"));
        assert_eq!(in_stream(b"{}").kind(), ErrorKind::Api);
        assert_eq!(of_foreign_shape(br#"{"x":1}"#).kind(), ErrorKind::Malformed);
    }
}

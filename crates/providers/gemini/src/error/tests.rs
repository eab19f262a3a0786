use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::json;

use super::*;

fn of(status: u16, body: &str) -> ProviderError {
    read(&ErrorResponse::new(StatusCode::from_u16(status).unwrap(), HeaderMap::new(), body.as_bytes()))
}

fn body(code: u16, status: &str, message: &str, details: &Value) -> String {
    json!({"error": {"code": code, "message": message, "status": status, "details": details}}).to_string()
}

// P25, gemini.md 9
#[test]
fn the_table_of_errors() {
    for (code, status, kind, retryable) in [
        (400, "INVALID_ARGUMENT", ErrorKind::InvalidRequest, false),
        (400, "FAILED_PRECONDITION", ErrorKind::InvalidRequest, false),
        (401, "UNAUTHENTICATED", ErrorKind::Authentication, false),
        (403, "PERMISSION_DENIED", ErrorKind::Permission, false),
        (404, "NOT_FOUND", ErrorKind::NotFound, false),
        (429, "RESOURCE_EXHAUSTED", ErrorKind::RateLimited, true),
        (499, "CANCELLED", ErrorKind::Api, false),
        (500, "INTERNAL", ErrorKind::Overloaded, true),
        (503, "UNAVAILABLE", ErrorKind::Overloaded, true),
        (504, "DEADLINE_EXCEEDED", ErrorKind::Timeout, true),
        (418, "NEW_WORD", ErrorKind::InvalidRequest, false),
    ] {
        let error = of(code, &body(code, status, "Something.", &Value::Null));
        assert_eq!((error.kind(), error.is_retryable()), (kind, retryable), "{code} {status}");
        assert_eq!((error.status(), error.code(), error.message()), (Some(code), Some(status), "Something"));
    }
}

#[test]
fn wording_and_details_refine_the_kind() {
    let info = json!([{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]);
    let error =
        of(400, &body(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", &info));
    assert_eq!(error.kind(), ErrorKind::Authentication);
    for (message, kind) in [
        (
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            ErrorKind::ContextTooLong,
        ),
        (
            "Unable to submit request because the input token count is 135538 but model only supports up to 131072. Reduce the input token count and try again.",
            ErrorKind::ContextTooLong,
        ),
        (
            "Unable to submit request because it has a maxOutputTokens value of 100000 but the supported range is from 1 (inclusive) to 65537 (exclusive).",
            ErrorKind::InvalidRequest,
        ),
        ("Function call is missing a thought_signature in functionCall parts.", ErrorKind::InvalidHistory),
        (
            "Please ensure that the number of function response parts is equal to the number of function call parts",
            ErrorKind::InvalidHistory,
        ),
        (
            "Function calling with a response mime type: 'application/json' is unsupported",
            ErrorKind::Unsupported,
        ),
        ("Unsupported MIME type: application/msword", ErrorKind::Unsupported),
    ] {
        assert_eq!(of(400, &body(400, "INVALID_ARGUMENT", message, &Value::Null)).kind(), kind, "{message}");
    }
    let precondition = |message| of(400, &body(400, "FAILED_PRECONDITION", message, &Value::Null)).kind();
    assert_eq!(precondition("User location is not supported for the API use."), ErrorKind::Permission);
    assert_eq!(precondition("Enable billing for your project"), ErrorKind::QuotaExceeded);
    let unknown = "Invalid JSON payload received. Unknown name \"x\" at 'tools[0]': Cannot find field.";
    assert_eq!(of(400, &body(400, "INVALID_ARGUMENT", unknown, &Value::Null)).param(), Some("tools[0]"));
}

// P26
#[test]
fn details_say_when_to_ask_again() {
    let quota = |id: &str| {
        json!([{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": id}]},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}])
    };
    let error = of(429, &body(429, "RESOURCE_EXHAUSTED", "m", &quota("GenerateRequestsPerMinutePerProject")));
    assert_eq!(
        (error.kind(), error.retry_after()),
        (ErrorKind::RateLimited, Some(Duration::from_millis(34_500)))
    );
    let error = of(429, &body(429, "RESOURCE_EXHAUSTED", "m", &quota("GenerateRequestsPerDayPerProject")));
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::QuotaExceeded, false));
    let mut headers = HeaderMap::new();
    headers.insert("retry-after", HeaderValue::from_static("7"));
    let limited = body(429, "RESOURCE_EXHAUSTED", "m", &quota("PerMinute"));
    let error = read(&ErrorResponse::new(StatusCode::TOO_MANY_REQUESTS, headers, limited.as_bytes()));
    assert_eq!(error.retry_after(), Some(Duration::from_secs(7)), "the header is nearer than the body");
}

// gemini.md (a) 22
#[test]
fn lists_and_pages_are_no_surprise() {
    let list = format!("[{}]", body(503, "UNAVAILABLE", "The model is overloaded.", &Value::Null));
    assert_eq!(of(503, &list).kind(), ErrorKind::Overloaded);
    assert_eq!(in_stream(list.as_bytes()).kind(), ErrorKind::Overloaded);
    assert_eq!(of(502, "<html><title>Bad Gateway</title></html>").kind(), ErrorKind::Overloaded);
    assert_eq!(in_stream(br#"{"error":{"code":429}}"#).kind(), ErrorKind::RateLimited);
    assert_eq!(in_stream(br#"{"error":{"status":null}}"#).kind(), ErrorKind::Api);
    assert_eq!(of_foreign_shape(br#"{"x":1}"#).kind(), ErrorKind::Malformed);
}

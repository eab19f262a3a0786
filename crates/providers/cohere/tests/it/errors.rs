//! Error responses: `{"message": …}` with an id, under the statuses that the SDK names.

use attache_core::{ErrorKind, ProviderError};
use attache_transport::replay;
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::json;

use crate::common::codec;

fn refused(status: u16, message: &str, headers: &HeaderMap) -> ProviderError {
    let body = json!({"id": "e1", "message": message}).to_string();
    replay(&codec(), StatusCode::from_u16(status).unwrap(), headers, [body]).error.unwrap()
}

// P25
#[test]
fn statuses() {
    for (status, message, kind, retryable) in [
        (400, "invalid request", ErrorKind::InvalidRequest, false),
        (400, "too many tokens: the total cannot exceed 4081.", ErrorKind::ContextTooLong, false),
        (401, "invalid api token", ErrorKind::Authentication, false),
        (402, "please add a payment method", ErrorKind::QuotaExceeded, false),
        (403, "not allowed", ErrorKind::Permission, false),
        (404, "model 'x' not found", ErrorKind::NotFound, false),
        (422, "unknown parameter", ErrorKind::InvalidRequest, false),
        (429, "too many requests in a minute", ErrorKind::RateLimited, true),
        (429, "limited to 1000 API calls / month", ErrorKind::QuotaExceeded, false),
        (498, "blocked output", ErrorKind::Refused, false),
        (499, "request cancelled", ErrorKind::Cancelled, false),
        (500, "internal server error", ErrorKind::Overloaded, true),
        (501, "not implemented", ErrorKind::Unsupported, false),
        (503, "service unavailable", ErrorKind::Overloaded, true),
        (504, "gateway timeout", ErrorKind::Timeout, true),
    ] {
        let error = refused(status, message, &HeaderMap::new());
        assert_eq!((error.kind(), error.is_retryable()), (kind, retryable), "{status} {message}");
        assert_eq!((error.status(), error.request_id()), (Some(status), Some("e1")));
        assert_eq!(error.message(), message.trim_end_matches('.'));
    }
}

// P26
#[test]
fn headers_count() {
    let mut headers = HeaderMap::new();
    headers.insert("retry-after", HeaderValue::from_static("7"));
    headers.insert("x-request-id", HeaderValue::from_static("h1"));
    let error = refused(429, "slow down", &headers);
    assert_eq!(error.retry_after(), Some(std::time::Duration::from_secs(7)));
    assert_eq!(error.request_id(), Some("h1"), "the header is nearer than the body");
    let page = replay(&codec(), StatusCode::BAD_GATEWAY, &headers, ["<html><title>Bad gateway</title>"]);
    assert_eq!(page.error.unwrap().kind(), ErrorKind::Overloaded);
}

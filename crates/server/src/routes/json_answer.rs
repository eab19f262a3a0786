//! Answers of JSON.

use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, header};

/// A body of JSON that is written already.
pub(super) fn json(body: Vec<u8>) -> Response {
    let kind = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (kind, body).into_response()
}

//! Answers before they are cut into writes, and errors as every API can word them.

use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use serde_json::Value;

use super::rules::Violation;

pub(crate) const JSON: &str = "application/json";

/// A response before it is cut into writes.
pub(crate) struct Rendered {
    pub(crate) status: u16,
    pub(crate) content_type: String,
    /// Headers beside the content type.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) events: Vec<Bytes>,
}

impl Rendered {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::new(status, JSON, vec![body.to_string().into()])
    }

    pub(crate) fn new(status: u16, content_type: &str, events: Vec<Bytes>) -> Self {
        Self { status, content_type: content_type.to_owned(), headers: Vec::new(), events }
    }
}

/// An error as every API can word it.
pub(crate) struct ErrorAnswer<'a> {
    pub(crate) status: u16,
    /// The `type`; the API's own word for the status when absent.
    pub(crate) kind: Option<&'a str>,
    pub(crate) code: Option<&'a str>,
    pub(crate) path: Option<&'a str>,
    pub(crate) message: &'a str,
    /// The `details`, which only Gemini sends.
    pub(crate) details: Option<&'a Value>,
}

impl<'a> From<&'a Violation> for ErrorAnswer<'a> {
    fn from(violation: &'a Violation) -> Self {
        Self {
            status: violation.status,
            kind: Some(violation.kind),
            code: violation.code,
            path: Some(violation.path.as_str()).filter(|path| !path.is_empty()),
            message: &violation.message,
            details: None,
        }
    }
}

/// The id of the n-th request, for headers and error bodies.
pub(crate) fn request_id(index: usize) -> String {
    format!("req_mock_{index}")
}

pub(crate) fn data_event(data: &Value) -> Bytes {
    format!("data: {data}\n\n").into()
}

pub(crate) fn named_event(name: &str, data: &Value) -> Bytes {
    format!("event: {name}\ndata: {data}\n\n").into()
}

//! The seam between the server and the APIs. Another API is another module and one arm in each function here.

use bytes::Bytes;
use http::HeaderMap;
use serde_json::Value;

use super::record::RecordedRequest;
use super::reply::{Reply, ReplyBody};
use super::rules::{Rules, Violation};
use super::{chat, messages};
use crate::api::Api;

pub(crate) const JSON: &str = "application/json";
pub(crate) const EVENT_STREAM: &str = "text/event-stream; charset=utf-8";

/// A response before it is cut into writes.
pub(crate) struct Rendered {
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) events: Vec<Bytes>,
}

impl Rendered {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self { status, content_type: JSON.to_owned(), events: vec![body.to_string().into()] }
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
}

impl<'a> From<&'a Violation> for ErrorAnswer<'a> {
    fn from(violation: &'a Violation) -> Self {
        Self {
            status: violation.status,
            kind: Some(violation.kind),
            code: violation.code,
            path: Some(violation.path.as_str()).filter(|path| !path.is_empty()),
            message: &violation.message,
        }
    }
}

/// Judges a whole request: headers first, then the body.
pub(crate) fn judge(api: Api, request: &RecordedRequest, rules: &Rules) -> Result<(), Violation> {
    let rules = match api {
        Api::ChatCompletions => {
            chat::check_headers(&request.headers, rules)?;
            rules.clone()
        }
        Api::Messages => messages::check_headers(&request.headers, rules)?,
    };
    check_content_type(&request.headers)?;
    if api == Api::Messages && request.body.len() > messages::MAX_REQUEST_BYTES {
        return Err(messages::too_large());
    }
    let Some(body) = request.json.as_deref() else {
        return Err(Violation::invalid("the request body is not valid JSON"));
    };
    match api {
        Api::ChatCompletions => chat::validate_chat_with(body, &rules),
        Api::Messages => messages::validate_messages_with(body, &rules),
    }
}

fn check_content_type(headers: &HeaderMap) -> Result<(), Violation> {
    let value =
        headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = value.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case(JSON) {
        Ok(())
    } else {
        Err(Violation::invalid(format!("content-type: expected `application/json`, got `{value}`")))
    }
}

/// Renders a scripted reply, or says why this API has no such thing.
pub(crate) fn render(reply: &Reply, request: &RecordedRequest) -> Result<Rendered, String> {
    match (&reply.body, request.api) {
        (ReplyBody::Raw { status, content_type, events }, api) => {
            let mut events = events.clone();
            reply.delivery.insert_into(&mut events, |kind, message| match api {
                Some(api) => error_event(api, kind, message, request.index),
                None => Bytes::new(),
            });
            Ok(Rendered { status: *status, content_type: content_type.clone(), events })
        }
        (_, None) => Err(format!("no API speaks at `{}`", request.uri.path())),
        (ReplyBody::Error { status, kind, code, message }, Some(api)) => Ok(error(
            api,
            &ErrorAnswer {
                status: *status,
                kind: kind.as_deref(),
                code: code.as_deref(),
                path: None,
                message,
            },
            request.index,
        )),
        (ReplyBody::Model, Some(api)) => {
            let stream = request.wants_stream() && !reply.ignores_stream;
            let terminated = !reply.delivery.no_terminator;
            let mut events = match (api, stream) {
                (Api::ChatCompletions, false) => {
                    return Ok(Rendered::json(200, &chat::render(reply, request)?));
                }
                (Api::Messages, false) => return Ok(Rendered::json(200, &messages::render(reply, request)?)),
                (Api::ChatCompletions, true) => chat::render_stream(reply, request, terminated)?,
                (Api::Messages, true) => messages::render_stream(reply, request, terminated)?,
            };
            reply
                .delivery
                .insert_into(&mut events, |kind, message| error_event(api, kind, message, request.index));
            Ok(Rendered { status: 200, content_type: EVENT_STREAM.to_owned(), events })
        }
    }
}

/// An error response in the API's envelope.
pub(crate) fn error(api: Api, answer: &ErrorAnswer<'_>, index: usize) -> Rendered {
    let body = match api {
        Api::ChatCompletions => chat::error_body(answer),
        Api::Messages => messages::error_body(answer, index),
    };
    Rendered::json(answer.status, &body)
}

fn error_event(api: Api, kind: &str, message: &str, index: usize) -> Bytes {
    let answer = ErrorAnswer { status: 200, kind: Some(kind), code: None, path: None, message };
    match api {
        Api::ChatCompletions => data_event(&chat::error_body(&answer)),
        Api::Messages => named_event("error", &messages::error_body(&answer, index)),
    }
}

/// The header in which the API sends its request id.
pub(crate) fn request_id_header(api: Api) -> &'static str {
    match api {
        Api::ChatCompletions => "x-request-id",
        Api::Messages => "request-id",
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

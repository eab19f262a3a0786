//! Errors of the API. The members that all APIs share are read by the transport.

use std::error::Error as StdError;

use attache_core::{ErrorKind, ProviderError};
use attache_transport::{ErrorBody, ErrorResponse, excerpt};
use serde::Deserialize;

pub(crate) use attache_transport::configuration;

/// Reads a response with an error status: `{"message": …, "id": …}`.
pub(crate) fn read(response: &ErrorResponse) -> ProviderError {
    let common = response.to_error();
    let kind = kind_of(response.status.as_u16(), common.message()).unwrap_or_else(|| common.kind());
    let id = common.request_id().map(str::to_owned).or_else(|| id_in(response.body.as_bytes()));
    response.as_kind(kind, &common).with_request_id(id)
}

/// The kinds of errors that this API alone means by a status, or says only in words (cohere.md 7).
fn kind_of(status: u16, message: &str) -> Option<ErrorKind> {
    let message = message.to_ascii_lowercase();
    let says = |words: &str| message.contains(words);
    match status {
        400 | 413 | 422 if says("too many tokens") => Some(ErrorKind::ContextTooLong),
        // A trial key has a number of calls for each month; waiting a minute does not help.
        429 if says("/ month") || says("per month") => Some(ErrorKind::QuotaExceeded),
        // Something in the prompt or the reply is on a list of what is not allowed.
        498 => Some(ErrorKind::Refused),
        499 => Some(ErrorKind::Cancelled),
        _ => None,
    }
}

/// Reads an error under a success status: inside a stream, or in the place of a reply.
pub(crate) fn reported(json: &[u8]) -> ProviderError {
    let body = ErrorBody::parse(json).unwrap_or_else(|| {
        let mut body = ErrorBody::default();
        body.message = Some(excerpt(json));
        body
    });
    let common = body.to_error();
    let id = common.request_id().map(str::to_owned).or_else(|| id_in(json));
    common.with_request_id(id).with_response_body(excerpt(json))
}

/// The id by which the provider knows the request.
fn id_in(json: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Body {
        id: Option<String>,
    }
    serde_json::from_slice::<Body>(json).ok()?.id.filter(|id| !id.is_empty())
}

/// A frame or body that is not what the API says.
pub(crate) fn malformed(json: &[u8], source: impl Into<Box<dyn StdError + Send + Sync>>) -> ProviderError {
    no_reply(json).with_source(source)
}

/// JSON that is no reply, such as that of another endpoint.
pub(crate) fn no_reply(json: &[u8]) -> ProviderError {
    ProviderError::new(ErrorKind::Malformed, "the reply is not as the API says")
        .with_response_body(excerpt(json))
}

//! The meaning of the answers of servers.

use std::borrow::Cow;

use attache_core::{ErrorKind, ProviderError};
use attache_transport::{Origin, Reply, redirected};
use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, StreamableHttpError,
    StreamableHttpPostResponse,
};

type Failure = StreamableHttpError<ProviderError>;

/// Refusals that need no look at the body: credentials, limits, faults of the server.
pub(super) fn refused(status: StatusCode, headers: &HeaderMap) -> Result<(), Failure> {
    let challenge = || headers.get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok()).map(str::to_owned);
    match status {
        StatusCode::UNAUTHORIZED => {
            Err(Failure::AuthRequired(AuthRequiredError::new(challenge().unwrap_or_default())))
        }
        StatusCode::FORBIDDEN => {
            let challenge = challenge().unwrap_or_default();
            Err(Failure::InsufficientScope(InsufficientScopeError::new(challenge, None)))
        }
        StatusCode::TOO_MANY_REQUESTS => {
            let wait = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
            Err(HttpStatusError::new(status.as_u16(), wait.map(str::to_owned)).into())
        }
        _ => Ok(()),
    }
}

/// An error status with its body: a JSON-RPC error where it holds one.
pub(super) fn unsuccessful(
    message: &ClientJsonRpcMessage,
    has_session: bool,
    status: StatusCode,
    body: &str,
) -> Result<StreamableHttpPostResponse, Failure> {
    let error = match serde_json::from_str::<ServerJsonRpcMessage>(body) {
        Ok(ServerJsonRpcMessage::Error(error)) => Some(error),
        _ => None,
    };
    if has_session && status == StatusCode::BAD_REQUEST {
        // The specification has 404 for it; the SDK in TypeScript and many servers on it answer so.
        let said = error.as_ref().map(|error| error.error.message.to_ascii_lowercase()).unwrap_or_default();
        if said.contains("session") || said.contains("not initialized") {
            return Err(Failure::SessionExpired);
        }
    }
    if let ClientJsonRpcMessage::Request(request) = message {
        // Servers of the older era refuse the probe in many ways; each means that they are of it.
        let is_probe = matches!(request.request, ClientRequest::DiscoverRequest(_));
        if is_probe && !has_session && status.is_client_error() {
            let error = error.map(|error| error.error);
            let error = error.unwrap_or_else(|| ErrorData::invalid_request(format!("HTTP {status}"), None));
            let answer = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
            return Ok(StreamableHttpPostResponse::Json(answer, None));
        }
        if let Some(error) = error {
            let answer = ServerJsonRpcMessage::error(error.error, Some(request.id.clone()));
            return Ok(StreamableHttpPostResponse::Json(answer, None));
        }
    }
    if status.is_server_error() {
        return Err(HttpStatusError::new(status.as_u16(), None).into());
    }
    Err(Failure::UnexpectedServerResponse(format!("HTTP {status}").into()))
}

/// A successful answer in one piece.
pub(super) fn whole(
    message: &ClientJsonRpcMessage,
    body: &[u8],
    is_json: bool,
    session: Option<String>,
    content_type: Option<String>,
) -> Result<StreamableHttpPostResponse, Failure> {
    let awaits = matches!(message, ClientJsonRpcMessage::Request(_));
    match serde_json::from_slice::<ServerJsonRpcMessage>(body) {
        Ok(answer) if is_json => Ok(StreamableHttpPostResponse::Json(answer, session)),
        // Nothing was asked, so nothing is missing.
        _ if !awaits => Ok(StreamableHttpPostResponse::Accepted),
        _ if !is_json => Err(Failure::UnexpectedContentType(content_type)),
        Ok(_) => Err(Failure::UnexpectedContentType(content_type)),
        Err(_) => Err(Failure::UnexpectedServerResponse(Cow::Borrowed("the answer is no JSON-RPC message"))),
    }
}

/// The beginning of a body, for a look at what went wrong.
pub(super) async fn excerpt(mut reply: Reply, limit: usize) -> String {
    let mut text = Vec::new();
    while let Ok(Some(chunk)) = reply.chunk().await {
        let room = limit.saturating_sub(text.len()).min(chunk.len());
        text.extend_from_slice(chunk.get(..room).unwrap_or_default());
        if text.len() >= limit {
            break;
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

pub(super) fn of_body(error: ProviderError, limit: usize) -> Failure {
    match error.kind() {
        ErrorKind::Malformed => Failure::ResponseBodyTooLarge { max_size: limit },
        _ => Failure::Client(error),
    }
}

/// True if a `content-type` says this media type, whatever its parameters.
pub(super) fn is_media(written: &str, media: &str) -> bool {
    written.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(media)
}

/// Where a redirect leads, if it stays on the origin of `url`.
pub(super) fn on_same_origin(url: &str, location: &[u8]) -> Option<String> {
    let target = redirected(url, location).ok()?;
    (Origin::parse(&target)? == Origin::parse(url)?).then_some(target)
}

/// Counts the bytes of each event while they come.
pub(super) struct Bounded {
    limit: usize,
    held: usize,
    after_break: bool,
    /// True behind a `\r`, with which a `\n` is one end of a line.
    after_return: bool,
}

impl Bounded {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, held: 0, after_break: false, after_return: false }
    }

    /// Takes the next bytes; an event ends with an empty line.
    pub(super) fn take(&mut self, chunk: &[u8]) -> Result<(), ProviderError> {
        for byte in chunk {
            match byte {
                b'\n' if self.after_return => {}
                b'\n' | b'\r' if self.after_break => self.held = 0,
                b'\n' | b'\r' => self.after_break = true,
                _ => {
                    self.after_break = false;
                    self.held = self.held.saturating_add(1);
                }
            }
            self.after_return = *byte == b'\r';
            if self.held > self.limit {
                let message = format!("an event of the server is larger than {} bytes", self.limit);
                return Err(ProviderError::new(ErrorKind::Malformed, message));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_stay_on_their_origin() {
        let from = "https://host:8443/mcp";
        let led = |location: &str| on_same_origin(from, location.as_bytes());
        for (location, target) in [
            ("/mcp/", "https://host:8443/mcp/"),
            ("other", "https://host:8443/other"),
            ("https://host:8443/other", "https://host:8443/other"),
        ] {
            assert_eq!(led(location).as_deref(), Some(target));
        }
        for elsewhere in ["https://host/mcp", "http://host:8443/mcp", "//other/mcp", "file:///mcp"] {
            assert_eq!(led(elsewhere), None, "{elsewhere}");
        }
    }

    #[test]
    fn an_endless_event_is_cut_and_many_small_ones_are_not() {
        let mut bounded = Bounded::new(10);
        for _ in 0..100 {
            for event in ["data: 1\r\n\r\n", "data: 1\n\n", "data: 1\r\r"] {
                assert!(bounded.take(event.as_bytes()).is_ok(), "{event:?}");
            }
        }
        // One end of a line is no empty line, also where it lies across two chunks.
        assert!(bounded.take(b"data:\r").is_ok() && bounded.take(b"\ndata").is_ok());
        assert!(bounded.take(b"data").is_err());
        let mut bounded = Bounded::new(10);
        assert!(bounded.take(b"data: 123").is_ok());
        assert!(bounded.take(b"45").is_err());
    }
}

//! The SDK's HTTP seam over the transport's client.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use attache_core::{ErrorKind, ProviderError, Secret};
use attache_transport::{HttpClient, Reply, RequestParts};
use futures_util::stream::{self, BoxStream, StreamExt};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, LOCATION};
use http::{HeaderName, HeaderValue, Method, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    StreamableHttpResponseLimits,
};
use sse_stream::{Sse, SseStream};

use super::McpEndpoint;
use super::answer::{self, Bounded};
use crate::client::oauth::McpLoginError;
use crate::client::too_deep::Shallow;

type Failure = StreamableHttpError<ProviderError>;

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const BOTH: &str = "text/event-stream, application/json";
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
/// The number of times that a server may send a request on, on its own origin.
const REDIRECTS: u32 = 3;

/// The connection to one server. It adds the server's headers and token, which the SDK never sees.
#[derive(Clone)]
pub(crate) struct Wire {
    endpoint: Arc<McpEndpoint>,
    client: HttpClient,
    /// Takes the id of the session.
    id: Arc<SessionId>,
}

/// The id that a server gave to the session, which the SDK begins anew where the server has forgotten it.
#[derive(Debug, Default)]
pub(crate) struct SessionId {
    current: Mutex<Option<Arc<str>>>,
    /// Counts the sessions that came after the first: their tools may be another version's.
    changes: Arc<AtomicU64>,
}

impl SessionId {
    pub(crate) fn new(changes: Arc<AtomicU64>) -> Self {
        Self { current: Mutex::default(), changes }
    }

    pub(crate) fn get(&self) -> Option<Arc<str>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes the id that stands beside an answer. Only a handshake begins another session.
    fn told(&self, id: &str, is_handshake: bool) {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        match &*current {
            Some(known) if !is_handshake || **known == *id => return,
            Some(_) => drop(self.changes.fetch_add(1, Ordering::Relaxed)),
            None => {}
        }
        *current = Some(id.into());
    }
}

impl Wire {
    /// `call` is the time that a call may take, also in silence.
    pub(crate) fn new(endpoint: &McpEndpoint, id: &Arc<SessionId>, call: Duration) -> Self {
        let client = endpoint.connections();
        let timeouts = client.timeouts();
        let client = client
            .with_timeouts(timeouts.with_idle(timeouts.idle.max(call)).with_total(timeouts.total.max(call)));
        Self { client, endpoint: Arc::new(endpoint.clone()), id: Arc::clone(id) }
    }

    /// Sends a request once, where the server sends it on included.
    async fn send(
        &self,
        mut request: RequestParts,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Reply, Failure> {
        for (name, value) in headers {
            if let Ok(value) = value.to_str() {
                request = request.with_header(name, value);
            }
        }
        // The user's headers take precedence over the SDK's.
        let mut request = self.endpoint.dress(request).map_err(Failure::Client)?;
        request.whole = true;
        let mut token = self.token().await?;
        if let Some(token) = &token {
            request = request.with_secret_header(AUTHORIZATION, "Bearer ", token);
        }
        let mut left = REDIRECTS;
        let mut is_second = false;
        loop {
            let reply = self.client.answer(&request).await.map_err(Failure::Client)?;
            if let Some(login) = self.endpoint.login()
                && matches!(reply.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
            {
                if is_second {
                    login.wanted(reply.status(), reply.headers());
                    return Ok(reply);
                }
                is_second = true;
                let new = login.refused(reply.status(), reply.headers(), token.as_ref()).await;
                if let Some(new) = new.map_err(|error| unauthorized(&error))? {
                    request = request.with_secret_header(AUTHORIZATION, "Bearer ", &new);
                    token = Some(new);
                    continue;
                }
            }
            if !matches!(reply.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT) {
                return Ok(reply);
            }
            let location = reply.headers().get(LOCATION).map(|value| value.as_bytes());
            let next = location.and_then(|location| answer::on_same_origin(&request.url, location));
            let Some(next) = next.filter(|_| left > 0) else {
                let message = "the server leads elsewhere, which is not followed";
                return Err(Failure::Client(ProviderError::new(ErrorKind::Configuration, message)));
            };
            left -= 1;
            request.url = next;
        }
    }

    /// The token of the login, where there is one.
    async fn token(&self) -> Result<Option<Secret>, Failure> {
        match self.endpoint.login() {
            Some(login) => login.token().await.map_err(|error| unauthorized(&error)),
            None => Ok(None),
        }
    }

    async fn posted(
        &self,
        uri: &str,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        headers: HashMap<HeaderName, HeaderValue>,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let body = serde_json::to_vec(&message)?;
        let mut request = RequestParts::post_json(uri, body).with_header(ACCEPT, BOTH);
        if let Some(session) = &session {
            request = request.with_header(SESSION, &**session);
        }
        let reply = self.send(request, headers).await?;
        let status = reply.status();
        answer::refused(status, reply.headers())?;
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && session.is_some() {
            return Err(Failure::SessionExpired);
        }
        let told = reply.headers().get(SESSION).and_then(|id| id.to_str().ok()).map(str::to_owned);
        if let Some(told) = &told {
            let is_handshake = matches!(&message, ClientJsonRpcMessage::Request(request)
                if matches!(request.request, ClientRequest::InitializeRequest(_)));
            self.id.told(told, is_handshake);
        }
        let content_type = reply.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let content_type = content_type.map(str::to_owned);
        let is = |media| content_type.as_deref().is_some_and(|written| answer::is_media(written, media));
        if status.is_success() && is(EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(events(reply, limits.max_sse_event_size), told));
        }
        let is_json = is(JSON);
        if !status.is_success() && !is_json {
            let text = answer::excerpt(reply, limits.max_error_response_size).await;
            return answer::unsuccessful(&message, session.is_some(), status, &text);
        }
        let limit = limits.max_json_response_size;
        let body = reply.bytes(limit).await.map_err(|error| answer::of_body(error, limit))?;
        if !status.is_success() {
            return answer::unsuccessful(
                &message,
                session.is_some(),
                status,
                &String::from_utf8_lossy(&body),
            );
        }
        answer::whole(&message, &Shallow::whole(body.into()), is_json, told, content_type)
    }

    async fn events_of(
        &self,
        uri: &str,
        session: Option<Arc<str>>,
        last: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
        limit: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        let mut request = RequestParts::get(uri).with_header(ACCEPT, BOTH);
        if let Some(session) = session {
            request = request.with_header(SESSION, &*session);
        }
        let is_resumed = last.is_some();
        if let Some(last) = last {
            request = request.with_header(LAST_EVENT, last);
        }
        let reply = self.send(request, headers).await?;
        let status = reply.status();
        if status == StatusCode::METHOD_NOT_ALLOWED || is_resumed && is_final(status) {
            // The SDK tries again behind any other failure, for as long as the call may take.
            return Err(Failure::ServerDoesNotSupportSse);
        }
        answer::refused(reply.status(), reply.headers())?;
        let content_type = reply.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        match content_type {
            Some(written) if reply.status().is_success() && answer::is_media(written, EVENTS) => {
                Ok(events(reply, limit))
            }
            other if reply.status().is_success() => {
                Err(Failure::UnexpectedContentType(other.map(str::to_owned)))
            }
            _ => Err(Failure::UnexpectedServerResponse(format!("HTTP {}", reply.status()).into())),
        }
    }
}

impl StreamableHttpClient for Wire {
    type Error = ProviderError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let limits = StreamableHttpResponseLimits::default();
        self.posted(&uri, message, session_id, custom_headers, limits).await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        self.posted(&uri, message, session_id, custom_headers, limits).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failure> {
        let mut request = RequestParts::get(&*uri).with_header(SESSION, &*session);
        request.method = Method::DELETE;
        let reply = self.send(request, custom_headers).await?;
        match reply.status() {
            status if status.is_success() => Ok(()),
            // The specification lets servers keep their sessions.
            StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_FOUND => Ok(()),
            status => Err(Failure::UnexpectedServerResponse(format!("HTTP {status}").into())),
        }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        let limit = StreamableHttpResponseLimits::default().max_sse_event_size;
        self.events_of(&uri, session_id, last_event_id, custom_headers, limit).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
        max_sse_event_size: usize,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failure> {
        self.events_of(&uri, session_id, last_event_id, custom_headers, max_sse_event_size).await
    }
}

/// True if a stream that is refused so cannot be taken up again: its events, or its session, are gone.
fn is_final(status: StatusCode) -> bool {
    let may_pass = [
        StatusCode::UNAUTHORIZED,
        StatusCode::FORBIDDEN,
        StatusCode::REQUEST_TIMEOUT,
        StatusCode::TOO_MANY_REQUESTS,
    ];
    status.is_client_error() && !may_pass.contains(&status)
}

/// A login that fails.
fn unauthorized(error: &McpLoginError) -> Failure {
    Failure::Client(ProviderError::new(ErrorKind::Authentication, error.to_string()))
}

/// The events of an answer, none larger than `limit`.
fn events(reply: Reply, limit: usize) -> BoxStream<'static, Result<Sse, SseError>> {
    let chunks = stream::try_unfold((reply, Bounded::new(limit)), |(mut reply, mut bounded)| async move {
        match reply.chunk().await? {
            Some(chunk) => {
                bounded.take(&chunk)?;
                Ok::<_, ProviderError>(Some((chunk, (reply, bounded))))
            }
            None => Ok(None),
        }
    });
    let events = SseStream::from_bytes_stream(Box::pin(chunks));
    events.map(|event| event.map(|event| Sse { data: event.data.map(shallow), ..event })).boxed()
}

/// The data of an event, emptied where it nests deeper than is read.
fn shallow(data: String) -> String {
    String::from_utf8(Shallow::whole(data.into_bytes())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use attache_transport::Timeouts;

    use super::*;

    #[test]
    fn a_call_may_be_silent_for_as_long_as_it_may_take() {
        let timeouts = |endpoint: McpEndpoint, call: u64| {
            Wire::new(&endpoint, &Arc::default(), Duration::from_secs(call)).client.timeouts()
        };
        let endpoint = || McpEndpoint::new("https://h/mcp");
        assert_eq!(timeouts(endpoint(), 120), Timeouts::default());
        for endpoint in [endpoint(), endpoint().public_only()] {
            let long = timeouts(endpoint, 7_200);
            assert_eq!((long.idle.as_secs(), long.total.as_secs()), (7_200, 7_200));
        }
        let short = HttpClient::new(Timeouts::new().with_idle(Duration::from_secs(5)));
        assert_eq!(timeouts(endpoint().client(short), 120).idle.as_secs(), 120);
    }
}

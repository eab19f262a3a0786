//! The HTTP server behind the mock: one task a connection, all of them gone when the mock is dropped.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::answer::{ErrorAnswer, Rendered, request_id};
use super::delivery::{Delivery, Ending};
use super::record::{RecordedRequest, ResponseState, Tracker};
use super::rules::Violation;
use super::shared::Shared;
use super::wire;
use crate::api::Api;
use crate::paths::{is_cache_path, is_files_path};

/// The largest body that is read at all, 64 MiB: above every limit that a provider has for inline requests.
const MAX_BODY: usize = 64 << 20;

/// The status of an answer that is the script's fault, not the client's. No provider sends it and no client
/// retries it.
const MISUSE: u16 = 418;

/// The wait after a failed accept, so that a lasting failure does not spin.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(10);

type Body = UnsyncBoxBody<Bytes, io::Error>;

/// Accepts connections until the task is aborted, which aborts its connections too.
pub(crate) async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                match accepted {
                    Ok((stream, _)) => { connections.spawn(serve(stream, Arc::clone(&shared))); }
                    // The process is out of descriptors, or the connection died in the queue.
                    Err(_) => tokio::time::sleep(ACCEPT_BACKOFF).await,
                }
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    // Without Nagle's delay every write is a segment of its own.
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let reset = Arc::new(AtomicBool::new(false));
    let connection = Connection { stream, reset: Arc::clone(&reset) };
    let service = service_fn(|request| answer(request, Arc::clone(&shared), Arc::clone(&reset)));
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(connection), service)
        .await;
    // Broken connections are what scripts ask for and what clients under test do: the record tells them.
    drop(served);
}

async fn answer(
    request: Request<Incoming>,
    shared: Arc<Shared>,
    reset: Arc<AtomicBool>,
) -> Result<Response<Body>, io::Error> {
    let (head, body) = request.into_parts();
    let Ok(body) = Limited::new(body, MAX_BODY).collect().await else {
        return Ok(plain(StatusCode::PAYLOAD_TOO_LARGE, "the request body was cut off or is over 64 MiB"));
    };
    let request = RecordedRequest::new(head.method, head.uri, head.headers, body.to_bytes());
    let request = shared.log.push(request);
    let mut tracker = Tracker::new(Arc::clone(&shared.log), request.index);

    let scripted = shared.next_file_reply(&request);
    let judged = if scripted.is_some() { Ok(()) } else { judge(&request, &shared) };
    let (rendered, delivery, headers) = match judged {
        Err(rendered) => (rendered, Delivery::default(), Vec::new()),
        Ok(()) => match scripted.or_else(|| shared.next_reply(&request)) {
            None => (misuse("no reply is scripted for this request"), Delivery::default(), Vec::new()),
            Some(reply) => match wire::render(&reply, &request) {
                Ok(rendered) => (rendered, reply.delivery, reply.headers),
                Err(reason) => (misuse(&reason), Delivery::default(), Vec::new()),
            },
        },
    };

    if !delivery.first_delay.is_zero() {
        tokio::time::sleep(delivery.first_delay).await;
    }
    if matches!(delivery.ending, Ending::ResetBeforeHead) {
        tracker.settle(ResponseState::Broken);
        reset.store(true, Ordering::Relaxed);
        return Err(io::ErrorKind::ConnectionReset.into());
    }

    let mut response = Response::new(());
    *response.status_mut() =
        StatusCode::from_u16(rendered.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let own = response.headers_mut();
    if let Ok(content_type) = HeaderValue::try_from(rendered.content_type) {
        own.insert(header::CONTENT_TYPE, content_type);
    }
    if let Some(name) = request.api.and_then(wire::request_id_header)
        && let Ok(id) = HeaderValue::try_from(request_id(request.index))
    {
        own.insert(name, id);
    }
    for (name, value) in rendered.headers.into_iter().chain(headers) {
        own.insert(name, value);
    }
    let pieces = delivery.pieces(rendered.events);
    Ok(response.map(|()| body_of(pieces, &delivery, tracker, reset)))
}

/// Checks method, path and the API's rules; the error is the response that is due without the script.
fn judge(request: &RecordedRequest, shared: &Shared) -> Result<(), Rendered> {
    let Some(rules) = &shared.rules else { return Ok(()) };
    let violation = match request.api {
        Some(Api::Gemini) if is_cache_path(request.uri.path()) => {
            match wire::answer_cache(request, &shared.caches, &shared.files, rules) {
                Ok(body) => return Err(Rendered::json(200, &body)),
                Err(violation) => violation,
            }
        }
        Some(api) if is_files_path(request.uri.path()) => match shared.files.answer(api, request, rules) {
            Ok(rendered) => return Err(rendered),
            Err(violation) => violation,
        },
        None => Violation::new(404, "not_found_error", format!("no such path: {}", request.uri.path())),
        Some(_) if request.method != Method::POST => {
            Violation::new(405, "invalid_request_error", format!("method {} is not allowed", request.method))
        }
        Some(api) => match wire::judge(api, request, rules, &shared.caches, &shared.files) {
            Ok(()) => return Ok(()),
            Err(violation) => violation,
        },
    };
    let answer = ErrorAnswer::from(&violation);
    let rendered = match request.api {
        Some(api) => wire::error(api, &answer, request),
        None => Rendered::json(404, &serde_json::json!({"error": {"message": violation.message}})),
    };
    shared.log.set_violation(request.index, violation);
    Err(rendered)
}

/// The body as a stream that writes, waits and breaks as scripted.
fn body_of(pieces: Vec<Bytes>, delivery: &Delivery, mut tracker: Tracker, reset: Arc<AtomicBool>) -> Body {
    let (ending, delay) = (delivery.ending, delivery.write_delay);
    let breaks = !matches!(ending, Ending::Complete | Ending::Truncated(_));
    let last = pieces.len().saturating_sub(1);
    if pieces.is_empty() && !breaks {
        tracker.settle(ResponseState::Sent);
    }
    let stream = async_stream::stream! {
        for (at, piece) in pieces.into_iter().enumerate() {
            if at > 0 && !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            if at == last && !breaks {
                tracker.settle(ResponseState::Sent);
            }
            yield Ok(Frame::data(piece));
            // While this waits, the connection writes what it was given: a piece becomes a write of its own.
            tokio::task::yield_now().await;
        }
        match ending {
            Ending::Complete | Ending::Truncated(_) | Ending::ResetBeforeHead => {}
            Ending::Stall(_) => std::future::pending().await,
            Ending::Cut(_) | Ending::Reset(_) => {
                tracker.settle(ResponseState::Broken);
                reset.store(matches!(ending, Ending::Reset(_)), Ordering::Relaxed);
                yield Err(io::Error::from(io::ErrorKind::ConnectionReset));
            }
        }
    };
    StreamBody::new(stream).boxed_unsync()
}

/// Says that the script and the request do not fit.
fn misuse(reason: &str) -> Rendered {
    Rendered::json(
        MISUSE,
        &serde_json::json!({"error": {"type": "mock_misuse", "message": format!("mock provider: {reason}")}}),
    )
}

fn plain(status: StatusCode, text: &'static str) -> Response<Body> {
    let body = http_body_util::Full::new(Bytes::from_static(text.as_bytes()));
    let mut response = Response::new(body.map_err(|never: Infallible| match never {}).boxed_unsync());
    *response.status_mut() = status;
    response
}

/// The accepted socket, which can be closed by a reset instead of an orderly end.
struct Connection {
    stream: TcpStream,
    reset: Arc<AtomicBool>,
}

impl Connection {
    fn stream(self: Pin<&mut Self>) -> Pin<&mut TcpStream> {
        Pin::new(&mut self.get_mut().stream)
    }
}

impl AsyncRead for Connection {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_read(cx, buf)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.stream().poll_write(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // An orderly end would reach the client before the reset does.
        if self.reset.load(Ordering::Relaxed) { Poll::Ready(Ok(())) } else { self.stream().poll_shutdown(cx) }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.reset.load(Ordering::Relaxed) {
            // Failing to set it leaves an ordinary close: the script's fault is milder, not absent.
            let _ = self.stream.set_zero_linger();
        }
    }
}

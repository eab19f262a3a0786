//! Responses, read under their deadline.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use attache_core::{ErrorKind, ProviderError};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Response, StatusCode, response};
use http_body::Body;
use hyper::body::Incoming;

use super::deadline::Deadline;
use super::lanes::Place;
use super::tap::Listener;

/// How much of a body that nobody wants is read, and for how long, so that its connection can be used again.
const DRAIN_BYTES: usize = 256 << 10;
const DRAIN_TIME: Duration = Duration::from_secs(2);

/// A response, its body not yet read. Dropping it aborts the request.
#[derive(Debug)]
pub struct Reply {
    head: response::Parts,
    body: Source,
    deadline: Deadline,
    listener: Option<Listener>,
    /// Where its connection counts it until it is read.
    _place: Option<Place>,
}

/// The source of a body.
#[derive(Debug)]
enum Source {
    Network(Incoming),
    /// A tap gave it.
    Given(Bytes),
}

impl Source {
    fn has_ended(&self) -> bool {
        match self {
            Self::Network(body) => body.is_end_stream(),
            Self::Given(body) => body.is_empty(),
        }
    }
}

impl Reply {
    pub(super) fn new(response: Response<Incoming>, deadline: Deadline, place: Option<Place>) -> Self {
        let (head, body) = response.into_parts();
        Self { head, body: Source::Network(body), deadline, listener: None, _place: place }
    }

    pub(super) fn given(response: Response<Bytes>, deadline: Deadline) -> Self {
        let (head, body) = response.into_parts();
        Self { head, body: Source::Given(body), deadline, listener: None, _place: None }
    }

    pub(super) fn with_listener(mut self, listener: Listener) -> Self {
        self.listener = Some(listener);
        self
    }

    /// The status.
    pub fn status(&self) -> StatusCode {
        self.head.status
    }

    /// The headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// The next bytes of the body, never empty; `None` at its end.
    ///
    /// # Errors
    /// [`ErrorKind::Timeout`], or [`ErrorKind::StreamCut`] if the connection broke.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, ProviderError> {
        poll_fn(|context| self.poll_chunk(context)).await.transpose()
    }

    /// The whole body.
    ///
    /// # Errors
    /// As for [`chunk`](Self::chunk), and [`ErrorKind::Malformed`] for a body of more than `limit` bytes.
    pub async fn bytes(mut self, limit: usize) -> Result<Bytes, ProviderError> {
        let first = self.chunk().await?.unwrap_or_default();
        let mut whole = first.len();
        let mut more = BytesMut::new();
        while let Some(chunk) = self.chunk().await? {
            if more.is_empty() {
                more.extend_from_slice(&first);
            }
            whole = whole.saturating_add(chunk.len());
            if whole > limit {
                break;
            }
            more.extend_from_slice(&chunk);
        }
        if whole > limit {
            let message = format!("the reply is longer than {limit} bytes");
            return Err(ProviderError::new(ErrorKind::Malformed, message));
        }
        Ok(if more.is_empty() { first } else { more.freeze() })
    }

    /// The first `limit` bytes of the body, or what came of them within `time`.
    pub(crate) async fn excerpt(mut self, limit: usize, time: Duration) -> Vec<u8> {
        let mut excerpt = Vec::new();
        let read = async {
            while excerpt.len() < limit
                && let Ok(Some(chunk)) = self.chunk().await
            {
                let room = limit.saturating_sub(excerpt.len()).min(chunk.len());
                excerpt.extend_from_slice(chunk.get(..room).unwrap_or_default());
            }
        };
        if tokio::time::timeout(time, read).await.is_ok() {
            self.discard();
        }
        excerpt
    }

    pub(crate) fn poll_chunk(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, ProviderError>>> {
        loop {
            let body = match &mut self.body {
                Source::Network(body) => body,
                Source::Given(body) if body.is_empty() => return Poll::Ready(None),
                Source::Given(body) => return Poll::Ready(Some(Ok(std::mem::take(body)))),
            };
            return match Pin::new(body).poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => {
                    self.deadline.moved();
                    match frame.into_data() {
                        Ok(data) if !data.is_empty() => {
                            if let Some(listener) = &self.listener {
                                listener.tap.read(listener.answer, &data);
                            }
                            Poll::Ready(Some(Ok(data)))
                        }
                        // Trailers, or nothing.
                        _ => continue,
                    }
                }
                Poll::Ready(Some(Err(error))) => {
                    let message = "the connection broke before the reply ended";
                    Poll::Ready(Some(Err(
                        ProviderError::new(ErrorKind::StreamCut, message).with_source(error)
                    )))
                }
                Poll::Ready(None) => Poll::Ready(None),
                Poll::Pending => self.deadline.poll(context).map(|error| Some(Err(error))),
            };
        }
    }

    /// Reads the rest of the body in the background, bounded in bytes and time, so that its connection is used
    /// again. A body that has ended costs nothing.
    pub(crate) fn discard(mut self) {
        if self.body.has_ended() {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let rest = async {
                    let mut read = 0_usize;
                    while read < DRAIN_BYTES
                        && let Ok(Some(chunk)) = self.chunk().await
                    {
                        read = read.saturating_add(chunk.len());
                    }
                };
                let _ = tokio::time::timeout(DRAIN_TIME, rest).await;
            });
        }
    }
}

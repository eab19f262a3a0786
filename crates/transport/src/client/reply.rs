//! Responses, read under their deadline.

use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use attache_core::response::ResponseInfo;
use attache_core::{ErrorKind, ProviderError};
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Response, StatusCode, response};

use super::connections::Answer;
use super::deadline::Deadline;
use super::hook::Listener;
use super::lanes::Place;
use super::put_back::Idle;
use super::source::Source;
use super::under_way::UnderWay;
use crate::redact::Redactor;
use crate::request::RequestParts;

/// The bytes of an unwanted body that are read, and the time for it, so that its connection can be used again.
const DRAIN_BYTES: usize = 256 << 10;
const DRAIN_TIME: Duration = Duration::from_secs(2);

/// Copies the values into one piece of their own. They are parts of the buffer into which the connection read them, which
/// would be held as long as they are: for each reply under way.
fn own_values(headers: &mut HeaderMap) {
    let mut all = BytesMut::with_capacity(headers.values().map(HeaderValue::len).sum());
    for value in headers.values_mut() {
        all.extend_from_slice(value.as_bytes());
        // A value that was one is one again.
        if let Ok(mut own) = HeaderValue::from_maybe_shared(all.split().freeze()) {
            own.set_sensitive(value.is_sensitive());
            *value = own;
        }
    }
}

fn redacted(request: &RequestParts, sent: Option<&Redactor>, error: ProviderError) -> ProviderError {
    let error = request.redactor().redact_error(error);
    match sent {
        Some(sent) => sent.redact_error(error),
        None => error,
    }
}

/// A response, its body not yet read. Dropping it aborts the request.
#[derive(Debug)]
pub struct Reply {
    head: response::Parts,
    body: Source,
    deadline: Deadline,
    listener: Option<Box<Listener>>,
    /// The secrets of the request as it was sent, where it was changed on its way.
    sent: Option<Box<Redactor>>,
    /// Where its connection counts it until it is read.
    _place: Option<Place>,
    /// The task that puts the connection back then.
    idle: Option<Idle>,
}

impl Reply {
    pub(super) fn new(answer: Answer, deadline: Deadline) -> Self {
        let Answer { response, place, idle } = answer;
        let (mut head, body) = response.into_parts();
        own_values(&mut head.headers);
        Self { head, body, deadline, listener: None, sent: None, _place: place, idle }
    }

    pub(super) fn given(response: Response<Bytes>, deadline: Deadline) -> Self {
        let response = response.map(Source::Given);
        Self::new(Answer { response, place: None, idle: None }, deadline)
    }

    pub(super) fn with_listener(mut self, mut listener: Box<Listener>) -> Self {
        listener.answered(self.head.status, &self.head.headers);
        self.listener = Some(listener);
        self
    }

    /// Masks headers that repeat a secret of the request that was sent: an authorizer or a hook may have added it.
    /// Errors of the body are redacted alike. Hooks come last, so that the first request which is told holds the secrets
    /// of all.
    pub(super) fn mask_secrets(&mut self, sent: &RequestParts) {
        sent.mask_secrets(&mut self.head.headers);
        self.sent.get_or_insert_with(|| Box::new(sent.redactor()));
    }

    /// The secrets of the request as it was sent, where it was changed on its way.
    pub(super) fn sent(&mut self) -> Option<Box<Redactor>> {
        self.sent.take()
    }

    /// An error of the body without secrets of the request.
    pub(crate) fn redact(&self, request: &RequestParts, error: ProviderError) -> ProviderError {
        redacted(request, self.sent.as_deref(), error)
    }

    /// The value that `read` makes of the head and the whole body, which has at most `limit` bytes. Its errors are
    /// without secrets of the request.
    pub(crate) async fn read<T>(
        mut self,
        request: &RequestParts,
        limit: usize,
        read: impl FnOnce(HeaderMap, Bytes) -> Result<T, ProviderError>,
    ) -> Result<T, ProviderError> {
        let (headers, sent) = (std::mem::take(&mut self.head.headers), self.sent.take());
        let outcome = self.bytes(limit).await.and_then(|body| read(headers, body));
        outcome.map_err(|error| redacted(request, sent.as_deref(), error))
    }

    /// The status.
    pub fn status(&self) -> StatusCode {
        self.head.status
    }

    /// The headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.head.headers
    }

    /// The head, without values that repeat a secret of `request`. Afterwards there are no headers.
    pub(crate) fn take_info(&mut self, request: &RequestParts) -> ResponseInfo {
        let mut headers = std::mem::take(&mut self.head.headers);
        request.mask_secrets(&mut headers);
        ResponseInfo::new(headers)
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
        let (mut excerpt, mut ended) = (Vec::new(), false);
        let read = async {
            while excerpt.len() < limit && !ended {
                match self.chunk().await {
                    Ok(Some(chunk)) => {
                        let room = limit.saturating_sub(excerpt.len()).min(chunk.len());
                        excerpt.extend_from_slice(chunk.get(..room).unwrap_or_default());
                    }
                    _ => ended = true,
                }
            }
        };
        if tokio::time::timeout(time, read).await.is_ok() && !ended {
            self.discard_later(0);
        }
        excerpt
    }

    pub(crate) fn poll_chunk(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, ProviderError>>> {
        loop {
            return match self.body.poll_frame(context) {
                Poll::Ready(Some(Ok(frame))) => {
                    self.deadline.moved();
                    self.put_back(context);
                    match frame.into_data() {
                        Ok(data) if !data.is_empty() => {
                            if let Some(listener) = &mut self.listener {
                                listener.read(&data);
                            }
                            Poll::Ready(Some(Ok(data)))
                        }
                        // Trailers, or nothing.
                        _ => continue,
                    }
                }
                Poll::Ready(Some(Err(error))) => Poll::Ready(Some(Err(self.failed(error)))),
                Poll::Ready(None) => {
                    self.put_back(context);
                    if let Some(listener) = &mut self.listener {
                        listener.complete();
                    }
                    Poll::Ready(None)
                }
                Poll::Pending => self.deadline.poll(context).map(|error| Some(Err(self.failed(error)))),
            };
        }
    }

    fn failed(&mut self, error: ProviderError) -> ProviderError {
        if let Some(listener) = &mut self.listener {
            listener.failed(&error);
        }
        error
    }

    /// Puts the connection back, if nothing is left to read.
    fn put_back(&mut self, context: &mut Context<'_>) {
        if self.body.has_ended()
            && let Some(idle) = self.idle.take()
        {
            idle.put_back(context);
        }
    }

    /// Reads the rest of the body, bounded in bytes and time, so that its connection is used again: at once if it is
    /// there, in the background otherwise.
    pub(crate) fn discard(mut self, context: &mut Context<'_>) {
        let mut read = 0_usize;
        while read < DRAIN_BYTES {
            match self.poll_chunk(context) {
                Poll::Ready(Some(Ok(chunk))) => read = read.saturating_add(chunk.len()),
                Poll::Ready(_) => return,
                Poll::Pending => {
                    self.discard_later(read);
                    return;
                }
            }
        }
    }

    fn discard_later(mut self, mut read: usize) {
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let draining = UnderWay::begin();
            runtime.spawn(async move {
                let _draining = draining;
                let rest = async {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_headers_are_copied_and_stay_as_they_are() {
        let read = Bytes::from("a: one\r\nb: two\r\nb: \u{e9}\r\nc: \r\n".to_owned());
        let value =
            |range: std::ops::Range<usize>| HeaderValue::from_maybe_shared(read.slice(range)).unwrap();
        let mut headers = HeaderMap::new();
        headers.append("a", value(3..6));
        headers.append("b", value(11..14));
        headers.append("b", value(19..21));
        headers.append("c", HeaderValue::from_static(""));
        headers.get_mut("a").unwrap().set_sensitive(true);
        let before = headers.clone();
        own_values(&mut headers);
        assert_eq!(headers, before);
        assert!(headers["a"].is_sensitive() && !headers["b"].is_sensitive());
        drop(before);
        assert!(read.is_unique(), "a value still holds what was read");
    }
}

//! Runs as streams of server-sent events.

use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderValue, header};
use tokio::time::{Instant, timeout_at};

use crate::dialect::Tell;
use crate::live::{Next, Seen, Sight};

/// The time without events after which a comment tells everybody on the way that the stream is alive.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(15);

/// A stream of what a viewer sees, behind what is written already.
pub(crate) fn response(sight: impl Into<Sight>, dialect: impl Tell, written: Vec<u8>) -> Response {
    let written = Some(Bytes::from(written)).filter(|written| !written.is_empty());
    let telling = Telling { sight: sight.into(), dialect, written, room: 0 };
    let body = stream::unfold(telling, |mut telling| async move {
        let bytes = telling.next().await?;
        Some((Ok::<_, std::convert::Infallible>(bytes), telling))
    });
    with_head(Body::from_stream(body))
}

/// A stream of which all is written already.
pub(crate) fn written(events: Vec<u8>) -> Response {
    with_head(Body::from(events))
}

fn with_head(body: Body) -> Response {
    let mut response = body.into_response();
    let headers = response.headers_mut();
    let fields = [
        (header::CONTENT_TYPE, "text/event-stream; charset=utf-8"),
        (header::CACHE_CONTROL, "no-cache, no-transform"),
        // Reverse proxies hold back what they do not know to be a stream.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    for (name, value) in fields {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

struct Telling<D> {
    sight: Sight,
    dialect: D,
    written: Option<Bytes>,
    /// The size of the last piece, by which the next one is given room.
    room: usize,
}

impl<D: Tell> Telling<D> {
    /// The next bytes; `None` behind the last ones.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(written) = self.written.take() {
            return Some(written);
        }
        let beat = Instant::now() + HEARTBEAT;
        let mut out = Vec::with_capacity(self.room);
        loop {
            match timeout_at(beat, self.sight.next()).await {
                Ok(None) => return None,
                Ok(Some(Next::Seen(seen))) => tell(&mut self.dialect, &seen, &mut out),
                Ok(Some(Next::Moved(live))) => self.dialect.moved(&live),
                Err(_) => return Some(Bytes::from_static(b": heartbeat\n\n")),
            }
            if !out.is_empty() {
                self.room = out.len().next_power_of_two().min(4096);
                return Some(Bytes::from(out));
            }
        }
    }
}

/// Writes what a viewer saw.
pub(crate) fn tell(dialect: &mut impl Tell, seen: &Seen, out: &mut Vec<u8>) {
    match seen {
        Seen::Entries(entries) => entries.iter().for_each(|entry| dialect.entry(entry, out)),
        Seen::View(view, last) => dialect.view(view, *last, out),
    }
}

//! The number of calls that a server allows on a connection of HTTP/2: it says so in the first frame that it sends.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use hyper::rt::{Read, ReadBuf, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};

use super::lanes::Origin;
use super::write_to_stream::write_to_stream;

/// A connection whose first frame is looked at.
#[derive(Debug)]
pub(super) struct Watched<S> {
    stream: S,
    start: Option<Box<Start>>,
}

/// The first frame, as far as it has come, and who wants to know.
#[derive(Debug)]
struct Start {
    origin: Arc<Origin>,
    bytes: Vec<u8>,
}

impl<S> Watched<S> {
    /// A connection of HTTP/2 where there is an origin, and any other.
    pub(super) fn new(stream: S, origin: Option<Arc<Origin>>) -> Self {
        let start = origin.map(|origin| Box::new(Start { origin, bytes: Vec::new() }));
        Self { stream, start }
    }
}

/// The answer of the first frame.
#[derive(Debug, PartialEq)]
enum Said {
    /// It has not come as a whole.
    Nothing,
    /// The limit, if there is one.
    Allowed(Option<usize>),
}

/// The length, the type, flags and the stream's number stand before the settings of a frame, and each of these has six
/// bytes. (RFC 9113, 4.1 and 6.5)
const FRAME_HEAD: usize = 9;
const SETTINGS: u8 = 4;
const MAX_CONCURRENT_STREAMS: u16 = 3;
/// The maximum number of bytes of a frame that is looked at.
const LONGEST: usize = 1 << 14;

fn said(bytes: &[u8]) -> Said {
    let Some((head, rest)) = bytes.split_at_checked(FRAME_HEAD) else { return Said::Nothing };
    let &[high, middle, low, kind, ..] = head else { return Said::Nothing };
    let length = usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low);
    if kind != SETTINGS || length > LONGEST {
        return Said::Allowed(None);
    }
    let Some(settings) = rest.get(..length) else { return Said::Nothing };
    let mut limits = settings.chunks_exact(6).rev().filter_map(|setting| {
        let (id, value) = setting.split_first_chunk::<2>()?;
        let value = u32::from_be_bytes(value.try_into().ok()?);
        (u16::from_be_bytes(*id) == MAX_CONCURRENT_STREAMS).then_some(value)
    });
    Said::Allowed(limits.next().and_then(|limit| usize::try_from(limit).ok()))
}

impl<S: Connection> Connection for Watched<S> {
    fn connected(&self) -> Connected {
        self.stream.connected()
    }
}

impl<S: Read + Unpin> Read for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let Some(start) = &mut this.start else {
            return Pin::new(&mut this.stream).poll_read(context, buffer);
        };
        let mut room = [0; 512];
        let room = room.get_mut(..buffer.remaining().min(512)).unwrap_or_default();
        let mut read = ReadBuf::new(room);
        ready!(Pin::new(&mut this.stream).poll_read(context, read.unfilled()))?;
        buffer.put_slice(read.filled());
        start.bytes.extend_from_slice(read.filled());
        if let Said::Allowed(limit) = said(&start.bytes) {
            start.origin.allows(limit);
            this.start = None;
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: Write + Unpin> Write for Watched<S> {
    write_to_stream!();
}

#[cfg(test)]
mod tests {
    use super::*;

    // RFC 9113, 6.5.1: an initial window of 65,536 and at most 100 streams
    const FRAME: [u8; 21] = [0, 0, 12, 4, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0, 3, 0, 0, 0, 100];

    #[test]
    fn the_limit_is_read_out_of_the_first_frame() {
        assert_eq!(said(&FRAME), Said::Allowed(Some(100)));
        for cut in 0..FRAME.len() {
            assert_eq!(said(&FRAME[..cut]), Said::Nothing, "{cut}");
        }
        assert_eq!(said(&[0, 0, 0, 4, 0, 0, 0, 0, 0]), Said::Allowed(None), "no limit is set");
        assert_eq!(
            said(b"HTTP/1.1 400 Bad Request\r\n"),
            Said::Allowed(None),
            "that is no frame of settings"
        );
    }
}

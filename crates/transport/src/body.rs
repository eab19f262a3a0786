//! Request bodies made of shared pieces.

use std::convert::Infallible;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// A request body of shared pieces with an exact length. Cloning copies a pointer, and a clone starts from the
/// first byte if it was made from a body that was not yet sent.
#[derive(Clone, Debug, Default)]
pub struct EncodedBody {
    frames: Arc<[Bytes]>,
    next: usize,
    left: u64,
}

/// Collects the pieces of a body: what is long is shared, what is short is copied together, so that a body has few
/// frames.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    frames: Vec<Piece>,
    /// All short pieces, and the beginning of those that are in no frame yet.
    short: Vec<u8>,
    from: usize,
}

#[derive(Debug)]
enum Piece {
    Long(Bytes),
    Short(Range<usize>),
}

/// Pieces below this size are copied: a frame of its own costs more.
const WORTH_SHARING: usize = 2 << 10;

/// Room that is kept behind a piece, so that the short ones after a long one do not move it.
const SHORT_PIECES: usize = 256;

impl Frames {
    pub(crate) fn share(&mut self, bytes: Bytes) {
        if bytes.len() < WORTH_SHARING {
            self.copy(&bytes);
        } else {
            self.flush();
            self.frames.push(Piece::Long(bytes));
        }
    }

    pub(crate) fn copy(&mut self, bytes: &[u8]) {
        if self.short.capacity() - self.short.len() < bytes.len() {
            self.short.reserve(bytes.len() + SHORT_PIECES);
        }
        self.short.extend_from_slice(bytes);
    }

    fn flush(&mut self) {
        if self.from < self.short.len() {
            self.frames.push(Piece::Short(self.from..self.short.len()));
            self.from = self.short.len();
        }
    }

    pub(crate) fn into_body(mut self) -> EncodedBody {
        self.flush();
        let short = Bytes::from(self.short);
        let frames = self.frames.into_iter().map(|piece| match piece {
            Piece::Long(bytes) => bytes,
            Piece::Short(range) => short.slice(range),
        });
        EncodedBody::from_frames(frames.collect())
    }
}

impl EncodedBody {
    /// A body of pieces, one behind the other. The long ones are shared, not copied.
    pub fn from_pieces(pieces: impl IntoIterator<Item = Bytes>) -> Self {
        let mut frames = Frames::default();
        pieces.into_iter().for_each(|piece| frames.share(piece));
        frames.into_body()
    }

    fn from_frames(frames: Arc<[Bytes]>) -> Self {
        let left = frames.iter().map(|frame| frame.len() as u64).sum();
        Self { frames, next: 0, left }
    }

    /// The number of bytes that are left to send.
    pub fn len(&self) -> u64 {
        self.left
    }

    /// True if there is nothing (more) to send.
    pub fn is_empty(&self) -> bool {
        self.left == 0
    }

    /// The bytes that are left to send, copied into one piece; for tests and for showing a request.
    pub fn to_vec(&self) -> Vec<u8> {
        self.frames.get(self.next..).unwrap_or_default().concat()
    }
}

#[cfg(test)]
impl EncodedBody {
    pub(crate) fn frames(&self) -> &[Bytes] {
        &self.frames
    }
}

impl From<Bytes> for EncodedBody {
    fn from(bytes: Bytes) -> Self {
        Self::from_frames(if bytes.is_empty() { Arc::default() } else { Arc::new([bytes]) })
    }
}

impl From<Vec<u8>> for EncodedBody {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::from(bytes).into()
    }
}

impl From<String> for EncodedBody {
    fn from(text: String) -> Self {
        Bytes::from(text).into()
    }
}

impl Body for EncodedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = self.frames.get(self.next).cloned();
        if let Some(bytes) = &frame {
            self.next += 1;
            self.left = self.left.saturating_sub(bytes.len() as u64);
        }
        Poll::Ready(frame.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(body: &mut EncodedBody) -> Option<Bytes> {
        let mut context = Context::from_waker(std::task::Waker::noop());
        match Pin::new(body).poll_frame(&mut context) {
            Poll::Ready(frame) => frame.map(|frame| frame.unwrap().into_data().unwrap()),
            Poll::Pending => panic!("bytes in memory are always ready"),
        }
    }

    #[test]
    fn the_length_is_exact_all_along_and_a_clone_starts_anew() {
        let long = Bytes::from(vec![b'x'; WORTH_SHARING]);
        let mut frames = Frames::default();
        for piece in ["a", "b", ""] {
            frames.copy(piece.as_bytes());
        }
        frames.share(long.clone());
        frames.share(Bytes::from_static(b"c"));
        let fresh = frames.into_body();
        let mut body = fresh.clone();
        assert_eq!(next(&mut body).unwrap(), "ab");
        assert_eq!(body.size_hint().exact(), Some(long.len() as u64 + 1));
        assert_eq!(next(&mut body).unwrap().as_ptr(), long.as_ptr(), "shared, not copied");
        assert!(!body.is_end_stream());
        assert_eq!(next(&mut body).unwrap(), "c");
        assert!(body.is_end_stream() && body.is_empty() && next(&mut body).is_none());
        assert_eq!(fresh.to_vec().len() as u64, fresh.len());
    }
}

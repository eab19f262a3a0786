//! The bytes of a log: sealed chunks and a tail that grows, all of them shared with bodies.

use bytes::{Bytes, BytesMut};

use crate::body::Frames;

/// The least and the greatest length to which the tail grows before it is sealed. Each chunk is a frame of its own, and
/// the tail has room that is not used yet: a quarter of all bytes keeps both small.
const CHUNK: (usize, usize) = (16 << 10, 64 << 10);

/// Bytes under logical offsets that stay valid while chunks in front are given back.
#[derive(Debug, Default)]
pub(super) struct Store {
    /// In the order of their offsets, with gaps where chunks were given back.
    sealed: Vec<Chunk>,
    /// The tail during a sync, and between two.
    tail: BytesMut,
    shared_tail: Bytes,
    tail_start: u64,
    /// Documents of chunks that were given back; kept until the end of a sync, in case their message returns changed.
    spare: Vec<Encoded>,
}

#[derive(Debug)]
struct Chunk {
    start: u64,
    bytes: Bytes,
    /// The content whose base64 this is.
    content: Option<Bytes>,
}

impl Chunk {
    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

/// A document and its base64 text. Holding the content keeps its address from being used for another.
#[derive(Clone, Debug)]
pub(super) struct Encoded {
    pub(super) content: Bytes,
    pub(super) text: Bytes,
}

impl Encoded {
    /// True if this is the base64 of exactly these bytes in memory.
    pub(super) fn is_of(&self, content: &Bytes) -> bool {
        is_same(&self.content, content)
    }
}

/// True if two handles are on the same memory. Bytes are immutable and these are alive, so they are equal then.
fn is_same(a: &Bytes, b: &Bytes) -> bool {
    a.as_ptr() == b.as_ptr() && a.len() == b.len()
}

impl Store {
    fn tail(&self) -> &[u8] {
        if self.shared_tail.is_empty() { &self.tail } else { &self.shared_tail }
    }

    /// The offset behind the last byte.
    pub(super) fn end(&self) -> u64 {
        self.tail_start + self.tail().len() as u64
    }

    /// Begins a sync: the tail goes on in its own memory, unless a body still has it.
    pub(super) fn open(&mut self) {
        let shared = std::mem::take(&mut self.shared_tail);
        if !shared.is_empty() {
            self.tail = shared.try_into_mut().unwrap_or_else(|shared| BytesMut::from(&*shared));
        }
    }

    /// Ends a sync.
    pub(super) fn close(&mut self) {
        self.spare = Vec::new();
        if !self.tail.is_empty() {
            self.shared_tail = std::mem::take(&mut self.tail).freeze();
        }
    }

    pub(super) fn append(&mut self, bytes: &[u8]) {
        self.tail.extend_from_slice(bytes);
    }

    /// Appends a document as a chunk of its own.
    pub(super) fn append_document(&mut self, document: Encoded) {
        self.seal();
        self.push(document.text, Some(document.content));
    }

    /// Seals a tail that is long enough. Called between items, so that an item has few seams.
    pub(super) fn seal_if_long(&mut self) {
        let (least, most) = CHUNK;
        let length = usize::try_from(self.end() / 4).unwrap_or(most).clamp(least, most);
        if self.tail.len() >= length {
            self.seal();
            // A history this long goes on; a tail that grew by doubling would copy itself.
            self.tail.reserve(length + length / 8);
        }
    }

    fn seal(&mut self) {
        if !self.tail.is_empty() {
            let bytes = Bytes::from(Vec::from(std::mem::take(&mut self.tail)).into_boxed_slice());
            self.push(bytes, None);
        }
    }

    fn push(&mut self, bytes: Bytes, content: Option<Bytes>) {
        let chunk = Chunk { start: self.tail_start, bytes, content };
        self.tail_start = chunk.end();
        self.sealed.push(chunk);
    }

    /// The base64 text of `content`, if it is here.
    pub(super) fn encoded(&self, content: &Bytes) -> Option<Bytes> {
        let is_of = |chunk: &&Chunk| chunk.content.as_ref().is_some_and(|known| is_same(known, content));
        let live = self.sealed.iter().find(is_of).map(|chunk| &chunk.bytes);
        let spare = || self.spare.iter().find(|spare| spare.is_of(content)).map(|spare| &spare.text);
        live.or_else(spare).cloned()
    }

    /// Gives back what is in none of the `live` ranges, which are sorted: whole chunks, and everything behind the
    /// last range.
    pub(super) fn keep(&mut self, live: &[(u64, u64)]) {
        let end = live.last().map_or(0, |range| range.1);
        let mut ranges = live.iter().peekable();
        let spare = &mut self.spare;
        self.sealed.retain_mut(|chunk| {
            while ranges.peek().is_some_and(|range| range.1 <= chunk.start) {
                ranges.next();
            }
            let alive = ranges.peek().is_some_and(|range| range.0 < chunk.end());
            if alive {
                chunk.bytes.truncate(usize::try_from(end - chunk.start).unwrap_or(usize::MAX));
            } else if let Some(content) = chunk.content.take() {
                spare.push(Encoded { content, text: chunk.bytes.clone() });
            }
            alive
        });
        match end.checked_sub(self.tail_start) {
            Some(length) => self.tail.truncate(usize::try_from(length).unwrap_or(usize::MAX)),
            None => {
                self.tail.clear();
                self.tail_start = self.sealed.last().map_or(0, Chunk::end);
            }
        }
    }

    /// The number of bytes, documents not counted.
    pub(super) fn text_len(&self) -> u64 {
        let sealed = self.sealed.iter().filter(|chunk| chunk.content.is_none());
        sealed.map(|chunk| chunk.bytes.len() as u64).sum::<u64>() + self.tail().len() as u64
    }

    /// Appends the bytes `start..end` of another store; its documents are shared.
    pub(super) fn append_from(&mut self, other: &Store, start: u64, end: u64) {
        other.pieces(start, end, |piece| match piece {
            Piece::Sealed(Chunk { content: Some(content), bytes, .. }, _) => {
                self.append_document(Encoded { content: content.clone(), text: bytes.clone() });
            }
            Piece::Sealed(_, bytes) | Piece::Tail(bytes) => self.append(bytes),
        });
        self.seal_if_long();
    }

    /// Adds the bytes `start..end` to a body, which shares them.
    pub(super) fn frames(&self, start: u64, end: u64, frames: &mut Frames) {
        self.pieces(start, end, |piece| match piece {
            Piece::Sealed(chunk, bytes) => frames.share(chunk.bytes.slice_ref(bytes)),
            Piece::Tail(bytes) if self.shared_tail.is_empty() => frames.copy(bytes),
            Piece::Tail(bytes) => frames.share(self.shared_tail.slice_ref(bytes)),
        });
    }

    fn pieces<'s>(&'s self, start: u64, end: u64, mut take: impl FnMut(Piece<'s>)) {
        let within = |bytes: &'s [u8], at: u64| {
            let from = usize::try_from(start.saturating_sub(at)).unwrap_or(usize::MAX).min(bytes.len());
            let to = usize::try_from(end.saturating_sub(at)).unwrap_or(usize::MAX).min(bytes.len());
            bytes.get(from..to).unwrap_or_default()
        };
        let first = self.sealed.partition_point(|chunk| chunk.end() <= start);
        for chunk in self.sealed.iter().skip(first).take_while(|chunk| chunk.start < end) {
            take(Piece::Sealed(chunk, within(&chunk.bytes, chunk.start)));
        }
        if end > self.tail_start {
            take(Piece::Tail(within(self.tail(), self.tail_start)));
        }
    }

    #[cfg(test)]
    pub(super) fn sealed_chunks(&self) -> impl Iterator<Item = &Bytes> {
        self.sealed.iter().map(|chunk| &chunk.bytes)
    }
}

enum Piece<'s> {
    Sealed(&'s Chunk, &'s [u8]),
    Tail(&'s [u8]),
}

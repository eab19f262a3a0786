//! The way of an answer to the client: write boundaries, delays, breaks.

use std::time::Duration;

use attache_transport::cassette::chunked;
use bytes::Bytes;

/// The places at which the body is cut into network writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Writes {
    /// One write an event, one for a JSON body.
    #[default]
    PerEvent,
    /// One write for the whole body.
    Whole,
    /// Writes of that many bytes, at least one.
    Every(usize),
    /// A new write at each of these offsets of the body.
    At(Vec<usize>),
    /// The deterministic pseudo-random cuts of [`chunked`] with this seed.
    Seeded(u64),
}

/// The end of the body.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Ending {
    #[default]
    Complete,
    /// The connection is reset before the response's head.
    ResetBeforeHead,
    /// The connection is reset after that many bytes of the body.
    Reset(usize),
    /// The connection is closed after that many bytes, the HTTP body left unfinished.
    Cut(usize),
    /// The HTTP body ends properly after that many bytes.
    Truncated(usize),
    /// Nothing comes after that many bytes; the connection stays open.
    Stall(usize),
}

/// Something put among the events of a stream.
#[derive(Clone, Debug)]
pub(crate) enum Insert {
    /// Bytes as they are.
    Raw(usize, Bytes),
    /// An error event in the API's shape, after which the stream ends.
    Error { at: usize, kind: String, message: String },
    /// Bytes after which the stream ends.
    Last(usize, Bytes),
}

/// All about the way of a reply to its client.
#[derive(Clone, Debug, Default)]
pub(crate) struct Delivery {
    pub(crate) writes: Writes,
    pub(crate) first_delay: Duration,
    pub(crate) write_delay: Duration,
    pub(crate) ending: Ending,
    pub(crate) inserts: Vec<Insert>,
    pub(crate) no_terminator: bool,
}

impl Delivery {
    /// Puts the inserts among the events; `error` renders an error event, given its place, kind and message.
    pub(crate) fn insert_into(&self, events: &mut Vec<Bytes>, error: impl Fn(usize, &str, &str) -> Bytes) {
        for insert in &self.inserts {
            match insert {
                Insert::Raw(at, bytes) => events.insert((*at).min(events.len()), bytes.clone()),
                Insert::Last(at, bytes) => {
                    events.truncate(*at);
                    events.push(bytes.clone());
                }
                Insert::Error { at, kind, message } => {
                    events.truncate(*at);
                    events.push(error(events.len(), kind, message));
                }
            }
        }
    }

    /// The body's bytes in the pieces in which they are written, cut off where the body breaks.
    pub(crate) fn pieces(&self, events: Vec<Bytes>) -> Vec<Bytes> {
        let mut pieces = match &self.writes {
            Writes::PerEvent => events,
            Writes::Whole => vec![join(events)],
            Writes::Every(size) => {
                let body = join(events);
                let size = (*size).max(1);
                (0..body.len()).step_by(size).map(|at| body.slice(at..(at + size).min(body.len()))).collect()
            }
            Writes::At(offsets) => cut_at(&join(events), offsets),
            Writes::Seeded(seed) => chunked(&join(events), *seed),
        };
        if let Ending::Reset(limit) | Ending::Cut(limit) | Ending::Truncated(limit) | Ending::Stall(limit) =
            self.ending
        {
            let mut left = limit;
            for piece in &mut pieces {
                piece.truncate(left);
                left -= piece.len();
            }
        }
        pieces.retain(|piece| !piece.is_empty());
        pieces
    }
}

fn join(events: Vec<Bytes>) -> Bytes {
    match <[Bytes; 1]>::try_from(events) {
        Ok([single]) => single,
        Err(several) => several.concat().into(),
    }
}

fn cut_at(body: &Bytes, offsets: &[usize]) -> Vec<Bytes> {
    let mut cuts: Vec<usize> = offsets.iter().copied().filter(|at| *at < body.len()).collect();
    cuts.push(0);
    cuts.push(body.len());
    cuts.sort_unstable();
    cuts.iter().zip(cuts.iter().skip(1)).map(|(from, to)| body.slice(*from..*to)).collect()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::{Delivery, Ending, Writes};

    fn pieces(writes: Writes, ending: Ending) -> Vec<Bytes> {
        let delivery = Delivery { writes, ending, ..Delivery::default() };
        delivery.pieces(vec![Bytes::from_static(b"abc"), Bytes::from_static(b"defg")])
    }

    #[test]
    fn writes_cut_the_body_as_asked() {
        assert_eq!(pieces(Writes::PerEvent, Ending::Complete), ["abc", "defg"]);
        assert_eq!(pieces(Writes::Whole, Ending::Complete), ["abcdefg"]);
        assert_eq!(pieces(Writes::Every(3), Ending::Complete), ["abc", "def", "g"]);
        assert_eq!(pieces(Writes::Every(0), Ending::Complete).len(), 7);
        assert_eq!(pieces(Writes::At(vec![5, 1, 5, 99]), Ending::Complete), ["a", "bcde", "fg"]);
        assert_eq!(pieces(Writes::Seeded(3), Ending::Complete).concat(), b"abcdefg");
    }

    #[test]
    fn an_ending_cuts_the_body_off() {
        assert_eq!(pieces(Writes::PerEvent, Ending::Truncated(4)), ["abc", "d"]);
        assert_eq!(pieces(Writes::Whole, Ending::Cut(0)), [""; 0]);
        assert_eq!(pieces(Writes::PerEvent, Ending::Stall(99)), ["abc", "defg"]);
    }
}

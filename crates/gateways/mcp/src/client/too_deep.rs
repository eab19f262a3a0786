//! Messages that nest deeper than the SDK reads: without a care, one such tool would cost the whole list that it stands
//! in.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use serde_json::Value;
use tokio::io::{AsyncRead, ReadBuf};

/// The levels of a message that are read; `serde_json` gives up at 128. Deeper ones are gone.
const READ: usize = 120;
/// The levels of a value within a message that is surely whole.
pub(crate) const DEEPEST: usize = 100;

/// The levels of a value that a model is shown: the results of tools have a bound of 100, with what stands around it.
const SHOWN: usize = 90;

/// Empties the objects and lists of JSON text that stand too deep, so that it can be read. It takes text piece by piece.
#[derive(Debug, Default)]
pub(crate) struct Shallow {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
}

impl Shallow {
    /// Takes the next bytes, and returns how many of them are left at their begin.
    pub(crate) fn keep(&mut self, bytes: &mut [u8]) -> usize {
        let mut kept = 0;
        for at in 0..bytes.len() {
            let Some(byte) = bytes.get(at).copied() else { break };
            if self.stays(byte) {
                if let Some(place) = bytes.get_mut(kept) {
                    *place = byte;
                }
                kept += 1;
            }
        }
        kept
    }

    fn stays(&mut self, byte: u8) -> bool {
        if self.in_string {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return self.depth < READ;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => {
                self.depth += 1;
                return self.depth <= READ;
            }
            b'}' | b']' => {
                let stays = self.depth <= READ;
                self.depth = self.depth.saturating_sub(1);
                return stays;
            }
            _ => {}
        }
        self.depth < READ
    }

    /// The text, emptied where it is too deep.
    pub(crate) fn whole(mut text: Vec<u8>) -> Vec<u8> {
        let kept = Self::default().keep(&mut text);
        text.truncate(kept);
        text
    }
}

/// A stream of messages, one on each line.
#[derive(Debug)]
pub(crate) struct ShallowLines<R> {
    inner: R,
    shallow: Shallow,
}

impl<R> ShallowLines<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self { inner, shallow: Shallow::default() }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for ShallowLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        loop {
            ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
            let Some(new) = buffer.filled_mut().get_mut(before..).filter(|new| !new.is_empty()) else {
                return Poll::Ready(Ok(()));
            };
            let (mut kept, mut at) = (0, 0);
            while at < new.len() {
                let rest = new.get(at..).unwrap_or_default();
                // A line is a message, however broken the one before it is.
                let end = rest.iter().position(|byte| *byte == b'\n').map_or(new.len(), |found| at + found);
                let count = new.get_mut(at..end).map_or(0, |line| self.shallow.keep(line));
                new.copy_within(at..at + count, kept);
                kept += count;
                if end < new.len() {
                    self.shallow = Shallow::default();
                    new.copy_within(end..=end, kept);
                    kept += 1;
                }
                at = end + 1;
            }
            buffer.set_filled(before + kept);
            if kept > 0 {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

/// Puts a word in the place of what stands deeper in a value than is shown. True if there was something.
pub(crate) fn cut_deep(value: &mut Value) -> bool {
    cut_below(value, SHOWN)
}

fn cut_below(value: &mut Value, left: usize) -> bool {
    let Some(below) = left.checked_sub(1) else {
        let is_deep = value.is_array() || value.is_object();
        if is_deep {
            *value = Value::from("(nested too deep to be shown)");
        }
        return is_deep;
    };
    let cut = |found: bool, value: &mut Value| cut_below(value, below) || found;
    match value {
        Value::Array(items) => items.iter_mut().fold(false, cut),
        Value::Object(members) => members.values_mut().fold(false, cut),
        _ => false,
    }
}

/// True if a value of a message may have lost something of its depth.
pub(crate) fn is_too_deep(value: &Value) -> bool {
    levels(value, DEEPEST) > DEEPEST
}

/// The levels of a value, as far as `most` and one more.
fn levels(value: &Value, most: usize) -> usize {
    let deepest = |below: &mut dyn Iterator<Item = &Value>| {
        let left = most.saturating_sub(1);
        1 + if most == 0 { 0 } else { below.map(|value| levels(value, left)).max().unwrap_or_default() }
    };
    match value {
        Value::Array(items) => deepest(&mut items.iter()),
        Value::Object(members) => deepest(&mut members.values()),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::io::AsyncReadExt;

    use super::*;

    fn nested(levels: usize) -> String {
        format!("{}{}", "{\"a\":[".repeat(levels / 2), "]}".repeat(levels / 2))
    }

    #[test]
    fn text_that_nests_too_deep_can_be_read_and_the_rest_stays() {
        let text = format!("{{\"deep\": {}, \"beside\": \"}}]\\\"\"}}", nested(100_000));
        assert!(serde_json::from_str::<Value>(&text).is_err());
        let read: Value = serde_json::from_slice(&Shallow::whole(text.into_bytes())).unwrap();
        assert_eq!(read["beside"], "}]\"");
        assert!(is_too_deep(&read["deep"]));
        for (levels, too_deep) in [(0, false), (DEEPEST, false), (DEEPEST + 2, true)] {
            let text = nested(levels);
            let value = if levels == 0 { Value::Null } else { serde_json::from_str(&text).unwrap() };
            assert_eq!(is_too_deep(&value), too_deep, "{levels}");
        }
    }

    #[tokio::test]
    async fn a_line_that_is_broken_costs_itself() {
        let sent = format!("{}\n{{\"a\": [1, \"{{\"]}}\n", "[".repeat(200));
        let mut read = String::new();
        let mut lines = ShallowLines::new(tokio::io::BufReader::with_capacity(7, sent.as_bytes()));
        lines.read_to_string(&mut read).await.unwrap();
        let lines: Vec<&str> = read.lines().collect();
        assert_eq!((lines.len(), lines[0].len(), lines[1]), (2, READ, "{\"a\": [1, \"{\"]}"));
    }

    proptest! {
        // However it is cut into pieces, and whatever stands in its strings.
        #[test]
        fn text_that_is_no_deeper_than_is_read_stays_as_it_is(
            text in "[\\[\\]{}\",:a\\\\]{0,80}",
            cut in 0_usize..80,
        ) {
            let mut bytes = text.clone().into_bytes();
            let cut = cut.min(bytes.len());
            let mut shallow = Shallow::default();
            let (first, second) = bytes.split_at_mut(cut);
            let kept = (shallow.keep(first), shallow.keep(second));
            prop_assert_eq!(kept, (first.len(), second.len()));
            prop_assert_eq!(bytes, text.into_bytes());
        }
    }
}

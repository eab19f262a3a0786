//! Deltas of text, packed: an event of its own takes some fifty times the room of a word.

use std::sync::Arc;

use attache_agent::{Event, EventKind};

use super::entry::{Entry, What};

/// The maximum number of deltas of a pack: the first ones take room until all are gone.
const MOST: usize = 256;

/// The room that a delta takes beside its text.
const EACH: usize = size_of::<u32>();

/// Deltas of text or reasoning in one step, one directly behind the other.
#[derive(Debug)]
pub(super) struct Text {
    /// The event of the first one, without its text.
    first: Event,
    /// The number of its entry.
    seq: u64,
    is_thinking: bool,
    text: String,
    /// The end of each delta in the text.
    ends: Vec<u32>,
    /// The number of deltas that are gone.
    gone: usize,
}

/// The text of a delta, and whether it is reasoning.
fn said(entry: &Entry) -> Option<(&Event, &str, bool)> {
    let What::Event(event) = &entry.what else { return None };
    match &event.kind {
        EventKind::Content(text) => Some((event, text, false)),
        EventKind::Thinking(text) => Some((event, text, true)),
        _ => None,
    }
}

impl Text {
    /// A pack of one delta and its weight, if the entry is one.
    pub(super) fn begun(entry: &Entry) -> Option<(Self, usize)> {
        let (event, text, is_thinking) = said(entry)?;
        let end = u32::try_from(text.len()).ok()?;
        let mut first = event.clone();
        first.kind = kind(is_thinking, "");
        let text = text.to_owned();
        let pack = Self { first, seq: entry.seq, is_thinking, text, ends: vec![end], gone: 0 };
        let weight = pack.weight();
        Some((pack, weight))
    }

    /// Adds a delta that comes directly behind, and yields its weight.
    pub(super) fn add(&mut self, entry: &Entry) -> Option<usize> {
        let (event, text, is_thinking) = said(entry)?;
        let count = u64::try_from(self.ends.len()).ok()?;
        let fits = self.ends.len() < MOST
            && is_thinking == self.is_thinking
            && event.step == self.first.step
            && event.seq == self.first.seq + count
            && entry.seq == self.seq + count;
        if !fits {
            return None;
        }
        let end = u32::try_from(self.text.len() + text.len()).ok()?;
        self.text.push_str(text);
        self.ends.push(end);
        Some(text.len() + EACH)
    }

    /// The number of deltas that are left.
    pub(super) fn left(&self) -> usize {
        self.ends.len() - self.gone
    }

    /// The bytes of what is left, and of the pack itself.
    pub(super) fn weight(&self) -> usize {
        let begin = self.begin(self.gone);
        size_of::<Self>() + self.text.len() - begin + self.left() * EACH
    }

    /// Forgets the first delta that is left, and yields its weight.
    pub(super) fn drop_first(&mut self) -> usize {
        let begin = self.begin(self.gone);
        self.gone += 1;
        self.begin(self.gone) - begin + EACH
    }

    /// The begin of a delta in the text.
    fn begin(&self, at: usize) -> usize {
        let before = at.checked_sub(1).and_then(|before| self.ends.get(before));
        before.and_then(|end| usize::try_from(*end).ok()).unwrap_or(0)
    }

    /// The entries as they came, behind the first ones that are left.
    pub(super) fn entries(&self, skipped: usize) -> impl Iterator<Item = Arc<Entry>> + '_ {
        (self.gone + skipped..self.ends.len()).map(|at| {
            let text = self.text.get(self.begin(at)..self.begin(at + 1)).unwrap_or_default();
            let behind = u64::try_from(at).unwrap_or(u64::MAX);
            let mut event = self.first.clone();
            event.kind = kind(self.is_thinking, text);
            event.seq += behind;
            Arc::new(Entry { seq: self.seq + behind, what: What::Event(event) })
        })
    }
}

fn kind(is_thinking: bool, text: &str) -> EventKind {
    match is_thinking {
        true => EventKind::Thinking(text.to_owned()),
        false => EventKind::Content(text.to_owned()),
    }
}

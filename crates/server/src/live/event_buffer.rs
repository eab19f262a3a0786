//! The newest entries of a run.

use std::collections::VecDeque;
use std::sync::Arc;

use super::entry::{Entry, What, weight};
use super::text::Text;

/// The entries that are held as they came: viewers who keep up take them from here. Text before them is packed.
const AS_THEY_CAME: usize = 16;

/// The newest entries of a run, bounded in number and bytes. The newest one is always there.
#[derive(Debug)]
pub(super) struct Ring {
    packed: VecDeque<Packed>,
    newest: VecDeque<(Arc<Entry>, usize)>,
    /// The number of entries, those that are packed too.
    held: usize,
    bytes: usize,
    /// The number of the last entry.
    last: u64,
    bounds: Bounds,
}

/// The bounds of a ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) entries: usize,
    pub(crate) bytes: usize,
}

/// Entries that are not among the newest.
#[derive(Debug)]
enum Packed {
    Entry(Arc<Entry>, usize),
    Text(Box<Text>),
}

impl Ring {
    pub(super) fn new(bounds: Bounds) -> Self {
        let (packed, newest) = Default::default();
        Self { packed, newest, held: 0, bytes: 0, last: 0, bounds }
    }

    pub(super) fn push(&mut self, what: What) -> Arc<Entry> {
        let weight = weight(&what);
        self.last += 1;
        let entry = Arc::new(Entry { seq: self.last, what });
        self.newest.push_back((Arc::clone(&entry), weight));
        self.held += 1;
        self.bytes += weight;
        if self.newest.len() > AS_THEY_CAME
            && let Some((old, weight)) = self.newest.pop_front()
        {
            self.bytes -= weight;
            self.pack(old, weight);
        }
        while self.held > 1 && (self.held > self.bounds.entries || self.bytes > self.bounds.bytes) {
            self.drop_oldest();
        }
        entry
    }

    /// Keeps an entry behind those that are packed.
    fn pack(&mut self, entry: Arc<Entry>, weight: usize) {
        if let Some(Packed::Text(text)) = self.packed.back_mut()
            && let Some(weight) = text.add(&entry)
        {
            self.bytes += weight;
            return;
        }
        let packed = match Text::begun(&entry) {
            Some((text, weight)) => (Packed::Text(Box::new(text)), weight),
            None => (Packed::Entry(entry, weight), weight),
        };
        self.bytes += packed.1;
        self.packed.push_back(packed.0);
    }

    fn drop_oldest(&mut self) {
        let weight = match self.packed.front_mut() {
            Some(Packed::Text(text)) if text.left() > 1 => text.drop_first(),
            Some(Packed::Text(text)) => {
                let weight = text.weight();
                self.packed.pop_front();
                weight
            }
            Some(Packed::Entry(_, weight)) => {
                let weight = *weight;
                self.packed.pop_front();
                weight
            }
            None => self.newest.pop_front().map_or(0, |(_, weight)| weight),
        };
        self.bytes -= weight;
        self.held -= 1;
    }

    /// The number of the last entry, 0 if there is none.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// About how many bytes its entries take.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// At most `most` entries behind the one of that number; `None` if some of them are gone, or there never was such a one.
    pub(super) fn behind(&self, seq: u64, most: usize) -> Option<Vec<Arc<Entry>>> {
        let held = u64::try_from(self.held).unwrap_or(u64::MAX);
        let before_first = self.last - held;
        let skipped = seq.checked_sub(before_first).filter(|skipped| *skipped <= held)?;
        let mut skipped = usize::try_from(skipped).ok()?;
        let packed = self.held - self.newest.len();
        let mut entries = Vec::with_capacity(most.min(self.held - skipped));
        if skipped < packed {
            for packed in &self.packed {
                let count = packed.count();
                if skipped < count {
                    packed.unpack(skipped, most - entries.len(), &mut entries);
                }
                skipped = skipped.saturating_sub(count);
            }
        } else {
            skipped -= packed;
        }
        let left = most - entries.len();
        entries.extend(self.newest.iter().skip(skipped).take(left).map(|(entry, _)| Arc::clone(entry)));
        Some(entries)
    }
}

impl Packed {
    fn count(&self) -> usize {
        match self {
            Self::Entry(..) => 1,
            Self::Text(text) => text.left(),
        }
    }

    /// Adds at most `most` of its entries behind the first ones.
    fn unpack(&self, skipped: usize, most: usize, entries: &mut Vec<Arc<Entry>>) {
        match self {
            Self::Entry(entry, _) => entries.extend(Some(entry).filter(|_| most > 0).cloned()),
            Self::Text(text) => entries.extend(text.entries(skipped).take(most)),
        }
    }
}

#[cfg(test)]
mod tests {
    use attache_agent::{Agent, Event, EventKind};
    use attache_testkit::{ScriptedModel, Turn};

    use super::super::entry::Pause;
    use super::*;

    fn seqs(ring: &Ring, behind: u64) -> Option<Vec<u64>> {
        ring.behind(behind, 10).map(|entries| entries.iter().map(|entry| entry.seq).collect())
    }

    #[test]
    fn the_oldest_entries_go_and_a_place_before_them_is_told_to_be_gone() {
        let mut ring = Ring::new(Bounds { entries: 3, bytes: usize::MAX });
        assert_eq!(seqs(&ring, 0), Some(vec![]));
        for _ in 0..5 {
            ring.push(What::Paused(Pause::default()));
        }
        assert_eq!(seqs(&ring, 1), None);
        assert_eq!(seqs(&ring, 2), Some(vec![3, 4, 5]));
        assert_eq!(seqs(&ring, 5), Some(vec![]));
        assert_eq!(seqs(&ring, 6), None, "no entry of that number was ever there");
    }

    #[test]
    fn bytes_are_bounded_and_the_newest_stays() {
        let mut ring = Ring::new(Bounds { entries: 100, bytes: 1 });
        ring.push(What::Paused(Pause::default()));
        ring.push(What::Paused(Pause::default()));
        assert_eq!(seqs(&ring, 1), Some(vec![2]));
        assert_eq!(seqs(&ring, 0), None);
    }

    /// The events of a run, for others to be made of.
    async fn run() -> Vec<Event> {
        let agent = Agent::builder(ScriptedModel::new([Turn::text("Go.")])).build().unwrap();
        let mut run = agent.run("Go on.");
        let mut events = Vec::new();
        while let Some(event) = run.next().await {
            events.push(event);
        }
        events
    }

    /// An entry, as far as a viewer can tell it from others.
    fn shown(entry: &Entry) -> String {
        match &entry.what {
            What::Event(event) => format!("{} {} {} {:?}", entry.seq, event.seq, event.step, event.kind),
            _ => format!("{} other", entry.seq),
        }
    }

    // Whatever is packed, each place shows the entries behind it as they came.
    #[tokio::test]
    async fn packed_text_is_shown_as_it_came() {
        let events = run().await;
        let is_text = |event: &&Event| matches!(event.kind, EventKind::Content(_));
        let template = events.iter().find(is_text).unwrap();
        for bounds in [
            Bounds { entries: 4_096, bytes: usize::MAX },
            Bounds { entries: 700, bytes: usize::MAX },
            Bounds { entries: 10, bytes: usize::MAX },
            Bounds { entries: 4_096, bytes: 20_000 },
        ] {
            let (mut ring, mut all) = (Ring::new(bounds), Vec::new());
            let mut event = template.clone();
            // Long runs of text, broken by other steps, gaps, reasoning and entries that are none.
            for at in 0..2_000_usize {
                event.seq += 1 + u64::from(at % 331 == 330);
                event.step = u32::try_from(at / 800).unwrap();
                let text = "é".repeat(at % 5);
                event.kind = match at % 450 {
                    400..440 => EventKind::Thinking(text),
                    _ => EventKind::Content(text),
                };
                let what = match at % 97 {
                    96 => What::Paused(Pause::default()),
                    _ => What::Event(event.clone()),
                };
                all.push(shown(&ring.push(what)));
            }
            let held = ring.held;
            assert!(held > 9 && held <= bounds.entries && ring.bytes() <= bounds.bytes, "{bounds:?}: {held}");
            let first = all.len() - held;
            for place in (0..=all.len()).step_by(7).chain([first, all.len() - 1, all.len()]) {
                let told = ring.behind(u64::try_from(place).unwrap(), 64);
                let told = told.map(|entries| entries.iter().map(|entry| shown(entry)).collect::<Vec<_>>());
                let expected = (place >= first).then(|| all[place..all.len().min(place + 64)].to_vec());
                assert_eq!(told, expected, "{bounds:?}: behind {place}");
            }
        }
    }

    #[tokio::test]
    async fn long_answers_take_little_more_than_their_text() {
        let template = run().await.into_iter().find(|event| matches!(event.kind, EventKind::Content(_)));
        let mut event = template.unwrap();
        let mut ring = Ring::new(Bounds { entries: 4_096, bytes: usize::MAX });
        for _ in 0..4_096 {
            event.seq += 1;
            event.kind = EventKind::Content("word".to_owned());
            ring.push(What::Event(event.clone()));
        }
        assert_eq!(ring.held, 4_096);
        assert!(ring.bytes() < 64 << 10, "{} bytes", ring.bytes());
    }
}

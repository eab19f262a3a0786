//! The newest entries of a run.

use std::collections::VecDeque;
use std::sync::Arc;

use super::entry::{Entry, What, weight};

/// The newest entries of a run, bounded in number and bytes. The newest one is always there.
#[derive(Debug)]
pub(super) struct Ring {
    entries: VecDeque<(Arc<Entry>, usize)>,
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

impl Ring {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self { entries: VecDeque::new(), bytes: 0, last: 0, bounds }
    }

    pub(super) fn push(&mut self, what: What) -> Arc<Entry> {
        let weight = weight(&what);
        self.last += 1;
        let entry = Arc::new(Entry { seq: self.last, what });
        self.entries.push_back((Arc::clone(&entry), weight));
        self.bytes += weight;
        while self.entries.len() > 1
            && (self.entries.len() > self.bounds.entries || self.bytes > self.bounds.bytes)
        {
            let Some((_, weight)) = self.entries.pop_front() else { break };
            self.bytes -= weight;
        }
        entry
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
        let held = u64::try_from(self.entries.len()).unwrap_or(u64::MAX);
        let before_first = self.last - held;
        let skipped = seq.checked_sub(before_first).filter(|skipped| *skipped <= held)?;
        let skipped = usize::try_from(skipped).ok()?;
        Some(self.entries.iter().skip(skipped).take(most).map(|(entry, _)| Arc::clone(entry)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seqs(ring: &Ring, behind: u64) -> Option<Vec<u64>> {
        ring.behind(behind, 10).map(|entries| entries.iter().map(|entry| entry.seq).collect())
    }

    #[test]
    fn the_oldest_entries_go_and_a_place_before_them_is_told_to_be_gone() {
        let mut ring = Ring::new(Bounds { entries: 3, bytes: usize::MAX });
        assert_eq!(seqs(&ring, 0), Some(vec![]));
        for _ in 0..5 {
            ring.push(What::Paused);
        }
        assert_eq!(seqs(&ring, 1), None);
        assert_eq!(seqs(&ring, 2), Some(vec![3, 4, 5]));
        assert_eq!(seqs(&ring, 5), Some(vec![]));
        assert_eq!(seqs(&ring, 6), None, "no entry of that number was ever there");
    }

    #[test]
    fn bytes_are_bounded_and_the_newest_stays() {
        let mut ring = Ring::new(Bounds { entries: 100, bytes: 1 });
        ring.push(What::Paused);
        ring.push(What::Paused);
        assert_eq!(seqs(&ring, 1), Some(vec![2]));
        assert_eq!(seqs(&ring, 0), None);
    }
}

//! The changes that the memory makes to the run.

use attache_core::Message;

use crate::log::{Compacted, Counted};
use crate::run::Run;

impl Run {
    /// The messages of the history when the API was asked for its tokens, and its answer.
    pub(crate) fn counted(&self) -> Option<(usize, Option<u64>)> {
        self.remembered.as_ref().and_then(|remembered| remembered.counted)
    }

    pub(super) fn note_count(&mut self, counted: &Counted) {
        self.remembered.get_or_insert_default().counted = Some((self.history.len(), counted.tokens));
    }

    pub(super) fn remember(&mut self, compacted: &Compacted) {
        self.usage.add(&compacted.usage);
        if compacted.model.is_some() {
            self.cost.add(compacted.cost);
        }
        let mark = compacted.mark.as_ref().map(|mark| Message::clone(mark).with_id(self.mint()).shared());
        let remembered = self.remembered.get_or_insert_default();
        remembered.count += 1;
        remembered.failed_at = Some(compacted.tokens).filter(|_| compacted.failure.is_some());
        self.history.extend(mark);
    }

    /// The mark by which an observer finds the run again.
    pub(crate) fn mark(&self) -> Option<&str> {
        self.mark.as_deref()
    }
}

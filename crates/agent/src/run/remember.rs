//! The change that a decision of the memory makes to the run.

use attache_core::Message;

use crate::log::Compacted;
use crate::run::Run;

impl Run {
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
}

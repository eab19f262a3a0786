//! The runs inside the tools of a run, as its log tells of them.

use attache_core::ToolCallId;

use crate::log::{Entry, EntryKind, Key};
use crate::run::{Inside, Phase, Run, Spent};

impl Run {
    /// Takes an entry of a run inside a tool: its spending counts, and whoever reads the log learns for what it waits.
    pub(super) fn apply_inside(&mut self, scope: &str, entry: &Entry) {
        match &entry.kind {
            EntryKind::Reply(reply) => self.spend_inside(&Spent::of(reply)),
            EntryKind::Compacted(compacted) => {
                Spent::beside(compacted).iter().for_each(|spent| self.spend_inside(spent));
            }
            EntryKind::Failed(failed) => {
                Spent::in_vain(failed).iter().for_each(|spent| self.spend_inside(spent));
            }
            _ => {}
        }
        let (Some(key), Some(at)) = (entry.key.strip(scope), self.place_inside(scope)) else { return };
        let mut entry = entry.clone();
        entry.key = key;
        let is_known = self.inside.get_mut(at).is_some_and(|inside| inside.run.apply(&entry).is_ok());
        if !is_known {
            // A log that is not one of a run says nothing of anybody who is waited for.
            self.inside.remove(at);
        }
    }

    /// The place of the run of a scope; none if no call waits for it.
    fn place_inside(&mut self, scope: &str) -> Option<usize> {
        if let Some(at) = self.inside.iter().position(|inside| inside.scope == scope) {
            return Some(at);
        }
        let Phase::Calls(calls) = &self.phase else { return None };
        let call = calls.iter().find(|call| scope.starts_with(&Key::scopes(&call.id)))?;
        if self.outcomes.contains_key(&call.id) {
            return None;
        }
        self.inside.push(Inside { call: call.id.clone(), scope: scope.to_owned(), run: Self::new() });
        Some(self.inside.len() - 1)
    }

    /// Forgets the runs inside the tool of a call: it has its result, or is run again by somebody who knows them better
    /// than the log.
    pub(crate) fn forget_inside(&mut self, call: &ToolCallId) {
        self.inside.retain(|inside| inside.call != *call);
    }
}

//! The tools of agents inside calls, for a viewer of the typed stream that has fallen behind.

use std::sync::Arc;

use attache_agent::{EventKind, NestedAgent};
use attache_core::ToolCallId;

use super::entry::{Entry, What};

/// The tools that agents inside have started, and those of them that have a result, by the calls of the run around them.
/// The results are in the log: a run may have many of them, and hardly anybody wants them again.
#[derive(Clone, Debug, Default)]
pub(super) struct ToolsInside(Vec<(ToolCallId, Vec<Known>)>);

#[derive(Clone, Debug)]
enum Known {
    Started(Arc<Entry>),
    /// The entry is there once the log was read.
    Finished(ToolCallId, Option<Arc<Entry>>),
}

impl ToolsInside {
    pub(super) fn started(&mut self, path: &[NestedAgent], entry: &Arc<Entry>) {
        self.add(path, Known::Started(Arc::clone(entry)));
    }

    pub(super) fn finished(&mut self, path: &[NestedAgent], call: &ToolCallId) {
        self.add(path, Known::Finished(call.clone(), None));
    }

    fn add(&mut self, path: &[NestedAgent], known: Known) {
        let Some(around) = path.first().map(|agent| &agent.call) else { return };
        match self.0.iter_mut().find(|(call, _)| call == around) {
            Some((_, all)) => all.push(known),
            None => self.0.push((around.clone(), vec![known])),
        }
    }

    /// The entries that tell of the tools inside a call of the run, as far as they are here.
    pub(super) fn of(&self, call: &ToolCallId) -> impl Iterator<Item = &Arc<Entry>> {
        let its = self.0.iter().filter(move |(around, _)| around == call);
        its.flat_map(|(_, all)| all).filter_map(|known| match known {
            Known::Started(entry) => Some(entry),
            Known::Finished(_, entry) => entry.as_ref(),
        })
    }

    pub(super) fn lacks_results(&self) -> bool {
        self.0.iter().flat_map(|(_, all)| all).any(|known| matches!(known, Known::Finished(_, None)))
    }

    /// Takes a result in that the log has.
    pub(super) fn give(&mut self, entry: &Arc<Entry>) {
        let What::Event(event) = &entry.what else { return };
        let EventKind::Nested { path, event } = &event.kind else { return };
        let EventKind::ToolFinished { result, .. } = &event.kind else { return };
        let its =
            |(around, _): &&mut (ToolCallId, _)| path.first().is_some_and(|agent| agent.call == *around);
        for known in self.0.iter_mut().filter(its).flat_map(|(_, all)| all) {
            if let Known::Finished(call, none @ None) = known
                && *call == result.call_id
            {
                *none = Some(Arc::clone(entry));
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Weak;

    use attache_agent::{Agent, tool_fn};
    use attache_testkit::{ScriptedModel, Turn};
    use serde_json::json;

    use super::super::entry::weight;
    use super::super::view::View;
    use super::*;

    // However much the tools of agents inside return, the run so far holds none of it.
    #[tokio::test]
    async fn the_view_of_a_run_holds_no_results_of_tools_inside() {
        const LENGTH: usize = 40_000;
        let calls = (0..20).map(|at| Turn::call("look", json!({"at": at})));
        let inner = ScriptedModel::new(calls.chain([Turn::text("Seen.")])).unverified();
        let look = tool_fn("look", "Looks", || Ok("x".repeat(LENGTH)));
        let clerk = Agent::builder(inner).tool(look).max_steps(30).build().unwrap().as_tool("clerk", "Looks");
        let outer = ScriptedModel::new([Turn::call("clerk", json!({"task": "Look"})), Turn::text("Done.")]);
        let mut run = Agent::builder(outer.unverified()).tool(clerk).build().unwrap().run("Go.");
        let (mut view, mut entries, mut told) = (View::default(), Vec::new(), 0);
        while let Some(event) = run.next().await {
            let entry = Arc::new(Entry { seq: event.seq, what: What::Event(event) });
            view.add(&entry);
            told += weight(&entry.what);
            entries.push(Arc::downgrade(&entry));
        }
        let held = entries.iter().filter_map(Weak::upgrade).map(|entry| weight(&entry.what)).sum::<usize>();
        assert!(told > 20 * LENGTH, "{told} bytes were told");
        assert!(held < LENGTH && view.bytes() < LENGTH, "{held} bytes are held, {} counted", view.bytes());
    }
}

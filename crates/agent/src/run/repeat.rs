//! Notices calls that go round in circles.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use attache_core::{ContentTree, ToolCall, ToolResult};

/// The rounds of late.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Repeats {
    /// Signatures of call and result, so that polling something that changes is no repetition.
    recent: VecDeque<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Fine,
    Nudge,
    Stop,
}

const WINDOW: usize = 10;
const NUDGE_AT: usize = 3;
const STOP_AT: usize = 5;

impl Repeats {
    pub(crate) fn observe<'a>(
        &mut self,
        round: impl Iterator<Item = (&'a ToolCall, &'a ToolResult)>,
    ) -> Verdict {
        let mut hasher = DefaultHasher::new();
        let mut failed = false;
        for (call, result) in round {
            failed |= result.is_error();
            call.name.hash(&mut hasher);
            call.arguments.replay_json().hash(&mut hasher);
            result.is_error().hash(&mut hasher);
            hash_stable(result, &mut hasher);
        }
        let signature = hasher.finish();
        if self.recent.len() == WINDOW {
            self.recent.pop_front();
        }
        self.recent.push_back(signature);
        match self.recent.iter().filter(|seen| **seen == signature).count() {
            ..NUDGE_AT => Verdict::Fine,
            // Asking for the state of a job again and again is no failure.
            STOP_AT.. if failed => Verdict::Stop,
            _ => Verdict::Nudge,
        }
    }
}

/// The result's text without the ids of its documents, which are new at each call.
fn hash_stable(result: &ToolResult, hasher: &mut DefaultHasher) {
    let mut text = result.tree.json();
    for document in result.tree.documents() {
        if let Some((before, after)) = text.split_once(document.id().as_str()) {
            before.hash(hasher);
            text = after;
        }
        document.hash().hash(hasher);
    }
    text.hash(hasher);
}

/// Tells the model, in the last result, that it repeats itself.
pub(crate) fn nudge(calls: &[ToolCall], results: &mut [ToolResult]) {
    let (Some(call), Some(result)) = (calls.last(), results.last_mut()) else { return };
    let hint = format!(
        "{}\n\n[The call {} was made several times with the same result. Try something else, or answer with what you have.]",
        result.tree.model_text(),
        call.name
    );
    // A result with documents keeps its tree, in which their references stand.
    if result.documents.is_empty() && result.withheld.is_empty() {
        result.tree = ContentTree::text(&hint);
    }
}

//! The things that hold a run up: a person who must approve calls, hooks, a model that does not answer.

use attache_core::{ToolCallId, ToolResult};

use crate::log::{Asked, Decided, DeferredCall, EntryKind, Failed, Grant};

/// The things that hold calls of the last reply up, and leave that was given for later ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Held {
    /// In the order in which somebody was asked; of the questions about one call the last one counts.
    pub(super) approvals: Vec<Question>,
    /// The calls whose results come later.
    pub(super) deferred: Vec<DeferredCall>,
    pub(super) grants: Vec<Grant>,
}

/// A question whether a call may run, and its answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Question {
    pub(crate) asked: Asked,
    pub(crate) decided: Option<Decided>,
}

/// The verdicts of hooks that are still of use.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct HookVerdicts {
    /// The step before which they were asked last.
    pub(super) asked: u32,
    /// The verdicts about calls that may be made, in their order: the last one about a call counts.
    pub(super) calls: Vec<SeenCall>,
    /// The results that came from elsewhere, where they were changed.
    pub(super) results: Vec<(ToolCallId, Option<Box<ToolResult>>)>,
}

/// A call that the hooks let be made.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SeenCall {
    pub(super) id: ToolCallId,
    /// True if they changed its arguments.
    pub(super) is_changed: bool,
    /// The number of times that people had changed its arguments until then.
    pub(super) edits: usize,
}

impl Held {
    pub(super) fn question(&self, call: &ToolCallId) -> Option<&Question> {
        self.approvals.iter().rev().find(|question| question.asked.call_id == *call)
    }
}

/// The failures of a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Failures {
    pub(super) count: u32,
    /// The last one, until the run goes on.
    pub(super) last: Option<Failed>,
}

impl Failures {
    /// An entry comes behind the last one: the run goes on, unless that is its end.
    pub(super) fn pass(&mut self, entry: &EntryKind) {
        self.last.take_if(|failed| match entry {
            EntryKind::Failed(_) => false,
            EntryKind::Ended(ended) => ended.reason != failed.reason,
            _ => true,
        });
    }
}

//! Calls that are held up: by a person who must approve them.

use attache_core::ToolCallId;

use crate::log::{Asked, Decided, DeferredCall, Grant};

/// What holds calls of the last reply up, and leave that was given for later ones.
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

impl Held {
    pub(super) fn question(&self, call: &ToolCallId) -> Option<&Question> {
        self.approvals.iter().rev().find(|question| question.asked.call_id == *call)
    }
}

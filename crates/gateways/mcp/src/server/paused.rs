//! Runs of an agent that wait for their user.

use attache_agent::{ApprovalRequest, DeferredRequest, Session};
use attache_core::Document;

use super::answer::Earlier;

/// A run that waits for its user, where the client calls again.
pub(super) struct Paused {
    pub(super) session: Session,
    pub(super) found: Found,
    pub(super) waits: Waits,
}

/// All that the runs of a call have brought so far.
#[derive(Default)]
pub(super) struct Found {
    pub(super) documents: Vec<Document>,
    /// An earlier question that went on first.
    pub(super) earlier: Option<Earlier>,
}

/// The things that a run waits for.
#[derive(Clone, Default)]
pub(super) struct Waits {
    pub(super) approvals: Vec<ApprovalRequest>,
    pub(super) questions: Vec<DeferredRequest>,
}

impl Waits {
    /// The names of its questions.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        let approvals = self.approvals.iter().map(|request| request.id.as_str());
        approvals.chain(self.questions.iter().map(|request| request.call.id.as_str()))
    }
}

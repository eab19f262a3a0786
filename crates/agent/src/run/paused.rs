//! Calls whose tools wait for somebody in a run inside.

use attache_core::{ToolCall, ToolCallId};

use crate::log::{ApprovalRequest, DeferredRequest};
use crate::outcome::EndReason;

/// The things that a run inside waits for.
#[derive(Clone)]
pub(crate) struct Waiting {
    pub(crate) reason: EndReason,
    pub(crate) calls: Vec<ToolCall>,
    pub(crate) approvals: Vec<ApprovalRequest>,
    pub(crate) deferred: Vec<DeferredRequest>,
}

/// A call whose tool waits inside, and what it waits for.
pub(crate) type Paused = (ToolCallId, Waiting);

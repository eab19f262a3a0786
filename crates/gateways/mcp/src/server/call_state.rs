//! The things that all calls of a server share.

use super::kept_documents::Shelf;
use super::limits::McpServeLimits;
use super::waiting_calls::HeldCalls;

/// The bounds of calls, and that which they leave behind.
#[derive(Default)]
pub(super) struct CallState {
    pub(super) limits: McpServeLimits,
    pub(super) shelf: Shelf,
    pub(super) held: HeldCalls,
}

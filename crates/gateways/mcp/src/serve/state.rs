//! The things that all calls of a server share.

use super::held::HeldCalls;
use super::limits::McpServeLimits;
use super::shelf::Shelf;

/// The bounds of calls, and that which they leave behind.
#[derive(Default)]
pub(super) struct CallState {
    pub(super) limits: McpServeLimits,
    pub(super) shelf: Shelf,
    pub(super) held: HeldCalls,
}

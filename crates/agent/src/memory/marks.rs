//! The place of a memory in the conversation of one run.

use crate::memory::cut::Standing;
use crate::memory::ledger::Ledger;

/// The place of a memory in the conversation of one run, so that a message is looked at once. All of it can
/// be made again from the history.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    pub(crate) window: Standing,
    pub(super) ledger: Option<Box<Ledger>>,
}

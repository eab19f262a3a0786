//! The log of a run: its entries and their keys.

mod approval;
mod entry;
mod key;

pub use approval::{ApprovalRequest, Asked, Decided, Decision, Grant};
pub(crate) use entry::FamilyTools;
pub use entry::{
    Begun, Compacted, Disposition, Ended, Entry, EntryKind, Reply, SCHEMA_VERSION, Started, SyntheticMessage,
    ToolOutcome, ToolRule,
};
pub use key::Key;

//! The log of a run: its entries and their keys.

mod approval;
mod deferred;
mod entry;
mod hooked;
mod key;

pub use approval::{ApprovalRequest, Asked, Decided, Decision, Grant};
pub use deferred::{DeferredCall, DeferredRequest};
pub use entry::{
    Begun, Compacted, Disposition, Ended, Entry, EntryKind, Offered, Reply, SCHEMA_VERSION, Started,
    SyntheticMessage, ToolOutcome, ToolRule,
};
pub(crate) use entry::{FamilyTools, OfferedTool};
pub use hooked::{HookStop, Hooked};
pub use key::Key;

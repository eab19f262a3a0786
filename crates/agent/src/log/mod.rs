//! The log of a run: its entries and their keys.

mod approval;
mod deferred;
mod entry;
mod handoff;
mod hooked;
mod key;
mod nested_agent;
mod tools;

pub use approval::{ApprovalRequest, Asked, Decided, Decision, Grant};
pub use deferred::{DeferredCall, DeferredRequest};
pub use entry::{
    Begun, Compacted, Counted, Disposition, Ended, Entry, EntryKind, Failed, Reply, Routed, SCHEMA_VERSION,
    Started, SyntheticMessage, ToolOutcome,
};
pub use handoff::{HandedOff, Handoffs, Transfer};
pub use hooked::{HookStop, Hooked};
pub use key::Key;
pub(crate) use key::{Digits, with_joined};
pub use nested_agent::NestedAgent;
pub(crate) use tools::{FamilyTools, ListedTool, OfferedTool};
pub use tools::{Offered, ToolRule};

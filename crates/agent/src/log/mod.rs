//! The log of a run: its entries and their keys.

mod entry;
mod key;

pub use entry::{
    Begun, Disposition, Ended, Entry, EntryKind, Reply, SCHEMA_VERSION, Started, SyntheticMessage, ToolOutcome,
};
pub(crate) use entry::{FamilyTools, ListedTool};
pub use key::Key;

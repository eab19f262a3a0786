//! The log of a run: its entries and their keys.

mod entry;
mod key;

pub(crate) use entry::FamilyTools;
pub use entry::{
    Begun, Disposition, Ended, Entry, EntryKind, Reply, SCHEMA_VERSION, Started, SyntheticMessage,
    ToolOutcome, ToolRule,
};
pub use key::Key;

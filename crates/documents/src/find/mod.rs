//! The documents of the messages: where they stand, and which are the same.

pub(crate) mod identity;
mod occurrences;
pub(crate) mod walk;

pub use occurrences::needs_routing;
pub(crate) use occurrences::{Excluded, Inside, Occurrence, Origin, Survey, place_of, survey};

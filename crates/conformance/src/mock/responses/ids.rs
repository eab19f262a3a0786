//! The ids of a mock's output items.

/// Stands in the id of a mock's output item before the id of the reasoning item it came from, so that the
/// pairing of the two can be judged when they are replayed.
pub(super) const NEEDS: &str = "_needs_";

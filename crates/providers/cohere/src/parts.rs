//! The kinds of parts that this API alone has.

/// The kind of the part that holds what the model plans to do with its tools.
pub(crate) const TOOL_PLAN: &str = "tool_plan";
/// The kind of the part that holds what the answer rests on.
pub(crate) const CITATIONS: &str = "citations";

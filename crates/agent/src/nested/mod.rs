//! Agents inside tools: they work in the name of the run around them, and within its limits.

mod around;
mod tool;

pub(crate) use around::{Around, Inside};
pub use tool::{AgentTask, AgentTool};

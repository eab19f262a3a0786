//! Agents inside tools: they work in the name of the run around them, and within its limits.

mod around;
mod question;
mod tool;

pub(crate) use around::{Around, Inside};
pub(crate) use question::PEOPLE;
pub use tool::{AgentTask, AgentTool};

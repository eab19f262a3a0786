//! Tools that an agent is given ready-made.
//!
//! [`ReadDocument`] lets a model ask for more of a document of the conversation. [`fact_tools`] let it remember facts
//! across conversations, and [`recalled`] tells it of those that a question is about. `CommandTool`, on Unix, lets it run
//! the commands that a list allows.

#[cfg(unix)]
mod command;
mod facts;
mod read_document;

#[cfg(unix)]
pub use command::{Argument, Command, CommandError, CommandTool};
pub use facts::{MemoryFacts, fact_tools, recalled};
pub use read_document::ReadDocument;

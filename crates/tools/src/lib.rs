//! Tools that an agent is given ready-made.
//!
//! [`ReadDocument`] lets a model ask for more of a document of the conversation, [`AskUser`] lets it ask the user.
//! [`fact_tools`] let it remember facts across conversations. `CommandTool`, on Unix and behind the feature `command`,
//! lets it run the commands that a list allows.

mod ask_user;
#[cfg(all(unix, feature = "command"))]
mod command;
mod facts;
mod read_document;

pub use ask_user::AskUser;
#[cfg(all(unix, feature = "command"))]
pub use command::{Argument, Command, CommandError, CommandTool};
pub use facts::{MemoryFacts, fact_tools};
pub use read_document::ReadDocument;

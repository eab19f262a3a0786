//! Tools that an agent is given ready-made.
//!
//! [`ReadDocument`] lets a model ask for more of a document of the conversation, [`AskUser`] lets it ask the user.
//! [`fact_tools`] let it remember facts across conversations. `CommandTool`, on Unix and behind the feature `command`,
//! lets it run the commands that a list allows, confined by a `Sandbox` behind `sandbox`. `file_tools`, behind `files`, let it look into folders, and `write_tools`
//! change what is there. [`FetchTool`] fetches pages and files by their addresses, `calculator`, behind the feature of
//! that name, calculates exactly, and `TimeTools`, behind `time`, tell the time.

mod ask_user;
#[cfg(feature = "calculator")]
mod calculator;
#[cfg(all(unix, feature = "command"))]
mod command;
mod facts;
mod fetch;
#[cfg(feature = "files")]
mod files;
#[cfg(any(feature = "calculator", feature = "files", feature = "time"))]
mod local;
mod read_document;
#[cfg(feature = "time")]
mod time;

pub use ask_user::AskUser;
#[cfg(feature = "calculator")]
pub use calculator::calculator;
#[cfg(all(unix, feature = "command"))]
pub use command::{Argument, Command, CommandError, CommandTool};
#[cfg(all(unix, feature = "sandbox"))]
pub use command::{Confinement, Sandbox};
pub use facts::{MemoryFacts, fact_tools};
pub use fetch::FetchTool;
#[cfg(feature = "files")]
pub use files::{FileError, FileFilter, Folders, Listed, Listing, NotListed, file_tools, write_tools};
pub use read_document::ReadDocument;
#[cfg(feature = "time")]
pub use time::{TimeTools, UnknownZone};

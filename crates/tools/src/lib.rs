//! Ready-made tools for agents.
//!
//! [`ReadDocument`] lets a model read more of a document of the conversation, [`AskUser`] lets it ask the user.
//! [`fact_tools`] let it remember facts across conversations. `CommandTool` (on Unix, feature `command`) lets it run
//! commands from an allow list, restricted by a `Sandbox` (feature `sandbox`). `file_tools` (feature `files`) let it
//! read files in folders, and `write_tools` change them. [`FetchTool`] fetches web pages and files, `calculator`
//! (feature `calculator`) calculates exactly, and `TimeTools` (feature `time`) tell the time.

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

//! The options of `chat`, `resume` and `sessions`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::ask::{Chosen, Opened, Permitted, Shown};
use super::session::Choice;
use crate::exit::CODES;

/// The options of a conversation.
#[derive(Debug, Args)]
pub(crate) struct Talk {
    #[command(flatten)]
    pub(crate) opened: Opened,
    #[command(flatten)]
    pub(crate) model: Chosen,
    #[command(flatten)]
    pub(crate) shown: Shown,
    #[command(flatten)]
    pub(crate) permitted: Permitted,
}

#[derive(Debug, Args)]
#[command(after_help = CODES)]
pub(crate) struct Chat {
    #[command(flatten)]
    pub(crate) talk: Talk,
    #[command(flatten)]
    pub(crate) session: Choice,
}

#[derive(Debug, Args)]
#[command(after_help = CODES)]
pub(crate) struct Resume {
    /// The id of the session, or the beginning of it; defaults to the most recently used one
    pub(crate) id: Option<String>,
    #[command(flatten)]
    pub(crate) talk: Talk,
}

#[derive(Debug, Args)]
#[command(after_help = CODES)]
pub(crate) struct Sessions {
    #[command(subcommand)]
    pub(crate) command: SessionsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List the sessions, the most recently used first
    List {
        /// Print JSON lines
        #[arg(long)]
        json: bool,
    },
    /// Print the messages of a session
    Show {
        /// The id of the session, or the beginning of it
        id: String,
    },
    /// Find the sessions that contain certain words
    Search {
        /// The words, in any order
        #[arg(required = true)]
        words: Vec<String>,
    },
    /// Write a session as a conversation, for `wire` and `explain`
    Export {
        /// The id of the session, or the beginning of it
        id: String,
        /// The file; defaults to stdout
        file: Option<PathBuf>,
    },
    /// Delete sessions, with the documents that no other session contains
    Delete {
        /// The full ids of the sessions
        #[arg(required_unless_present = "all")]
        ids: Vec<String>,
        /// Delete all sessions
        #[arg(long, conflicts_with = "ids")]
        all: bool,
    },
}

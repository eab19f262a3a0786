//! The options of what is kept: chats and sessions.

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
    pub(crate) kept: Choice,
}

#[derive(Debug, Args)]
#[command(after_help = CODES)]
pub(crate) struct Resume {
    /// The session, by its id or the beginning of it; the one that was used last without it
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
    /// List the sessions, the one that was used last first
    List {
        /// Print JSON lines
        #[arg(long)]
        json: bool,
    },
    /// Print what was said in a session
    Show {
        /// The session, by its id or the beginning of it
        id: String,
    },
    /// Find the sessions in which words were said
    Search {
        /// The words, in any order
        #[arg(required = true)]
        words: Vec<String>,
    },
    /// Write a session as a conversation, for `wire` and `explain`
    Export {
        /// The session, by its id or the beginning of it
        id: String,
        /// The file; stdout without it
        file: Option<PathBuf>,
    },
    /// Delete sessions, with the documents that no other session holds
    Delete {
        /// The sessions, by their whole ids
        #[arg(required_unless_present = "all")]
        ids: Vec<String>,
        /// All of them
        #[arg(long, conflicts_with = "ids")]
        all: bool,
    },
}

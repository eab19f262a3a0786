//! The options of `ask`, and those that it shares.

use std::path::PathBuf;

use clap::Args;

use super::value::{bytes, said};
use crate::exit::CODES;

#[derive(Debug, Args)]
#[command(after_help = CODES)]
pub(crate) struct Ask {
    /// The question; - reads it from stdin
    #[arg(value_parser = said)]
    pub(crate) question: String,
    #[command(flatten)]
    pub(crate) opened: Opened,
    #[command(flatten)]
    pub(crate) model: Chosen,
    #[command(flatten)]
    pub(crate) shown: Shown,
    #[command(flatten)]
    pub(crate) permitted: Permitted,
    /// A document to attach to the question: a file, the address of one, or - for stdin; give it several times. Piped
    /// input is attached without it
    #[arg(short, long, value_name = "FILE|URL|-")]
    pub(crate) attach: Vec<String>,
    /// Ask for a value of a JSON Schema, which a file or the text itself holds; stdout is the value as JSON
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) schema: Option<String>,
    /// Write the conversation to a file, for `wire`, `explain` and another run
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// Write what was sent and what came back to a file, for `replay`; keys are left out
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    #[cfg(feature = "chat")]
    #[command(flatten)]
    pub(crate) kept: super::session::Choice,
    /// Say what would be sent first, and send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print every event as one JSON line on stdout
    #[arg(long)]
    pub(crate) json: bool,
}

/// The folders and files that the model may look at.
#[derive(Debug, Args)]
pub(crate) struct Opened {
    /// Folders and files that the model may list and read; nothing else is opened. The current folder if nothing is
    /// named and nothing is attached
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// The same as PATH, for one folder or file; give it several times
    #[arg(short, long, value_name = "PATH")]
    pub(crate) files: Vec<PathBuf>,
    /// Only files that this pattern fits, as in a .gitignore; give it several times
    #[arg(long, value_name = "GLOB")]
    pub(crate) include: Vec<String>,
    /// No files and folders that this pattern fits; give it several times
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,
    /// Also files that a .gitignore leaves out
    #[arg(long)]
    pub(crate) no_ignore: bool,
    /// The most bytes of one file that is read, such as 500k or 1M
    #[arg(long, value_name = "SIZE", default_value = "32M", value_parser = bytes)]
    pub(crate) max_file_bytes: u64,
}

impl Default for Opened {
    fn default() -> Self {
        Self {
            paths: Vec::new(),
            files: Vec::new(),
            include: Vec::new(),
            exclude: Vec::new(),
            no_ignore: false,
            max_file_bytes: 32 << 20,
        }
    }
}

impl Opened {
    /// All that was named.
    pub(crate) fn named(&self) -> Vec<PathBuf> {
        self.paths.iter().chain(&self.files).cloned().collect()
    }
}

/// The model, and how it is asked.
#[derive(Debug, Default, Args)]
pub(crate) struct Chosen {
    /// The model, as PROVIDER/MODEL; by default that of the configuration, else offline/extractive, which needs no key
    /// and no network
    #[arg(short = 'm', long = "model", value_name = "PROVIDER/MODEL", env = "ATTACHE_MODEL")]
    pub(crate) name: Option<String>,
    /// The address of the model's API, if it is not the usual one
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Instructions for the model, instead of the usual ones
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) system: Option<String>,
    /// The most model calls of an answer; by default that of the configuration, else 20
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_steps: Option<u32>,
}

/// The calls of tools that you are asked about.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Permitted {
    /// Run calls of this tool without asking you; * in its name stands for anything; give it several times
    #[arg(long, value_name = "TOOL")]
    pub(crate) allow: Vec<String>,
    /// Ask you before each call of a tool
    #[arg(long)]
    pub(crate) ask_first: bool,
}

/// The things that are told beside the answer.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Shown {
    /// Nothing on stderr but errors
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// A line for each document, with what becomes of it
    #[arg(short, long, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// The model's reasoning on stderr
    #[arg(long)]
    pub(crate) thinking: bool,
}

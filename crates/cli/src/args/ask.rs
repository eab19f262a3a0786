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
    /// A document to attach to the question: a file, a URL, or - for stdin; can be repeated. Piped input is attached
    /// automatically
    #[arg(short, long, value_name = "FILE|URL|-")]
    pub(crate) attach: Vec<String>,
    /// Request a value of a JSON Schema, given as a file or as text; the value is printed to stdout as JSON
    #[arg(long, value_name = "FILE|JSON")]
    pub(crate) schema: Option<String>,
    /// Write the conversation to a file, for `wire`, `explain` and later runs
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// Write the HTTP requests and responses to a file, for `replay`; keys are left out
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    #[cfg(feature = "chat")]
    #[command(flatten)]
    pub(crate) session: super::session::Choice,
    /// Print the first request without sending it
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print every event as one JSON line on stdout
    #[arg(long)]
    pub(crate) json: bool,
}

/// The folders and files that the model may read.
#[derive(Debug, Args)]
pub(crate) struct Opened {
    /// Folders and files that the model may list and read; nothing else is opened. Defaults to the current folder if
    /// nothing is attached
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// The same as PATH, for one folder or file; can be repeated
    #[arg(short, long, value_name = "PATH")]
    pub(crate) files: Vec<PathBuf>,
    /// Only files that match this pattern, as in a .gitignore; can be repeated
    #[arg(long, value_name = "GLOB")]
    pub(crate) include: Vec<String>,
    /// No files and folders that match this pattern; can be repeated
    #[arg(long, value_name = "GLOB")]
    pub(crate) exclude: Vec<String>,
    /// Also files that are ignored by a .gitignore
    #[arg(long)]
    pub(crate) no_ignore: bool,
    /// The maximum size of a file that is read, such as 500k or 1M
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
    /// The model, as PROVIDER/MODEL; defaults to that of the configuration, otherwise to offline/extractive, which
    /// needs no key and no network
    #[arg(short = 'm', long = "model", value_name = "PROVIDER/MODEL", env = "ATTACHE_MODEL")]
    pub(crate) name: Option<String>,
    /// The base URL of the model's API, if it is not the default
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Instructions for the model, instead of the default ones
    #[arg(short, long, value_name = "TEXT")]
    pub(crate) system: Option<String>,
    /// The maximum number of model calls per answer; defaults to that of the configuration, otherwise to 20
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_steps: Option<u32>,
}

/// The calls of tools that you are asked about.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Permitted {
    /// Run calls of this tool without asking you; * matches anything; can be repeated
    #[arg(long, value_name = "TOOL")]
    pub(crate) allow: Vec<String>,
    /// Ask you before each call of a tool
    #[arg(long)]
    pub(crate) ask_first: bool,
}

/// The things that are told beside the answer.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct Shown {
    /// Print only errors to stderr
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Print a line for each document with the decision about it
    #[arg(short, long, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// Print the model's reasoning to stderr
    #[arg(long)]
    pub(crate) thinking: bool,
}

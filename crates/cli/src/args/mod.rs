//! The command line.

mod ask;
#[cfg(feature = "chat")]
mod chat_and_sessions;
mod config_and_tools;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "server")]
mod serve;
#[cfg(feature = "chat")]
mod session;
mod value;

use std::ffi::OsStr;
use std::path::PathBuf;

use attache_core::near::near;
use clap::error::{ContextKind, ContextValue};
use clap::{Args as ClapArgs, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::exit::{CODES, DOCTOR_CODES};
use crate::show::style::When;

pub(crate) use ask::{Ask, Chosen, Opened, Permitted, Shown};
#[cfg(feature = "chat")]
pub(crate) use chat_and_sessions::{Chat, Resume, Sessions, SessionsCommand, Talk};
pub(crate) use config_and_tools::{Configuration, ConfigurationCommand, Tools, ToolsCommand};
#[cfg(feature = "mcp")]
pub(crate) use mcp::{Mcp, McpCommand, Served};
#[cfg(feature = "server")]
pub(crate) use serve::{Keys, KeysCommand, LogFormat, Serve};
#[cfg(feature = "chat")]
pub(crate) use session::Choice;

/// Agents whose tools return documents.
#[derive(Debug, Parser)]
#[command(name = "attache", version, after_help = CODES)]
pub(crate) struct Args {
    /// The configuration file, instead of your own `attache.toml` and the project's
    #[arg(long, global = true, value_name = "FILE", env = "ATTACHE_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// A TOML file with model capabilities that override the bundled table; see the guide
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) capabilities: Option<PathBuf>,
    /// When to use colours; NO_COLOR and CLICOLOR_FORCE are respected too
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: When,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Args {
    /// The command line.
    ///
    /// # Errors
    /// It makes no sense, or asks for help.
    pub(crate) fn read() -> Result<Self, clap::Error> {
        let mut command = without_empty(<Self as CommandFactory>::command());
        let matches = command.try_get_matches_from_mut(std::env::args_os());
        let mut matches = matches.map_err(|error| with_nearest(error, &command))?;
        Self::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
    }
}

/// The error with the commands that are nearest to a name that is none: of `aks`, clap offers `keys` alone.
fn with_nearest(mut error: clap::Error, command: &clap::Command) -> clap::Error {
    let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    let is_inner = std::env::args_os().skip(1).any(|argument| names.iter().any(|name| argument == *name));
    if let (Some(ContextValue::String(written)), false) =
        (error.get(ContextKind::InvalidSubcommand), is_inner)
    {
        let near = near(written, names).into_iter().map(str::to_owned).collect::<Vec<_>>();
        if !near.is_empty() {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(near));
        }
    }
    error
}

/// The command, for which a variable that is empty is none.
fn without_empty(command: clap::Command) -> clap::Command {
    let is_empty = |name: &OsStr| std::env::var_os(name).is_some_and(|value| value.is_empty());
    let command = command.mut_args(|arg| match arg.get_env().is_some_and(is_empty) {
        true => arg.env(Option::<&'static str>::None),
        false => arg,
    });
    command.mut_subcommands(without_empty)
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Answer a question from the files in a folder
    Ask(Box<Ask>),
    /// Chat with a model about your files, in a saved session
    #[cfg(feature = "chat")]
    Chat(Box<Chat>),
    /// Resume a session, including an unfinished answer
    #[cfg(feature = "chat")]
    Resume(Box<Resume>),
    /// List, show, search, export and delete sessions
    #[cfg(feature = "chat")]
    Sessions(Sessions),
    /// Serve the agent of `chat` over HTTP, with a chat page for browsers and APIs for programs
    #[cfg(feature = "server")]
    Serve(Box<Serve>),
    /// Create, list and remove the API keys of a server
    #[cfg(feature = "server")]
    Keys(Keys),
    /// List the tools that a model would see, show one or call one
    Tools(Tools),
    /// Serve files and tools as an MCP server; add, list and remove MCP servers
    #[cfg(feature = "mcp")]
    Mcp(Mcp),
    /// Check the configuration, print its schema, or trust that of a project
    Config(Configuration),
    /// Print the exact HTTP request that a conversation would cause, without sending it
    Wire(Wire),
    /// Print recorded provider replies as decoded by attache
    Replay(Replay),
    /// Print the known models and their capabilities
    Models(Models),
    /// Probe a model's endpoint, and compare the results with the known capabilities
    Doctor(Doctor),
    /// Print how each of several models would see the documents of a conversation, or files, and why
    Explain(Explain),
    /// Print the completion script of a shell
    #[cfg(feature = "shell")]
    Completions(Completions),
    /// Print the manual page
    #[cfg(feature = "shell")]
    Man,
}

impl Command {
    /// True if it has options for its log.
    pub(crate) fn has_log(&self) -> bool {
        #[cfg(feature = "server")]
        return matches!(self, Self::Serve(_));
        #[cfg(not(feature = "server"))]
        false
    }

    /// True if it runs an agent. A server is not meant: it has its own log.
    pub(crate) fn runs(&self) -> bool {
        match self {
            Self::Ask(_) => true,
            #[cfg(feature = "mcp")]
            Self::Mcp(_) => true,
            #[cfg(feature = "chat")]
            Self::Chat(_) | Self::Resume(_) => true,
            _ => false,
        }
    }
}

#[derive(Debug, ClapArgs)]
#[command(after_help = CODES)]
pub(crate) struct Wire {
    /// The model, as PROVIDER/MODEL
    #[arg(short, long, value_name = "PROVIDER/MODEL", required_unless_present = "example")]
    pub(crate) model: Option<String>,
    /// Request a streamed reply
    #[arg(long)]
    pub(crate) stream: bool,
    /// Fetch documents that are public URLs in the conversation
    #[arg(long)]
    pub(crate) fetch: bool,
    /// Also print the decision for each document, with its reason
    #[arg(long)]
    pub(crate) report: bool,
    /// The base URL of the model's API, if it is not the default
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Print a sample conversation instead, with a PDF and an image in a tool result
    #[arg(long, conflicts_with_all = ["model", "stream", "fetch", "report", "base_url"])]
    pub(crate) example: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = CODES)]
pub(crate) struct Replay {
    /// Recordings to read
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Cut each recorded body into random chunks; the same number gives the same chunks
    #[arg(long, value_name = "N")]
    pub(crate) chunk_seed: Option<u64>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = CODES)]
pub(crate) struct Models {
    /// Only rows whose PROVIDER/MODEL contains this text, or a model to look up
    pub(crate) pattern: Option<String>,
    /// List the models on this provider's server, and its information about unknown ones
    #[arg(long, value_name = "PROVIDER")]
    pub(crate) refresh: Option<String>,
    /// The base URL of the provider's API, if it is not the default
    #[arg(long, value_name = "URL", requires = "refresh")]
    pub(crate) base_url: Option<String>,
    /// Write the new information of the server to a file for --capabilities
    #[arg(long, value_name = "FILE", requires = "refresh")]
    pub(crate) save: Option<PathBuf>,
    /// Print JSON lines
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = DOCTOR_CODES)]
pub(crate) struct Doctor {
    /// The model, as PROVIDER/MODEL
    #[arg(short, long, value_name = "PROVIDER/MODEL")]
    pub(crate) model: String,
    /// The base URL of the model's API, if it is not the default
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Print JSON lines: one for each probe, and a summary
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the differences from the known capabilities to a file for --capabilities
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// The timeout of one probe, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) timeout: u64,
    /// The maximum number of tokens of one reply; reasoning models may need more
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(16..))]
    pub(crate) max_tokens: u32,
    /// Also run probes that may use more than 200,000 tokens in total
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = CODES)]
pub(crate) struct Explain {
    /// An exported conversation, as written by `ask --save`, or documents, treated as if returned by a tool; - reads a
    /// conversation from stdin
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// A model to compare, as PROVIDER/MODEL; give it several times
    #[arg(short = 'm', long = "model", value_name = "PROVIDER/MODEL", required = true)]
    pub(crate) models: Vec<String>,
    /// Treat the documents as attached by the user, not as returned by a tool
    #[arg(long)]
    pub(crate) attached: bool,
    /// Print JSON lines: one for each document and model
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(feature = "shell")]
#[derive(Debug, ClapArgs)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

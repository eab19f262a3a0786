//! The options of the configuration, and of tools from outside.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::exit::CODES;

#[derive(Debug, Args)]
#[command(after_help = CODES)]
pub(crate) struct Configuration {
    #[command(subcommand)]
    pub(crate) command: ConfigurationCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigurationCommand {
    /// Name the files that count, and tell every mistake in them
    Check {
        /// Another file
        file: Option<PathBuf>,
    },
    /// Print the JSON schema of attache.toml, for editors
    Schema,
    /// Use the project's attache.toml as it is now, and the files that it imports; read them first
    Trust {
        /// The file; the one of the folder that you stand in without it
        file: Option<PathBuf>,
    },
    /// Leave the project's attache.toml alone
    Untrust {
        /// The file; the one of the folder that you stand in without it
        file: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
#[command(after_help = CODES, args_conflicts_with_subcommands = false, subcommand_negates_reqs = true)]
pub(crate) struct Tools {
    /// Folders and files, for the tools that list and read them; without any there are no such tools
    #[arg(short, long, value_name = "PATH", global = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Option<ToolsCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// Print everything that is known of a tool
    Show {
        /// The tool, by the name that the model sees
        name: String,
    },
    /// Call a tool, and show its result and documents; you are not asked before
    Call {
        /// The tool, by the name that the model sees
        name: String,
        /// The arguments as JSON; - reads them from stdin
        #[arg(default_value = "{}")]
        arguments: String,
        /// Write the documents to this folder
        #[arg(long, value_name = "FOLDER")]
        save: Option<PathBuf>,
    },
}

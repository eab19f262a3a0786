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
    /// List the configuration files in use and all problems in them
    Check {
        /// Another file to check
        file: Option<PathBuf>,
    },
    /// Print the JSON schema of attache.toml, for editors
    Schema,
    /// Trust the project's attache.toml and the files that it imports in their current state; read them first
    Trust {
        /// The file; defaults to that of the current folder
        file: Option<PathBuf>,
    },
    /// Stop trusting the project's attache.toml
    Untrust {
        /// The file; defaults to that of the current folder
        file: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
#[command(after_help = CODES, args_conflicts_with_subcommands = false, subcommand_negates_reqs = true)]
pub(crate) struct Tools {
    /// Folders and files for the tools that list and read them; without any, there are no such tools
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
    /// Print all information about a tool
    Show {
        /// The name of the tool, as the model sees it
        name: String,
    },
    /// Call a tool and show its result and documents; you are not asked for approval
    Call {
        /// The name of the tool, as the model sees it
        name: String,
        /// The arguments as JSON; - reads them from stdin
        #[arg(default_value = "{}")]
        arguments: String,
        /// Write the documents to this folder
        #[arg(long, value_name = "FOLDER")]
        save: Option<PathBuf>,
    },
}

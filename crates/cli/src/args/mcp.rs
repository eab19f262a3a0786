//! The options of `mcp`.

use std::net::{Ipv4Addr, SocketAddr};

use clap::{Args, Subcommand};

use super::ask::{Chosen, Opened, Permitted};
use crate::exit::CODES;

#[derive(Debug, Args)]
#[command(after_help = CODES, args_conflicts_with_subcommands = true)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
    #[command(flatten)]
    pub(crate) served: Box<Served>,
}

/// The server that `mcp` alone is.
#[derive(Debug, Args)]
pub(crate) struct Served {
    #[command(flatten)]
    pub(crate) opened: Opened,
    #[command(flatten)]
    pub(crate) model: Chosen,
    #[command(flatten)]
    pub(crate) permitted: Permitted,
    /// Serve the tools themselves, without a model that uses them
    #[arg(long)]
    pub(crate) tools: bool,
    /// Serve over HTTP, on a local port or an address, under /mcp; remote clients need the token of ATTACHE_MCP_TOKEN.
    /// Without this option, one client is served over stdin and stdout
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = address)]
    pub(crate) http: Option<SocketAddr>,
    /// A name or address under which clients reach the server over HTTP, in addition to those of this machine; can be
    /// repeated
    #[arg(long, value_name = "NAME", requires = "http")]
    pub(crate) host: Vec<String>,
}

/// An address to listen at; a port alone is one of this machine.
fn address(text: &str) -> Result<SocketAddr, String> {
    match text.parse::<u16>() {
        Ok(port) => Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
        Err(_) => {
            text.parse().map_err(|_| "expected a port, or an address such as 127.0.0.1:8080".to_owned())
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Add a server to your configuration: `attache mcp add files -- npx -y SERVER .`
    Add {
        /// The name of the server
        name: String,
        /// The program and its arguments, after --
        #[arg(last = true, value_name = "COMMAND", conflicts_with = "url", required_unless_present = "url")]
        line: Vec<String>,
        /// The URL of a server over HTTP
        #[arg(long)]
        url: Option<String>,
        /// An environment variable of the program; `NAME` alone passes on yours
        #[arg(long, value_name = "NAME[=VALUE]", requires = "line")]
        env: Vec<String>,
        /// A header of each request
        #[arg(long, value_name = "NAME: VALUE", requires = "url")]
        header: Vec<String>,
        /// The token of each request, as the variable that holds it: '${TOKEN}'
        #[arg(long, value_name = "TOKEN", requires = "url")]
        bearer: Option<String>,
    },
    /// List the servers of the configuration
    List {
        /// Print JSON lines
        #[arg(long)]
        json: bool,
    },
    /// Log in to a server over HTTP, in a browser
    Login {
        /// The name of the server
        name: String,
    },
    /// Log out from a server
    Logout {
        /// The name of the server
        name: String,
    },
    /// Remove a server from your configuration
    Remove {
        /// The name of the server
        name: String,
    },
}

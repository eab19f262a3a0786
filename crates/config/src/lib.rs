//! `attache.toml`: the models, servers, tools, approvals and limits of a program.
//!
//! ```toml
//! [models]
//! default = "anthropic/claude-sonnet-5"
//!
//! [mcp.files]
//! command = ["npx", "-y", "@modelcontextprotocol/server-filesystem", "."]
//!
//! [mcp.search]
//! url = "https://search.example/mcp"
//! bearer = "${SEARCH_TOKEN}"
//!
//! [a2a.leases]
//! url = "https://leases.example"
//!
//! [approvals]
//! allow = ["mcp_files___read_*"]
//! ```
//!
//! A [`ConfigFile`] is one file, a [`Config`] is built from one or several files, and its methods create models,
//! servers, tools and policies. Every mistake is a [`Problem`] with file, line, value and advice. [`schema`] is the
//! schema for editors. A project's file is untrusted input: [`Trusted`] remembers the files that the user has reviewed.
//! Design decisions are in `docs/adr/0035-configuration.md`.

#![cfg_attr(
    not(all(
        feature = "a2a",
        feature = "agent",
        feature = "mcp",
        feature = "models",
        feature = "http-tools",
        feature = "tools"
    )),
    allow(dead_code, reason = "the features read what the configuration holds")
)]

#[cfg(feature = "a2a")]
mod a2a;
#[cfg(feature = "agent")]
mod agent;
mod checked;
mod config;
#[cfg(feature = "edit")]
mod edit;
#[cfg(feature = "http-tools")]
mod http_tools;
mod import;
#[cfg(feature = "tools")]
mod local_tools;
#[cfg(feature = "mcp")]
mod mcp;
mod mcp_servers;
mod problem;
mod read;
#[cfg(feature = "models")]
mod registry;
mod schema;
mod sections;
mod server;
mod server_check;
mod source;
mod toml_places;
mod trust;
mod variables;
mod warnings;

#[cfg(feature = "agent")]
pub use agent::Approvals;
pub use config::{Config, SessionsPlace};
#[cfg(feature = "edit")]
pub use edit::{NewServer, with_mcp_server, without_mcp_server};
pub use problem::{Problem, Problems};
pub use schema::schema;
pub use sections::{BusySetting, DisconnectSetting};
pub use server::{DialectSwitches, JwtSettings, ServerSettings};
pub use source::ConfigFile;
pub use trust::{FILE_NAME, Trusted, project_file};

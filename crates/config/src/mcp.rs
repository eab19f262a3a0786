//! MCP servers as providers of tools.

use std::time::Duration;

use attache_mcp::{McpCommand, McpEndpoint, McpEra, McpLimits, McpOAuth, McpServer};

use crate::config::Config;
use crate::mcp_servers::{Reach, Server};
use crate::sections::Era;

impl Config {
    /// The MCP servers, sorted by name. Nothing is started or connected before tools are requested.
    pub fn mcp_servers(&self) -> Vec<McpServer> {
        self.mcp_servers_with(|| None)
    }

    /// The MCP servers, as returned by [`mcp_servers`](Self::mcp_servers), with logins for those over HTTP without a
    /// token.
    pub fn mcp_servers_with(&self, login: impl Fn() -> Option<McpOAuth>) -> Vec<McpServer> {
        self.servers.iter().map(|(name, server)| made(name, server, &login)).collect()
    }
}

fn made(name: &str, server: &Server, login: &dyn Fn() -> Option<McpOAuth>) -> McpServer {
    let section = &server.section;
    // A variable with an empty default is one that is not set.
    let set = |(name, value): (&String, &String)| (!value.is_empty()).then(|| (name.clone(), value.clone()));
    let mut made = match &server.reach {
        Reach::Command { program, args, folder } => {
            let command = McpCommand::new(program.as_os_str()).args(args.iter().map(String::as_str));
            let command = section
                .env
                .iter()
                .filter_map(set)
                .fold(command, |command, (name, value)| command.env(name, value));
            let command = section.inherit.iter().fold(command, McpCommand::inherit);
            let command = match folder {
                Some(folder) => command.folder(folder),
                None => command,
            };
            McpServer::command(name, command)
        }
        Reach::Url(url) => {
            let endpoint = McpEndpoint::new(url.as_str());
            let endpoint = section
                .headers
                .iter()
                .filter_map(set)
                .fold(endpoint, |endpoint, (name, value)| endpoint.header(name, value));
            let gives_token = section.headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"));
            let endpoint = match section.bearer.as_deref().filter(|token| !token.is_empty()) {
                Some(token) => endpoint.bearer(token),
                None => match login().filter(|_| !gives_token) {
                    Some(login) => endpoint.oauth(login),
                    None => endpoint,
                },
            };
            McpServer::http(name, if section.public_only { endpoint.public_only() } else { endpoint })
        }
    };
    if !section.only.is_empty() {
        made = made.only(section.only.iter().cloned());
    }
    if !section.without.is_empty() {
        made = made.without(section.without.iter().cloned());
    }
    for (from, to) in &section.rename {
        made = made.rename(from.as_str(), to.as_str());
    }
    if section.trust_hints {
        made = made.trust_hints();
    }
    if section.resources {
        made = made.resources();
    }
    if section.prompts {
        made = made.prompts();
    }
    for root in &server.roots {
        made = made.root(root);
    }
    if let Some(era) = section.era {
        made = made.era(match era {
            Era::Auto => McpEra::Auto,
            Era::Sessions => McpEra::Sessions,
            Era::Stateless => McpEra::Stateless,
        });
    }
    let seconds = |seconds: u32| Duration::from_secs(u64::from(seconds));
    let mut limits = McpLimits::new();
    if let Some(most) = section.call_seconds {
        limits = limits.with_call(seconds(most));
    }
    if let Some(most) = section.connect_seconds {
        limits = limits.with_connect(seconds(most));
    }
    made.limits(limits)
}

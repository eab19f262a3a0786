//! Logins to servers.

use attache_mcp::McpServer;

use crate::args::Args;
use crate::config_files::Config;
use crate::config_tools::servers;
use crate::exit::Exit;
use crate::output::{harmless, line, with_causes};

/// Lets the user allow the command to use a server.
pub(super) async fn login(name: &str, args: &Args) -> Result<Exit, String> {
    let server = named(name, args)?;
    if server.connect().await.is_ok() {
        server.close().await;
        line(&format!("· {name} lets you in already"));
        return Ok(Exit::Done);
    }
    let shown = |address: &str| {
        line(&format!(
            "Open this address in a browser, and allow what it asks for:\n\n  {}\n",
            harmless(address)
        ));
    };
    server.login(shown).await.map_err(|error| with_causes(&error))?;
    let connected = server.connect().await;
    server.close().await;
    connected
        .map_err(|error| format!("the login succeeded, but {name} cannot be used: {}", error.for_model()))?;
    line(&format!("· {name} lets you in from now on"));
    Ok(Exit::Done)
}

/// Forgets the login.
pub(super) async fn logout(name: &str, args: &Args) -> Result<Exit, String> {
    let server = named(name, args)?;
    server.logout().await.map_err(|error| with_causes(&error))?;
    line(&format!("· the login to {name} is forgotten"));
    Ok(Exit::Done)
}

fn named(name: &str, args: &Args) -> Result<McpServer, String> {
    let servers = servers(&Config::load(args)?);
    let found = servers.into_iter().find(|server| server.alias() == name);
    found.ok_or_else(|| format!("there is no MCP server {name:?}; `attache mcp list` lists the servers"))
}

//! `attache mcp`: the servers of the configuration, and one of ours.

mod edit;
mod login;
mod serve;

use std::path::Path;

use serde_json::json;

use crate::args::{Args, McpCommand};
use crate::config_files::Config;
use crate::exit::Exit;
use crate::output::{answer, fail, harmless, line, written};
use crate::show::table::Table;
use crate::show::width::terminal_width;

pub(crate) use serve::run as serve;

/// Runs a command on the servers of the configuration.
pub(crate) async fn run(command: &McpCommand, args: &Args) -> Exit {
    let result = match command {
        McpCommand::Add { name, line, url, env, header, bearer } => {
            let asked = edit::Asked { line, url: url.as_deref(), env, header, bearer: bearer.as_deref() };
            edit::add(name, &asked, args.config.as_deref())
        }
        McpCommand::List { json } => list(*json, args),
        McpCommand::Login { name } => login::login(name, args).await,
        McpCommand::Logout { name } => login::logout(name, args).await,
        McpCommand::Remove { name } => edit::remove(name, args.config.as_deref()),
    };
    result.unwrap_or_else(|problem| {
        fail(&problem);
        Exit::Setup
    })
}

fn list(as_json: bool, args: &Args) -> Result<Exit, String> {
    let config = Config::load(args)?;
    if let Some(notice) = config.notice() {
        line(&notice);
    }
    for problem in config.said.left_out() {
        line(&harmless(&format!("! left out: {problem}")));
    }
    let servers: Vec<(&str, &Path, String)> = config.said.server_names().collect();
    if servers.is_empty() && !as_json {
        line("· no servers; `attache mcp add NAME -- COMMAND` adds one");
        return Ok(Exit::Done);
    }
    if as_json {
        let lines = servers.iter().map(|(name, origin, shown)| {
            format!("{}\n", json!({ "name": name, "file": origin, "at": shown }))
        });
        return Ok(written(answer(&lines.collect::<String>())));
    }
    let mut table = Table::new(["server", "command or address", "from"]);
    for (name, origin, shown) in &servers {
        table.row([(*name).to_owned(), shown.clone(), origin.display().to_string()]);
    }
    Ok(written(answer(&table.render(terminal_width()))))
}

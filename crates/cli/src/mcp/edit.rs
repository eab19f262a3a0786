//! Servers added to the user's file and taken out of it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use attache_config::{Config, ConfigFile, NewServer, with_mcp_server, without_mcp_server};

use crate::config::{own_file, told};
use crate::exit::Exit;
use crate::output::line;

/// The server that the user asks for.
pub(super) struct Asked<'a> {
    pub(super) line: &'a [String],
    pub(super) url: Option<&'a str>,
    pub(super) env: &'a [String],
    pub(super) header: &'a [String],
    pub(super) bearer: Option<&'a str>,
}

pub(super) fn add(name: &str, asked: &Asked<'_>, named: Option<&Path>) -> Result<Exit, String> {
    let file = file(named)?;
    let mut server = match asked.url {
        Some(url) => NewServer::url(url),
        None => NewServer::command(asked.line),
    };
    for pair in asked.env {
        let (name, value) = match pair.split_once('=') {
            Some((name, value)) => (name, value.to_owned()),
            None => (pair.as_str(), format!("${{{pair}}}")),
        };
        server.env.push((name.to_owned(), value));
    }
    for header in asked.header {
        let Some((name, value)) = header.split_once(':') else {
            return Err(format!("{header:?} is no header; `NAME: VALUE` is one"));
        };
        server.headers.push((name.trim().to_owned(), value.trim().to_owned()));
    }
    server.bearer = asked.bearer.map(str::to_owned);
    let text = with_mcp_server(&read(&file)?, name, &server).map_err(|problem| wrong(&file, &problem))?;
    // A variable may be set later; everything else must be right.
    let checked = ConfigFile::parse(&file, text.as_str()).and_then(|file| {
        Config::of([file], &|name| Some(std::env::var(name).unwrap_or_else(|_| "unset".to_owned())))
    });
    if let Err(problems) = checked {
        return Err(format!("nothing is written: {}", told(&problems)));
    }
    write(&file, &text)?;
    line(&format!("· {name} is in {}; `attache tools` lists what it offers", file.display()));
    Ok(Exit::Done)
}

pub(super) fn remove(name: &str, named: Option<&Path>) -> Result<Exit, String> {
    let file = file(named)?;
    let text = without_mcp_server(&read(&file)?, name).map_err(|problem| wrong(&file, &problem))?;
    let Some(text) = text else {
        let hint = "one that is imported is left out by enabled = false";
        return Err(format!("{} has no MCP server {name}; {hint}", file.display()));
    };
    write(&file, &text)?;
    line(&format!("· {name} is no longer in {}", file.display()));
    Ok(Exit::Done)
}

fn file(named: Option<&Path>) -> Result<PathBuf, String> {
    let file = named.map(Path::to_owned).or_else(own_file);
    file.ok_or_else(|| "nobody says where your configuration is: set ATTACHE_HOME to a folder".to_owned())
}

fn wrong(file: &Path, problem: &str) -> String {
    format!("{}: {problem}", file.display())
}

fn read(file: &Path) -> Result<String, String> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(wrong(file, &error.to_string())),
    }
}

/// Writes the whole file or nothing of it: through one beside it, which takes its place. A link stays one.
fn write(file: &Path, text: &str) -> Result<(), String> {
    let told = |error: std::io::Error| wrong(file, &error.to_string());
    let target = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    if let Some(folder) = target.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(told)?;
    }
    let beside = target.with_extension(format!("toml.{}", std::process::id()));
    // A link that somebody put there is not followed.
    let mut new = std::fs::File::create_new(&beside).map_err(told)?;
    std::io::Write::write_all(&mut new, text.as_bytes()).map_err(told)?;
    if let Ok(found) = std::fs::metadata(&target) {
        std::fs::set_permissions(&beside, found.permissions()).map_err(told)?;
    }
    std::fs::rename(&beside, &target).map_err(|error| {
        let _left = std::fs::remove_file(&beside);
        told(error)
    })
}

//! Servers added to the user's file and taken out of it.

use std::fs::{File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use attache_config::{Config, ConfigFile, NewServer, with_mcp_server, without_mcp_server};

use crate::config_files::{own_file, told};
use crate::exit::Exit;
use crate::output::line;
use crate::replace_file::put;

/// The time that another change of the file may take, and the pause between two looks.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

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
            return Err(format!("{header:?} is not a header of the form `NAME: VALUE`"));
        };
        server.headers.push((name.trim().to_owned(), value.trim().to_owned()));
    }
    server.bearer = asked.bearer.map(str::to_owned);
    let _turn = turn(&file)?;
    let text = with_mcp_server(&read(&file)?, name, &server).map_err(|problem| wrong(&file, &problem))?;
    // A variable may be set later; everything else must be right.
    let checked = ConfigFile::parse(&file, text.as_str()).and_then(|file| {
        Config::of([file], &|name| Some(std::env::var(name).unwrap_or_else(|_| "unset".to_owned())))
    });
    if let Err(problems) = checked {
        return Err(format!("nothing was written: {}", told(&problems)));
    }
    write(&file, &text)?;
    line(&format!("· {name} is in {}; `attache tools` lists what it offers", file.display()));
    Ok(Exit::Done)
}

pub(super) fn remove(name: &str, named: Option<&Path>) -> Result<Exit, String> {
    let file = file(named)?;
    let _turn = turn(&file)?;
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
    file.ok_or_else(|| "there is no folder for your configuration: set ATTACHE_HOME".to_owned())
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

/// Waits until nobody else changes the file, so that of two changes none is lost. The lock ends with the handle; its
/// file stays, since one that is removed may be locked by somebody who has opened it.
fn turn(file: &Path) -> Result<File, String> {
    let told = |error: std::io::Error| wrong(file, &error.to_string());
    let target = target(file);
    if let Some(folder) = target.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(told)?;
    }
    let beside = target.with_extension("toml.lock");
    let lock = File::options().write(true).create(true).truncate(false).open(&beside).map_err(told)?;
    let since = Instant::now();
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::WouldBlock) if since.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => {
                let seconds = PATIENCE.as_secs();
                let lock = beside.display();
                let problem =
                    format!("another process has been changing it for {seconds} s (it holds {lock})");
                return Err(wrong(file, &problem));
            }
            Err(TryLockError::Error(error)) => return Err(told(error)),
        }
    }
}

/// The file that a link leads to.
fn target(file: &Path) -> PathBuf {
    std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned())
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    put(file, text).map_err(|error| wrong(file, &error.to_string()))
}

//! `attache keys`: the keys of a server, of which a file has the hashes.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use attache_config::ServerSettings;
use attache_server::{ApiKey, ApiKeys, KeyRing};
use serde_json::json;

use crate::args::{Keys, KeysCommand};
use crate::config_files::Config;
use crate::exit::Exit;
use crate::model_by_name::SetupError;
use crate::output::{answer, fail, line, written};
use crate::overlay::date;
use crate::sessions;
use crate::show::table::Table;
use crate::show::width::terminal_width;

/// The name of the file.
const FILE: &str = "keys.json";

/// Runs the command.
pub(crate) fn run(keys: Keys, config: &Config) -> Exit {
    match done(keys, config) {
        Ok(exit) => exit,
        Err(error) => {
            fail(&error.to_string());
            Exit::Setup
        }
    }
}

fn done(arguments: Keys, config: &Config) -> Result<Exit, SetupError> {
    let file = &file(config)?;
    match arguments.command {
        KeysCommand::Add { principal, scope, expires } => {
            if principal.trim().is_empty() {
                return Err(SetupError::new("the key needs an owner name"));
            }
            let (mut key, secret) = ApiKey::fresh(principal.trim());
            if !scope.is_empty() {
                key = key.with_scopes(scope);
            }
            if let Some(lifetime) = expires {
                key = key.with_lifetime(lifetime);
            }
            let id = key.id().to_owned();
            changed(file, |keys| (keys.with_key(key), ()))?;
            line(&format!("· the key {id} of {}; it is shown this once, so keep it now", principal.trim()));
            Ok(written(answer(&format!("{}\n", secret.expose()))))
        }
        KeysCommand::List { json } => {
            let settings = config.said.server();
            let asks = ring(file, &settings)?.asks() || settings.jwt.is_some();
            Ok(listed(&read(file)?, asks, json))
        }
        KeysCommand::Remove { ids } => {
            let unknown = changed(file, |mut keys| {
                let unknown: Vec<String> = ids.into_iter().filter(|id| !keys.remove(id)).collect();
                (keys, unknown)
            })?;
            for id in &unknown {
                fail(&format!("there is no key {id:?}; `attache keys list` lists the keys"));
            }
            Ok(if unknown.is_empty() { Exit::Done } else { Exit::Failed })
        }
    }
}

/// Tells the keys of the file. `asks` says whether a server asks for keys or tokens, of the file or others.
fn listed(keys: &ApiKeys, asks: bool, as_json: bool) -> Exit {
    let scopes = |key: &ApiKey| {
        key.scopes().map(|scopes| scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>())
    };
    if as_json {
        let lines = keys.iter().map(|key| {
            let row = json!({
                "id": key.id(),
                "principal": key.principal(),
                "scopes": scopes(key),
                "expiresAt": key.expires_at(),
                "expired": key.is_expired(),
            });
            format!("{row}\n")
        });
        return written(answer(&lines.collect::<String>()));
    }
    if keys.is_empty() {
        line(match asks {
            true => "· there are no keys here, and a server answers nobody without a key or a token",
            false => {
                "· there are no keys: a server requires none, and only answers requests from this machine"
            }
        });
        return Exit::Done;
    }
    let mut table = Table::new(["key", "of", "may", "until"]);
    for key in keys.iter() {
        let until = match (key.expires_at(), key.is_expired()) {
            (None, _) => "for ever".to_owned(),
            (Some(_), true) => "expired".to_owned(),
            (Some(at), false) => date(UNIX_EPOCH + Duration::from_millis(at)),
        };
        let may = scopes(key).map_or_else(|| "run, read, approve".to_owned(), |scopes| scopes.join(", "));
        table.row([key.id().to_owned(), key.principal().to_owned(), may, until]);
    }
    written(answer(&table.render(terminal_width())))
}

/// The file of the keys.
pub(crate) fn file(config: &Config) -> Result<PathBuf, SetupError> {
    match config.said.server().keys {
        Some(file) => Ok(file),
        None => Ok(sessions::data()?.join(FILE)),
    }
}

/// The keys as they are now; none if there is no file.
pub(crate) fn read(file: &Path) -> Result<ApiKeys, SetupError> {
    let wrong = |error: &dyn std::fmt::Display| SetupError::new(format!("{}: {error}", file.display()));
    match fs::read_to_string(file) {
        Ok(text) => ApiKeys::from_json(&text).map_err(|error| wrong(&error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(ApiKeys::new()),
        Err(error) => Err(wrong(&error)),
    }
}

/// The fewest characters of a key of the configuration: 16 random bytes have 22 in base64.
const LEAST: usize = 20;

/// The keys of a server as they are now: those of the file, and those of the configuration.
pub(crate) fn of_server(file: &Path, settings: &ServerSettings) -> Result<ApiKeys, SetupError> {
    let mut keys = read(file)?;
    for (name, key) in &settings.api_keys {
        let problem = match (name.trim().is_empty(), key.expose().chars().count() < LEAST) {
            (true, _) => "the key needs an owner name".to_owned(),
            (_, true) => format!("a key must have at least {LEAST} characters that cannot be guessed"),
            _ => {
                keys = keys.with_key(ApiKey::of(name.trim(), key.expose()));
                continue;
            }
        };
        return Err(SetupError::new(format!("server.api_keys.{name}: {problem}")));
    }
    Ok(keys)
}

/// The same, for as long as the server runs.
pub(crate) fn ring(file: &Path, settings: &ServerSettings) -> Result<KeyRing, SetupError> {
    let keys = of_server(file, settings)?;
    // A file whose last key was removed still says that keys are asked for.
    if file.exists() || !keys.is_empty() {
        return Ok(keys.into());
    }
    Ok(KeyRing::new())
}

/// Changes the file: as a whole or not at all, with one who changes it at a time.
fn changed<T>(file: &Path, change: impl FnOnce(ApiKeys) -> (ApiKeys, T)) -> Result<T, SetupError> {
    let wrong = |error: &dyn std::fmt::Display| SetupError::new(format!("{}: {error}", file.display()));
    let lock = private(&file.with_extension("lock"), false).map_err(|error| wrong(&error))?;
    lock.lock().map_err(|error| wrong(&error))?;
    let (keys, told) = change(read(file)?);
    let new = file.with_extension("new");
    let mut out = private(&new, true).map_err(|error| wrong(&error))?;
    out.write_all(keys.to_json().as_bytes()).and_then(|()| out.sync_all()).map_err(|error| wrong(&error))?;
    fs::rename(&new, file).map_err(|error| wrong(&error))?;
    Ok(told)
}

/// Opens a file that nobody else may read.
fn private(file: &Path, empty: bool) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(empty);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file)
}

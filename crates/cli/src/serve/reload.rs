//! Changes of the configuration and of the keys while a server runs.

use std::convert::Infallible;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use attache_agent::Sessions;
use attache_config::ServerSettings;
use attache_server::{Agents, Introduction, KeyRing};
use tokio::sync::Mutex;
use tokio::time::sleep;

use super::agent::{Built, NAME, built, models};
use super::mcp_and_a2a::Beside;
use super::settings::{introduction, with_settings};
use crate::args::{Args, Serve};
use crate::config_files::{Config, Folder, folder, of_project, own_file};
use crate::config_tools::Outside;
use crate::keys;
use crate::model_by_name;
use crate::sessions::Stores;

/// The time between two looks at the files.
const PAUSE: Duration = Duration::from_millis(500);

/// The files that count, and what is made anew when they change.
pub(super) struct Reload<'r> {
    pub(super) serve: &'r Serve,
    pub(super) args: &'r Args,
    pub(super) stores: &'r Stores,
    /// The settings with which the server began.
    pub(super) settings: &'r ServerSettings,
    pub(super) keys: PathBuf,
    pub(super) agents: Agents,
    pub(super) ring: KeyRing,
    /// The other protocols, which go on with the agent that they began with.
    pub(super) beside: Beside,
    /// The files of the configuration.
    pub(super) files: std::sync::Mutex<Vec<PathBuf>>,
    pub(super) outside: Mutex<Outside>,
}

/// The state of files that tells whether they were written.
type Stamp = Vec<Option<(SystemTime, u64)>>;

/// The files before they were read: what is written while a server starts counts too.
pub(super) struct Seen {
    config: Stamp,
    keys: Stamp,
}

impl Seen {
    pub(super) async fn of(config: Vec<PathBuf>, keys: PathBuf) -> Self {
        Self { config: stamp(config).await, keys: stamp(vec![keys]).await }
    }
}

impl<'r> Reload<'r> {
    /// Looks at the files again and again. `seen` are as they were when they were read.
    pub(super) async fn watch(&self, seen: Seen) -> Infallible {
        // A configuration may wait for servers of tools, while a key that was taken away ends at once.
        let keys = each_change(seen.keys, || vec![self.keys.clone()], async || self.read_keys());
        let config = each_change(seen.config, || self.files(), async || self.configuration().await);
        tokio::join!(keys, config).0
    }

    /// Ends connections to servers.
    pub(super) async fn close(&self) {
        self.outside.lock().await.close().await;
    }

    fn files(&self) -> Vec<PathBuf> {
        self.files.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    fn read_keys(&self) {
        match keys::of_server(&self.keys, self.settings) {
            Ok(read) => {
                tracing::info!(keys = read.len(), "the keys have changed");
                self.ring.replace(read);
            }
            Err(error) => tracing::error!("{error}; the previous keys stay in use"),
        }
    }

    async fn configuration(&self) {
        match self.anew().await {
            Ok(Anew { built, models, words, files }) => {
                tracing::info!(
                    model = built.sessions.agent().model().id(),
                    "the configuration has changed: new turns use the new agent and models"
                );
                let beside: Vec<&str> = self.beside.paths().collect();
                if !beside.is_empty() {
                    // They have tasks and sessions of clients, which a new one would not know.
                    let paths = beside.join(" and ");
                    tracing::warn!("{paths} keep the previous agent until the server is restarted");
                }
                self.agents.set(NAME, with_settings(built.sessions, self.settings));
                for name in self.agents.names() {
                    if &*name != NAME && models.iter().all(|(model, _)| **model != *name) {
                        self.agents.remove(&name);
                    }
                }
                for (name, sessions) in models {
                    self.agents.set(name, with_settings(sessions, self.settings));
                }
                self.agents.introduce(words);
                *self.files.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = files;
                // The processes of the servers before end with the last run that has them.
                *self.outside.lock().await = built.outside;
            }
            Err(problem) => {
                for problem in problem.lines() {
                    tracing::error!("{problem}");
                }
                tracing::warn!(
                    "the configuration was not reloaded because of these problems: the previous one stays in use"
                );
            }
        }
    }

    async fn anew(&self) -> Result<Anew, String> {
        let config = Config::load(self.args)?;
        let registry = model_by_name::registry(self.args, &config).map_err(|error| error.to_string())?;
        let models =
            models(self.serve, &registry, &config, self.stores).map_err(|error| error.to_string())?;
        let built =
            built(self.serve, &registry, &config, self.stores).await.map_err(|error| error.to_string())?;
        let files = watched(self.args, &config);
        let words = introduction(&config.said.server(), built.files);
        Ok(Anew { built, models, words, files })
    }
}

/// The things that a configuration makes while a server runs.
struct Anew {
    built: Built,
    /// The models that are served as they are, by their names.
    models: Vec<(String, Sessions)>,
    words: Introduction,
    files: Vec<PathBuf>,
}

/// The files of a configuration, also those that are not there yet.
pub(super) fn watched(args: &Args, config: &Config) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = match &args.config {
        Some(file) => vec![file.clone()],
        // Trust in a project's file is a file in a folder.
        None => own_file()
            .into_iter()
            .chain(of_project())
            .chain(folder(Folder::Data).map(|data| data.join("trusted")))
            .collect(),
    };
    files.extend(args.capabilities.clone());
    files.extend(config.said.imported());
    files
}

/// Looks at files again and again. `seen` are as they were when they were read.
async fn each_change(
    mut seen: Stamp,
    files: impl Fn() -> Vec<PathBuf>,
    changed: impl AsyncFn(),
) -> Infallible {
    loop {
        sleep(PAUSE).await;
        let now = stamp(files()).await;
        if now != seen {
            // A configuration that names other files from now on is read once more, by the next look.
            seen = now;
            changed().await;
        }
    }
}

/// The state of files: a look takes no time to speak of, and may still wait for a disk.
async fn stamp(files: Vec<PathBuf>) -> Stamp {
    let look = move || {
        let of = |file: &PathBuf| {
            let found = std::fs::metadata(file).ok()?;
            Some((found.modified().ok()?, found.len()))
        };
        files.iter().map(of).collect()
    };
    tokio::task::spawn_blocking(look).await.unwrap_or_default()
}

//! The tokens that servers were logged in to, and where they are kept.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use attache_core::{BoxFuture, fresh};
use serde::{Deserialize, Serialize};

/// A token is renewed when it ends so soon, in seconds.
const MARGIN: u64 = 60;

/// The leave to use a server, and what renews it. Its `Debug` shows no secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct McpGrant {
    /// The address of the server that it is for. It is sent nowhere else.
    pub resource: String,
    /// The authorization server that gave it.
    pub issuer: String,
    /// The access token.
    pub access_token: String,
    /// The token that brings another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<String>,
    /// The end of the access token, in seconds since 1970, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// The seconds for which the access token is good from its beginning on, if they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) lifetime: Option<u64>,
    /// The rights that it has, by spaces apart, if they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The place at which it is renewed.
    pub(crate) token_endpoint: String,
    /// The client that it was given to.
    pub(crate) client: Client,
}

/// A client as an authorization server knows it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Client {
    pub(crate) id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) secret: Option<String>,
    /// The way in which it says who it is.
    #[serde(default)]
    pub(crate) method: Method,
}

/// The way in which a client says at a token endpoint who it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Method {
    /// By its id alone.
    #[default]
    None,
    ClientSecretPost,
    ClientSecretBasic,
}

impl McpGrant {
    /// True if the access token is good for a while. One that lives briefly is renewed in the second half of its life.
    pub(crate) fn is_fresh(&self) -> bool {
        self.lasts(self.lifetime.map_or(MARGIN, |life| MARGIN.min(life / 2)))
    }

    /// True if the access token is good now.
    pub(crate) fn is_good(&self) -> bool {
        self.lasts(0)
    }

    fn lasts(&self, time: u64) -> bool {
        self.expires_at.is_none_or(|end| end > seconds(fresh::now()).saturating_add(time))
    }
}

/// A time in seconds since 1970.
pub(crate) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs()
}

impl fmt::Debug for McpGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpGrant")
            .field("resource", &self.resource)
            .field("issuer", &self.issuer)
            .field("scope", &self.scope)
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

/// A store of grants: for each server its own, by its address.
pub trait McpTokens: Send + Sync + 'static {
    /// The grant for a server.
    ///
    /// # Errors
    /// The store cannot be read.
    fn load(&self, server: &str) -> BoxFuture<'_, io::Result<Option<McpGrant>>>;

    /// Keeps the grant for a server in the place of the one before, or forgets it.
    ///
    /// # Errors
    /// The store cannot be written.
    fn save(&self, server: &str, grant: Option<McpGrant>) -> BoxFuture<'_, io::Result<()>>;
}

/// Grants in memory.
#[derive(Debug, Default)]
pub struct MemoryTokens(Mutex<BTreeMap<String, McpGrant>>);

impl MemoryTokens {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }
}

impl McpTokens for MemoryTokens {
    fn load(&self, server: &str) -> BoxFuture<'_, io::Result<Option<McpGrant>>> {
        let found = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(server).cloned();
        Box::pin(std::future::ready(Ok(found)))
    }

    fn save(&self, server: &str, grant: Option<McpGrant>) -> BoxFuture<'_, io::Result<()>> {
        put(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner), server, grant);
        Box::pin(std::future::ready(Ok(())))
    }
}

fn put(grants: &mut BTreeMap<String, McpGrant>, server: &str, grant: Option<McpGrant>) {
    match grant {
        Some(grant) => drop(grants.insert(server.to_owned(), grant)),
        None => drop(grants.remove(server)),
    }
}

/// Grants in a file, which on Unix its owner alone may read. Several processes may use it.
#[derive(Clone, Debug)]
pub struct FileTokens(PathBuf);

impl FileTokens {
    /// The grants in that file, which need not be there yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    fn read(path: &Path) -> io::Result<BTreeMap<String, McpGrant>> {
        match std::fs::read(path) {
            Ok(text) => serde_json::from_slice(&text).map_err(|_| {
                // The parser's own words may show what is in it.
                io::Error::new(io::ErrorKind::InvalidData, "the file with the tokens cannot be read")
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(BTreeMap::new()),
            Err(error) => Err(error),
        }
    }

    fn write(path: &Path, server: &str, grant: Option<McpGrant>) -> io::Result<()> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        // One writes at a time; the lock goes with the handle.
        let lock = private(&path.with_extension("lock"), false)?;
        lock.lock()?;
        let mut grants = Self::read(path)?;
        put(&mut grants, server, grant);
        // Nobody reads half of it.
        let new = path.with_extension("new");
        let mut file = private(&new, true)?;
        file.write_all(&serde_json::to_vec_pretty(&grants)?)?;
        file.sync_all()?;
        std::fs::rename(new, path)
    }
}

/// Opens a file that its owner alone may read.
fn private(path: &Path, anew: bool) -> io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(anew);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    Ok(file)
}

impl McpTokens for FileTokens {
    fn load(&self, server: &str) -> BoxFuture<'_, io::Result<Option<McpGrant>>> {
        let (path, server) = (self.0.clone(), server.to_owned());
        aside(move || Ok(Self::read(&path)?.remove(&server)))
    }

    fn save(&self, server: &str, grant: Option<McpGrant>) -> BoxFuture<'_, io::Result<()>> {
        let (path, server) = (self.0.clone(), server.to_owned());
        aside(move || Self::write(&path, &server, grant))
    }
}

/// Does work with files where it blocks nobody.
fn aside<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> BoxFuture<'static, io::Result<T>> {
    Box::pin(async move { tokio::task::spawn_blocking(work).await.map_err(io::Error::other)? })
}

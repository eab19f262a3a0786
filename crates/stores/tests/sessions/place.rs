//! Where sessions are kept in a test, as several processes see it.

use std::sync::Arc;

use attache_agent::{MemorySessions, SessionStore};
use attache_stores::{PostgresStore, SqliteStore};
use tempfile::TempDir;

use crate::server::{Database, Server};

/// A store that a test has for itself.
pub(crate) enum Place {
    /// In memory, where there is one process.
    Memory(Arc<MemorySessions>),
    /// A file.
    Sqlite(TempDir),
    /// A database of a server.
    Postgres(Database),
}

impl Place {
    pub(crate) fn memory() -> Self {
        Self::Memory(Arc::default())
    }

    pub(crate) fn sqlite() -> Self {
        Self::Sqlite(tempfile::tempdir().unwrap())
    }

    pub(crate) fn postgres() -> Self {
        Self::Postgres(Server::shared().database())
    }

    /// A handle on it, as another process has.
    pub(crate) async fn store(&self) -> Arc<dyn SessionStore> {
        match self {
            Self::Memory(sessions) => Arc::clone(sessions) as _,
            Self::Sqlite(folder) => Arc::new(SqliteStore::open(folder.path().join("s.db")).await.unwrap()),
            Self::Postgres(database) => Arc::new(PostgresStore::connect(&database.url).await.unwrap()),
        }
    }
}

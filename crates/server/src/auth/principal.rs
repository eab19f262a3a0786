//! The one on whose behalf a request is made.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The one on whose behalf a request is made: sessions, documents and approvals are theirs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    name: Arc<str>,
    /// All of them where nothing is said.
    scopes: Option<Arc<[Scope]>>,
}

/// A thing that a principal may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Scope {
    /// Start, steer and cancel runs, upload documents, answer frontend calls, clear sessions.
    Run,
    /// Look at sessions, runs, documents, tools and models.
    Read,
    /// Decide about calls that wait for approval.
    Approve,
    /// Read the numbers of the whole server, at `/metrics`. A principal has it only if it is said.
    Metrics,
}

impl Scope {
    /// The word in keys.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Read => "read",
            Self::Approve => "approve",
            Self::Metrics => "metrics",
        }
    }
}

impl Principal {
    /// One who may do everything with what is theirs.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), scopes: None }
    }

    /// One who may do this alone.
    #[must_use]
    pub fn with_scopes(mut self, scopes: impl IntoIterator<Item = Scope>) -> Self {
        self.scopes = Some(scopes.into_iter().collect());
        self
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True if they may do that.
    pub fn may(&self, scope: Scope) -> bool {
        match &self.scopes {
            Some(scopes) => scopes.contains(&scope),
            // It is about more than what is theirs.
            None => scope != Scope::Metrics,
        }
    }

    pub(crate) fn shared(&self) -> Arc<str> {
        Arc::clone(&self.name)
    }
}

//! The agents that a server hosts, also while it runs.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use attache_agent::{Agent, Sessions};

/// An agent under its name.
#[derive(Clone)]
pub(crate) struct Hosted {
    pub(crate) name: Arc<str>,
    pub(crate) sessions: Sessions,
}

impl Hosted {
    /// Runs that begin in its sessions go on in any process that serves an agent of that name.
    pub(crate) fn new(name: Arc<str>, sessions: Sessions) -> Self {
        let sessions = sessions.with_name(Arc::clone(&name));
        Self { name, sessions }
    }

    pub(crate) fn agent(&self) -> &Agent {
        self.sessions.agent()
    }
}

/// The agents of a server, for a program that puts others in their place while it serves. Cloning shares them.
///
/// A request looks an agent up once: runs under way go on with the one that they began with.
#[derive(Clone)]
pub struct Agents {
    hosted: Arc<RwLock<Vec<Hosted>>>,
    introduction: Arc<RwLock<Introduction>>,
}

/// The words with which a chat introduces itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Introduction {
    /// The title; the name of the agent without one.
    pub title: Option<String>,
    /// A sentence for an empty conversation.
    pub greeting: Option<String>,
    /// Questions to choose from.
    pub examples: Vec<String>,
}

impl Agents {
    pub(crate) fn new(first: Hosted) -> Self {
        Self { hosted: Arc::new(RwLock::new(vec![first])), introduction: Arc::default() }
    }

    /// Adds an agent, or puts it in the place of the one of that name. Its sessions must be in the store of those before:
    /// clients know them. Make them of those by [`Sessions::with_agent`]: a session that is deleted ends its run at once
    /// then, and runs that wait for one another stand in one queue.
    pub fn set(&self, name: impl Into<Arc<str>>, sessions: Sessions) {
        let new = Hosted::new(name.into(), sessions);
        let mut hosted = self.hosted.write().unwrap_or_else(PoisonError::into_inner);
        match hosted.iter_mut().find(|known| known.name == new.name) {
            Some(known) => *known = new,
            None => hosted.push(new),
        }
    }

    /// Takes an agent away, except the first one, which answers requests that name none. A run of it that waits goes on
    /// with the agent that is named then.
    pub fn remove(&self, name: &str) {
        let mut hosted = self.hosted.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(behind) = hosted.iter().skip(1).position(|hosted| *hosted.name == *name) {
            hosted.remove(behind + 1);
        }
    }

    /// Says how a chat introduces itself.
    pub fn introduce(&self, introduction: Introduction) {
        *self.introduction.write().unwrap_or_else(PoisonError::into_inner) = introduction;
    }

    pub(crate) fn introduction(&self) -> Introduction {
        self.introduction.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The names, that of the first agent first.
    pub fn names(&self) -> Vec<Arc<str>> {
        self.all().into_iter().map(|hosted| hosted.name).collect()
    }

    pub(crate) fn all(&self) -> Vec<Hosted> {
        self.hosted.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The agent of that name; the first one where none is named.
    pub(crate) fn get(&self, name: Option<&str>) -> Option<Hosted> {
        let hosted = self.hosted.read().unwrap_or_else(PoisonError::into_inner);
        match name {
            None => hosted.first().cloned(),
            Some(name) => hosted.iter().find(|hosted| *hosted.name == *name).cloned(),
        }
    }
}

impl fmt::Debug for Agents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Agents").field(&self.names()).finish()
    }
}

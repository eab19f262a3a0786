//! The settings that the sessions of an agent share.

use std::sync::Arc;
use std::time::Duration;

use attache_core::{DocumentId, DocumentStore, StoreError};

use super::clock::{Clock, length};
use super::error::{SessionError, without_nul};
use super::id::SessionId;
use super::live::Live;
use super::store::{Cleared, OpenSession, SessionState, SessionStore};
use crate::agent::Agent;

/// The fate of a run whose session another run is under way in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Busy {
    /// It fails with [`SessionError::Busy`].
    #[default]
    Refuse,
    /// It waits, behind those of this process that wait already. One beyond `depth` fails with
    /// [`SessionError::QueueFull`].
    Queue {
        /// The most runs that wait.
        depth: usize,
    },
}

/// The most documents of deleted sessions that are deleted at a time where they were left.
const LEFT: usize = 1000;

/// The agent, the store and the settings.
#[derive(Clone)]
pub(super) struct Settings {
    pub(super) agent: Agent,
    pub(super) store: Arc<dyn SessionStore>,
    pub(super) live: Arc<Live>,
    /// The name by which other processes know the agent.
    pub(super) name: Arc<str>,
    pub(super) clock: Clock,
    pub(super) busy: Busy,
    pub(super) lease: Duration,
    pub(super) documents: Option<Arc<dyn DocumentStore>>,
    pub(super) expiry: Option<Duration>,
    pub(super) cleanup: Duration,
}

impl Settings {
    /// Opens a session, which counts as use.
    pub(super) async fn touch(
        &self,
        principal: &str,
        id: &SessionId,
        make: bool,
    ) -> Result<SessionState, SessionError> {
        let (now, principal) = (self.clock.now(), without_nul(principal, "the name of a principal")?);
        let open = OpenSession { id, principal, make, now, expired_before: self.expired_before(now) };
        let opened = self.store.open(open).await?;
        self.left(id, &opened.gone).await;
        Ok(opened.state)
    }

    /// Says which sessions went when one was made, and deletes their documents.
    pub(super) async fn left(&self, made: &SessionId, gone: &Cleared) {
        for session in gone.sessions.iter().filter(|session| *session != made) {
            tracing::warn!(%session, %made, "a session made room for another one: the store holds no more");
        }
        if let Err(error) = self.delete_documents(&gone.documents).await {
            tracing::warn!(session = %made, %error, "documents of sessions that are gone could not be deleted");
        }
    }

    /// Deletes documents that no session refers to any more, with the facts about them, as far as that can be done. The
    /// store of the sessions has those that are left.
    pub(super) async fn delete_documents(&self, documents: &[DocumentId]) -> Result<(), StoreError> {
        let Some(store) = &self.documents else { return Ok(()) };
        let (mut deleted, mut failure) = (Vec::new(), None);
        for document in documents {
            let mut is_deleted = true;
            for id in [document, &document.facts()] {
                if let Err(error) = store.delete(id).await {
                    is_deleted = false;
                    failure.get_or_insert(error);
                }
            }
            if is_deleted {
                deleted.push(document.clone());
            }
        }
        if !deleted.is_empty()
            && let Err(error) = self.store.forget_documents(&deleted).await
        {
            failure.get_or_insert(error);
        }
        failure.map_or(Ok(()), Err)
    }

    /// Deletes the documents of sessions that were deleted by somebody who failed or died before the documents were.
    pub(super) async fn delete_left_documents(&self) -> Result<(), StoreError> {
        if self.documents.is_none() {
            return Ok(());
        }
        self.delete_documents(&self.store.gone_documents(LEFT).await?).await
    }

    /// A session that nobody has used since then has expired.
    pub(super) fn expired_before(&self, now: u64) -> Option<u64> {
        self.expiry.map(|idle| now.saturating_sub(length(idle)))
    }
}

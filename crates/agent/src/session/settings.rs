//! The settings that the sessions of an agent share.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use attache_core::{DocumentId, DocumentStore, StoreError};

use super::clock::{Clock, length};
use super::error::{SessionError, without_nul};
use super::id::SessionId;
use super::live::Live;
use super::records::{Cleared, OpenSession, SessionState};
use super::store::SessionStore;
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
        /// The maximum number of runs that wait.
        depth: usize,
    },
}

/// The number of documents that are asked for at a time where their deletion was left.
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
        match self.delete_from(&**store, documents).await {
            (_, None) => Ok(()),
            (_, Some(error)) => Err(error),
        }
    }

    /// Yields those that are left, and the first failure.
    async fn delete_from(
        &self,
        store: &dyn DocumentStore,
        documents: &[DocumentId],
    ) -> (Vec<DocumentId>, Option<StoreError>) {
        let (mut deleted, mut left, mut failure) = (Vec::new(), Vec::new(), None);
        for document in documents {
            let mut is_deleted = true;
            for id in [document, &document.facts()] {
                if let Err(error) = store.delete(id).await {
                    is_deleted = false;
                    failure.get_or_insert(error);
                }
            }
            let of = if is_deleted { &mut deleted } else { &mut left };
            of.push(document.clone());
        }
        if !deleted.is_empty()
            && let Err(error) = self.store.forget_documents(&deleted).await
        {
            failure.get_or_insert(error);
            left.append(&mut deleted);
        }
        (left, failure)
    }

    /// Deletes the documents of sessions that were deleted by somebody who failed or died before the documents were. Those
    /// that cannot be deleted keep no others from it, unless the store of documents is away.
    pub(super) async fn delete_left_documents(&self) -> Result<(), StoreError> {
        // Without a store nobody notes documents here: those that are left are of others, who have one.
        let Some(store) = &self.documents else { return Ok(()) };
        let (mut failed, mut failure) = (HashSet::new(), None);
        loop {
            let mut gone = self.store.gone_documents(LEFT.saturating_add(failed.len())).await?;
            gone.retain(|document| !failed.contains(document));
            if gone.is_empty() {
                break;
            }
            let (left, error) = self.delete_from(&**store, &gone).await;
            let is_away = left.len() == gone.len() && error.as_ref().is_some_and(StoreError::is_retryable);
            failed.extend(left);
            failure = failure.or(error);
            if is_away {
                break;
            }
        }
        failure.map_or(Ok(()), Err)
    }

    /// A session that nobody has used since then has expired.
    pub(super) fn expired_before(&self, now: u64) -> Option<u64> {
        self.expiry.map(|idle| now.saturating_sub(length(idle)))
    }
}

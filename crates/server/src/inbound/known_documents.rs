//! The documents that a request may name: uploads of its principal, and those of its thread.

use attache_agent::{SessionError, Sessions};
use attache_core::{Document, UserPart};
use http::StatusCode;

use crate::address::{Addressed, is_web};
use crate::documents::{Documents, document_of_session, owns};
use crate::fault::Fault;

/// Finds documents by their ids.
pub(crate) struct KnownDocuments<'a> {
    principal: &'a str,
    uploads: &'a Documents,
    thread: Option<Thread<'a>>,
    /// True for what was said up to the model's last reply. A document that was deleted since then must not end the
    /// conversation: nobody can take back that it was named.
    pub(super) is_past: bool,
}

/// A session whose documents a client knows.
struct Thread<'a> {
    sessions: &'a Sessions,
    id: &'a str,
    /// True if documents of tools are shown.
    details: bool,
}

impl<'a> KnownDocuments<'a> {
    pub(crate) fn new(principal: &'a str, uploads: &'a Documents) -> Self {
        Self { principal, uploads, thread: None, is_past: false }
    }

    /// The documents of a session, too, as far as they are shown.
    pub(crate) fn and_of(mut self, sessions: &'a Sessions, id: &'a str, details: bool) -> Self {
        self.thread = Some(Thread { sessions, id, details });
        self
    }

    /// Says at which place of the conversation documents are named from now on; the model's last reply is at `replied`.
    pub(super) fn at(&mut self, at: usize, replied: Option<usize>) {
        self.is_past = replied.is_some_and(|replied| at <= replied);
    }

    /// A document by its id, under the name that the client has for it.
    pub(super) async fn by_id(&self, id: &str, name: Option<&str>) -> Result<Option<UserPart>, Fault> {
        let found = match self.uploads.reference(self.principal, id).await {
            Err(fault) if fault.status == StatusCode::NOT_FOUND => self.in_thread(id).await?,
            found => Some(found?),
        };
        let name = name.filter(|name| !name.trim().is_empty());
        match found {
            Some(document) => Ok(match name {
                Some(name) => document.with_file_name(name),
                None => document,
            }
            .into()),
            None if self.is_past => Ok(UserPart::text(gone(name.unwrap_or(id)))),
            None => Err(Fault::not_found("document")),
        }
    }

    /// The id in an address of ours. Those of another server may look like ours: with a host it counts where it names this
    /// thread, or an upload whose id says that it is this principal's.
    pub(super) fn id_in(&self, url: &str) -> Option<String> {
        let is_local = url.starts_with('/');
        if !is_local && !is_web(url) {
            return None;
        }
        let Addressed { session, id } = Addressed::read(url)?;
        let is_ours = is_local
            || match session {
                Some(session) => self.thread.as_ref().is_some_and(|thread| thread.id == session),
                None => owns(self.principal, &id),
            };
        is_ours.then_some(id)
    }

    async fn in_thread(&self, id: &str) -> Result<Option<Document>, Fault> {
        // Words from before count only where there is no session that has it.
        let Some(thread) = self.thread.as_ref().filter(|_| !self.is_past) else { return Ok(None) };
        match thread.sessions.get(self.principal, thread.id).await {
            Ok(session) => document_of_session(&session, id, thread.details).await,
            Err(SessionError::NotFound) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// The words in the place of a document that is not there any more.
pub(super) fn gone(name: &str) -> String {
    format!("[The document {name} is not there any more.]")
}

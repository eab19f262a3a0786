//! The seam between sessions and the place where they are kept.

use std::time::SystemTime;

use attache_core::words::WordQuery;
use attache_core::{BoxFuture, DocumentId, StoreError};

use super::error::SessionError;
use super::id::SessionId;
use super::records::{
    Adopt, Append, Appended, Cleared, Delivery, Fork, Idle, OpenSession, Opened, Orphan, RunInfo,
    SessionInfo, StopRequest, StoredRun, Take, Taken,
};
use crate::journal::JournalError;
use crate::log::{Entry, Key};

/// Keeps sessions: whose they are, their messages, and the logs of their runs.
///
/// Each message of a session is kept once, in the order in which it came; a run begins with ranges of them, so that its
/// log does not repeat the conversation. Ids of sessions are unique among all principals. Times are milliseconds since
/// 1970, and come from the caller.
///
/// There is one writer of a session: [`take`](Self::take) yields a fencing number that is greater each time, and an
/// [`append`](Self::append) under an older one is refused, however late it comes. Each method does all or nothing, a
/// caller may drop its future at any time, and none waits for longer than a time limit of its own.
pub trait SessionStore: Send + Sync {
    /// False if the sessions are gone with the process.
    fn is_lasting(&self) -> bool {
        true
    }

    /// The session of that id, touched. It is made if there is none and `make` says so, and made anew if it has expired.
    ///
    /// # Errors
    /// [`SessionError::NotFound`] if it is another principal's, or if there is none and none is to be made.
    fn open<'a>(&'a self, open: OpenSession<'a>) -> BoxFuture<'a, Result<Opened, SessionError>>;

    /// The sessions of a principal, the latest first.
    ///
    /// # Errors
    /// [`StoreError`] if the store fails.
    fn list<'a>(&'a self, principal: &'a str) -> BoxFuture<'a, Result<Vec<SessionInfo>, StoreError>>;

    /// The session of that id as it stands in the [list](Self::list); `None` if the principal has none.
    ///
    /// # Errors
    /// [`StoreError`] if the store fails.
    fn info<'a>(
        &'a self,
        principal: &'a str,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Option<SessionInfo>, StoreError>> {
        Box::pin(async move {
            let all = self.list(principal).await?;
            Ok(all.into_iter().find(|info| info.id == *session))
        })
    }

    /// The sessions of a principal that hold all words of `query`, the latest first, at most `limit`. See
    /// [`Sessions::search`](crate::Sessions::search).
    ///
    /// # Errors
    /// [`StoreError`] if the store fails.
    fn search<'a>(
        &'a self,
        principal: &'a str,
        query: &'a WordQuery,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<SessionInfo>, StoreError>>;

    /// The number of sessions of a principal.
    ///
    /// # Errors
    /// [`StoreError`] if the store fails.
    fn count<'a>(&'a self, principal: &'a str) -> BoxFuture<'a, Result<usize, StoreError>>;

    /// Gives a session another title. False if the principal has no such session.
    ///
    /// # Errors
    /// [`StoreError`] if the store fails.
    fn rename<'a>(
        &'a self,
        principal: &'a str,
        session: &'a SessionId,
        title: &'a str,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Makes a session that goes on from a run of another one: with the messages that the session had when the run began,
    /// the log of the run, the title, and the documents; or an empty one. Yields the sessions that made room for it.
    ///
    /// # Errors
    /// [`SessionError::NotFound`] if the principal has no such session or the session no such run,
    /// [`SessionError::Busy`] if the run has not ended.
    fn fork<'a>(&'a self, fork: Fork<'a>) -> BoxFuture<'a, Result<Cleared, SessionError>>;

    /// Takes the lease of a session.
    ///
    /// # Errors
    /// [`SessionError::Busy`] while somebody else holds it, [`SessionError::NotFound`] if the principal has no such session,
    /// [`JournalError::Occupied`] if the run is to begin and its id was used in the session before.
    fn take<'a>(&'a self, take: Take<'a>) -> BoxFuture<'a, Result<Taken, SessionError>>;

    /// Holds the lease until then, unless it was let go. False if somebody else has taken it since, or the session is
    /// cleared.
    ///
    /// # Errors
    /// [`StoreError`] if the store fails.
    fn renew<'a>(
        &'a self,
        session: &'a SessionId,
        fence: u64,
        until: u64,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Lets the lease go, and refuses all that is still appended under it. Until `kept_until` the session does not expire;
    /// `None` leaves that as it was.
    ///
    /// # Errors
    /// [`StoreError`] if the store fails.
    fn release<'a>(
        &'a self,
        session: &'a SessionId,
        fence: u64,
        kept_until: Option<u64>,
    ) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Notes that a holder uses its lease no more, or will not if it is still to get it, as far as that can be done at
    /// once: the next [`take`](Self::take) of this process does not wait for its end. For a run that was dropped.
    fn abandon(&self, session: &SessionId, holder: &str);

    /// Notes that whoever [left](Self::abandon) the session, or took its run over here, could not go on with the run since
    /// this store failed: that is no attempt, by which the run would be [given up](Self::adopt) in the end.
    fn spare(&self, _session: &SessionId) {}

    /// A run of a session of that principal, the last one where none is named, with all messages of the session; `None`
    /// if there is none. It changes nothing.
    ///
    /// # Errors
    /// [`JournalError::Unreadable`] if something in it is damaged or of a version that this program does not know.
    fn load<'a>(
        &'a self,
        principal: &'a str,
        session: &'a SessionId,
        run: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<StoredRun>, JournalError>>;

    /// The runs of a session of that principal in the order in which they began.
    ///
    /// # Errors
    /// [`StoreError`] if the store fails.
    fn runs<'a>(
        &'a self,
        principal: &'a str,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Vec<RunInfo>, StoreError>>;

    /// Appends entries to the log of a run as [`Journal::append`](crate::Journal::append) does, and holds the lease on.
    ///
    /// # Errors
    /// [`JournalError::Fenced`] if somebody else has taken the lease since, or the session is cleared.
    fn append<'a>(&'a self, append: &'a Append) -> BoxFuture<'a, Result<Appended, JournalError>>;

    /// Leaves an entry for the driver of a run; see [`Journal::deliver`](crate::Journal::deliver). The session keeps its
    /// documents.
    ///
    /// # Errors
    /// [`StoreErrorKind::NotFound`](attache_core::StoreErrorKind::NotFound) if the principal has no such session,
    /// [`JournalError::Empty`] if there is no such run, [`JournalError::Fenced`] if it has ended, or if another run holds the
    /// lease and the entry [does not go beside one](Delivery::alone_at).
    fn deliver<'a>(&'a self, delivery: Delivery<'a>) -> BoxFuture<'a, Result<Entry, JournalError>>;

    /// Waits for an entry of a run; see [`Journal::wait`](crate::Journal::wait).
    ///
    /// # Errors
    /// [`StoreErrorKind::NotFound`](attache_core::StoreErrorKind::NotFound) if the principal has no such session,
    /// [`JournalError`] if the store fails.
    fn wait<'a>(
        &'a self,
        principal: &'a str,
        session: &'a SessionId,
        run: &'a str,
        key: &'a Key,
        until: Option<SystemTime>,
    ) -> BoxFuture<'a, Result<Option<Entry>, JournalError>>;

    /// The entries of a run's log behind the first `seen` ones, for somebody who follows it. The messages are left out of
    /// its beginning. It changes nothing.
    ///
    /// By default it loads the whole log; a store that several processes use does better.
    ///
    /// # Errors
    /// [`StoreErrorKind::NotFound`](attache_core::StoreErrorKind::NotFound) if the principal has no such session or the
    /// session no such run, [`JournalError`] if the store fails.
    fn behind<'a>(
        &'a self,
        principal: &'a str,
        session: &'a SessionId,
        run: &'a str,
        seen: usize,
    ) -> BoxFuture<'a, Result<Vec<Entry>, JournalError>> {
        Box::pin(async move {
            let stored = self.load(principal, session, Some(run)).await?;
            let mut stored = stored.ok_or_else(|| {
                StoreError::new(attache_core::StoreErrorKind::NotFound, "there is no such run")
            })?;
            Ok(stored.entries.split_off(seen.min(stored.entries.len())))
        })
    }

    /// Asks whoever drives a run to end it, in whichever process. False if there is no such run of the principal, it has
    /// ended, or somebody asked for that before.
    ///
    /// A store that does not do that yields false.
    ///
    /// # Errors
    /// [`StoreError`] if the store fails.
    fn stop<'a>(&'a self, _stop: &'a StopRequest) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(std::future::ready(Ok(false)))
    }

    /// The runs under way in any process that somebody asked to end.
    ///
    /// # Errors
    /// [`StoreError`] if the store fails.
    fn stops(&self) -> BoxFuture<'_, Result<Vec<StopRequest>, StoreError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// Takes runs over whose process is gone: those that have not ended and whose lease is over, but was not let go.
    /// Nobody else takes the lease of one before `until`, apart from the next [`take`](Self::take) of this process. A run
    /// whose lease was taken `most` times to go on with it, without anything being recorded, is left; so is one that was
    /// taken over as often by processes that neither took its lease nor [let it go](Self::let_go). Attempts that failed
    /// because this store did are [left out](Self::spare). Those that were taken over least often come first.
    ///
    /// A store that does not do that yields none.
    ///
    /// # Errors
    /// [`StoreError`] if the store fails.
    fn adopt<'a>(&'a self, _adopt: Adopt<'a>) -> BoxFuture<'a, Result<Vec<Orphan>, StoreError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// Tells other processes what [`abandon`](Self::abandon) noted in this one: nobody holds the lease. With `adoptable`
    /// others may [take the run over](Self::adopt) at once, else nobody does.
    ///
    /// # Errors
    /// [`StoreError`] if the store fails.
    fn let_go<'a>(
        &'a self,
        _session: &'a SessionId,
        _adoptable: bool,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Deletes the session of that id, or all of the principal's, whatever is under way in them.
    ///
    /// # Errors
    /// [`StoreError`] if the store fails.
    fn clear<'a>(
        &'a self,
        principal: &'a str,
        session: Option<&'a SessionId>,
    ) -> BoxFuture<'a, Result<Cleared, StoreError>>;

    /// Deletes sessions that have expired, some at a time.
    ///
    /// # Errors
    /// [`StoreError`] if the store fails.
    fn clean(&self, idle: Idle) -> BoxFuture<'_, Result<Cleared, StoreError>>;

    /// Documents of sessions that were deleted, to which no other session refers, and which nobody has
    /// [forgotten](Self::forget_documents) since: whoever was to delete them failed, or died before. At most `limit`.
    ///
    /// A store that does not note them yields none.
    ///
    /// # Errors
    /// [`StoreError`] if the store fails.
    fn gone_documents(&self, _limit: usize) -> BoxFuture<'_, Result<Vec<DocumentId>, StoreError>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// Forgets documents of sessions that were deleted, once their bytes are deleted, too.
    ///
    /// # Errors
    /// [`StoreError`] if the store fails.
    fn forget_documents<'a>(&'a self, _documents: &'a [DocumentId]) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

//! The sessions of an agent.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use attache_core::DocumentStore;
use attache_core::words::WordQuery;
use futures_util::future::join_all;

use super::clock::{Clock, length};
use super::error::SessionError;
use super::id::SessionId;
use super::one::Session;
use super::records::{Adopt, Cleared, Idle, Orphan, SessionInfo};
use super::settings::{Busy, Settings};
use super::store::SessionStore;
use crate::agent::Agent;

/// The time that a session lives that nobody uses.
const EXPIRY: Duration = Duration::from_secs(60 * 60);
/// The time between two deletions of expired sessions.
const CLEANUP: Duration = Duration::from_secs(10 * 60);
/// The time that the lease of a session lasts without renewal.
const LEASE: Duration = Duration::from_secs(30);
/// The number of times that a run is taken over without anything being recorded.
const ADOPTIONS: u32 = 5;
/// The number of sessions that are deleted at a time.
const BATCH: usize = 100;

/// The sessions of an agent: conversations that go on over many runs, each of one principal. Cloning shares them.
///
/// ```
/// use std::sync::Arc;
/// use attache_agent::{Agent, MemorySessions, Sessions};
/// # use attache_testkit::{ScriptedModel, Turn};
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # let model = ScriptedModel::new([Turn::text("Hello, Ann."), Turn::text("Your name is Ann.")]);
/// let agent = Agent::builder(model).build()?;
/// let sessions = Sessions::new(agent, Arc::new(MemorySessions::new()));
/// let session = sessions.open("ann@example.org", None).await?;
/// session.run("I am Ann.").outcome().await?;
/// let outcome = session.run("Who am I?").outcome().await?;
/// assert_eq!(outcome.messages.len(), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A session takes one run at a time: a lease in its store says which, in whichever process that is. The lease lasts 30
/// seconds, is renewed while the run is polled, and ends with the run; after a crash the session is free once it is over.
/// A writer that lost it can append no more.
#[derive(Clone)]
#[must_use]
pub struct Sessions(Settings);

impl Sessions {
    /// The sessions of `agent` that `store` keeps.
    pub fn new(agent: Agent, store: Arc<dyn SessionStore>) -> Self {
        Self(Settings {
            agent,
            store,
            live: Arc::default(),
            name: Arc::from(""),
            clock: Clock::default(),
            busy: Busy::default(),
            lease: LEASE,
            documents: None,
            expiry: Some(EXPIRY),
            cleanup: CLEANUP,
        })
    }

    /// The same sessions for another agent: the conversations go on with its model, instructions and tools.
    pub fn with_agent(&self, agent: Agent) -> Self {
        Self(Settings { agent, ..self.0.clone() })
    }

    /// The agent that answers in them.
    pub fn agent(&self) -> &Agent {
        &self.0.agent
    }

    /// The number of their runs that are under way in this process, also of those for [another agent](Self::with_agent). A
    /// program waits for them before it ends.
    pub fn under_way(&self) -> usize {
        self.0.live.count()
    }

    /// Sets how long a session lives that nobody uses: 60 minutes by default, for ever with `None`.
    pub fn with_expiry(mut self, idle: impl Into<Option<Duration>>) -> Self {
        self.0.expiry = idle.into();
        self
    }

    /// Sets how often [`keep_clean`](Self::keep_clean) looks for sessions that have expired. Every 10 minutes by default.
    pub fn with_cleanup_every(mut self, every: Duration) -> Self {
        self.0.cleanup = every;
        self
    }

    /// Says what becomes of a run whose session another run is under way in. It is refused by default.
    pub fn with_busy(mut self, busy: Busy) -> Self {
        self.0.busy = busy;
        self
    }

    /// Sets how long a lease lasts without renewal: so long is a session taken after a crash. 30 seconds by default. It
    /// is renewed after a third of that. The clocks of processes that share a store should agree to within that third.
    pub fn with_lease(mut self, lease: Duration) -> Self {
        self.0.lease = lease;
        self
    }

    /// The length of a lease.
    pub fn lease(&self) -> Duration {
        self.0.lease
    }

    /// Names the sessions, so that another process that serves the same agent can take over the runs that begin in them:
    /// see [`adopt`](Self::adopt).
    pub fn with_name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.0.name = name.into();
        self
    }

    /// Takes over runs whose process is gone: of sessions of [this name](Self::with_name), not ended, and with a lease that
    /// is over but was not let go. At most `limit` of them, each with its session: [`Session::resume`] goes on with it.
    /// For as long as a lease nobody else takes it over. A run in which five processes in a row came to nothing is left
    /// to whoever resumes it by hand; the first hundred attempts of each process at a session that failed because the store
    /// did count for nothing. Where a session cannot be opened, those behind it are left to others at once, and its own run
    /// once this lease is over.
    ///
    /// Sessions without a name have none, since only the program that began such a run knows its agent.
    ///
    /// # Errors
    /// [`SessionError::Journal`] if the store fails before a session is open.
    pub async fn adopt(&self, limit: usize) -> Result<Vec<(Session, String)>, SessionError> {
        if self.0.name.is_empty() || limit == 0 {
            return Ok(Vec::new());
        }
        let (holder, now) = (attache_core::fresh::uuid(), self.0.clock.now());
        let until = now.saturating_add(length(self.0.lease));
        let (name, most) = (&*self.0.name, ADOPTIONS);
        let adopt = Adopt { name, holder: &holder, now, until, limit, most };
        let mut adopted = Vec::new();
        let mut orphans = self.0.store.adopt(adopt).await?.into_iter();
        while let Some(Orphan { principal, session, run }) = orphans.next() {
            match self.opened(&principal, session.clone(), false).await {
                Ok(opened) => {
                    tracing::info!(%session, run, "a run of a process that is gone is taken over");
                    adopted.push((opened, run));
                }
                // It was cleared meanwhile.
                Err(SessionError::NotFound) => {}
                Err(error) => {
                    self.0.store.spare(&session);
                    // Nobody drives the rest of them here, so that another process may. This one would fail it, too, before
                    // the others: it stays taken until its lease is over.
                    self.let_go_of(orphans.map(|orphan| orphan.session).collect()).await;
                    return if adopted.is_empty() { Err(error) } else { Ok(adopted) };
                }
            }
        }
        Ok(adopted)
    }

    async fn let_go_of(&self, sessions: Vec<SessionId>) {
        let gone = sessions.iter().map(|session| self.0.store.let_go(session, true));
        for (session, gone) in sessions.iter().zip(join_all(gone).await) {
            if let Err(error) = gone {
                tracing::warn!(%session, %error, "a run that was taken over stays taken until its lease is over");
            }
        }
    }

    /// Deletes the documents of sessions that are deleted from `documents`, those that no other session refers to. Give
    /// it the agent's [store](crate::AgentBuilder::store), and before the first run.
    pub fn with_documents(mut self, documents: Arc<dyn DocumentStore>) -> Self {
        self.0.documents = Some(documents);
        self
    }

    /// Sets the clock, for tests.
    pub fn with_clock(mut self, clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.0.clock = Clock::new(clock);
        self
    }

    /// The session of that id, which goes on, or a new one of that id or a random one.
    ///
    /// # Errors
    /// [`SessionError::NotFound`] if the session is another principal's, [`SessionError::InvalidId`],
    /// [`SessionError::Journal`] if the store fails.
    pub async fn open(&self, principal: &str, id: Option<&str>) -> Result<Session, SessionError> {
        let id = id.map_or_else(|| Ok(SessionId::fresh()), SessionId::parse)?;
        self.opened(principal, id, true).await
    }

    /// The session of that id, which must be there.
    ///
    /// # Errors
    /// [`SessionError::NotFound`] if there is none, or it is another principal's; [`SessionError::Journal`] if the store
    /// fails.
    pub async fn get(&self, principal: &str, id: &str) -> Result<Session, SessionError> {
        let id = SessionId::parse(id).map_err(|_| SessionError::NotFound)?;
        self.opened(principal, id, false).await
    }

    async fn opened(&self, principal: &str, id: SessionId, make: bool) -> Result<Session, SessionError> {
        let state = self.0.touch(principal, &id, make).await?;
        Ok(Session { settings: self.0.clone(), id, principal: Arc::from(principal), state })
    }

    /// The sessions of a principal, the latest first: by [`SessionInfo::updated`].
    ///
    /// # Errors
    /// [`SessionError::Journal`] if the store fails.
    pub async fn list(&self, principal: &str) -> Result<Vec<SessionInfo>, SessionError> {
        Ok(self.0.store.list(principal).await?)
    }

    /// The sessions of a principal in which all words of `query` were said, the latest first, at most
    /// `limit`. A query without words finds none.
    ///
    /// A word finds those that begin with it, in the title, the questions, the names of their documents and the answers;
    /// capitals mean nothing, and neither do quotes and other signs. A store may bring its index up to date for the
    /// principal when it is asked, so that no step of a run pays for it.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use attache_agent::{Agent, MemorySessions, Sessions};
    /// # use attache_testkit::{ScriptedModel, Turn};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// # let model = ScriptedModel::new([Turn::text("There is one at nine.")]);
    /// # let agent = Agent::builder(model).build()?;
    /// let sessions = Sessions::new(agent, Arc::new(MemorySessions::new()));
    /// let session = sessions.open("ann@example.org", None).await?;
    /// session.run("Is there a train to Rome?").outcome().await?;
    ///
    /// let found = sessions.search("ann@example.org", "trains rome nine", 10).await?;
    /// assert!(found.is_empty(), "nobody said trains");
    /// let found = sessions.search("ann@example.org", "Rome, nine", 10).await?;
    /// assert_eq!(found[0].id, *session.id());
    /// assert!(sessions.search("bob@example.org", "rome", 10).await?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`SessionError::Journal`] if the store fails.
    pub async fn search(
        &self,
        principal: &str,
        query: &str,
        limit: usize,
    ) -> Result<Vec<SessionInfo>, SessionError> {
        let query = WordQuery::new(query);
        if query.words().is_empty() || limit == 0 {
            return Ok(Vec::new());
        }
        Ok(self.0.store.search(principal, &query, limit).await?)
    }

    /// The number of sessions of a principal.
    ///
    /// # Errors
    /// [`SessionError::Journal`] if the store fails.
    pub async fn count(&self, principal: &str) -> Result<usize, SessionError> {
        Ok(self.0.store.count(principal).await?)
    }

    /// Deletes a session for good: its messages, runs, calls that wait, and documents. A run under way in it is cancelled,
    /// at once in this process and when it next writes in another.
    ///
    /// # Errors
    /// [`SessionError::NotFound`] if there is none, or it is another principal's; [`SessionError::Journal`] if a store
    /// fails: documents that are left then go with a later [`cleanup`](Self::cleanup).
    pub async fn clear(&self, principal: &str, id: &str) -> Result<(), SessionError> {
        let id = SessionId::parse(id).map_err(|_| SessionError::NotFound)?;
        let cleared = self.0.store.clear(principal, Some(&id)).await?;
        if cleared.sessions.is_empty() {
            return Err(SessionError::NotFound);
        }
        self.cleared(cleared).await.map(drop)
    }

    /// Deletes all sessions of a principal as [`clear`](Self::clear) does, and says how many there were.
    ///
    /// # Errors
    /// [`SessionError::Journal`] if a store fails.
    pub async fn clear_all(&self, principal: &str) -> Result<usize, SessionError> {
        let cleared = self.0.store.clear(principal, None).await?;
        self.cleared(cleared).await
    }

    async fn cleared(&self, cleared: Cleared) -> Result<usize, SessionError> {
        for session in &cleared.sessions {
            self.0.live.cancel(session, "the session was cleared");
        }
        tracing::info!(sessions = cleared.sessions.len(), "sessions were cleared");
        self.0.delete_documents(&cleared.documents).await?;
        Ok(cleared.sessions.len())
    }

    /// Deletes the sessions of all principals that have expired, and says how many. One in which a run is under way, or
    /// a call waits for an approval or a result that is still taken, is left. Expired sessions are deleted a hundred at a
    /// time. Documents of sessions that are gone are deleted, too, where that failed before or was cut off.
    ///
    /// # Errors
    /// [`SessionError::Journal`] if a store fails. Sessions that were deleted by then stay deleted.
    pub async fn cleanup(&self) -> Result<usize, SessionError> {
        let (mut count, mut failure) = (0, None);
        loop {
            let now = self.0.clock.now();
            let Some(before) = self.0.expired_before(now) else { break };
            let cleared = self.0.store.clean(Idle { before, now, limit: BATCH }).await?;
            count += cleared.sessions.len();
            if let Err(error) = self.0.delete_documents(&cleared.documents).await {
                failure.get_or_insert(error);
            }
            if cleared.sessions.len() < BATCH {
                tracing::info!(sessions = count, "expired sessions were deleted");
                break;
            }
        }
        let left = self.0.delete_left_documents().await;
        failure.map_or(left, Err)?;
        Ok(count)
    }

    /// Deletes sessions that have expired, at once and then every 10 minutes, for as long as it is polled. It never ends:
    /// spawn it, and drop it to stop. A failure is logged, and the next round tries again.
    pub async fn keep_clean(&self) {
        loop {
            if let Err(error) = self.cleanup().await {
                tracing::warn!(%error, "expired sessions could not be deleted");
            }
            tokio::time::sleep(self.0.cleanup).await;
        }
    }
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions")
            .field("agent", &self.0.agent)
            .field("expiry", &self.0.expiry)
            .field("busy", &self.0.busy)
            .finish_non_exhaustive()
    }
}

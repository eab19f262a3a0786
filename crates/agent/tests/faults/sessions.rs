//! The log of a run by itself, or in a session whose store fails, delays and cuts as the journal does.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use attache_agent::{
    Agent, AgentRun, Append, Appended, Cleared, Delivery, Entry, EventKind, Fork, Idle, JournalError, Key,
    MemoryJournal, MemorySessions, NoArguments, OpenSession, Opened, RunInfo, RunInput, SessionError,
    SessionId, SessionInfo, SessionStore, Sessions, StoredRun, Take, Taken, tool_fn,
};
use attache_core::tool::Deferred;
use attache_core::words::WordQuery;
use attache_core::{BoxFuture, StoreError, ToolError};
use attache_testkit::{ScriptedModel, Turn};

use crate::journal::{Fault, Faulty};
use crate::world::World;

/// The faults of a session's store. None does a thing twice: an append has a number.
pub(crate) const FAULTS: [Fault; 7] = [
    Fault::FailsBefore,
    Fault::FailsAfter,
    Fault::DiesBefore,
    Fault::DiesAfter,
    Fault::Delayed,
    Fault::SecondDriver,
    Fault::Cancelled,
];

/// The place of a run's log.
pub(crate) enum Log {
    Journal(Arc<MemoryJournal>),
    Session {
        store: Arc<MemorySessions>,
        /// The processes so far: the lease of each is over for the next one.
        processes: AtomicU64,
    },
}

impl Log {
    pub(crate) fn session() -> Self {
        Self::Session { store: Arc::default(), processes: AtomicU64::new(0) }
    }

    pub(crate) fn faults(&self) -> &'static [Fault] {
        match self {
            Self::Journal(_) => &crate::journal::FAULTS,
            Self::Session { .. } => &FAULTS,
        }
    }

    pub(crate) async fn entries(&self, world: &Arc<World>) -> Vec<Entry> {
        match self {
            Self::Journal(log) => log.entries(),
            Self::Session { store, .. } => {
                let sessions = Sessions::new(world.agent(), Arc::clone(store) as _);
                match sessions.get("ann", "s").await {
                    Ok(session) => session.journal_of("r").load().await.unwrap(),
                    Err(_) => Vec::new(),
                }
            }
        }
    }

    /// The run, begun or resumed by a process whose operations meet the faults of `faulty`.
    pub(crate) async fn drive(&self, world: &Arc<World>, faulty: &Arc<Faulty>) -> AgentRun {
        let input = || RunInput::from("go").with_run_id("r");
        match self {
            Self::Journal(log) if log.entries().is_empty() => {
                world.asked(world.agent().run_in(faulty.clone(), input()))
            }
            Self::Journal(_) => world.agent().resume(faulty.clone()),
            Self::Session { store, processes } => {
                let ahead = Duration::from_secs(60 * processes.fetch_add(1, Ordering::SeqCst));
                let store = Arc::new(FaultySessions { store: Arc::clone(store), faulty: Arc::clone(faulty) });
                let sessions = Sessions::new(world.agent(), store).with_expiry(None);
                let sessions = sessions.with_clock(move || attache_core::fresh::now() + ahead);
                let session = sessions.open("ann", Some("s")).await.unwrap();
                match session.runs().await.unwrap().is_empty() {
                    true => world.asked(session.run(input())),
                    false => session.resume(),
                }
            }
        }
    }
}

/// One process's way to the sessions that all share.
struct FaultySessions {
    store: Arc<MemorySessions>,
    faulty: Arc<Faulty>,
}

impl SessionStore for FaultySessions {
    fn take<'a>(&'a self, take: Take<'a>) -> BoxFuture<'a, Result<Taken, SessionError>> {
        Box::pin(self.faulty.meet(move || self.store.take(take)))
    }

    fn renew<'a>(
        &'a self,
        session: &'a SessionId,
        fence: u64,
        until: u64,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(self.faulty.meet(move || self.store.renew(session, fence, until)))
    }

    fn release<'a>(
        &'a self,
        session: &'a SessionId,
        fence: u64,
        kept_until: Option<u64>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.faulty.meet(move || self.store.release(session, fence, kept_until)))
    }

    fn abandon(&self, session: &SessionId, holder: &str) {
        if !self.faulty.signals.is_dead.load(Ordering::SeqCst) {
            self.store.abandon(session, holder);
        }
    }

    fn load<'a>(
        &'a self,
        principal: &'a str,
        session: &'a SessionId,
        run: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<StoredRun>, JournalError>> {
        Box::pin(self.faulty.meet(move || self.store.load(principal, session, run)))
    }

    fn append<'a>(&'a self, append: &'a Append) -> BoxFuture<'a, Result<Appended, JournalError>> {
        Box::pin(self.faulty.meet(move || self.store.append(append)))
    }

    fn deliver<'a>(&'a self, delivery: Delivery<'a>) -> BoxFuture<'a, Result<Entry, JournalError>> {
        let Delivery { principal, session, run, entry, documents, alone_at, behind_end } = delivery;
        Box::pin(self.faulty.meet(move || {
            let (entry, documents) = (entry.clone(), documents.clone());
            self.store.deliver(Delivery { principal, session, run, entry, documents, alone_at, behind_end })
        }))
    }

    fn wait<'a>(
        &'a self,
        principal: &'a str,
        session: &'a SessionId,
        run: &'a str,
        key: &'a Key,
        until: Option<SystemTime>,
    ) -> BoxFuture<'a, Result<Option<Entry>, JournalError>> {
        Box::pin(self.faulty.meet(move || self.store.wait(principal, session, run, key, until)))
    }

    fn open<'a>(&'a self, open: OpenSession<'a>) -> BoxFuture<'a, Result<Opened, SessionError>> {
        self.store.open(open)
    }

    fn list<'a>(&'a self, principal: &'a str) -> BoxFuture<'a, Result<Vec<SessionInfo>, StoreError>> {
        self.store.list(principal)
    }

    fn rename<'a>(
        &'a self,
        principal: &'a str,
        session: &'a SessionId,
        title: &'a str,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.store.rename(principal, session, title)
    }

    fn fork<'a>(&'a self, fork: Fork<'a>) -> BoxFuture<'a, Result<Cleared, SessionError>> {
        self.store.fork(fork)
    }

    fn search<'a>(
        &'a self,
        principal: &'a str,
        query: &'a WordQuery,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<SessionInfo>, StoreError>> {
        self.store.search(principal, query, limit)
    }

    fn count<'a>(&'a self, principal: &'a str) -> BoxFuture<'a, Result<usize, StoreError>> {
        self.store.count(principal)
    }

    fn runs<'a>(
        &'a self,
        principal: &'a str,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Vec<RunInfo>, StoreError>> {
        self.store.runs(principal, session)
    }

    fn clear<'a>(
        &'a self,
        principal: &'a str,
        session: Option<&'a SessionId>,
    ) -> BoxFuture<'a, Result<Cleared, StoreError>> {
        self.store.clear(principal, session)
    }

    fn clean(&self, idle: Idle) -> BoxFuture<'_, Result<Cleared, StoreError>> {
        self.store.clean(idle)
    }
}

/// The word that a result comes later is written again where the store failed, and keeps the session then as well.
#[tokio::test(start_paused = true)]
async fn a_session_is_kept_for_a_result_that_comes_later_whatever_failed() {
    let mut waited = 0;
    for operations in 0..16 {
        let render = tool_fn("render", "", |_: NoArguments| async {
            Ok::<_, ToolError>(Deferred::to("job").with_lifetime(Duration::from_secs(7200)))
        });
        let model = ScriptedModel::new([Turn::call("render", "{}")]).unverified();
        let builder = Agent::builder(model).tool(render).patience(Duration::from_secs(60));
        let (store, faulty) = (Arc::new(MemorySessions::new()), Faulty::failing_after(operations));
        let shared = Arc::new(FaultySessions { store: Arc::clone(&store), faulty });
        let session = Sessions::new(builder.build().unwrap(), shared).open("ann", Some("s")).await.unwrap();
        let mut run = session.run("go");
        while let Some(event) = run.next().await {
            if let EventKind::CallDeferred(request) = event.kind {
                waited += 1;
                let kept_until = store.list("ann").await.unwrap()[0].kept_until;
                assert_eq!(Some(kept_until), request.deferred.expires_at, "behind {operations} operations");
                break;
            }
        }
    }
    assert!(waited > 4, "{waited} of 16 waited");
}

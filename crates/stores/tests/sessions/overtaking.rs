//! Appends of one run that overtake each other, as they may on several connections, and stores that are slow or fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use attache_agent::{
    Agent, Append, Appended, Cleared, Decision, Delivery, EndReason, Entry, EventKind, Fork, Idle,
    JournalError, Key, NoArguments, OpenSession, Opened, RunInfo, Session, SessionError, SessionId,
    SessionInfo, SessionStore, Sessions, StopRequest, StoredRun, Take, Taken, decide, tool_fn,
};
use attache_core::words::WordQuery;
use attache_core::{BoxFuture, Message, StoreError, StoreErrorKind, ToolError};
use attache_testkit::{FunctionModel, Turn};
use tokio::sync::Notify;

use crate::kit::{agent, payer, rest, sessions};
use crate::place::Place;

/// A store where the first append of a result may come behind another one, that answers late, or fails.
struct Overtaken {
    store: Arc<dyn SessionStore>,
    holds: AtomicBool,
    held: AtomicBool,
    other: Notify,
    /// The time in which it says nothing of a lease that was taken.
    lingers: Duration,
    /// The number of times that it cannot tell the runs to end.
    failures: AtomicUsize,
}

impl Overtaken {
    fn over(store: Arc<dyn SessionStore>) -> Self {
        Self {
            store,
            holds: AtomicBool::new(false),
            held: AtomicBool::new(false),
            other: Notify::new(),
            lingers: Duration::ZERO,
            failures: AtomicUsize::new(0),
        }
    }
}

impl SessionStore for Overtaken {
    fn append<'a>(&'a self, append: &'a Append) -> BoxFuture<'a, Result<Appended, JournalError>> {
        let is_result = append.entries.iter().any(|entry| entry.key.as_str().starts_with("tool/"));
        Box::pin(async move {
            if is_result && self.holds.swap(false, Ordering::SeqCst) {
                tokio::time::timeout(Duration::from_secs(20), self.other.notified())
                    .await
                    .expect("another append comes beside it");
                self.held.store(true, Ordering::SeqCst);
                return self.store.append(append).await;
            }
            let stand = self.store.append(append).await;
            if is_result {
                self.other.notify_one();
            }
            stand
        })
    }

    fn open<'a>(&'a self, open: OpenSession<'a>) -> BoxFuture<'a, Result<Opened, SessionError>> {
        self.store.open(open)
    }

    fn list<'a>(&'a self, principal: &'a str) -> BoxFuture<'a, Result<Vec<SessionInfo>, StoreError>> {
        self.store.list(principal)
    }

    fn count<'a>(&'a self, principal: &'a str) -> BoxFuture<'a, Result<usize, StoreError>> {
        self.store.count(principal)
    }

    fn take<'a>(&'a self, take: Take<'a>) -> BoxFuture<'a, Result<Taken, SessionError>> {
        Box::pin(async move {
            let taken = self.store.take(take).await;
            tokio::time::sleep(self.lingers).await;
            taken
        })
    }

    fn stop<'a>(&'a self, stop: &'a StopRequest) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.store.stop(stop)
    }

    fn stops(&self) -> BoxFuture<'_, Result<Vec<StopRequest>, StoreError>> {
        let left = self.failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        match left {
            Ok(_) => {
                let away = StoreError::new(StoreErrorKind::Unavailable, "the stops cannot be read");
                Box::pin(std::future::ready(Err(away)))
            }
            Err(_) => self.store.stops(),
        }
    }

    fn renew<'a>(
        &'a self,
        session: &'a SessionId,
        fence: u64,
        until: u64,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.store.renew(session, fence, until)
    }

    fn release<'a>(
        &'a self,
        session: &'a SessionId,
        fence: u64,
        kept_until: Option<u64>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.store.release(session, fence, kept_until)
    }

    fn abandon(&self, session: &SessionId, holder: &str) {
        self.store.abandon(session, holder);
    }

    fn load<'a>(
        &'a self,
        principal: &'a str,
        session: &'a SessionId,
        run: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<StoredRun>, JournalError>> {
        self.store.load(principal, session, run)
    }

    fn runs<'a>(
        &'a self,
        principal: &'a str,
        session: &'a SessionId,
    ) -> BoxFuture<'a, Result<Vec<RunInfo>, StoreError>> {
        self.store.runs(principal, session)
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

    fn deliver<'a>(&'a self, delivery: Delivery<'a>) -> BoxFuture<'a, Result<Entry, JournalError>> {
        self.store.deliver(delivery)
    }

    fn wait<'a>(
        &'a self,
        principal: &'a str,
        session: &'a SessionId,
        run: &'a str,
        key: &'a Key,
        until: Option<SystemTime>,
    ) -> BoxFuture<'a, Result<Option<Entry>, JournalError>> {
        self.store.wait(principal, session, run, key, until)
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

pub(crate) async fn a_result_that_another_one_overtakes_is_kept(place: Place) {
    let overtaken =
        Arc::new(Overtaken { holds: AtomicBool::new(true), ..Overtaken::over(place.store().await) });
    let look =
        |name: &str| tool_fn(name, "Looks.", |_: NoArguments| async { Ok::<_, ToolError>("seen by a tool") });
    let model = FunctionModel::new(|request, _| match request.messages.last().map(|last| &**last) {
        Some(Message::ToolResults(_)) => Turn::text("done"),
        _ => Turn::call("left", "{}").and_call("right", "{}"),
    });
    let agent = Agent::builder(model.unverified()).tool(look("left")).tool(look("right")).build().unwrap();
    let store = Arc::clone(&overtaken);
    let session = Sessions::new(agent, store).open("ann", Some("s")).await.unwrap();
    let outcome = session.run("go").outcome().await.unwrap();
    assert!(overtaken.held.load(Ordering::SeqCst), "one came behind the other");
    assert_eq!(outcome.reason, EndReason::Answer);
    assert_eq!(format!("{:?}", outcome.messages).matches("seen by a tool").count(), 2);
    assert_eq!(session.history().await.unwrap(), outcome.messages);
}

/// A session whose run waits to be resumed: its call was approved.
async fn approved(sessions: Sessions) -> (Session, String) {
    let session = sessions.open("ann", Some("s")).await.unwrap();
    let pending = session.run("pay").outcome().await.unwrap();
    let journal = session.journal().await.unwrap().unwrap();
    decide(&*journal, &pending.approvals[0].id, "ann", Decision::Approve).await.unwrap();
    (session, pending.run_id.to_string())
}

/// A cancellation that comes while the store gives the lease ends a run that goes on, and leaves no lease of one that
/// would begin.
pub(crate) async fn a_run_that_is_cancelled_while_its_lease_is_taken_leaves_nothing_behind(place: Place) {
    let slow = || async {
        Arc::new(Overtaken { lingers: Duration::from_millis(300), ..Overtaken::over(place.store().await) })
    };
    let (session, _) = approved(Sessions::new(payer().0, slow().await)).await;
    for run in [session.resume(), session.run("again")] {
        let control = run.control();
        let cancel = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            control.cancel();
        };
        let (outcome, ()) = futures_util::future::join(run.outcome(), cancel).await;
        assert_eq!(outcome.unwrap().reason, EndReason::Cancelled);
        let elsewhere = sessions(&place, agent()).await.open("ann", Some("s")).await.unwrap();
        assert_eq!(elsewhere.info().await.unwrap().open_run, None);
        let next = elsewhere.run("next").outcome().await.unwrap();
        assert!(!format!("{:?}", next.messages).contains("paid"), "{:?}", next.messages);
    }
}

/// Nobody knows by then whether it may go on.
pub(crate) async fn a_run_that_somebody_ended_does_not_go_on_where_the_stops_cannot_be_read(place: Place) {
    let failing = Arc::new(Overtaken::over(place.store().await));
    let (payer, paid) = payer();
    let (session, run) = approved(Sessions::new(payer, Arc::clone(&failing) as _)).await;
    assert!(session.stop(&run, "ended elsewhere").await.unwrap());
    failing.failures.store(1000, Ordering::SeqCst);
    let failed = session.resume().outcome().await.unwrap_err();
    let error = failed.session_error();
    assert!(matches!(error, Some(SessionError::Journal(JournalError::Store(_)))), "{failed:?}");
    assert_eq!(session.info().await.unwrap().open_run.as_deref(), Some(&*run));
    // The next attempt needs not wait for the end of the lease, and one failure is none.
    failing.failures.store(1, Ordering::SeqCst);
    let ended = rest(session.resume()).await.unwrap();
    assert_eq!(ended.reason, EndReason::Cancelled);
    assert_eq!(paid.load(Ordering::SeqCst), 0);
    assert_eq!(session.info().await.unwrap().open_run, None);
}

/// A run that others keep from its session cannot record its end, and says so.
#[tokio::test(start_paused = true)]
async fn a_run_that_is_cancelled_while_it_waits_for_its_session_says_that_its_end_is_not_recorded() {
    let slow =
        Overtaken { lingers: Duration::from_secs(60), ..Overtaken::over(Place::memory().store().await) };
    let session = Sessions::new(payer().0, Arc::new(slow)).open("ann", Some("s")).await.unwrap();
    session.run("pay").outcome().await.unwrap();
    let mut run = session.resume();
    run.control().cancel();
    let first = run.next().await.unwrap().kind;
    assert!(matches!(first, EventKind::Warning { code: "end_not_recorded", .. }), "{first:?}");
    assert_eq!(rest(run).await.unwrap().reason, EndReason::Cancelled);
}

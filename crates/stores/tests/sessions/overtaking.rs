//! Appends of one run that overtake each other, as they may on several connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use attache_agent::{
    Agent, Append, Appended, Cleared, Delivery, EndReason, Entry, Fork, Idle, JournalError, Key, NoArguments,
    OpenSession, Opened, RunInfo, SessionError, SessionId, SessionInfo, SessionStore, Sessions, StoredRun,
    Take, Taken, tool_fn,
};
use attache_core::words::WordQuery;
use attache_core::{BoxFuture, Message, StoreError, ToolError};
use attache_testkit::{FunctionModel, Turn};
use tokio::sync::Notify;

use crate::place::Place;

/// A store where the first append of a result comes behind another one.
struct Overtaken {
    store: Arc<dyn SessionStore>,
    holds: AtomicBool,
    held: AtomicBool,
    other: Notify,
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
        self.store.take(take)
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
    let overtaken = Arc::new(Overtaken {
        store: place.store().await,
        holds: AtomicBool::new(true),
        held: AtomicBool::new(false),
        other: Notify::new(),
    });
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

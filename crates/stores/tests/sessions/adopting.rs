//! Runs whose process is gone are taken over by another one.

use std::time::Duration;

use attache_agent::{Adopt, OpenSession, SessionId, Take};
use sqlx::Connection as _;

use crate::kit::{Clock, Gate, timed, until_called};
use crate::place::Place;

/// Leaves runs in sessions of that name, one a second.
async fn left(place: &Place, clock: &Clock, names: &[&str]) {
    let gate = Gate::default();
    let sessions = timed(place, gate.agent(), clock).await.with_name("agent");
    for name in names {
        let mut run = sessions.open("ann", Some(name)).await.unwrap().run("go");
        until_called(&mut run).await;
        clock.advance(Duration::from_secs(1));
    }
    clock.advance(Duration::from_secs(31));
}

#[tokio::test]
async fn runs_that_could_not_be_opened_are_left_to_others() {
    let (place, clock) = (Place::sqlite(), Clock::new());
    let Place::Sqlite(folder) = &place else { unreachable!() };
    left(&place, &clock, &["a", "b", "c"]).await;
    let path = format!("sqlite://{}", folder.path().join("s.db").display());
    let mut other = sqlx::SqliteConnection::connect(&path).await.unwrap();
    let fails = "CREATE TRIGGER fails BEFORE UPDATE OF accessed ON attache_session WHEN NEW.id = 'b' \
                 BEGIN SELECT RAISE(ABORT, 'it fails'); END";
    sqlx::query(fails).execute(&mut other).await.unwrap();
    let sessions = timed(&place, Gate::default().agent(), &clock).await.with_name("agent");
    let opened = sessions.adopt(8).await.unwrap();
    assert_eq!(opened.iter().map(|(session, _)| session.id().as_str()).collect::<Vec<_>>(), ["a"]);
    // More often than a run is gone on with in vain.
    for _ in 0..6 {
        sqlx::query("UPDATE attache_session SET leased_until = 2 WHERE id = 'c'")
            .execute(&mut other)
            .await
            .unwrap();
        sessions.adopt(8).await.unwrap_err();
    }
    sqlx::query("DROP TRIGGER fails").execute(&mut other).await.unwrap();
    let other = timed(&place, Gate::default().agent(), &clock).await.with_name("agent");
    let opened = other.adopt(8).await.unwrap();
    let mut ids: Vec<_> = opened.iter().map(|(session, _)| session.id().as_str()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["b", "c"], "at once");
}

async fn a_run_that_comes_to_nothing_is_given_up(place: Place) {
    let clock = Clock::new();
    left(&place, &clock, &["s"]).await;
    let store = place.store().await;
    let id = SessionId::parse("s").unwrap();
    let now = u64::try_from(clock.now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis()).unwrap();
    let adopt = |holder| Adopt { name: "agent", holder, now, until: now + 1000, limit: 8, most: 5 };
    for _ in 0..5 {
        assert_eq!(store.adopt(adopt("finder")).await.unwrap().len(), 1);
        let take =
            Take { session: &id, principal: "ann", run: None, holder: "taker", now, until: now + 1000 };
        store.take(take).await.unwrap();
        store.abandon(&id, "taker");
        store.let_go(&id, true).await.unwrap();
    }
    assert!(store.adopt(adopt("finder")).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_run_in_sqlite_that_comes_to_nothing_is_given_up() {
    a_run_that_comes_to_nothing_is_given_up(Place::sqlite()).await;
}

#[tokio::test]
async fn a_run_in_postgres_that_comes_to_nothing_is_given_up() {
    a_run_that_comes_to_nothing_is_given_up(Place::postgres()).await;
}

/// A renewal was under way when the lease was let go.
async fn a_late_renewal_keeps_nobody_out(place: Place) {
    let (store, id) = (place.store().await, SessionId::parse("s").unwrap());
    left(&place, &Clock::new(), &["s"]).await;
    let open = OpenSession { id: &id, principal: "ann", make: false, now: 1, expired_before: None };
    store.open(open).await.unwrap();
    let later = u64::MAX / 4;
    let take =
        Take { session: &id, principal: "ann", run: None, holder: "one", now: later, until: later + 100 };
    let fence = store.take(take).await.unwrap().fence;
    store.abandon(&id, "one");
    store.let_go(&id, true).await.unwrap();
    store.renew(&id, fence, later + 200).await.unwrap();
    let adopt = Adopt { name: "agent", holder: "two", now: later + 1, until: later + 300, limit: 8, most: 5 };
    assert_eq!(store.adopt(adopt).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_late_renewal_in_sqlite_keeps_nobody_out() {
    a_late_renewal_keeps_nobody_out(Place::sqlite()).await;
}

#[tokio::test]
async fn a_late_renewal_in_postgres_keeps_nobody_out() {
    a_late_renewal_keeps_nobody_out(Place::postgres()).await;
}

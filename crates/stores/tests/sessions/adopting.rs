//! Runs whose process is gone are taken over by another one.

use std::time::Duration;

use attache_agent::{Adopt, OpenSession, SessionId, Take};
use sqlx::Connection as _;

use crate::kit::{Clock, Gate, rest, timed, until_called};
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
    sqlx::query("DROP TRIGGER fails").execute(&mut other).await.unwrap();
    let other = timed(&place, Gate::default().agent(), &clock).await.with_name("agent");
    let opened = other.adopt(8).await.unwrap();
    assert_eq!(opened.iter().map(|(session, _)| session.id().as_str()).collect::<Vec<_>>(), ["c"], "at once");
    clock.advance(Duration::from_secs(31));
    let opened = other.adopt(8).await.unwrap();
    assert!(opened.iter().any(|(session, _)| session.id().as_str() == "b"), "once its lease is over");
}

/// Those with which nobody can go on do not keep the others waiting, and are given up in the end.
async fn runs_with_which_nobody_can_go_on_keep_nobody_waiting(place: Place) {
    let clock = Clock::new();
    left(&place, &clock, &["a", "b", "c"]).await;
    let store = place.store().await;
    let now = u64::try_from(clock.now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis()).unwrap();
    let adopted = async |round: u64, limit| {
        let now = now + round * 1001;
        let adopt = Adopt { name: "agent", holder: "one", now, until: now + 1000, limit, most: 5 };
        let orphans = store.adopt(adopt).await.unwrap();
        orphans.iter().map(|orphan| orphan.session.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(adopted(0, 2).await, ["a", "b"]);
    // Those whose lease was over first, then those that came to nothing less often.
    assert_eq!(adopted(1, 8).await.first().unwrap(), "c");
    assert_eq!(adopted(2, 1).await, ["c"]);
    let mut attempts = 2;
    for round in 3..20 {
        let found = adopted(round, 8).await;
        attempts += found.iter().filter(|session| *session == "c").count();
    }
    assert_eq!(attempts, 5);
    assert!(adopted(20, 8).await.is_empty());
}

#[tokio::test]
async fn runs_in_sqlite_with_which_nobody_can_go_on_keep_nobody_waiting() {
    runs_with_which_nobody_can_go_on_keep_nobody_waiting(Place::sqlite()).await;
}

#[tokio::test]
async fn runs_in_postgres_with_which_nobody_can_go_on_keep_nobody_waiting() {
    runs_with_which_nobody_can_go_on_keep_nobody_waiting(Place::postgres()).await;
}

// More often than a run is gone on with in vain.
#[tokio::test]
async fn a_run_for_which_there_is_no_room_is_not_given_up() {
    let (place, clock) = (Place::sqlite(), Clock::new());
    left(&place, &clock, &["s"]).await;
    let (store, id) = (place.store().await, SessionId::parse("s").unwrap());
    let now = u64::try_from(clock.now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis()).unwrap();
    for _ in 0..9 {
        let adopt = Adopt { name: "agent", holder: "full", now, until: now + 1000, limit: 8, most: 5 };
        assert_eq!(store.adopt(adopt).await.unwrap().len(), 1);
        store.let_go(&id, true).await.unwrap();
    }
}

/// More often than a run is gone on with in vain: the database is away again once the run was taken over, when its lease is
/// taken, or once it was taken.
async fn a_run_whose_database_is_away_again_and_again_is_not_given_up(place: Place, sql: impl AsyncFn(&str)) {
    let clock = Clock::new();
    left(&place, &clock, &["s"]).await;
    let sessions = timed(&place, Gate::default().agent(), &clock).await.with_name("agent");
    for (goes, comes) in [
        ("ALTER TABLE attache_message RENAME TO away", "ALTER TABLE away RENAME TO attache_message"),
        (
            "ALTER TABLE attache_session RENAME COLUMN fence TO away",
            "ALTER TABLE attache_session RENAME COLUMN away TO fence",
        ),
    ] {
        for _ in 0..9 {
            let (session, _) = sessions.adopt(8).await.unwrap().pop().expect("it is taken over again");
            sql(goes).await;
            let failed = rest(session.resume()).await.unwrap_err();
            assert!(failed.session_error().is_some(), "{failed:?}");
            sql(comes).await;
            clock.advance(Duration::from_secs(31));
        }
    }
    for _ in 0..9 {
        sql("ALTER TABLE attache_session RENAME COLUMN kept_until TO away").await;
        sessions.adopt(8).await.unwrap_err();
        sql("ALTER TABLE attache_session RENAME COLUMN away TO kept_until").await;
        clock.advance(Duration::from_secs(31));
    }
    assert_eq!(sessions.adopt(8).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_run_whose_sqlite_is_away_again_and_again_is_not_given_up() {
    let place = Place::sqlite();
    let Place::Sqlite(folder) = &place else { unreachable!() };
    let path = format!("sqlite://{}", folder.path().join("s.db").display());
    let sql = async move |text: &str| {
        let mut other = sqlx::SqliteConnection::connect(&path).await.unwrap();
        sqlx::raw_sql(sqlx::AssertSqlSafe(text.to_owned())).execute(&mut other).await.unwrap();
    };
    a_run_whose_database_is_away_again_and_again_is_not_given_up(place, sql).await;
}

#[tokio::test]
async fn a_run_whose_postgres_is_away_again_and_again_is_not_given_up() {
    let place = Place::postgres();
    let Place::Postgres(database) = &place else { unreachable!() };
    let url = database.url.clone();
    let sql = async move |text: &str| {
        let mut other = sqlx::PgConnection::connect(&url).await.unwrap();
        sqlx::raw_sql(sqlx::AssertSqlSafe(text.to_owned())).execute(&mut other).await.unwrap();
    };
    a_run_whose_database_is_away_again_and_again_is_not_given_up(place, sql).await;
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

/// A machine sleeps for longer than a lease, and looks for runs without a process before it renews its own.
async fn a_run_that_is_taken_over_under_its_driver_comes_to_its_end(place: Place) {
    let (clock, gate) = (Clock::new(), Gate::default());
    let sessions = timed(&place, gate.agent(), &clock).await.with_name("agent");
    let mut run = sessions.open("ann", Some("s")).await.unwrap().run("go");
    until_called(&mut run).await;
    clock.advance(Duration::from_secs(31));
    assert_eq!(sessions.adopt(8).await.unwrap().len(), 1);
    gate.open.notify_one();
    assert_eq!(rest(run).await.unwrap().text, "done");
}

#[tokio::test]
async fn a_run_in_sqlite_that_is_taken_over_under_its_driver_comes_to_its_end() {
    a_run_that_is_taken_over_under_its_driver_comes_to_its_end(Place::sqlite()).await;
}

#[tokio::test]
async fn a_run_in_postgres_that_is_taken_over_under_its_driver_comes_to_its_end() {
    a_run_that_is_taken_over_under_its_driver_comes_to_its_end(Place::postgres()).await;
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

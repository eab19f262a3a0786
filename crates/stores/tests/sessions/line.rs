//! A line to the server that a test cuts without an end: whoever is connected by then hears nothing more.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use attache_agent::{Key, OpenSession, SessionId, SessionStore};
use attache_core::{StoreErrorKind, ToolCallId};
use attache_stores::PostgresStore;
use futures_util::future::{Either, join_all, select};
use sqlx::Connection as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::place::Place;

/// The connections of a process.
const CONNECTIONS: usize = 16;

struct Line {
    url: String,
    /// The ports at which the server sees connections, of all and of those that are cut.
    ports: Arc<Mutex<Vec<u16>>>,
    cut: watch::Sender<Vec<u16>>,
}

impl Line {
    /// A line to the server of the address.
    async fn to(url: &str) -> Self {
        let (before, rest) = url.split_once("127.0.0.1:").unwrap();
        let (port, name) = rest.split_once('/').unwrap();
        let server = format!("127.0.0.1:{port}");
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (cut, is_cut) = watch::channel(Vec::new());
        let ports = Arc::<Mutex<Vec<u16>>>::default();
        let opened = Arc::clone(&ports);
        tokio::spawn(async move {
            loop {
                let (mut here, _) = listener.accept().await.unwrap();
                let mut there = TcpStream::connect(&server).await.unwrap();
                let (mut cut, port) = (is_cut.clone(), there.local_addr().unwrap().port());
                opened.lock().unwrap().push(port);
                tokio::spawn(async move {
                    let copying = Box::pin(tokio::io::copy_bidirectional(&mut here, &mut there));
                    let is_cut = Box::pin(async { cut.wait_for(|cut| cut.contains(&port)).await.is_ok() });
                    let is_cut = matches!(select(copying, is_cut).await, Either::Right((true, _)));
                    if is_cut {
                        // Both ends stay open.
                        std::future::pending::<()>().await;
                    }
                });
            }
        });
        Self { url: format!("{before}127.0.0.1:{port}/{name}"), ports, cut }
    }

    /// Cuts all connections that there are.
    fn cut_all(&self) {
        self.cut.send_replace(self.ports.lock().unwrap().clone());
    }
}

/// Lets that time go by for this process, not for the server.
async fn skip(seconds: u64) {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(seconds)).await;
    tokio::time::resume();
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

/// Looks until a count of the server has that value.
async fn until(look: &mut sqlx::PgConnection, count: &'static str, value: i64) {
    let looking =
        async { while sqlx::query_scalar::<_, i64>(count).fetch_one(&mut *look).await.unwrap() != value {} };
    tokio::time::timeout(Duration::from_secs(30), looking).await.expect(count);
}

#[tokio::test]
async fn connections_that_went_silent_are_replaced() {
    let Place::Postgres(database) = Place::postgres() else { unreachable!() };
    let line = Line::to(&database.url).await;
    let store = PostgresStore::connect(&line.url).await.unwrap();
    let mut look = sqlx::PgConnection::connect(&database.url).await.unwrap();
    // Calls that wait for a lock take them all.
    let mut other = sqlx::PgConnection::connect(&database.url).await.unwrap();
    let mut holding = other.begin().await.unwrap();
    sqlx::query("LOCK TABLE attache_session").execute(&mut *holding).await.unwrap();
    let calls = (0..CONNECTIONS).map(|_| {
        let store = store.clone();
        tokio::spawn(async move { SessionStore::count(&store, "ann").await })
    });
    let calls: Vec<_> = calls.collect();
    let waits = "SELECT count(*) FROM pg_stat_activity \
                 WHERE wait_event_type = 'Lock' AND datname = current_database()";
    until(&mut look, waits, 16).await;
    line.cut_all();
    holding.rollback().await.unwrap();
    skip(31).await;
    for call in join_all(calls).await {
        call.unwrap().unwrap_err();
    }
    skip(6).await;
    let count = tokio::time::timeout(Duration::from_secs(15), SessionStore::count(&store, "ann")).await;
    assert_eq!(count.expect("there is room for another connection").unwrap(), 0);
}

// The limit of a migration is an hour, and nothing is migrated here.
#[tokio::test]
async fn a_database_that_goes_silent_while_it_is_opened_is_given_up() {
    let Place::Postgres(database) = Place::postgres() else { unreachable!() };
    PostgresStore::connect(&database.url).await.unwrap().close().await;
    let line = Line::to(&database.url).await;
    let mut look = sqlx::PgConnection::connect(&database.url).await.unwrap();
    let mut other = sqlx::PgConnection::connect(&database.url).await.unwrap();
    let mut holding = other.begin().await.unwrap();
    sqlx::query("LOCK TABLE attache_migration").execute(&mut *holding).await.unwrap();
    let url = line.url.clone();
    let opening = tokio::spawn(async move { PostgresStore::connect(&url).await.map(drop) });
    let waits = "SELECT count(*) FROM pg_stat_activity \
                 WHERE wait_event_type = 'Lock' AND datname = current_database()";
    until(&mut look, waits, 1).await;
    line.cut_all();
    holding.rollback().await.unwrap();
    skip(31).await;
    let opened = tokio::time::timeout(Duration::from_secs(15), opening).await;
    let error = opened.expect("it waits for more than a call may take").unwrap().unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Unavailable);
}

#[tokio::test]
async fn a_connection_that_listens_and_went_silent_is_replaced() {
    let Place::Postgres(database) = Place::postgres() else { unreachable!() };
    let line = Line::to(&database.url).await;
    let store = PostgresStore::connect(&line.url).await.unwrap();
    let id = SessionId::parse("s").unwrap();
    let open = OpenSession { id: &id, principal: "ann", make: true, now: 1, expired_before: None };
    SessionStore::open(&store, open).await.unwrap();
    let waiting = {
        let (store, id) = (store.clone(), id.clone());
        let key = Key::result(&ToolCallId::new());
        tokio::spawn(async move { SessionStore::wait(&store, "ann", &id, "r", &key, None).await })
    };
    let mut look = sqlx::PgConnection::connect(&database.url).await.unwrap();
    let listens = "SELECT count(*) FROM pg_stat_activity \
                   WHERE query LIKE 'LISTEN %' AND datname = current_database()";
    until(&mut look, listens, 1).await;
    let port = "SELECT client_port FROM pg_stat_activity \
                WHERE query LIKE 'LISTEN %' AND datname = current_database()";
    let port: i32 = sqlx::query_scalar(port).fetch_one(&mut look).await.unwrap();
    line.cut.send_replace(vec![u16::try_from(port).unwrap()]);
    skip(31).await;
    skip(6).await;
    // To the server the old one is there still.
    until(&mut look, listens, 2).await;
    waiting.abort();
}

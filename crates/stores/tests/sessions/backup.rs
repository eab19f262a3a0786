//! Copies that were made while a run was under way.

use std::time::Duration;

use attache_agent::EndReason;
use sqlx::{AssertSqlSafe, Connection as _, SqliteConnection};

use crate::kit::{Clock, Gate, questions, rest, timed, until_called};
use crate::place::Place;

/// A copy of what a place keeps, somewhere else.
async fn copied(place: &Place) -> Place {
    match place {
        Place::Memory(_) => panic!("memory has no backup"),
        Place::Sqlite(folder) => {
            let copy = tempfile::tempdir().unwrap();
            let from = format!("sqlite://{}", folder.path().join("s.db").display());
            let mut connection = SqliteConnection::connect(&from).await.unwrap();
            let vacuum = format!("VACUUM INTO '{}'", copy.path().join("s.db").display());
            sqlx::query(AssertSqlSafe(vacuum)).execute(&mut connection).await.unwrap();
            Place::Sqlite(copy)
        }
        Place::Postgres(database) => Place::Postgres(database.copied()),
    }
}

async fn goes_on(place: Place) {
    let (gate, clock) = (Gate::default(), Clock::new());
    let here = timed(&place, gate.agent(), &clock).await.open("ann", Some("s")).await.unwrap();
    gate.open.notify_one();
    here.run("one").outcome().await.unwrap();
    let mut run = here.run("two");
    until_called(&mut run).await;
    let copy = copied(&place).await;
    gate.open.notify_one();
    let original = rest(run).await.unwrap();
    let there = timed(&copy, gate.agent(), &clock).await.get("ann", "s").await.unwrap();
    assert!(there.runs().await.unwrap()[1].ended.is_none(), "it was copied in the middle");
    clock.advance(Duration::from_secs(31));
    gate.open.notify_one();
    let restored = there.resume().outcome().await.unwrap();
    assert_eq!((restored.reason, &restored.text), (EndReason::Answer, &original.text));
    assert_eq!(questions(&there.history().await.unwrap()), ["one", "two"]);
}

#[tokio::test]
async fn a_copy_of_a_file_made_in_mid_run_goes_on() {
    goes_on(Place::sqlite()).await;
}

#[tokio::test]
async fn a_dump_made_in_mid_run_goes_on_in_another_database() {
    goes_on(Place::postgres()).await;
}

//! Formats of this version, of older ones and of newer ones, and what errors say.

use std::path::Path;

use attache_agent::{JournalError, SessionError, SessionState};
use attache_core::StoreErrorKind;
use attache_core::facts::LongTermMemory as _;
use attache_stores::{PostgresStore, SqliteFacts, SqliteStore};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _};
use tempfile::tempdir;

use crate::kit::{agent, questions};

/// A database of the first version, as `.dump` of SQLite's shell writes it.
const FIRST: &str = include_str!("golden/sessions-1.sql");

/// One of the second version, with facts and the words of sessions.
const SECOND: &str = include_str!("golden/sessions-2.sql");

async fn execute(path: &Path, sql: &str) {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true).foreign_keys(false);
    let mut connection = options.connect().await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut connection).await.unwrap();
}

async fn sessions(path: &Path) -> attache_agent::Sessions {
    let store = SqliteStore::open(path).await.unwrap();
    attache_agent::Sessions::new(agent(), std::sync::Arc::new(store)).with_expiry(None)
}

#[tokio::test]
async fn a_database_of_the_first_version_goes_on() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("s.db");
    execute(&path, FIRST).await;
    let session = sessions(&path).await.open("ann", Some("trip")).await.unwrap();
    assert_eq!(session.state(), SessionState::Continued);
    assert_eq!(questions(&session.history().await.unwrap()), ["To Rome.", "In May."]);
    let outcome = session.run("By train.").outcome().await.unwrap();
    assert_eq!(questions(&outcome.messages), ["To Rome.", "In May.", "By train."]);
}

#[tokio::test]
async fn a_database_of_the_second_version_goes_on() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("s.db");
    execute(&path, SECOND).await;
    // As that version notes the words of Chinese and Korean.
    let facts = [(2, "合同在柜子里", "合同 同在 在柜 柜子 子里"), (3, "계약서는 어디", "계약서는 어디")];
    for (fact, text, words) in facts {
        let body =
            format!("INSERT INTO attache_fact VALUES ({fact}, 'ann', 'f{fact}', '{text}', 1795417761466)");
        execute(&path, &body).await;
        for word in words.split(' ') {
            execute(&path, &format!("INSERT INTO attache_fact_word VALUES ('ann', '{word}', {fact})")).await;
        }
    }
    let facts = SqliteFacts::new(SqliteStore::open(&path).await.unwrap());
    facts.remember("ann", "Ann likes trains.").await.unwrap();
    let found = facts.search("ann", "oslo train", 5).await.unwrap();
    let texts: Vec<_> = found.iter().map(|fact| fact.text.as_str()).collect();
    assert_eq!(texts, ["Ann likes trains.", "Ann lives in Oslo."]);
    for (query, text) in
        [("里", "合同在柜子里"), ("柜", "合同在柜子里"), ("계약서", "계약서는 어디"), ("디", "계약서는 어디")]
    {
        let found = facts.search("ann", query, 5).await.unwrap();
        assert_eq!(found.iter().map(|fact| fact.text.as_str()).collect::<Vec<_>>(), [text], "{query}");
    }
    let sessions = sessions(&path).await;
    assert_eq!(sessions.search("ann", "rome", 5).await.unwrap()[0].id.as_str(), "trip");
    sessions.get("ann", "trip").await.unwrap().run("By train.").outcome().await.unwrap();
    assert_eq!(sessions.search("ann", "rome train", 5).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused_by_its_number() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("s.db");
    SqliteStore::open(&path).await.unwrap().close().await;
    let newer = "INSERT INTO attache_migration (version, description, success, checksum, execution_time) \
                 VALUES (99, 'newer', TRUE, x'00', 0)";
    execute(&path, newer).await;
    let refused = SqliteStore::open(&path).await.unwrap_err();
    assert_eq!(refused.kind(), StoreErrorKind::Corrupt);
    assert!(refused.to_string().contains("version 99"), "{refused}");
}

#[tokio::test]
async fn an_entry_of_an_unknown_version_is_refused_by_name() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("s.db");
    execute(&path, FIRST).await;
    let newer = "UPDATE attache_entry SET body = replace(body, '\"schemaVersion\":1', '\"schemaVersion\":9')";
    execute(&path, newer).await;
    let session = sessions(&path).await.get("ann", "trip").await.unwrap();
    let refused = session.history().await.unwrap_err();
    let SessionError::Journal(JournalError::Unreadable { problem }) = refused else { panic!("{refused:?}") };
    assert!(problem.contains("schema version 9"), "{problem}");
    let run = session.run("By train.").outcome().await.unwrap_err();
    assert!(run.session_error().is_some(), "nothing is written over it");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("s.db");
    std::fs::write(&path, "no database ".repeat(1000)).unwrap();
    assert_eq!(SqliteStore::open(&path).await.unwrap_err().kind(), StoreErrorKind::Corrupt);
}

#[tokio::test]
async fn no_error_shows_the_password_of_an_address() {
    let addresses = [
        "postgres://ann:canary@127.0.0.1:1/none",
        "postgres://ann:canary@127.0.0.1:none/none",
        "mysql://ann:canary@[",
    ];
    for address in addresses {
        let error = PostgresStore::connect(address).await.unwrap_err();
        let mut told = format!("{error:?}");
        let mut next: Option<&dyn std::error::Error> = Some(&error);
        while let Some(error) = next {
            told += &error.to_string();
            next = error.source();
        }
        assert!(!told.contains("canary"), "{told}");
    }
}

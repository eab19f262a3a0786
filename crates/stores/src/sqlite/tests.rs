//! Sessions that change while their documents are looked for.

use sqlx::raw_sql;

use super::references::Found;
use super::store::SqliteStore;

/// A session in SQL.
fn made(id: &str, at: u32) -> String {
    format!(
        "INSERT INTO attache_session (id, principal, created, accessed) VALUES ('{id}', 'ann', {at}, {at});"
    )
}

/// The document that a session mentions, in SQL.
fn mentions(id: &str) -> String {
    let body = r#"{"attache.document": 1, "documentId": "kept"}"#;
    format!("INSERT INTO attache_message (session, place, body) VALUES ('{id}', 0, '{body}');")
}

// It is cleared before it is read, and its fork stands under a new id, or under that of a session that was read before and
// cleared.
#[tokio::test]
async fn what_a_session_mentions_that_was_forked_and_cleared_between_two_looks_is_found() {
    for fork in ["new", "early"] {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path().join("s.db")).await.unwrap();
        let sql = async |text: String| {
            let mut writing = store.writing().await.unwrap();
            raw_sql(sqlx::AssertSqlSafe(text)).execute(&mut *writing).await.unwrap();
            writing.commit().await.unwrap();
        };
        sql(made("early", 1)).await;
        let mut found = Found::default();
        assert!(found.list(&store).await.unwrap().is_empty(), "few are read at once");
        for at in 1..=60 {
            sql(made(&format!("s{at}"), 1)).await;
        }
        sql(mentions("s60")).await;
        let listed = found.list(&store).await.unwrap();
        assert_eq!(listed.len(), 60);
        let cleared = "DELETE FROM attache_session WHERE id IN ('early', 's60')";
        sql(format!("{cleared}; {} {}", made(fork, 2), mentions(fork))).await;
        let ids = found.all(&store, listed).await.unwrap();
        assert_eq!(ids.iter().map(|id| id.as_str()).collect::<Vec<_>>(), ["kept"], "{fork}");
    }
}

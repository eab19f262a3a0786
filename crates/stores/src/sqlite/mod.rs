//! Sessions and facts in SQLite.

// The same statements as over PostgreSQL, for this one's connections.
#[allow(clippy::duplicate_mod, reason = "it is compiled for each database")]
#[path = "../sql/ops/append.rs"]
mod append;
#[allow(clippy::duplicate_mod, reason = "it is compiled for each database")]
#[path = "../sql/ops/clear.rs"]
mod clear;
mod dialect;
#[allow(clippy::duplicate_mod, reason = "it is compiled for each database")]
#[path = "../sql/ops/facts.rs"]
mod facts;
#[allow(clippy::duplicate_mod, reason = "it is compiled for each database")]
#[path = "../sql/ops/fork.rs"]
mod fork;
#[allow(clippy::duplicate_mod, reason = "it is compiled for each database")]
#[path = "../sql/ops/lease.rs"]
mod lease;
#[allow(clippy::duplicate_mod, reason = "it is compiled for each database")]
#[path = "../sql/migrate.rs"]
mod migrate;
#[allow(clippy::duplicate_mod, reason = "it is compiled for each database")]
#[path = "../sql/ops/nodes.rs"]
mod nodes;
mod one_round_trip;
#[allow(clippy::duplicate_mod, reason = "it is compiled for each database")]
#[path = "../sql/ops/read.rs"]
mod read;
#[cfg(any(feature = "file", feature = "object"))]
#[allow(clippy::duplicate_mod, reason = "it is compiled for each database")]
#[path = "../sql/ops/references.rs"]
mod references;
#[allow(clippy::duplicate_mod, reason = "it is compiled for each database")]
#[path = "../sql/ops/search.rs"]
mod search;
#[allow(clippy::duplicate_mod, reason = "it is compiled for each database")]
#[path = "../sql/ops/sessions.rs"]
mod sessions;
mod store;
mod writer;

pub use facts::Facts as SqliteFacts;
pub use store::SqliteStore;

#[cfg(all(test, any(feature = "file", feature = "object")))]
mod tests {
    use sqlx::raw_sql;

    use super::SqliteStore;
    use super::references::Found;

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
}

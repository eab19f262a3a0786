//! The promises of every store of documents.

use std::sync::Arc;

use attache_core::{Document, DocumentId, DocumentStore, StoreErrorKind};
use bytes::Bytes;
use futures_util::future::join_all;

fn id(text: &str) -> DocumentId {
    DocumentId::parse(text).unwrap()
}

fn document(id: &str, bytes: impl Into<Bytes>) -> Document {
    Document::from_bytes(bytes, "application/pdf").with_id(DocumentId::parse(id).unwrap())
}

/// Holds a new store against all of them.
pub(crate) async fn check(store: Arc<dyn DocumentStore>) {
    what_is_put_comes_back(&*store).await;
    other_bytes_under_one_id_are_a_conflict(&*store).await;
    what_is_deleted_is_gone(&*store).await;
    one_content_under_many_ids(&*store).await;
    ids_of_strangers(&*store).await;
    many_at_once(&store).await;
}

async fn what_is_put_comes_back(store: &dyn DocumentStore) {
    let large: Vec<u8> = (0..3_000_000_u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    for (name, bytes) in
        [("empty", &b""[..]), ("line", b"a\nb\n"), ("bytes", &[0, 255, 10, 13, 0]), ("large", &large)]
    {
        let document = document(name, bytes.to_vec());
        store.put(&document).await.unwrap();
        store.put(&document).await.expect("the same document again");
        assert_eq!(store.get(&id(name)).await.unwrap(), bytes, "{name}");
    }
    store.put(&Document::inline("text").with_id(id("inline"))).await.unwrap();
    assert_eq!(store.get(&id("inline")).await.unwrap(), "text");
    let nowhere = Document::stored(id("elsewhere"), "x", "application/pdf");
    assert_eq!(store.put(&nowhere).await.unwrap_err().kind(), StoreErrorKind::NotFound);
    assert_eq!(store.get(&id("elsewhere")).await.unwrap_err().kind(), StoreErrorKind::NotFound);
}

async fn other_bytes_under_one_id_are_a_conflict(store: &dyn DocumentStore) {
    store.put(&document("taken", "one")).await.unwrap();
    for other in ["two", "", "one and more"] {
        let refused = store.put(&document("taken", other)).await.unwrap_err();
        assert_eq!(refused.kind(), StoreErrorKind::Conflict, "{other}");
        assert!(!refused.is_retryable());
    }
    assert_eq!(store.get(&id("taken")).await.unwrap(), "one");
}

async fn what_is_deleted_is_gone(store: &dyn DocumentStore) {
    store.put(&document("short-lived", "one")).await.unwrap();
    store.delete(&id("short-lived")).await.unwrap();
    store.delete(&id("short-lived")).await.expect("an unknown id is no error");
    assert_eq!(store.get(&id("short-lived")).await.unwrap_err().kind(), StoreErrorKind::NotFound);
    store.put(&document("short-lived", "two")).await.expect("the id is free again");
    assert_eq!(store.get(&id("short-lived")).await.unwrap(), "two");
}

async fn one_content_under_many_ids(store: &dyn DocumentStore) {
    for name in ["first", "second"] {
        store.put(&document(name, "shared content")).await.unwrap();
    }
    store.delete(&id("first")).await.unwrap();
    assert_eq!(store.get(&id("second")).await.unwrap(), "shared content");
    store.put(&document("first", "shared content")).await.unwrap();
    assert_eq!(store.get(&id("first")).await.unwrap(), "shared content");
}

/// Whoever writes an id reaches no other document, whatever a file system makes of letters.
async fn ids_of_strangers(store: &dyn DocumentStore) {
    let long = "../".repeat(1000);
    let ids = [
        "..",
        "../../etc/passwd",
        "a/b",
        "a",
        "A",
        "con",
        "é",
        "e\u{301}",
        "%2e%2e",
        "a\0b",
        "#1",
        "x#1",
        &long,
    ];
    for (at, text) in ids.iter().enumerate() {
        store.put(&document(text, format!("document {at}"))).await.unwrap();
    }
    for (at, text) in ids.iter().enumerate() {
        assert_eq!(store.get(&id(text)).await.unwrap(), format!("document {at}"), "{text}");
    }
}

async fn many_at_once(store: &Arc<dyn DocumentStore>) {
    let put = |at: usize| {
        let store = Arc::clone(store);
        // Eight ids, four contents, four times each.
        async move { store.put(&document(&format!("at-once-{}", at % 8), format!("content {}", at % 4))).await }
    };
    for done in join_all((0..32).map(put)).await {
        done.unwrap();
    }
    for at in 0..8 {
        let bytes = store.get(&id(&format!("at-once-{at}"))).await.unwrap();
        assert_eq!(bytes, format!("content {}", at % 4));
    }
}

//! How documents are kept as objects.

use std::sync::Arc;
use std::time::Duration;

use attache_core::{DocumentStore, StoreErrorKind};
use attache_stores::ObjectDocumentStore;
use futures_util::future::join;
use tempfile::tempdir;
use tokio::time::Instant;

use crate::storage::Storage;
use crate::{Mentioned, document, id, over};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[tokio::test]
async fn one_content_is_kept_once() {
    let storage = Storage::new();
    let store = over(&storage);
    for at in 0..5 {
        store.put(&document(&format!("d{at}"), "the same")).await.unwrap();
    }
    assert_eq!(storage.contents().await.len(), 1);
    assert_eq!(storage.links().await.len(), 5);
    store.put(&document("other", "another")).await.unwrap();
    assert_eq!(storage.contents().await.len(), 2);
}

#[tokio::test]
async fn one_content_that_comes_many_times_at_once_is_kept_once() {
    for seed in 0..20 {
        let storage = Storage::new();
        storage.wait_at_random(seed);
        let store = over(&storage);
        let documents: Vec<_> = (0..6).map(|at| document(&format!("d{at}"), "the same")).collect();
        let puts = documents.iter().map(|document| store.put(document));
        for done in futures_util::future::join_all(puts).await {
            done.unwrap();
        }
        assert_eq!(storage.contents().await.len(), 1, "seed {seed}");
    }
}

#[tokio::test]
async fn a_document_that_is_young_is_renewed_without_writing() {
    let storage = Storage::new();
    let store = over(&storage);
    assert_eq!(store.renew(&id("d")).await.unwrap_err().kind(), StoreErrorKind::NotFound);
    store.put(&document("d", "kept")).await.unwrap();
    for _ in 0..3 {
        store.renew(&id("d")).await.unwrap();
    }
    assert_eq!(storage.links().await.len(), 1);
    // None is young where all may be removed at once.
    over(&storage).with_grace(Duration::ZERO).renew(&id("d")).await.unwrap();
    assert_eq!(storage.links().await.len(), 2);
    assert_eq!(store.get(&id("d")).await.unwrap(), "kept");
}

#[tokio::test]
async fn documents_are_there_for_the_next_process() {
    let folder = tempdir().unwrap();
    ObjectDocumentStore::local(folder.path()).unwrap().put(&document("d", "kept")).await.unwrap();
    let store = ObjectDocumentStore::local(folder.path()).unwrap().with_id("main");
    assert_eq!(store.get(&id("d")).await.unwrap(), "kept");
    assert_eq!((store.id(), ObjectDocumentStore::in_memory().id()), ("main", "objects"));
}

// A listing of files is not one moment.
#[tokio::test]
async fn a_copy_that_a_listing_shows_and_that_is_gone_is_written_again() {
    let storage = Storage::new();
    let store = over(&storage).with_max_bytes(u64::MAX);
    store.put(&document("before", "shared")).await.unwrap();
    // The first finds the copy, the second makes sure of it.
    storage.lose_at_listing(2);
    store.put(&document("d", "shared")).await.unwrap();
    assert_eq!(store.get(&id("d")).await.unwrap(), "shared");
}

#[tokio::test]
async fn a_document_that_is_there_costs_one_wait() {
    let storage = Storage::new();
    let store = over(&storage);
    store.put(&document("d", "kept")).await.unwrap();
    // Two listings, twice, with two writes between them, and a look at the copy.
    assert_eq!(storage.calls(), 7 + 1, "and one listing that counts");
    storage.let_pass(Duration::from_secs(3600));
    let before = storage.calls();
    store.put(&document("d", "kept")).await.unwrap();
    assert_eq!(storage.calls() - before, 2, "two listings at once");
    let before = storage.calls();
    store.get(&id("d")).await.unwrap();
    assert_eq!(storage.calls() - before, 2, "a listing and the bytes");
}

#[tokio::test]
async fn a_full_store_says_so_and_has_room_again_after_a_collection() {
    let storage = Storage::new();
    over(&storage).put(&document("old", "12345678")).await.unwrap();
    let store = over(&storage).with_max_bytes(10);
    let refused = store.put(&document("new", "123")).await.unwrap_err();
    assert_eq!(refused.kind(), StoreErrorKind::TooLarge);
    store.put(&document("same", "12345678")).await.expect("it needs no room");
    storage.let_pass(DAY);
    store.collect(&[&Mentioned::default()]).await.unwrap();
    store.put(&document("new", "123")).await.unwrap();
    assert_eq!(store.get(&id("new")).await.unwrap(), "123");
}

#[tokio::test]
async fn of_two_documents_under_one_new_id_at_most_one_is_kept() {
    let mut kept = 0;
    for seed in 0..200 {
        let storage = Storage::new();
        storage.wait_at_random(seed);
        let store = over(&storage);
        let (one, two) = (document("d", "one"), document("d", "two"));
        let (first, second) = join(store.put(&one), store.put(&two)).await;
        let got = store.get(&id("d")).await;
        match (&first, &second) {
            (Ok(()), Err(_)) => assert_eq!(got.unwrap(), "one", "seed {seed}"),
            (Err(_), Ok(())) => assert_eq!(got.unwrap(), "two", "seed {seed}"),
            (Err(_), Err(_)) => assert_eq!(got.unwrap_err().kind(), StoreErrorKind::NotFound, "seed {seed}"),
            (Ok(()), Ok(())) => panic!("seed {seed}: both"),
        }
        for refused in [first, second].into_iter().filter_map(Result::err) {
            assert_eq!(refused.kind(), StoreErrorKind::Conflict);
            kept += 1;
        }
    }
    assert!(kept > 200, "some lose together, and some do not: {kept}");
}

#[tokio::test]
async fn damaged_content_is_told_and_mended_by_the_same_document() {
    let storage = Storage::new();
    let store = over(&storage);
    store.put(&document("d", "content")).await.unwrap();
    let content = storage.contents().await.remove(0);
    storage.write(&content, b"cantent").await;
    assert_eq!(store.get(&id("d")).await.unwrap_err().kind(), StoreErrorKind::Corrupt);
    storage.write(&content, b"cont").await;
    assert_eq!(store.get(&id("d")).await.unwrap_err().kind(), StoreErrorKind::Corrupt);
    store.put(&document("d", "content")).await.unwrap();
    assert_eq!(store.get(&id("d")).await.unwrap(), "content");

    let storage = Storage::new();
    let store = over(&storage);
    store.put(&document("d", "content")).await.unwrap();
    storage.remove(&storage.contents().await.remove(0)).await;
    assert_eq!(store.get(&id("d")).await.unwrap_err().kind(), StoreErrorKind::Corrupt);
    store.put(&document("d", "content")).await.unwrap();
    assert_eq!(store.get(&id("d")).await.unwrap(), "content");
}

#[tokio::test]
async fn a_put_that_dies_at_any_call_harms_nothing_and_can_be_repeated() {
    for calls in 0.. {
        let storage = Storage::new();
        let store = over(&storage);
        store.put(&document("before", "shared")).await.unwrap();
        storage.die_after(calls);
        let died = store.put(&document("d", "content")).await.is_err();
        let died_too = store.put(&document("shared", "shared")).await.is_err();
        storage.live();
        assert_eq!(store.get(&id("before")).await.unwrap(), "shared");
        for (name, content) in [("d", "content"), ("shared", "shared")] {
            store.put(&document(name, content)).await.unwrap();
            assert_eq!(store.get(&id(name)).await.unwrap(), content, "after {calls} calls");
        }
        assert_eq!(storage.contents().await.len(), 2, "after {calls} calls");
        if !died && !died_too {
            assert!(calls >= 10, "{calls}");
            return;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_storage_that_hangs_ends_in_a_timeout() {
    let storage = Storage::new();
    let store = over(&storage).with_timeout(Duration::from_secs(7));
    storage.hang();
    let begun = Instant::now();
    let late = store.put(&document("d", "content")).await.unwrap_err();
    assert_eq!((late.kind(), late.is_retryable()), (StoreErrorKind::Unavailable, true));
    assert_eq!(late.to_string(), "the object store has not answered within 7s");
    assert!(store.get(&id("d")).await.is_err());
    assert!(store.delete(&id("d")).await.is_err());
    assert!(store.collect(&[&Mentioned::default()]).await.is_err());
    assert_eq!(begun.elapsed(), Duration::from_secs(28));
}

#[tokio::test]
async fn debug_shows_where_and_no_content() {
    let store = ObjectDocumentStore::new(Arc::new(object_store::memory::InMemory::new()), "x");
    store.put(&document("secret", "content")).await.unwrap();
    let shown = format!("{store:?}");
    assert!(shown.contains("InMemory") && !shown.contains("content"), "{shown}");
}

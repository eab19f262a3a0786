//! Every store keeps the same promises. S3 is in the workspace's tests, with a server.

use std::sync::Arc;

use attache_agent::MemoryDocumentStore;
use attache_stores::{FileDocumentStore, ObjectDocumentStore};
use tempfile::tempdir;

use crate::{over, shared, storage::Storage};

#[tokio::test]
async fn documents_in_memory_keep_the_promises_of_stores() {
    shared::check(Arc::new(MemoryDocumentStore::default())).await;
}

#[tokio::test]
async fn documents_in_files_keep_the_promises_of_stores() {
    let folder = tempdir().unwrap();
    shared::check(Arc::new(FileDocumentStore::open(folder.path()).unwrap())).await;
}

#[tokio::test]
async fn documents_as_objects_in_memory_keep_the_promises_of_stores() {
    shared::check(Arc::new(ObjectDocumentStore::in_memory())).await;
}

#[tokio::test]
async fn documents_as_objects_in_a_folder_keep_the_promises_of_stores() {
    let folder = tempdir().unwrap();
    shared::check(Arc::new(ObjectDocumentStore::local(folder.path().join("new")).unwrap())).await;
}

#[tokio::test]
async fn documents_as_objects_keep_the_promises_where_calls_cross() {
    for seed in 0..5 {
        let storage = Storage::new();
        storage.wait_at_random(seed);
        shared::check(Arc::new(over(&storage))).await;
    }
}

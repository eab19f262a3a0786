//! Documents in S3, against a server of its protocol that is not ours (moto).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

#[path = "../../crates/stores/tests/shared/documents.rs"]
mod shared;

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use attache::stores::object_store::aws::AmazonS3Builder;
use attache::stores::{ObjectDocumentStore, References};
use attache_core::{BoxFuture, Document, DocumentId, DocumentStore, StoreError, StoreErrorKind};
use attache_tests::real::{Listening, Python};

const IGNORED: &str = "needs the packages of tests/real/s3.txt: cargo xtask counterparts";

/// The server that all tests share. It ends with this process.
fn server() -> &'static Listening {
    static SERVER: OnceLock<Listening> = OnceLock::new();
    SERVER.get_or_init(|| {
        let python = Python::installed("s3", Path::new(env!("CARGO_TARGET_TMPDIR"))).expect(IGNORED);
        Listening::start(python.command("s3_server.py")).unwrap()
    })
}

fn bucket() -> AmazonS3Builder {
    AmazonS3Builder::new()
        .with_endpoint(server().url(""))
        .with_region("us-east-1")
        .with_bucket_name("documents")
        .with_access_key_id("key")
        .with_secret_access_key("a secret key of S3")
        .with_allow_http(true)
}

fn store(folder: &str) -> ObjectDocumentStore {
    ObjectDocumentStore::s3(bucket(), folder).unwrap()
}

fn document(id: &str, bytes: &'static str) -> Document {
    Document::from_bytes(bytes, "text/plain").with_id(DocumentId::parse(id).unwrap())
}

struct Nothing;

impl References for Nothing {
    fn document_ids(&self) -> BoxFuture<'_, Result<HashSet<DocumentId>, StoreError>> {
        Box::pin(async { Ok(HashSet::new()) })
    }
}

#[tokio::test]
#[ignore = "needs the packages of tests/real/s3.txt: cargo xtask counterparts"]
async fn documents_in_s3_keep_the_promises_of_stores() {
    shared::check(Arc::new(store("promises"))).await;
}

#[tokio::test]
#[ignore = "needs the packages of tests/real/s3.txt: cargo xtask counterparts"]
async fn content_in_s3_is_kept_once_and_collected() {
    let documents = store("collected").with_grace(Duration::ZERO);
    for id in ["one", "two"] {
        documents.put(&document(id, "the same")).await.unwrap();
    }
    documents.put(&document("three", "another")).await.unwrap();
    documents.delete(&DocumentId::parse("one").unwrap()).await.unwrap();
    let collected = documents.collect(&[&Nothing]).await.unwrap();
    assert_eq!((collected.documents, collected.contents, collected.bytes), (2, 2, 15));
    assert_eq!(collected.kept_bytes, 0);
    let gone = documents.get(&DocumentId::parse("two").unwrap()).await.unwrap_err();
    assert_eq!(gone.kind(), StoreErrorKind::NotFound);
}

#[tokio::test]
#[ignore = "needs the packages of tests/real/s3.txt: cargo xtask counterparts"]
async fn a_bucket_that_is_not_there_is_an_error_without_secrets() {
    let documents = ObjectDocumentStore::s3(bucket().with_bucket_name("nowhere"), "").unwrap();
    let failed = documents.put(&document("d", "content")).await.unwrap_err();
    assert_eq!(failed.kind(), StoreErrorKind::Unavailable);
    let shown = format!("{failed} {failed:?} {documents:?}");
    assert!(!shown.contains("a secret key of S3") && !shown.contains("Signature="), "{shown}");
}

#[tokio::test]
async fn a_bucket_without_tls_is_refused_unless_that_is_allowed() {
    let bucket = AmazonS3Builder::new()
        .with_endpoint("http://127.0.0.1:9")
        .with_region("us-east-1")
        .with_bucket_name("documents")
        .with_access_key_id("key")
        .with_secret_access_key("secret");
    let documents = ObjectDocumentStore::s3(bucket, "").unwrap();
    let failed = documents.get(&DocumentId::parse("d").unwrap()).await.unwrap_err();
    let shown = format!("{failed:?}");
    assert!(shown.contains("the address has no TLS"), "{shown}");
}

#[test]
fn a_bucket_without_a_name_is_refused() {
    let failed = ObjectDocumentStore::s3(AmazonS3Builder::new(), "").unwrap_err();
    assert_eq!(failed.to_string(), "the bucket is not set up");
}

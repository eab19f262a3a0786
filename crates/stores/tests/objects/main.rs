//! Documents in object storage, and those of every store alike.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

mod alike;
mod collecting;
mod crossing;
mod keeping;
#[path = "../shared/documents.rs"]
mod shared;
mod storage;

use attache_core::{BoxFuture, StoreError};
use attache_core::{Document, DocumentId};
use attache_stores::{ObjectDocumentStore, References};
use bytes::Bytes;
use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use storage::Storage;

fn id(text: &str) -> DocumentId {
    DocumentId::parse(text).unwrap()
}

fn document(id: &str, bytes: impl Into<Bytes>) -> Document {
    Document::from_bytes(bytes, "application/pdf").with_id(DocumentId::parse(id).unwrap())
}

fn over(storage: &Arc<Storage>) -> ObjectDocumentStore {
    ObjectDocumentStore::new(Arc::clone(storage) as _, "kept")
}

/// The documents that logs mention.
#[derive(Debug, Default)]
struct Mentioned(Mutex<HashSet<DocumentId>>);

impl Mentioned {
    fn of(ids: &[&str]) -> Self {
        Self(Mutex::new(ids.iter().map(|text| id(text)).collect()))
    }

    fn add(&self, text: &str) {
        self.0.lock().unwrap().insert(id(text));
    }

    fn remove(&self, text: &str) {
        self.0.lock().unwrap().remove(&id(text));
    }
}

impl References for Mentioned {
    fn document_ids(&self) -> BoxFuture<'_, Result<HashSet<DocumentId>, StoreError>> {
        Box::pin(async { Ok(self.0.lock().unwrap().clone()) })
    }
}

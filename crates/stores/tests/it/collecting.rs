//! The collection of a folder removes what nobody mentions, and nothing else.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use attache_core::{BoxFuture, Document, DocumentId, DocumentStore, StoreError, StoreErrorKind};
use attache_stores::{FileDocumentStore, References};
use tempfile::tempdir;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

struct Mentioned(HashSet<DocumentId>);

impl References for Mentioned {
    fn document_ids(&self) -> BoxFuture<'_, Result<HashSet<DocumentId>, StoreError>> {
        Box::pin(std::future::ready(Ok(self.0.clone())))
    }
}

/// A store that is away.
struct Away;

impl References for Away {
    fn document_ids(&self) -> BoxFuture<'_, Result<HashSet<DocumentId>, StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::new(StoreErrorKind::Unavailable, "it is away"))))
    }
}

fn mentioned(ids: &[DocumentId]) -> Mentioned {
    Mentioned(ids.iter().cloned().collect())
}

fn document(id: &DocumentId) -> Document {
    Document::from_bytes(format!("This is {id}."), "text/plain").with_id(id.clone())
}

fn id(text: &str) -> DocumentId {
    DocumentId::parse(text).unwrap()
}

/// Makes all files a day older.
fn let_a_day_pass(folder: &Path) {
    for file in fs::read_dir(folder).unwrap() {
        let file = File::options().write(true).open(file.unwrap().path()).unwrap();
        let written = file.metadata().unwrap().modified().unwrap();
        file.set_modified(written.checked_sub(DAY).unwrap_or(SystemTime::UNIX_EPOCH)).unwrap();
    }
}

async fn are_kept(store: &FileDocumentStore, ids: &[&DocumentId]) -> Vec<bool> {
    let mut kept = Vec::new();
    for id in ids {
        kept.push(store.get(id).await.is_ok());
    }
    kept
}

#[tokio::test]
async fn what_nobody_mentions_is_removed_after_the_grace_period() {
    let folder = tempdir().unwrap();
    let store = FileDocumentStore::open(folder.path()).unwrap();
    let [used, facts, stray, young, again] =
        [id("used"), id("used").facts(), id("stray"), id("young"), id("again")];
    for id in [&used, &facts, &stray, &stray.facts(), &again] {
        store.put(&document(id)).await.unwrap();
    }
    let mentions = mentioned(std::slice::from_ref(&used));
    let ids = [&used, &facts, &stray, &young, &again];
    assert_eq!(store.collect(&[&mentions]).await.unwrap().documents, 0, "all are young");
    let_a_day_pass(folder.path());
    for id in [&young, &again] {
        store.put(&document(id)).await.unwrap();
    }
    assert_eq!(store.collect(&[&mentions, &Away]).await.unwrap_err().kind(), StoreErrorKind::Unavailable);
    assert_eq!(are_kept(&store, &ids).await, [true; 5]);
    let before: u64 =
        fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum();
    let collected = store.collect(&[&mentions]).await.unwrap();
    assert_eq!(are_kept(&store, &ids).await, [true, true, false, true, true]);
    assert_eq!((collected.documents, collected.contents), (2, 2), "with its facts");
    assert_eq!(collected.bytes + collected.kept_bytes, before);
    let collected = store.with_grace(Duration::ZERO).collect(&[&mentioned(&[])]).await.unwrap();
    assert_eq!((collected.documents, collected.kept_bytes), (4, 0));
}

/// Nobody knows whose it is.
#[tokio::test]
async fn a_file_that_is_damaged_or_foreign_stays() {
    let folder = tempdir().unwrap();
    let store = FileDocumentStore::open(folder.path()).unwrap().with_grace(Duration::ZERO);
    store.put(&document(&id("torn"))).await.unwrap();
    let torn = folder.path().join("torn.doc");
    fs::write(&torn, &fs::read(&torn).unwrap()[9..]).unwrap();
    store.put(&document(&id("moved"))).await.unwrap();
    let moved = folder.path().join("elsewhere.doc");
    fs::rename(folder.path().join("moved.doc"), &moved).unwrap();
    let other = folder.path().join("notes.txt");
    fs::write(&other, "mine").unwrap();
    assert_eq!(store.collect(&[]).await.unwrap_err().kind(), StoreErrorKind::Invalid);
    assert_eq!(store.collect(&[&mentioned(&[])]).await.unwrap().documents, 0);
    assert!(torn.exists() && moved.exists() && other.exists());
}

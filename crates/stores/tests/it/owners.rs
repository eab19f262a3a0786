//! A folder of documents is collected by the only store of sessions that keeps its own there.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use attache_core::{BoxFuture, Document, DocumentId, DocumentStore as _, StoreError, StoreErrorKind};
use attache_stores::{Collection, FileDocumentStore, References};
use tempfile::tempdir;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A store whose sessions mention these.
struct Mentioned(&'static [&'static str]);

impl References for Mentioned {
    fn document_ids(&self) -> BoxFuture<'_, Result<HashSet<DocumentId>, StoreError>> {
        let ids = self.0.iter().filter_map(|id| DocumentId::parse(*id)).collect();
        Box::pin(std::future::ready(Ok(ids)))
    }
}

/// References that take so long that another owner comes meanwhile.
struct Slow<'a>(&'a FileDocumentStore);

impl References for Slow<'_> {
    fn document_ids(&self) -> BoxFuture<'_, Result<HashSet<DocumentId>, StoreError>> {
        Box::pin(async {
            self.0.note_owner("two").await?;
            Ok(HashSet::new())
        })
    }
}

fn opened(folder: &Path) -> FileDocumentStore {
    FileDocumentStore::open(folder).unwrap().with_grace(WEEK)
}

async fn put(store: &FileDocumentStore, ids: &[&str]) {
    for id in ids {
        let document = Document::inline(format!("This is {id}.")).with_id(DocumentId::parse(*id).unwrap());
        store.put(&document).await.unwrap();
    }
}

/// Makes the files of the folder older, that of the last collection too.
fn age(folder: &Path, by: Duration) {
    for file in fs::read_dir(folder).unwrap().map(Result::unwrap).filter(|file| file.path().is_file()) {
        let file = File::options().write(true).open(file.path()).unwrap();
        file.set_modified(file.metadata().unwrap().modified().unwrap() - by).unwrap();
    }
}

fn documents(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = files.filter_map(|name| Some(name.strip_suffix(".doc")?.to_owned())).collect();
    names.sort_unstable();
    names
}

async fn collect_as(store: &FileDocumentStore, owner: &str, ids: &'static [&'static str]) -> Collection {
    store.collect_as(owner, &[&Mentioned(ids)], DAY).await.unwrap()
}

#[tokio::test]
async fn the_only_owner_of_a_folder_collects_it_once_a_day_and_no_young_document() {
    let folder = tempdir().unwrap();
    let (folder, store) = (folder.path(), opened(folder.path()));
    store.note_owner("one").await.unwrap();
    put(&store, &["used", "stray", "again"]).await;
    age(folder, WEEK);
    put(&store, &["young", "again"]).await;
    let Collection::Collected(collected) = collect_as(&store, "one", &["used"]).await else {
        panic!("it is due")
    };
    assert_eq!(
        (collected.documents, documents(folder)),
        (1, ["again", "used", "young"].map(str::to_owned).to_vec())
    );
    age(folder, DAY / 2);
    assert_eq!(collect_as(&store, "one", &["used"]).await, Collection::NotNow);
    age(folder, DAY / 2);
    assert!(
        matches!(collect_as(&opened(folder), "one", &["used"]).await, Collection::Collected(_)),
        "of any process"
    );
    assert_eq!(documents(folder).len(), 3);
    let none = store.collect_as("one", &[], DAY).await.unwrap_err();
    assert_eq!(none.kind(), StoreErrorKind::Invalid);
}

#[tokio::test]
async fn nobody_collects_a_folder_that_two_share() {
    let folder = tempdir().unwrap();
    let (folder, store) = (folder.path(), opened(folder.path()));
    store.note_owner("one/sessions.db").await.unwrap();
    put(&store, &["of-one"]).await;
    store.note_owner("two").await.unwrap();
    put(&store, &["of-two"]).await;
    age(folder, WEEK);
    let Collection::Shared(marks) = collect_as(&store, "one/sessions.db", &["of-one"]).await else {
        panic!()
    };
    assert_eq!(fs::read_to_string(&marks[0]).unwrap(), "two");
    assert!(matches!(collect_as(&store, "two", &["of-two"]).await, Collection::Shared(_)));
    assert_eq!(documents(folder).len(), 2);
    fs::remove_file(&marks[0]).unwrap();
    assert!(matches!(collect_as(&store, "one/sessions.db", &["of-one"]).await, Collection::Collected(_)));
    assert_eq!(documents(folder), ["of-one"]);
    // A store that has used the folder all along has its mark again with its first look.
    assert!(matches!(collect_as(&store, "two", &["of-two"]).await, Collection::Shared(_)));
}

#[tokio::test]
async fn a_folder_with_documents_of_nobody_is_not_collected_before_somebody_says_so() {
    let folder = tempdir().unwrap();
    let (folder, store) = (folder.path(), opened(folder.path()));
    put(&store, &["old"]).await;
    store.note_owner("one").await.unwrap();
    age(folder, WEEK);
    let Collection::Unclaimed(file) = collect_as(&store, "one", &[]).await else { panic!() };
    assert_eq!(documents(folder), ["old"]);
    // The clock of a file system may be a moment behind.
    let begun = SystemTime::now() - DAY - Duration::from_secs(1);
    File::create(&file).unwrap().set_modified(begun).unwrap();
    assert!(matches!(collect_as(&store, "one", &[]).await, Collection::Collected(_)));
    assert_eq!(documents(folder).len(), 0);
}

#[tokio::test]
async fn one_collects_at_a_time() {
    let folder = tempdir().unwrap();
    let (folder, store) = (folder.path(), opened(folder.path()));
    store.note_owner("one").await.unwrap();
    put(&store, &["stray"]).await;
    age(folder, WEEK);
    let other = File::options().write(true).open(folder.join(".collect")).unwrap();
    other.lock().unwrap();
    assert_eq!(collect_as(&store, "one", &[]).await, Collection::NotNow);
    drop(other);
    assert!(matches!(collect_as(&store, "one", &[]).await, Collection::Collected(_)));
}

#[tokio::test]
async fn nothing_is_removed_where_another_owner_came_while_references_were_read() {
    let folder = tempdir().unwrap();
    let (folder, store) = (folder.path(), opened(folder.path()));
    store.note_owner("one").await.unwrap();
    put(&store, &["of-two"]).await;
    age(folder, WEEK);
    let kept = store.collect_as("one", &[&Slow(&store)], DAY).await.unwrap();
    assert!(matches!(kept, Collection::Shared(_)), "{kept:?}");
    assert_eq!(documents(folder), ["of-two"]);
}

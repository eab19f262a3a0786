//! Documents in files.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use attache_core::{Document, DocumentId, DocumentStore, StoreErrorKind};
use attache_stores::FileDocumentStore;
use bytes::Bytes;
use proptest::prelude::*;
use tempfile::tempdir;

use crate::common::{block_on, process, role};

fn id(text: &str) -> DocumentId {
    DocumentId::parse(text).unwrap()
}

fn document(id: &str, bytes: impl Into<Bytes>) -> Document {
    Document::from_bytes(bytes, "application/pdf").with_id(DocumentId::parse(id).unwrap())
}

fn open(folder: &Path) -> FileDocumentStore {
    FileDocumentStore::open(folder).unwrap()
}

/// The files of documents in a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.retain(|file| !file.ends_with(".lock"));
    files.sort();
    files
}

async fn put_kind(store: &FileDocumentStore, document: &Document) -> Option<StoreErrorKind> {
    store.put(document).await.err().map(|error| error.kind())
}

async fn get_kind(store: &FileDocumentStore, text: &str) -> StoreErrorKind {
    store.get(&id(text)).await.unwrap_err().kind()
}

#[tokio::test]
async fn documents_are_there_for_the_next_process() {
    let folder = tempdir().unwrap();
    let folder = folder.path().join("new/documents");
    let store = open(&folder).with_id("main");
    assert_eq!(store.id(), "main");
    assert_eq!(open(&folder).id(), "files");
    for (name, bytes) in [("empty", &b""[..]), ("line", b"a\nb\n"), ("bytes", &[0, 255, 10, 13, 0])] {
        store.put(&document(name, bytes)).await.unwrap();
        store.put(&document(name, bytes)).await.expect("the same document again");
        assert_eq!(open(&folder).get(&id(name)).await.unwrap(), bytes);
    }
    store.put(&Document::inline("text").with_id(id("inline"))).await.unwrap();
    assert_eq!(store.get(&id("inline")).await.unwrap(), "text");
    assert_eq!(files(&folder).len(), 4, "nothing is left over");
    let nowhere = Document::stored(id("elsewhere"), "x", "application/pdf");
    assert_eq!(put_kind(&store, &nowhere).await, Some(StoreErrorKind::NotFound));

    store.delete(&id("line")).await.unwrap();
    store.delete(&id("line")).await.expect("an unknown id is no error");
    assert_eq!(get_kind(&store, "line").await, StoreErrorKind::NotFound);
    assert_eq!(open(&folder).get(&id("empty")).await.unwrap(), "");
}

#[tokio::test]
async fn other_bytes_under_one_id_are_a_conflict() {
    let folder = tempdir().unwrap();
    let store = open(folder.path());
    store.put(&document("d", "one")).await.unwrap();
    for other in ["two", "", "one and more"] {
        assert_eq!(put_kind(&store, &document("d", other)).await, Some(StoreErrorKind::Conflict));
        assert_eq!(
            put_kind(&open(folder.path()), &document("d", other)).await,
            Some(StoreErrorKind::Conflict)
        );
    }
    assert_eq!(store.get(&id("d")).await.unwrap(), "one");
    store.delete(&id("d")).await.unwrap();
    store.put(&document("d", "two")).await.expect("the id is free again");
}

#[tokio::test]
async fn any_flipped_or_lost_byte_is_corrupt() {
    let folder = tempdir().unwrap();
    let store = open(folder.path());
    let bytes = "content\nof a document";
    store.put(&document("d", bytes)).await.unwrap();
    let path = files(folder.path()).remove(0);
    let whole = fs::read(&path).unwrap();
    let header = whole.len() - bytes.len();
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x20;
        for damaged in [flipped, whole[..at].to_vec()] {
            fs::write(&path, &damaged).unwrap();
            assert_eq!(get_kind(&store, "d").await, StoreErrorKind::Corrupt, "byte {at}");
            assert_eq!(
                put_kind(&store, &document("d", "other")).await,
                Some(StoreErrorKind::Corrupt),
                "byte {at}"
            );
            // Where the first line still says which document it was, its bytes may be put again.
            let mended = (at >= header).then_some(());
            assert_eq!(
                put_kind(&store, &document("d", bytes)).await.is_none(),
                mended.is_some(),
                "byte {at}"
            );
            assert_eq!(store.get(&id("d")).await.is_ok(), mended.is_some(), "byte {at}");
        }
    }
    let longer = [&whole[..], b"x"].concat();
    fs::write(&path, longer).unwrap();
    assert_eq!(get_kind(&store, "d").await, StoreErrorKind::Corrupt);
}

#[tokio::test]
async fn a_file_in_anothers_place_is_corrupt() {
    let folder = tempdir().unwrap();
    let store = open(folder.path());
    store.put(&document("a", "one")).await.unwrap();
    fs::rename(folder.path().join("a.doc"), folder.path().join("b.doc")).unwrap();
    assert_eq!(get_kind(&store, "b").await, StoreErrorKind::Corrupt);
    assert_eq!(get_kind(&store, "a").await, StoreErrorKind::NotFound);
}

#[tokio::test]
async fn hostile_ids_stay_in_the_folder_and_apart() {
    let outer = tempdir().unwrap();
    let folder = outer.path().join("documents");
    let store = open(&folder);
    let long = "x".repeat(5000);
    let ids = [
        "..",
        "../x",
        "/etc/passwd",
        "a/b",
        "a\\b",
        "a",
        "A",
        "con",
        "NUL",
        ".lock",
        "é",
        "e\u{301}",
        "a\0",
        "%61",
        "a.doc",
        "~",
        &long,
    ];
    for text in ids {
        store.put(&document(text, text.to_owned())).await.unwrap();
    }
    for text in ids {
        assert_eq!(store.get(&id(text)).await.unwrap(), text);
    }
    assert_eq!(files(&folder).len(), ids.len());
    assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 1);
    let endless = "y".repeat(1 << 20);
    assert_eq!(put_kind(&store, &document(&endless, "x")).await, Some(StoreErrorKind::TooLarge));
    assert_eq!(get_kind(&store, &endless).await, StoreErrorKind::NotFound);
}

#[tokio::test]
async fn a_full_store_takes_nothing_more() {
    let folder = tempdir().unwrap();
    open(folder.path()).put(&document("old", vec![1; 1000])).await.unwrap();
    let used = fs::metadata(folder.path().join("old.doc")).unwrap().len();
    let store = open(folder.path()).with_max_bytes(2 * used + 500);
    store.put(&document("new", vec![2; 1000])).await.unwrap();
    let third = document("third", vec![3; 1000]);
    assert_eq!(put_kind(&store, &third).await, Some(StoreErrorKind::TooLarge));
    assert_eq!(put_kind(&store, &third).await, Some(StoreErrorKind::TooLarge));
    store.put(&document("old", vec![1; 1000])).await.expect("what is there needs no room");
    assert_eq!(put_kind(&store, &document("old", vec![9; 9])).await, Some(StoreErrorKind::Conflict));
    store.delete(&id("old")).await.unwrap();
    store.put(&third).await.expect("there is room again");
    assert_eq!(files(folder.path()).len(), 2);
}

// One of several writers under one id is first; all that hold the same bytes are content, the others are told.
#[test]
fn one_of_several_writers_is_first() {
    const TEST: &str = "documents::one_of_several_writers_is_first";
    if let Some(role) = role() {
        let (folder, bytes) = role.split_once('|').unwrap();
        let put = block_on(put_kind(&open(Path::new(folder)), &document("d", bytes.to_owned())));
        match put {
            None => {}
            Some(StoreErrorKind::Conflict) => panic!("conflict"),
            Some(kind) => panic!("{kind:?}"),
        }
        return;
    }
    for _ in 0..3 {
        let folder = tempdir().unwrap();
        let texts = ["one", "two", "one", "two"];
        let writers = texts.map(|text| {
            let role = format!("{}|{text}", folder.path().display());
            process(TEST, &role)
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::piped())
                .spawn()
                .unwrap()
        });
        let outputs = writers.map(|writer| writer.wait_with_output().unwrap());
        let kept = block_on(open(folder.path()).get(&id("d"))).unwrap();
        for (text, output) in texts.iter().zip(outputs) {
            let error = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.success(), kept == *text, "{error}");
            assert!(output.status.success() || error.contains("conflict"), "{error}");
        }
        assert_eq!(files(folder.path()).len(), 1);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn nobody_else_may_read_documents() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempdir().unwrap();
    let folder = folder.path().join("documents");
    open(&folder).put(&document("d", "x")).await.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&folder.join("d.doc")), 0o600);
}

#[tokio::test]
async fn files_that_a_crash_left_are_removed_and_those_in_use_stay() {
    let folder = tempdir().unwrap();
    let (left, used) = (folder.path().join("1-0.new"), folder.path().join("1-1.new"));
    fs::write(&left, "half a docu").unwrap();
    fs::write(&used, "half a docu").unwrap();
    let writer = fs::File::open(&used).unwrap();
    writer.lock().unwrap();
    open(folder.path()).put(&document("d", "x")).await.unwrap();
    assert!(!left.exists() && used.exists());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn any_bytes_under_any_id_come_back(text in "\\PC{1,300}", bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        prop_assume!(DocumentId::parse(&text).is_some());
        block_on(async {
            let folder = tempdir().unwrap();
            open(folder.path()).put(&document(&text, bytes.clone())).await.unwrap();
            prop_assert_eq!(open(folder.path()).get(&id(&text)).await.unwrap(), bytes);
            Ok(())
        })?;
    }
}

fn written(folder: &Path, name: &str) -> SystemTime {
    fs::metadata(folder.join(name)).unwrap().modified().unwrap()
}

#[tokio::test]
async fn a_document_is_renewed_once_it_is_half_as_old_as_may_be_removed() {
    let folder = tempdir().unwrap();
    let day = Duration::from_secs(24 * 60 * 60);
    let store = open(folder.path()).with_grace(day);
    assert_eq!(store.renew(&id("d")).await.unwrap_err().kind(), StoreErrorKind::NotFound);
    store.put(&document("d", "one")).await.unwrap();
    for (age, is_renewed) in [(day / 2 - day / 24, false), (day / 2, true)] {
        let then = SystemTime::now() - age;
        fs::File::options()
            .write(true)
            .open(folder.path().join("d.doc"))
            .unwrap()
            .set_modified(then)
            .unwrap();
        let before = written(folder.path(), "d.doc");
        store.renew(&id("d")).await.unwrap();
        assert_eq!(written(folder.path(), "d.doc") > before, is_renewed, "{age:?}");
    }
    assert_eq!(store.get(&id("d")).await.unwrap(), "one");
}

// Not even root can write here, whoever owns the folder.
#[tokio::test]
async fn a_folder_that_takes_nothing_is_told_and_keeps_what_it_has() {
    let folder = tempdir().unwrap();
    let store = open(folder.path());
    store.put(&document("d", "one")).await.unwrap();
    fs::remove_file(folder.path().join(".lock")).unwrap();
    fs::create_dir(folder.path().join(".lock")).unwrap();
    for name in ["d", "new"] {
        let told = store.put(&document(name, "one")).await.unwrap_err();
        assert_eq!(told.kind(), StoreErrorKind::Unavailable, "{name}: a collection could remove it");
        assert!(told.to_string().contains(".lock"), "{told}");
    }
    assert_eq!(store.get(&id("d")).await.unwrap(), "one");
    assert_eq!(files(folder.path()).len(), 1, "nothing half done is left");
    let below = tempdir().unwrap();
    let file = below.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(FileDocumentStore::open(file.join("documents")).is_err());
}

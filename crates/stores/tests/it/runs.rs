//! Many runs in one folder.

use std::fs;

use attache_agent::Journal;
use attache_core::StoreErrorKind;
use attache_stores::FileJournals;
use tempfile::tempdir;

use crate::common::entry;

#[tokio::test]
async fn runs_are_listed_by_their_ids() {
    let folder = tempdir().unwrap();
    let runs = FileJournals::open(folder.path().join("runs")).unwrap();
    assert_eq!(runs.ids().unwrap(), Vec::<String>::new());
    let ids = ["b", "B", "../a", "con", "é", "6f1e-1"];
    for id in ids {
        let journal = runs.journal(id).unwrap();
        let fence = journal.claim(0).await.unwrap();
        journal.append(fence, vec![entry("start", id)]).await.unwrap();
    }
    fs::write(folder.path().join("runs/notes.txt"), "").unwrap();
    fs::write(folder.path().join("runs/A.jsonl"), "").unwrap();
    let mut expected = ids.map(str::to_owned).to_vec();
    expected.sort();
    assert_eq!(runs.ids().unwrap(), expected);
    for id in ids {
        let log = runs.journal(id).unwrap().load().await.unwrap();
        assert_eq!(crate::common::told(&log[0]).1, id);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing beside the folder");
}

#[test]
fn an_id_that_no_file_can_have_is_refused() {
    let folder = tempdir().unwrap();
    let runs = FileJournals::open(folder.path()).unwrap();
    assert_eq!(runs.journal("").unwrap_err().kind(), StoreErrorKind::NotFound);
    assert_eq!(runs.journal(&"A".repeat(100)).unwrap_err().kind(), StoreErrorKind::TooLarge);
    assert!(runs.journal(&"a".repeat(200)).is_ok());
}

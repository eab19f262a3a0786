//! Many runs in one folder.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use attache_agent::{Agent, EndReason, Journal, NoArguments, tool_fn};
use attache_core::{Document, DocumentStore as _, Effect, StoreErrorKind, ToolError};
use attache_stores::{FileDocumentStore, FileJournals};
use attache_testkit::{ScriptedModel, Turn};
use tempfile::tempdir;
use tokio::sync::Notify;

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

fn copied(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copied(&entry.path(), &to),
            false => drop(fs::copy(entry.path(), to).unwrap()),
        }
    }
}

/// An agent over a folder, whose tool `wait` says that it was called and waits.
fn agent(
    folder: &Path,
    turns: impl IntoIterator<Item = Turn>,
    called: &Arc<Notify>,
    gate: &Arc<Notify>,
) -> Agent {
    let fetch = tool_fn("fetch", "Fetches a document", |_: NoArguments| async {
        Ok::<_, ToolError>(Document::from_bytes("the lease", "text/plain"))
    });
    let (called, gate) = (Arc::clone(called), Arc::clone(gate));
    let wait = tool_fn("wait", "Waits", move |_: NoArguments| {
        let (called, gate) = (Arc::clone(&called), Arc::clone(&gate));
        async move {
            called.notify_one();
            gate.notified().await;
            Ok::<_, ToolError>("waited")
        }
    });
    let documents = Arc::new(FileDocumentStore::open(folder.join("documents")).unwrap());
    Agent::builder(ScriptedModel::new(turns).unverified())
        .store(documents)
        .tool(fetch.with_effect(Effect::Read))
        .tool(wait.with_effect(Effect::Read))
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_copy_of_the_folders_made_in_mid_run_goes_on_elsewhere() {
    let (here, there) = (tempdir().unwrap(), tempdir().unwrap());
    let (called, gate) = (Arc::default(), Arc::default());
    let turns = [Turn::call("fetch", "{}"), Turn::call("wait", "{}"), Turn::text("done")];
    let original = agent(here.path(), turns, &called, &gate);
    let journal = FileJournals::open(here.path().join("runs")).unwrap().journal("march").unwrap();
    let run = tokio::spawn(original.run_in(Arc::new(journal), "go").outcome());
    called.notified().await;
    // The logs first: a document is stored before a log mentions it.
    for folder in ["runs", "documents"] {
        copied(&here.path().join(folder), &there.path().join(folder));
    }
    gate.notify_one();
    let original = run.await.unwrap().unwrap();
    let restored = agent(there.path(), [Turn::text("done")], &called, &gate);
    let journal = FileJournals::open(there.path().join("runs")).unwrap().journal("march").unwrap();
    gate.notify_one();
    let outcome = restored.resume(Arc::new(journal)).outcome().await.unwrap();
    assert_eq!((outcome.reason, &outcome.text), (EndReason::Answer, &original.text));
    let documents: Vec<_> = outcome.messages.iter().flat_map(|message| message.documents()).collect();
    assert_eq!(documents.len(), 1);
    let store = FileDocumentStore::open(there.path().join("documents")).unwrap();
    assert_eq!(store.get(documents[0].id()).await.unwrap(), "the lease");
}

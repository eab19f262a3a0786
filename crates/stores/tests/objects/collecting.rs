//! The collection removes what nobody mentions, and nothing else.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use attache_agent::{Agent, Journal, NoArguments, deliver, say, tool_fn};
use attache_core::tool::Deferred;
use attache_core::{
    BoxFuture, DocumentId, DocumentStore, ResultStatus, StoreError, StoreErrorKind, ToolError, ToolResult,
};
use attache_stores::{FileJournals, ObjectDocumentStore, References};
use attache_testkit::{ScriptedModel, Turn};
use tempfile::tempdir;

use crate::storage::Storage;
use crate::{Mentioned, document, id, over};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[tokio::test]
async fn what_nobody_mentions_is_removed_after_the_grace_period() {
    let storage = Storage::new();
    let store = over(&storage);
    let mentioned = Mentioned::of(&["in use"]);
    for (name, content) in [("in use", "one"), ("forgotten", "two")] {
        store.put(&document(name, content)).await.unwrap();
    }
    storage.let_pass(DAY - Duration::from_secs(60));
    let collected = store.collect(&[&mentioned]).await.unwrap();
    assert_eq!((collected.documents, collected.contents, collected.kept_bytes), (0, 0, 6));
    storage.let_pass(Duration::from_secs(60));
    store.put(&document("young", "three")).await.unwrap();
    let collected = store.collect(&[&mentioned]).await.unwrap();
    assert_eq!((collected.documents, collected.contents, collected.bytes), (1, 1, 3));
    assert_eq!(collected.kept_bytes, 8);
    assert_eq!(store.get(&id("forgotten")).await.unwrap_err().kind(), StoreErrorKind::NotFound);
    assert_eq!(store.get(&id("in use")).await.unwrap(), "one");
    assert_eq!(store.get(&id("young")).await.unwrap(), "three");
    assert_eq!((storage.contents().await.len(), storage.names().await.len()), (2, 4), "no marks, no clocks");
}

#[tokio::test]
async fn a_collection_that_knows_no_place_removes_nothing() {
    let storage = Storage::new();
    let store = over(&storage);
    store.put(&document("in use", "one")).await.unwrap();
    storage.let_pass(DAY);
    assert_eq!(store.collect(&[]).await.unwrap_err().kind(), StoreErrorKind::Invalid);
    assert_eq!(store.get(&id("in use")).await.unwrap(), "one");
}

#[tokio::test]
async fn facts_about_a_document_stay_and_go_with_it() {
    let storage = Storage::new();
    let store = over(&storage);
    for name in ["in use", "in use-facts", "forgotten", "forgotten-facts"] {
        store.put(&document(name, name)).await.unwrap();
    }
    storage.let_pass(DAY);
    let collected = store.collect(&[&Mentioned::of(&["in use"])]).await.unwrap();
    assert_eq!(collected.documents, 2);
    assert_eq!(store.get(&id("in use-facts")).await.unwrap(), "in use-facts");
    assert_eq!(store.get(&id("forgotten-facts")).await.unwrap_err().kind(), StoreErrorKind::NotFound);
}

#[tokio::test]
async fn content_stays_as_long_as_any_document_has_it() {
    let storage = Storage::new();
    let store = over(&storage);
    for name in ["one", "two"] {
        store.put(&document(name, "shared")).await.unwrap();
    }
    storage.let_pass(DAY);
    let collected = store.collect(&[&Mentioned::of(&["two"])]).await.unwrap();
    assert_eq!((collected.documents, collected.contents), (1, 0));
    assert_eq!(store.get(&id("two")).await.unwrap(), "shared");
    let collected = store.collect(&[&Mentioned::default()]).await.unwrap();
    assert_eq!((collected.documents, collected.contents), (1, 1));
    assert!(storage.names().await.is_empty());
}

#[tokio::test]
async fn an_old_document_that_is_put_again_is_safe_again() {
    let storage = Storage::new();
    let store = over(&storage);
    store.put(&document("d", "content")).await.unwrap();
    storage.let_pass(10 * DAY);
    store.put(&document("d", "content")).await.unwrap();
    let collected = store.collect(&[&Mentioned::default()]).await.unwrap();
    assert_eq!((collected.documents, collected.contents), (0, 0));
    assert_eq!(store.get(&id("d")).await.unwrap(), "content");
    assert_eq!(storage.links().await.len(), 1, "the link that the new one stands for is removed");
    // Shortly before half of the time is over, it need not be written again.
    storage.let_pass(DAY / 2 - Duration::from_secs(60));
    store.put(&document("d", "content")).await.unwrap();
    assert_eq!(storage.links().await.len(), 1);
    storage.let_pass(DAY / 2);
    assert_eq!(store.collect(&[&Mentioned::default()]).await.unwrap().documents, 0);
}

#[tokio::test]
async fn deleted_documents_leave_their_content_to_the_collection() {
    let storage = Storage::new();
    let store = over(&storage);
    store.put(&document("d", "content")).await.unwrap();
    store.delete(&id("d")).await.unwrap();
    assert_eq!(storage.contents().await.len(), 1);
    storage.let_pass(DAY);
    assert_eq!(store.collect(&[&Mentioned::default()]).await.unwrap().contents, 1);
    assert!(storage.names().await.is_empty());
}

struct Unreadable;

impl References for Unreadable {
    fn document_ids(&self) -> BoxFuture<'_, Result<std::collections::HashSet<DocumentId>, StoreError>> {
        Box::pin(async { Err(StoreError::new(StoreErrorKind::Corrupt, "a log cannot be read")) })
    }
}

#[tokio::test]
async fn nothing_is_removed_if_a_log_cannot_be_read() {
    let storage = Storage::new();
    let store = over(&storage);
    store.put(&document("d", "content")).await.unwrap();
    storage.let_pass(DAY);
    let failed = store.collect(&[&Mentioned::default(), &Unreadable]).await.unwrap_err();
    assert_eq!(failed.to_string(), "a log cannot be read");
    assert_eq!(store.get(&id("d")).await.unwrap(), "content");
}

#[tokio::test]
async fn objects_of_others_stay() {
    let storage = Storage::new();
    for name in ["elsewhere/x", "kept/v2/ids/x", "kept/v1/contents/readme.txt", "kept/v1/contents/a/0"] {
        storage.write(name, b"not ours").await;
    }
    storage.let_pass(DAY);
    over(&storage).collect(&[&Mentioned::default()]).await.unwrap();
    assert_eq!(storage.names().await.len(), 4);
}

#[tokio::test]
async fn a_collection_that_dies_at_any_call_is_made_good_by_the_next_one() {
    for calls in 0.. {
        let storage = Storage::new();
        let store = over(&storage);
        let mentioned = Mentioned::of(&["in use", "shared"]);
        for (name, content) in
            [("in use", "one"), ("gone", "two"), ("shared", "three"), ("gone too", "three")]
        {
            store.put(&document(name, content)).await.unwrap();
        }
        store.delete(&id("gone")).await.unwrap();
        storage.let_pass(DAY);
        storage.die_after(calls);
        let died = store.collect(&[&mentioned]).await.is_err();
        storage.live();
        for (name, content) in [("in use", "one"), ("shared", "three")] {
            assert_eq!(store.get(&id(name)).await.unwrap(), content, "after {calls} calls");
        }
        // Whoever needs the content again while the marks of the dead collection are still there gets it.
        mentioned.add("again");
        store.put(&document("again", "two")).await.unwrap();
        assert_eq!(store.get(&id("again")).await.unwrap(), "two", "after {calls} calls");
        storage.let_pass(DAY);
        store.collect(&[&mentioned]).await.unwrap();
        assert_eq!(store.get(&id("again")).await.unwrap(), "two", "after {calls} calls");
        mentioned.remove("again");
        storage.let_pass(DAY);
        store.collect(&[&mentioned]).await.unwrap();
        storage.let_pass(DAY);
        store.collect(&[&mentioned]).await.unwrap();
        let mut names = storage.names().await;
        names.retain(|name| !name.contains("/clock/"));
        assert_eq!(names.len(), 4, "after {calls} calls: {names:?}");
        if !died {
            assert!(calls > 8, "{calls}");
            return;
        }
    }
}

#[tokio::test]
async fn torn_files_of_a_folder_are_removed_when_they_are_old() {
    let folder = tempdir().unwrap();
    let store = ObjectDocumentStore::local(folder.path()).unwrap().with_grace(Duration::from_secs(3600));
    store.put(&document("d", "content")).await.unwrap();
    let contents = folder.path().join("v1/contents");
    let content = fs::read_dir(&contents).unwrap().next().unwrap().unwrap().path();
    let (young, old) = (content.join("1#1"), content.join("0#12"));
    for path in [&young, &old] {
        fs::write(path, "torn").unwrap();
    }
    let two_hours = SystemTime::now() - Duration::from_secs(7200);
    fs::File::open(&old).unwrap().set_modified(two_hours).unwrap();
    store.collect(&[&Mentioned::of(&["d"])]).await.unwrap();
    assert!(young.exists() && !old.exists());
    assert_eq!(store.get(&id("d")).await.unwrap(), "content");
    assert_eq!(store.get(&id("d")).await.unwrap(), "content");
}

/// The log of a run in files is what keeps its documents.
#[tokio::test]
async fn documents_of_runs_stay_until_the_run_is_removed() {
    let folder = tempdir().unwrap();
    let runs = FileJournals::open(folder.path()).unwrap();
    let storage = Storage::new();
    let documents = Arc::new(over(&storage));
    let given = document("given", "a document of the question");
    let journal = Arc::new(runs.journal("run").unwrap());
    let agent = Agent::builder(
        ScriptedModel::new([Turn::text("Thanks.")]).with_capabilities_of("anthropic", "claude-sonnet-4-5"),
    )
    .store(Arc::clone(&documents) as Arc<dyn DocumentStore>)
    .build()
    .unwrap();
    let message = attache_core::UserMessage::new([
        attache_core::UserPart::text("Read this."),
        Some(attache_core::UserPart::Document(given)),
    ]);
    let input = attache_agent::RunInput::new([attache_core::Message::User(message).shared()]);
    agent.run_in(Arc::clone(&journal) as Arc<dyn Journal>, input).outcome().await.unwrap();
    assert!(runs.document_ids().await.unwrap().contains(&id("given")));

    storage.let_pass(DAY);
    documents.collect(&[&runs]).await.unwrap();
    assert_eq!(documents.get(&id("given")).await.unwrap(), "a document of the question");
    fs::remove_file(journal.path()).unwrap();
    assert_eq!(documents.collect(&[&runs]).await.unwrap().documents, 1);
    assert_eq!(documents.get(&id("given")).await.unwrap_err().kind(), StoreErrorKind::NotFound);
}

/// They are in the log before the run goes on and takes them.
#[tokio::test]
async fn documents_that_nobody_has_taken_yet_stay() {
    let folder = tempdir().unwrap();
    let runs = FileJournals::open(folder.path()).unwrap();
    let storage = Storage::new();
    let documents = over(&storage);
    let journal = Arc::new(runs.journal("run").unwrap());
    let later = tool_fn("later", "Works for days.", |_: NoArguments| async {
        Ok::<_, ToolError>(Deferred::to("job"))
    });
    let model = ScriptedModel::new([Turn::call("later", "{}")]).unverified();
    let agent = Agent::builder(model).tool(later).patience(Duration::ZERO).build().unwrap();
    let pending = agent.run_in(Arc::clone(&journal) as Arc<dyn Journal>, "go").outcome().await.unwrap();
    let kept = ["delivered", "said"];
    for name in kept {
        documents.put(&document(name, name)).await.unwrap();
    }
    let (call, returned) = (&pending.deferred[0].call, document("delivered", "delivered"));
    let result = ToolResult::stored(call, ResultStatus::Ok, &returned, &documents).await;
    deliver(&*journal, result.unwrap()).await.unwrap();
    let said = attache_core::UserPart::Document(document("said", "said"));
    say(&*journal, attache_core::UserMessage::new([Some(said)])).await.unwrap();
    assert_eq!(runs.document_ids().await.unwrap(), kept.into_iter().map(id).collect());

    storage.let_pass(DAY);
    assert_eq!(documents.collect(&[&runs]).await.unwrap().documents, 0);
    for name in kept {
        assert_eq!(documents.get(&id(name)).await.unwrap(), name);
    }
}

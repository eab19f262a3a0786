//! Documents, results and messages that enter a run from outside, and when it is too late for them.

use std::collections::HashSet;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::SystemTime;

use attache_agent::{
    Agent, AgentRun, EndReason, Entry, EntryKind, EventKind, Fence, Journal, JournalError, Key,
    MemoryDocumentStore, MemoryJournal, NoArguments, Outcome, Run, RunInput, SubmitError, Tools, tool_fn,
};
use attache_core::{
    BoxFuture, Capture, Document, DocumentId, DocumentStore, FinishReason, Message, ResultStatus, StoreError,
    StoreErrorKind, ToolCall, ToolDefinition, ToolError, ToolResult, UserMessage, UserPart,
};
use attache_testkit::{ScriptedModel, Turn};
use bytes::Bytes;
use serde_json::json;

fn asking(turns: impl IntoIterator<Item = Turn>) -> attache_agent::AgentBuilder {
    let ask = ToolDefinition::new("ask", "", json!({"type": "object", "properties": {}}));
    Agent::builder(ScriptedModel::new(turns).unverified()).tool_set(Tools::new().with_external(ask))
}

fn document(text: &'static str) -> Document {
    Document::from_bytes(text, "text/plain")
}

fn saying(text: &str) -> UserMessage {
    UserMessage::new([UserPart::text(text)])
}

fn result_with(call: &ToolCall, document: &Document) -> ToolResult {
    ToolResult::new(call, ResultStatus::Ok, Capture::new().finish(document).unwrap())
}

async fn until_call(run: &mut AgentRun) -> ToolCall {
    while let Some(event) = run.next().await {
        if let EventKind::ExternalPending { call } = event.kind {
            return call;
        }
    }
    panic!("no call came")
}

async fn end(run: &mut AgentRun) -> Outcome {
    while let Some(event) = run.next().await {
        if let Some(outcome) = event.kind.outcome() {
            return outcome.clone();
        }
    }
    panic!("a run tells its end")
}

/// A journal and a store in one, to see what was there when an entry was recorded; it can be made to fail or hang.
#[derive(Default)]
struct Witness {
    journal: MemoryJournal,
    store: MemoryDocumentStore,
    kept: Mutex<HashSet<DocumentId>>,
    /// The documents that an entry mentioned before the store had them.
    missing: Mutex<Vec<DocumentId>>,
    store_fails: AtomicBool,
    journal_hangs: AtomicBool,
}

fn mentioned(entry: &Entry) -> Vec<Document> {
    let of = |messages: &[Arc<Message>]| -> Vec<Document> {
        messages.iter().flat_map(|message| message.documents()).cloned().collect()
    };
    match &entry.kind {
        EntryKind::Started(started) => of(&started.messages),
        EntryKind::Inbox(messages) => of(messages),
        EntryKind::ToolOutcome(outcome) => outcome.result.tree.documents().to_vec(),
        EntryKind::Ended(ended) => of(&ended.unread),
        _ => Vec::new(),
    }
}

impl Journal for Witness {
    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        self.journal.load()
    }

    fn claim(&self, entries: usize) -> BoxFuture<'_, Result<Fence, JournalError>> {
        self.journal.claim(entries)
    }

    fn append(&self, fence: Fence, entries: Vec<Entry>) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        let kept = self.kept.lock().unwrap();
        let unknown = entries.iter().flat_map(mentioned).filter(|document| !kept.contains(document.id()));
        self.missing.lock().unwrap().extend(unknown.map(|document| document.id().clone()));
        if self.journal_hangs.load(Ordering::SeqCst) {
            return Box::pin(std::future::pending());
        }
        self.journal.append(fence, entries)
    }

    fn deliver(&self, entry: Entry) -> BoxFuture<'_, Result<Entry, JournalError>> {
        if self.journal_hangs.load(Ordering::SeqCst) {
            return Box::pin(std::future::pending());
        }
        self.journal.deliver(entry)
    }

    fn wait<'a>(
        &'a self,
        key: &'a Key,
        until: Option<SystemTime>,
    ) -> BoxFuture<'a, Result<Option<Entry>, JournalError>> {
        self.journal.wait(key, until)
    }
}

impl DocumentStore for Witness {
    fn id(&self) -> &str {
        "witness"
    }

    fn put<'a>(&'a self, document: &'a Document) -> BoxFuture<'a, Result<(), StoreError>> {
        if self.store_fails.load(Ordering::SeqCst) {
            let error = StoreError::new(StoreErrorKind::Unavailable, "the store is away");
            return Box::pin(std::future::ready(Err(error)));
        }
        self.kept.lock().unwrap().insert(document.id().clone());
        self.store.put(document)
    }

    fn get<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        self.store.get(id)
    }

    fn delete<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
        self.store.delete(id)
    }
}

// ARCHITECTURE "How data flows": bytes go to the store before the entry that mentions them is recorded
#[tokio::test]
async fn every_document_is_stored_before_it_is_mentioned() {
    let witness = Arc::new(Witness::default());
    let made = tool_fn("makes", "", |_: NoArguments| async { Ok::<_, ToolError>(document("made")) });
    let turns =
        [Turn::call("ask", "{}").and_call("makes", "{}"), Turn::text("a").finishing(FinishReason::Length)];
    let agent = asking(turns).tool(made).store(witness.clone()).build().unwrap();
    let attached = |text| Message::User(UserMessage::new([document(text).into()])).shared();
    let input =
        RunInput::new([attached("new")]).with_history([attached("old"), Message::assistant("ok").shared()]);
    let mut run = agent.run_in(witness.clone(), input);
    let control = run.control();
    let call = until_call(&mut run).await;
    control.inject(UserMessage::new([document("injected").into()])).unwrap();
    control.submit([result_with(&call, &document("submitted"))]).await.unwrap();
    while let Some(event) = run.next().await {
        if let EventKind::StepStarted { .. } = event.kind {
            control.inject(UserMessage::new([document("too late").into()])).unwrap();
        }
        if let EventKind::Finished(result) = event.kind {
            let outcome = result.unwrap();
            assert_eq!((&outcome.reason, outcome.unread.len()), (&EndReason::Length, 1));
        }
    }
    assert_eq!(*witness.missing.lock().unwrap(), []);
    assert_eq!(witness.kept.lock().unwrap().len(), 6, "old, new, made, injected, submitted, too late");
}

// A result that cannot be kept whole is not taken, and may be submitted again.
#[tokio::test]
async fn a_store_that_fails_refuses_a_submission() {
    let witness = Arc::new(Witness::default());
    let agent = asking([Turn::call("ask", "{}"), Turn::text("done")]).store(witness.clone()).build().unwrap();
    let mut run = agent.run_in(witness.clone(), "go");
    let control = run.control();
    let call = until_call(&mut run).await;
    witness.store_fails.store(true, Ordering::SeqCst);
    let refused = control.submit([result_with(&call, &document("x"))]).await;
    assert!(matches!(refused, Err(SubmitError::Store(_))), "{refused:?}");
    assert_eq!(control.awaiting(), std::slice::from_ref(&call));
    witness.store_fails.store(false, Ordering::SeqCst);
    control.submit([result_with(&call, &document("x"))]).await.unwrap();
    assert_eq!(end(&mut run).await.reason, EndReason::Answer);
}

// The tool has run: what it returned counts, also where its documents cannot be stored.
#[tokio::test]
async fn a_store_that_fails_loses_no_result_of_a_tool() {
    let witness = Arc::new(Witness::default());
    witness.store_fails.store(true, Ordering::SeqCst);
    let made = tool_fn("makes", "", |_: NoArguments| async { Ok::<_, ToolError>(document("made of this")) });
    let model = ScriptedModel::new([Turn::call("makes", "{}"), Turn::text("done")]);
    let agent = Agent::builder(model.clone()).tool(made).store(witness.clone()).build().unwrap();
    let outcome = agent.run_in(witness.clone(), "go").outcome().await.unwrap();
    assert_eq!(outcome.reason, EndReason::Answer);
    let Message::ToolResults(results) = &*model.requests()[1].messages[2] else { panic!() };
    let shown = format!("{:?}{:?}", results.results[0].attached(), model.requests()[1].messages.get(3));
    assert!(shown.contains("made of this"), "this process still holds the bytes: {shown}");
}

// A submission that is dropped on its way into the journal has not happened.
#[tokio::test]
async fn a_dropped_submission_may_be_made_again() {
    let witness = Arc::new(Witness::default());
    let agent = asking([Turn::call("ask", "{}"), Turn::text("done")]).build().unwrap();
    let mut run = agent.run_in(witness.clone(), "go");
    let control = run.control();
    let call = until_call(&mut run).await;
    witness.journal_hangs.store(true, Ordering::SeqCst);
    {
        let mut submitting = std::pin::pin!(control.submit([ToolResult::ok(&call, "first")]));
        let polled = std::future::poll_fn(|context| Poll::Ready(submitting.as_mut().poll(context)));
        assert!(polled.await.is_pending());
        assert!(matches!(
            control.submit([ToolResult::ok(&call, "second")]).await,
            Err(SubmitError::DuplicateResult { .. })
        ));
    }
    witness.journal_hangs.store(false, Ordering::SeqCst);
    assert_eq!(control.awaiting(), std::slice::from_ref(&call));
    control.submit([ToolResult::ok(&call, "third")]).await.unwrap();
    let outcome = end(&mut run).await;
    let Message::ToolResults(results) = &*outcome.messages[2] else { panic!() };
    assert_eq!(results.results[0].tree.model_text(), "third");
}

// Nothing that was taken is lost: what the run does not read any more stands in its outcome.
#[tokio::test]
async fn what_is_injected_too_late_is_in_the_outcome() {
    let ends = [
        (Turn::text("a").finishing(FinishReason::Refusal), EndReason::Refusal),
        (Turn::text("a").finishing(FinishReason::ContentFilter), EndReason::ContentFilter),
        (Turn::text("a").finishing(FinishReason::Length), EndReason::Length),
        (
            Turn::text("a").then_error(attache_core::ErrorKind::Overloaded),
            EndReason::ProviderError("overloaded".to_owned()),
        ),
        (Turn::text("a").then_hang(), EndReason::Cancelled),
    ];
    for (turn, reason) in ends {
        let journal = Arc::new(MemoryJournal::new());
        let mut run = asking([turn]).build().unwrap().run_in(journal.clone(), "go");
        let control = run.control();
        let mut outcome = None;
        while let Some(event) = run.next().await {
            match event.kind {
                EventKind::Content(_) => {
                    control.inject(saying("wait")).unwrap();
                    if reason == EndReason::Cancelled {
                        control.cancel();
                        assert!(matches!(control.inject(saying("no")), Err(SubmitError::ChatLoopClosed)));
                    }
                }
                kind @ EventKind::Finished(_) => outcome = kind.outcome().cloned(),
                _ => {}
            }
        }
        let outcome = outcome.unwrap();
        assert_eq!(outcome.reason, reason);
        let [unread] = &*outcome.unread else { panic!("{reason}: {:?}", outcome.unread) };
        let Message::User(unread) = &**unread else { panic!() };
        assert_eq!(unread.parts, saying("wait").parts);
        // A fault ends the drive, and nothing of it is recorded; every other end is in the log.
        match &reason {
            EndReason::ProviderError(_) => {
                assert!(journal.entries().iter().all(|entry| entry.key.as_str() != "end"))
            }
            _ => assert_eq!(Run::replay(&journal.entries()).unwrap().outcome(), outcome, "{reason}"),
        }
        assert!(matches!(control.inject(saying("no")), Err(SubmitError::ChatLoopClosed)));
    }
}

// An answer is an answer, wherever it comes from: it does not end the run while a message waits.
#[tokio::test]
async fn a_waiting_message_keeps_the_run_going() {
    let direct = tool_fn("direct", "", |_: NoArguments| async { Ok::<_, ToolError>("42") })
        .with_spec(|spec| spec.with_return_direct(true));
    let turns = [Turn::call("direct", "{}"), Turn::text("second")];
    let mut run = asking(turns).tool(direct).build().unwrap().run("go");
    let control = run.control();
    let mut outcome = None;
    while let Some(event) = run.next().await {
        match event.kind {
            EventKind::ToolStarted { .. } => control.inject(saying("and?")).unwrap(),
            EventKind::Finished(end) => outcome = end.ok(),
            _ => {}
        }
    }
    let outcome = outcome.unwrap();
    assert_eq!((&outcome.reason, &*outcome.text, outcome.unread.len()), (&EndReason::Answer, "second", 0));
    // The last step is the last step, whoever speaks then.
    let mut run = asking([Turn::text("first"), Turn::text("second")]).max_steps(1).build().unwrap().run("go");
    let control = run.control();
    while let Some(event) = run.next().await {
        match event.kind {
            EventKind::Content(_) if control.is_active() => {
                let _full = control.inject(saying("and?"));
            }
            EventKind::Finished(end) => {
                let end = end.unwrap();
                assert_eq!((end.steps, &*end.text), (1, "first"));
                assert!(!end.unread.is_empty());
            }
            _ => {}
        }
    }
}

/// A journal that holds a caller's result back until the run ends.
struct Racing {
    journal: MemoryJournal,
    /// True if the result still gets in before the end.
    just_in_time: bool,
    held: Mutex<Option<Entry>>,
    gate: tokio::sync::Notify,
}

impl Racing {
    fn new(just_in_time: bool) -> Arc<Self> {
        let (journal, held, gate) = (MemoryJournal::new(), Mutex::default(), tokio::sync::Notify::new());
        Arc::new(Self { journal, just_in_time, held, gate })
    }
}

impl Journal for Racing {
    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        self.journal.load()
    }

    fn claim(&self, entries: usize) -> BoxFuture<'_, Result<Fence, JournalError>> {
        self.journal.claim(entries)
    }

    fn append(&self, fence: Fence, entries: Vec<Entry>) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        Box::pin(async move {
            let held = self.held.lock().unwrap().take();
            if let Some(held) = held {
                self.journal.deliver(held).await?;
            }
            self.journal.append(fence, entries).await
        })
    }

    fn deliver(&self, entry: Entry) -> BoxFuture<'_, Result<Entry, JournalError>> {
        Box::pin(async move {
            *self.held.lock().unwrap() = self.just_in_time.then(|| entry.clone());
            self.gate.notified().await;
            self.journal.deliver(entry).await
        })
    }

    fn wait<'a>(
        &'a self,
        key: &'a Key,
        until: Option<SystemTime>,
    ) -> BoxFuture<'a, Result<Option<Entry>, JournalError>> {
        self.journal.wait(key, until)
    }
}

// The log, the outcome and the answer to the caller agree, whichever of a result and the end
// comes first.
#[tokio::test]
async fn a_result_that_meets_the_end() {
    for just_in_time in [true, false] {
        let racing = Racing::new(just_in_time);
        let mut run = asking([Turn::call("ask", "{}")]).build().unwrap().run_in(racing.clone(), "go");
        let control = run.control();
        let call = until_call(&mut run).await;
        let mut submitting = Box::pin(control.submit([ToolResult::ok(&call, "yes")]));
        let polled = std::future::poll_fn(|context| Poll::Ready(submitting.as_mut().poll(context)));
        assert!(polled.await.is_pending());
        control.cancel();
        let late = control.submit([ToolResult::ok(&call, "late")]).await;
        assert!(matches!(late, Err(SubmitError::ChatLoopClosed)), "{late:?}");
        let outcome = end(&mut run).await;
        racing.gate.notify_one();
        let submitted = submitting.await;
        assert_eq!(outcome.reason, EndReason::Cancelled);
        let Message::ToolResults(results) = &*outcome.messages[2] else { panic!() };
        if just_in_time {
            assert_eq!(results.results[0].tree.model_text(), "yes");
            assert!(submitted.is_ok(), "{submitted:?}");
        } else {
            assert_eq!(results.results[0].status, ResultStatus::Cancelled);
            assert!(matches!(submitted, Err(SubmitError::ChatLoopClosed)), "{submitted:?}");
        }
        assert_eq!(Run::replay(&racing.journal.entries()).unwrap().outcome(), outcome);

        // A run that was cancelled is told again, not run again.
        let log = racing.journal.entries();
        let again = asking([Turn::text("more")]).build().unwrap().resume(racing.clone());
        assert_eq!(again.outcome().await.unwrap(), outcome);
        assert_eq!(racing.journal.entries(), log, "nothing is recorded behind the end");
    }
}

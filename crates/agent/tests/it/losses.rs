//! A stumble of a store, a journal or a provider loses nothing, and nothing grows without a bound.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::common::journals::{Away, Fault, Faulty, Method};
use crate::common::kit::{all, counting, end, keys, pdf, results, roles, told, warnings};
use crate::common::model::Says;
use crate::common::{Counter, Number};
use attache_agent::{
    Agent, Draft, EndReason, EventKind, HookContext, HookError, MemoryDocumentStore, MemoryJournal,
    MessageWindow, NoArguments, Run, RunError, RunHook, RunInput, say, tool_fn,
};
use attache_core::converter::{ConvertedText, ConverterError};
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, BoxFuture, ChatRequest, Converter, Document, DocumentId,
    DocumentStore, Effect, ErrorKind, MediaType, Message, StoreError, StoreErrorKind, ToolCall, ToolContext,
    ToolError, Usage, UserMessage, UserPart,
};
use attache_testkit::{ScriptedModel, Turn};
use bytes::Bytes;
use serde_json::json;

fn agent(turns: impl IntoIterator<Item = Turn>) -> Agent {
    let tool = counting("t", Effect::Read, &Counter::default());
    Agent::builder(ScriptedModel::new(turns)).tool(tool).build().unwrap()
}

#[tokio::test]
async fn one_failed_append_does_not_end_the_run_for_good() {
    for kind in [Fault::Fails, Fault::FailsAfterwards] {
        // The reply of the second step.
        let journal = Faulty::new((Method::Append, 4, kind));
        let turns = [Turn::call("t", json!({"n": 1})), Turn::text("done")];
        let error = agent(turns).run_in(journal.clone(), "go").outcome().await.unwrap_err();
        assert_eq!((error.reason(), &*error.partial().text), (&EndReason::InternalError, "done"));
        assert!(error.journal_error().is_some());
        assert!(!keys(&journal.inner).contains(&"end".to_owned()));
        // The database is back, and the run goes on; a reply that was written after all is not asked for again.
        let turns = if kind == Fault::Fails { vec![Turn::text("done")] } else { Vec::new() };
        let outcome = agent(turns).resume(journal).outcome().await.unwrap();
        assert_eq!((outcome.reason, &*outcome.text), (EndReason::Answer, "done"));
    }
}

#[tokio::test]
async fn a_provider_that_fails_does_not_end_the_run_for_good() {
    for kind in [ErrorKind::Overloaded, ErrorKind::Network, ErrorKind::Api, ErrorKind::InvalidRequest] {
        let journal = Arc::new(MemoryJournal::new());
        let turns = [Turn::call("t", json!({"n": 1})), Turn::text("so far").then_error(kind)];
        let error = agent(turns).run_in(journal.clone(), "go").outcome().await.unwrap_err();
        assert_eq!(error.provider_error().map(|error| error.kind()), Some(kind));
        assert_eq!((&*error.partial().text, &*roles(&error.partial().messages)), ("so far", "ucra"));
        assert!(!keys(&journal).contains(&"end".to_owned()));
        // Whoever reads the log alone learns of it, until the run goes on.
        let logged = Run::replay(&journal.entries()).unwrap().failure().unwrap();
        assert_eq!(logged.reason(), error.reason());
        let told = |error: &RunError| error.provider_error().map(|error| (error.kind(), error.to_string()));
        assert_eq!(told(&logged), told(&error));
        let outcome = agent([Turn::text("done")]).resume(journal.clone()).outcome().await.unwrap();
        assert_eq!((outcome.reason, &*roles(&outcome.messages)), (EndReason::Answer, "ucra"));
        assert!(Run::replay(&journal.entries()).unwrap().failure().is_none());
    }
}

/// Runs until the store goes away, with a message in the inbox whose document it should keep.
async fn inject_while_away(journal: Option<Arc<MemoryJournal>>) -> (Vec<attache_agent::Event>, Arc<Away>) {
    let store = Arc::new(Away::default());
    let tool = counting("t", Effect::Read, &Counter::default());
    let model = ScriptedModel::new([Turn::call("t", json!({"n": 1})), Turn::text("done")]).unverified();
    let model = model.with_capabilities_of("openai-chat", "gpt-4o");
    let agent = Agent::builder(model).tool(tool).store(store.clone()).build().unwrap();
    let mut run = match journal {
        Some(journal) => agent.run_in(journal, "go"),
        None => agent.run("go"),
    };
    let control = run.control();
    let mut events = Vec::new();
    while let Some(event) = run.next().await {
        if let EventKind::ToolStarted { .. } = event.kind {
            store.set(true);
            control.inject(UserMessage::new([pdf("x.pdf").into()])).unwrap();
        }
        events.push(event);
    }
    (events, store)
}

#[tokio::test]
async fn an_injected_message_is_unread_where_the_store_fails() {
    let journal = Arc::new(MemoryJournal::new());
    let (events, _) = inject_while_away(Some(journal.clone())).await;
    let outcome = end(&events);
    assert_eq!((outcome.reason, outcome.unread.len()), (EndReason::InternalError, 1));
    assert_eq!(roles(&outcome.messages), "ucr");
    let outcome = agent([Turn::text("done")]).resume(journal).outcome().await.unwrap();
    assert_eq!((outcome.reason, &*roles(&outcome.messages)), (EndReason::Answer, "ucra"));
}

/// A run that cannot be resumed has the document in memory all the same.
#[tokio::test]
async fn an_injected_message_is_read_where_nothing_is_kept_and_the_store_fails() {
    let (events, _) = inject_while_away(None).await;
    let outcome = end(&events);
    assert_eq!((&outcome.reason, outcome.unread.len()), (&EndReason::Answer, 0));
    assert_eq!(roles(&outcome.messages), "ucrua");
    assert_eq!(warnings(&events), ["document_not_stored"]);
}

#[tokio::test]
async fn a_run_that_cannot_start_tells_the_conversation_that_it_was_given() {
    let store = Arc::new(Away::default());
    store.set(true);
    let agent = Agent::builder(ScriptedModel::new([])).store(store).build().unwrap();
    let history = [Message::user("a").shared(), Message::assistant("b").shared()];
    let new = Message::User(UserMessage::new([pdf("x").into()])).shared();
    let input = RunInput::new([new]).with_history(history).with_run_id("r-7");
    let journal = Arc::new(MemoryJournal::new());
    let error = agent.run_in(journal, input).outcome().await.unwrap_err();
    assert_eq!((&*roles(&error.partial().messages), &*error.partial().run_id), ("uau", "r-7"));
}

#[tokio::test]
async fn unknown_usage_counts_as_a_guess_under_a_token_limit() {
    let turns = (0..10).map(|n| Turn::call("t", json!({"n": n})).costing(Usage::default()));
    let turns = turns.chain([Turn::text("done").costing(Usage::default())]);
    let tool = counting("t", Effect::Read, &Counter::default());
    let builder = Agent::builder(ScriptedModel::new(turns).unverified()).tool(tool).max_tokens_per_run(30);
    let events = all(&mut builder.build().unwrap().run("go")).await;
    let outcome = end(&events);
    assert_eq!((outcome.reason, outcome.steps), (EndReason::TokenLimit, 2));
    assert_eq!(warnings(&events)[0], "usage_unknown");
}

#[tokio::test]
async fn polling_a_tool_that_is_there_for_it_is_progress() {
    let polls = Counter::default();
    let seen = polls.clone();
    let status = tool_fn("status", "", move |_: NoArguments| {
        let state = if seen.add() < 12 { "running" } else { "finished" };
        async move { Ok::<_, ToolError>(state) }
    });
    let turns = (0..12).map(|_| Turn::call("status", "{}")).chain([Turn::text("it is done")]);
    let status = status.with_effect(Effect::Read).with_spec(|spec| spec.with_poll(true));
    let agent = Agent::builder(ScriptedModel::new(turns)).tool(status);
    let outcome = agent.build().unwrap().run("go").outcome().await.unwrap();
    assert_eq!((outcome.reason, &*outcome.text, polls.get()), (EndReason::Answer, "it is done", 12));
}

#[tokio::test]
async fn a_full_store_stops_no_run_whose_messages_hold_the_documents() {
    let store = Arc::new(MemoryDocumentStore::new("memory").with_max_bytes(60));
    let model = ScriptedModel::new((0..10).map(|_| Turn::text("ok"))).unverified();
    let model = model.with_capabilities_of("anthropic", "claude-opus-4-8");
    let agent = Agent::builder(model.clone()).store(store).build().unwrap();
    for n in 0..5 {
        let input = UserMessage::new([pdf(&format!("{n}.pdf")).into(), UserPart::text("q")]);
        let events = all(&mut agent.run(input)).await;
        assert_eq!(end(&events).reason, EndReason::Answer);
        assert_eq!(warnings(&events).is_empty(), n < 3, "three documents fit: {:?}", warnings(&events));
        let shown = documents(&model.requests()[n]);
        assert_eq!(shown.len(), 1);
        assert!(shown[0].bytes().is_some());
    }
}

fn documents(request: &ChatRequest) -> Vec<Document> {
    request.messages.iter().flat_map(|message| message.documents().into_iter().cloned()).collect()
}

/// Bytes that tell when they are let go.
struct Owner(Vec<u8>, Arc<AtomicUsize>);

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A store that keeps copies, as a disk does.
#[derive(Default)]
struct Disk(Mutex<HashMap<DocumentId, Vec<u8>>>);

impl DocumentStore for Disk {
    fn id(&self) -> &'static str {
        "disk"
    }

    fn put<'a>(&'a self, document: &'a Document) -> BoxFuture<'a, Result<(), StoreError>> {
        self.0.lock().unwrap().insert(document.id().clone(), document.bytes().unwrap().to_vec());
        Box::pin(std::future::ready(Ok(())))
    }

    fn get<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<bytes::Bytes, StoreError>> {
        let found = self.0.lock().unwrap().get(id).cloned().map(bytes::Bytes::from);
        let missing = || StoreError::new(StoreErrorKind::NotFound, "no such document");
        Box::pin(std::future::ready(found.ok_or_else(missing)))
    }

    fn delete<'a>(&'a self, _: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

#[tokio::test]
async fn documents_that_left_the_window_leave_memory() {
    let alive = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&alive);
    let fetch = tool_fn("fetch", "", move |Number { n }: Number| {
        count.fetch_add(1, Ordering::SeqCst);
        let owner = Owner(format!("%PDF-1.4 {n}").into_bytes(), Arc::clone(&count));
        let document = Document::from_bytes(bytes::Bytes::from_owner(owner), "application/pdf");
        async move { Ok::<_, ToolError>(document.with_file_name("a.pdf")) }
    });
    let call = |n: i64| ToolCall::new("fetch", Arguments::new(format!("{{\"n\":{n}}}")));
    let replies = (0..30).map(|n| AssistantMessage::new([call(n).into()]));
    let replies = replies.chain([AssistantMessage::new([AssistantPart::text("done")])]);
    // A model that keeps its requests would keep what they show.
    let model = Says::new(replies).with_capabilities_of("anthropic", "claude-opus-4-8");
    let builder = Agent::builder(model).tool(fetch.with_effect(Effect::Read)).max_steps(50);
    let agent = builder.store(Arc::new(Disk::default())).window(MessageWindow::new(6)).build().unwrap();
    let mut run = agent.run("go");
    let mut most = 0;
    while let Some(event) = run.next().await {
        // The test's own event holds the newest one.
        drop(event);
        most = most.max(alive.load(Ordering::SeqCst));
    }
    assert!(most <= 4, "the window shows at most three rounds, and {most} documents were in memory");
}

/// Counts its conversions.
#[derive(Clone, Default)]
struct Counting(Counter);

impl Converter for Counting {
    fn converts(&self, _: &MediaType) -> bool {
        true
    }

    fn convert<'a>(
        &'a self,
        _: &'a Document,
        _: bytes::Bytes,
    ) -> BoxFuture<'a, Result<ConvertedText, ConverterError>> {
        self.0.add();
        Box::pin(async { Ok(ConvertedText::new("text")) })
    }
}

#[tokio::test]
async fn a_chat_converts_a_document_once() {
    let converter = Counting::default();
    let fetch = tool_fn("fetch", "", |_: NoArguments| async { Ok::<_, ToolError>(pdf("a.pdf")) });
    let turns = [Turn::call("fetch", "{}")].into_iter().chain((0..6).map(|_| Turn::text("ok")));
    let builder = Agent::builder(ScriptedModel::new(turns)).tool(fetch.with_effect(Effect::Read));
    let agent = builder.converter(converter.clone()).build().unwrap();
    let mut history = Vec::new();
    for n in 0..6 {
        let input = RunInput::from(format!("question {n}")).with_history(history);
        history = agent.run(input).outcome().await.unwrap().messages;
    }
    assert_eq!(converter.0.get(), 1);
}

#[tokio::test]
async fn a_document_that_is_not_stored_is_told_and_stored_later() {
    for kept in [false, true] {
        let store = Arc::new(Away::default());
        store.set(true);
        let fetch = tool_fn("fetch", "", |_: NoArguments| async { Ok::<_, ToolError>(pdf("a.pdf")) });
        let turns = [Turn::call("fetch", "{}"), Turn::text("done")];
        let model = ScriptedModel::new(turns).with_capabilities_of("anthropic", "claude-opus-4-8");
        let builder = Agent::builder(model.clone()).tool(fetch.with_effect(Effect::Read));
        let agent = builder.store(store.clone()).build().unwrap();
        let journal = Arc::new(MemoryJournal::new());
        let mut run = if kept { agent.run_in(journal, "go") } else { agent.run("go") };
        let mut events = Vec::new();
        while let Some(event) = run.next().await {
            if matches!(event.kind, EventKind::ToolFinished { .. }) {
                store.set(false);
            }
            events.push(event);
        }
        assert_eq!(warnings(&events), ["document_not_stored"]);
        assert_eq!(documents(&model.requests()[1]).len(), 1, "the model sees it");
        let document = results(&end(&events).messages)[0].tree.documents()[0].clone();
        assert!(store.inner.get(document.id()).await.is_ok(), "it is tried again before the next request");
    }
}

#[tokio::test]
async fn a_document_that_the_model_made_is_told_and_stored_later() {
    for kept in [false, true] {
        let store = Arc::new(Away::default());
        store.set(true);
        let model = ScriptedModel::new([Turn::text("Here.").making(pdf("a.pdf"))]).unverified();
        let agent = Agent::builder(model).store(store.clone()).build().unwrap();
        let journal = Arc::new(MemoryJournal::new());
        let mut run = if kept { agent.run_in(journal, "go") } else { agent.run("go") };
        let mut events = Vec::new();
        while let Some(event) = run.next().await {
            if matches!(event.kind, EventKind::StepFinished { .. }) {
                store.set(false);
            }
            events.push(event);
        }
        assert_eq!(warnings(&events), ["document_not_stored"]);
        let outcome = end(&events);
        assert_eq!(outcome.reason, EndReason::Answer);
        let made = outcome.messages.last().unwrap().documents()[0].id().clone();
        assert!(store.inner.get(&made).await.is_ok(), "it is tried again before the end");
    }
}

/// A store that takes no document, or does not answer.
struct Refusing {
    hangs: bool,
}

impl DocumentStore for Refusing {
    fn id(&self) -> &str {
        "refusing"
    }

    fn put<'a>(&'a self, _document: &'a Document) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async {
            if self.hangs {
                std::future::pending::<()>().await;
            }
            Err(StoreError::new(StoreErrorKind::TooLarge, "it is too large"))
        })
    }

    fn get<'a>(&'a self, _id: &'a DocumentId) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        Box::pin(async { Err(StoreError::new(StoreErrorKind::NotFound, "nothing is here")) })
    }

    fn delete<'a>(&'a self, _id: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async { Ok(()) })
    }
}

#[tokio::test]
async fn a_message_that_was_left_is_read_where_the_store_refuses_its_document() {
    let journal = Arc::new(MemoryJournal::new());
    let model = ScriptedModel::new([Turn::call("t", json!({"n": 1})), Turn::text("done")]);
    let model = model.with_capabilities_of("openai-chat", "gpt-4o");
    let tool = counting("t", Effect::Read, &Counter::default());
    let agent = Agent::builder(model).tool(tool).store(Arc::new(Refusing { hangs: false })).build().unwrap();
    let mut run = agent.run_in(journal.clone(), "go");
    let mut events = Vec::new();
    while let Some(event) = run.next().await {
        if let EventKind::ToolStarted { .. } = event.kind {
            say(&*journal, UserMessage::new([pdf("x.pdf").into()])).await.unwrap();
        }
        events.push(event);
    }
    let outcome = end(&events);
    assert_eq!((outcome.reason, &*roles(&outcome.messages)), (EndReason::Answer, "ucrua"));
    assert_eq!(warnings(&events), ["document_not_stored"]);
}

/// Tells the model of a document before each step.
struct Attaches;

impl RunHook for Attaches {
    fn before_model<'a>(
        &'a self,
        draft: &'a mut Draft<'_>,
        _: &'a HookContext<'_>,
    ) -> BoxFuture<'a, Result<(), HookError>> {
        draft.append(UserMessage::new([pdf("y.pdf").into()]));
        Box::pin(std::future::ready(Ok(())))
    }
}

#[tokio::test]
async fn a_document_that_a_hook_adds_is_told_where_the_store_refuses_it() {
    let model = ScriptedModel::new([Turn::text("done")]).with_capabilities_of("openai-chat", "gpt-4o");
    let agent =
        Agent::builder(model).hook(Attaches).store(Arc::new(Refusing { hangs: false })).build().unwrap();
    let events = all(&mut agent.run("go")).await;
    assert_eq!(end(&events).reason, EndReason::Answer);
    assert_eq!(warnings(&events), ["document_not_stored"]);
}

#[tokio::test(start_paused = true)]
async fn a_document_that_the_model_made_is_told_where_the_store_hangs_and_somebody_cancels() {
    let model = ScriptedModel::new([Turn::text("Here.").making(pdf("a.pdf"))]).unverified();
    let agent = Agent::builder(model).store(Arc::new(Refusing { hangs: true })).build().unwrap();
    let mut run = agent.run_in(Arc::new(MemoryJournal::new()), "go");
    let control = run.control();
    let mut events = Vec::new();
    loop {
        // Nothing happens for an hour.
        let event = tokio::time::timeout(Duration::from_secs(3600), run.next()).await;
        match event {
            Ok(Some(event)) => events.push(event),
            Ok(None) => break,
            Err(_) => control.cancel(),
        }
    }
    assert_eq!(end(&events).reason, EndReason::Cancelled);
    assert_eq!(warnings(&events), ["document_not_stored"]);
}

#[tokio::test]
async fn the_limit_of_tool_calls_lands_the_run() {
    let ran = Counter::default();
    let turns = (0..20).map(|n| Turn::call("t", json!({"n": n}))).chain([Turn::text("done")]);
    let model = ScriptedModel::new(turns).unverified();
    let builder = Agent::builder(model.clone()).tool(counting("t", Effect::Read, &ran)).max_tool_calls(2);
    let outcome = builder.build().unwrap().run("go").outcome().await.unwrap();
    assert_eq!((outcome.reason, outcome.steps, ran.get()), (EndReason::ToolCallLimit, 3, 2));
    assert_eq!(model.requests()[2].tool_choice, attache_core::ToolChoice::None);
    assert_eq!(told(&outcome.messages).len(), 3, "each call has a result");
}

#[tokio::test]
async fn a_tool_is_told_the_deadline_of_its_run() {
    let left = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&left);
    let tool = attache_agent::tool_fn("t", "", move |_: NoArguments, context: ToolContext| {
        *seen.lock().unwrap() = context.deadline.map(|at| at.duration_since(Instant::now()));
        async { Ok::<_, ToolError>("x") }
    });
    let builder = Agent::builder(ScriptedModel::new([Turn::call("t", "{}"), Turn::text("done")])).tool(tool);
    builder.deadline(Duration::from_secs(5)).build().unwrap().run("go").outcome().await.unwrap();
    let left = left.lock().unwrap().unwrap();
    assert!(left <= Duration::from_secs(5) && left > Duration::from_secs(1), "{left:?}");
}

#[tokio::test]
async fn an_answer_at_the_only_step_is_an_answer() {
    let agent = Agent::builder(ScriptedModel::new([Turn::text("42")])).max_steps(1).build().unwrap();
    assert_eq!(agent.run("6*7?").outcome().await.unwrap().reason, EndReason::Answer);
}

/// A tool that gives all that it fetches the same id.
fn fetch_invoice() -> impl attache_core::Tool + 'static {
    let fetch = tool_fn("fetch", "", |Number { n }: Number| async move {
        let id = DocumentId::parse("invoice").unwrap();
        Ok::<_, ToolError>(json!({"found": Document::from_bytes(invoice(n), "").with_id(id)}))
    });
    fetch.with_effect(Effect::Read)
}

fn invoice(n: i64) -> Vec<u8> {
    format!("%PDF-1.4 invoice {n}").into_bytes()
}

/// The model, and whoever reads the log, has of each call what that call brought.
#[tokio::test]
async fn documents_of_one_id_and_other_contents_are_kept_beside_each_other() {
    for kept in [true, false] {
        let store = Arc::new(MemoryDocumentStore::default());
        let taken = |document: &Document| Document::from_bytes("another", "").with_id(document.id().clone());
        // Somebody else has a document of that id, and of the one that the third invoice would get.
        let third = Document::from_bytes(invoice(3), "").with_id(DocumentId::parse("invoice").unwrap());
        let digits: String = third.hash().unwrap()[..4].iter().map(|byte| format!("{byte:02x}")).collect();
        store.put(&taken(&third)).await.unwrap();
        let beside = third.with_id(DocumentId::parse(format!("invoice.{digits}")).unwrap());
        store.put(&taken(&beside)).await.unwrap();
        let calls = (1..=3).fold(Turn::empty(), |turn, n| turn.and_call("fetch", json!({"n": n})));
        let model = ScriptedModel::new([calls, Turn::text("done")]);
        let model = model.with_capabilities_of("anthropic", "claude-opus-4-8");
        let agent = Agent::builder(model.clone()).tool(fetch_invoice()).store(store.clone()).build().unwrap();
        let journal = Arc::new(MemoryJournal::new());
        let mut run = if kept { agent.run_in(journal.clone(), "go") } else { agent.run("go") };
        let events = all(&mut run).await;
        assert!(warnings(&events).is_empty(), "{:?}", warnings(&events));
        let outcome = end(&events);
        let told = results(&outcome.messages);
        let mut logged = Vec::new();
        if kept {
            let entries = serde_json::to_string(&journal.entries()).unwrap();
            let run =
                Run::replay(&serde_json::from_str::<Vec<attache_agent::Entry>>(&entries).unwrap()).unwrap();
            logged = results(&run.outcome().messages);
        }
        let shown = results(&model.requests()[1].messages);
        for (at, n) in (1..=3).enumerate() {
            for result in [Some(&told[at]), logged.get(at)].into_iter().flatten() {
                let document = &result.documents[0];
                assert_eq!(store.get(document.id()).await.unwrap(), invoice(n), "{:?}", document.id());
                assert!(result.tree.json().contains(document.id().as_str()), "{}", result.tree.json());
                assert!(result.tree.unresolved().is_empty());
            }
            let UserPart::Document(document) = &shown[at].attached()[0] else { panic!("{:?}", shown[at]) };
            assert_eq!(document.bytes().unwrap(), invoice(n));
            let finished = events.iter().find_map(|event| match &event.kind {
                EventKind::ToolFinished { result, .. } if result.call_id == told[at].call_id => Some(result),
                _ => None,
            });
            assert_eq!(finished.unwrap().documents, told[at].documents);
        }
        assert_eq!(store.get(&DocumentId::parse("invoice").unwrap()).await.unwrap(), "another");
    }
}

/// Shows a document that the tool did not return.
struct Encloses(Document);

impl RunHook for Encloses {
    fn after_tool<'a>(
        &'a self,
        _: &'a ToolCall,
        result: &'a mut attache_core::ToolResult,
    ) -> BoxFuture<'a, Result<(), HookError>> {
        result.documents.push(self.0.clone());
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A store that does not answer at first: the first four times.
#[derive(Default)]
struct Stumbles(MemoryDocumentStore, AtomicUsize);

impl DocumentStore for Stumbles {
    fn id(&self) -> &'static str {
        "stumbles"
    }

    fn put<'a>(&'a self, document: &'a Document) -> BoxFuture<'a, Result<(), StoreError>> {
        match self.1.fetch_add(1, Ordering::SeqCst) {
            0..4 => Box::pin(async { Err(StoreError::new(StoreErrorKind::Unavailable, "away")) }),
            _ => self.0.put(document),
        }
    }

    fn get<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        self.0.get(id)
    }

    fn delete<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
        self.0.delete(id)
    }
}

#[tokio::test(start_paused = true)]
async fn a_document_beside_a_result_is_stored_once_the_store_is_back() {
    for aborts in [false, true] {
        let store = Arc::new(Stumbles::default());
        let tool = tool_fn("t", "", move |_: NoArguments| async move {
            match aborts {
                true => Err(ToolError::abort("stop")),
                false => Ok("x"),
            }
        });
        let model = ScriptedModel::new([Turn::call("t", "{}"), Turn::text("done")]).unverified();
        let model = model.with_capabilities_of("anthropic", "claude-opus-4-8");
        let enclosed = pdf("a.pdf");
        let agent = Agent::builder(model).tool(tool).hook(Encloses(enclosed.clone())).store(store.clone());
        let journal = Arc::new(MemoryJournal::new());
        let events = all(&mut agent.build().unwrap().run_in(journal, "go")).await;
        assert_eq!(warnings(&events), ["document_not_stored"], "{aborts}");
        assert!(store.get(enclosed.id()).await.is_ok(), "{aborts}: it is tried again");
    }
}

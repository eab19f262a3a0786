//! Sessions of an agent, in memory; the tests of `attache-stores` run them over each store.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Once};
use std::time::{Duration, SystemTime};

use attache_agent::{
    Agent, Decision, EndReason, Fork, ForkedFrom, Idle, MemoryDocumentStore, MemorySessions, OpenSession,
    RunInput, SessionId, SessionStore as _, Sessions, SubmitError, decide, say, tool_fn,
};
use attache_core::{
    Approval, BoxFuture, Document, DocumentId, DocumentStore, Message, Role, StoreError, StoreErrorKind,
    UserMessage, UserPart,
};
use attache_testkit::{ScriptedModel, Turn};
use bytes::Bytes;
use serde_json::json;

fn sessions(turns: impl IntoIterator<Item = Turn>, store: MemorySessions) -> Sessions {
    let agent = Agent::builder(ScriptedModel::new(turns).unverified()).build().unwrap();
    Sessions::new(agent, Arc::new(store))
}

// A44
#[tokio::test(start_paused = true)]
async fn expired_sessions_are_deleted_every_ten_minutes() {
    let began = tokio::time::Instant::now();
    let clock = move || SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000) + began.elapsed();
    let sessions = sessions([], MemorySessions::new()).with_clock(clock);
    sessions.open("ann", Some("s")).await.unwrap();
    let watched = async {
        let mut minutes = 0;
        while sessions.count("ann").await.unwrap() > 0 {
            tokio::time::sleep(Duration::from_secs(60)).await;
            minutes += 1;
        }
        minutes
    };
    let (watched, cleaning) = (std::pin::pin!(watched), std::pin::pin!(sessions.keep_clean()));
    let minutes = futures_util::future::select(watched, cleaning).await;
    let futures_util::future::Either::Left((minutes, _)) = minutes else { panic!("it never ends") };
    // It expires after 60 minutes, and the next look is the seventh.
    assert!((70..=71).contains(&minutes), "{minutes}");
}

#[tokio::test]
async fn beyond_the_most_sessions_the_one_goes_that_was_used_longest_ago() {
    let now = Arc::new(AtomicU64::new(1_000_000));
    let clock = Arc::clone(&now);
    let clock = move || SystemTime::UNIX_EPOCH + Duration::from_secs(clock.fetch_add(1, Ordering::Relaxed));
    let sessions = sessions([], MemorySessions::new().with_max_sessions(2)).with_clock(clock);
    for id in ["one", "two", "one", "three"] {
        sessions.open("ann", Some(id)).await.unwrap();
    }
    let ids: Vec<_> = sessions.list("ann").await.unwrap().iter().map(|info| info.id.to_string()).collect();
    assert_eq!(ids, ["three", "one"]);
}

thread_local! {
    static WARNINGS: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Keeps the warnings of each thread that asks. It is installed for the whole process: whether a line is wanted is
/// remembered process-wide, so a subscriber of one thread alone may miss what another thread met first.
struct Warnings;

impl tracing::Subscriber for Warnings {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() <= tracing::Level::WARN
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut text = String::new();
        let mut write = |field: &tracing::field::Field, value: &dyn std::fmt::Debug| {
            text.push_str(&format!("{field}={value:?} "));
        };
        event.record(&mut write as &mut dyn tracing::field::Visit);
        WARNINGS.with_borrow_mut(|warnings| warnings.as_mut().map(|warnings| warnings.push(text)));
    }
}

fn warnings() -> Vec<String> {
    WARNINGS.replace(Some(Vec::new())).unwrap_or_default()
}

#[tokio::test]
async fn a_session_that_makes_room_is_told_and_its_documents_go_with_it() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| tracing::subscriber::set_global_default(Warnings).unwrap());
    assert!(warnings().is_empty());
    let documents = Arc::new(MemoryDocumentStore::default());
    let model = ScriptedModel::new((0..4).map(|_| Turn::text("Seen."))).unverified();
    let agent = Agent::builder(model).store(Arc::clone(&documents) as _).build().unwrap();
    let second = AtomicU64::new(1_000_000);
    let clock = move || SystemTime::UNIX_EPOCH + Duration::from_secs(second.fetch_add(1, Ordering::Relaxed));
    let store = Arc::new(MemorySessions::new().with_max_sessions(2));
    let sessions = Sessions::new(agent, store).with_documents(Arc::clone(&documents) as _).with_clock(clock);
    let attached = ["one", "two"].map(|name| Document::from_bytes(name, "text/plain"));
    let shared = Document::from_bytes("in both", "text/plain");
    for (id, own) in ["one", "two"].iter().zip(&attached) {
        documents.put(own).await.unwrap();
        documents.put(&shared).await.unwrap();
        let parts = [own, &shared].map(|document| Some(UserPart::Document(document.clone())));
        let question = UserMessage::new([UserPart::text("Look.")].into_iter().chain(parts));
        let input = RunInput::new([Message::User(question).shared()]);
        sessions.open("ann", Some(id)).await.unwrap().run(input).outcome().await.unwrap();
    }
    assert!(warnings().is_empty());
    let two = sessions.get("ann", "two").await.unwrap();
    let fork = two.fork(&two.runs().await.unwrap()[0].id).await.unwrap();
    assert!(documents.get(attached[0].id()).await.is_err(), "the first session made room");
    let lines = warnings();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("made room") && lines[0].contains("one"), "{lines:?}");
    sessions.get("ann", fork.id().as_str()).await.unwrap();
    sessions.open("ann", Some("three")).await.unwrap();
    documents.get(attached[1].id()).await.unwrap();
    documents.get(shared.id()).await.unwrap();
    let lines = warnings();
    assert!(lines.len() == 1 && lines[0].contains("two"), "{lines:?}");
    sessions.get("ann", "three").await.unwrap();
    sessions.open("ann", Some("four")).await.unwrap();
    assert!(documents.get(attached[1].id()).await.is_err() && documents.get(shared.id()).await.is_err());
    assert_eq!(sessions.count("ann").await.unwrap(), 2);
}

#[tokio::test]
async fn a_fork_whose_session_made_room_for_it_comes_from_where_that_came() {
    let ids = ["root", "fork", "further", "last"].map(|id| SessionId::parse(id).unwrap());
    let [root, fork, further, last] = &ids;
    let store = MemorySessions::new().with_max_sessions(2);
    let open = |now| OpenSession { id: root, principal: "ann", make: true, now, expired_before: None };
    let made =
        |session, id, questions, now| Fork { principal: "ann", session, run: None, questions, id, now };
    let from = async |id| store.info("ann", id).await.unwrap().unwrap().forked_from;
    store.open(open(1)).await.unwrap();
    store.fork(made(root, fork, 1, 2)).await.unwrap();
    store.open(open(3)).await.unwrap();
    assert_eq!(store.fork(made(fork, further, 2, 4)).await.unwrap().sessions, ids[1..2]);
    assert_eq!(from(further).await, Some(ForkedFrom { session: root.clone(), questions: 1 }));
    // The root was used before it.
    assert_eq!(store.fork(made(further, last, 3, 5)).await.unwrap().sessions, ids[..1]);
    assert_eq!(from(further).await, None);
    assert_eq!(from(last).await, Some(ForkedFrom { session: further.clone(), questions: 3 }));
}

#[tokio::test]
async fn a_fork_of_sessions_that_go_together_comes_from_the_one_before_them() {
    let store = MemorySessions::new();
    let ids: Vec<_> = (0..5).map(|at| SessionId::parse(format!("s{at}")).unwrap()).collect();
    let open = OpenSession { id: &ids[0], principal: "ann", make: true, now: 9, expired_before: None };
    store.open(open).await.unwrap();
    for (at, (session, questions)) in ids.iter().zip([5, 2, 3, 4]).enumerate() {
        let now = if at == 3 { 9 } else { 1 };
        let fork = Fork { principal: "ann", session, run: None, questions, id: &ids[at + 1], now };
        store.fork(fork).await.unwrap();
    }
    let gone = store.clean(Idle { before: 5, now: 9, limit: 9 }).await.unwrap();
    assert_eq!(gone.sessions.len(), 3);
    let from = store.info("ann", &ids[4]).await.unwrap().unwrap().forked_from;
    assert_eq!(from, Some(ForkedFrom { session: ids[0].clone(), questions: 2 }), "the least of the way");
}

#[tokio::test]
async fn a_run_that_waits_for_its_turn_can_be_cancelled() {
    let turns = [Turn::empty().then_hang()];
    let sessions = sessions(turns, MemorySessions::new()).with_busy(attache_agent::Busy::Queue { depth: 1 });
    let session = sessions.open("ann", None).await.unwrap();
    let mut first = session.run("one");
    first.next().await.unwrap();
    let second = session.run("two");
    let control = second.control();
    let mut second = Box::pin(second.outcome());
    assert!(futures_util::FutureExt::now_or_never(&mut second).is_none());
    control.cancel();
    assert_eq!(second.await.unwrap().reason, EndReason::Cancelled);
}

#[tokio::test]
async fn a_run_that_is_dropped_frees_its_session_while_somebody_holds_its_control() {
    let sessions = sessions([Turn::text("Two.")], MemorySessions::new());
    let session = sessions.open("ann", None).await.unwrap();
    let mut first = session.run("one");
    first.next().await.unwrap();
    let control = first.control();
    drop(first);
    assert_eq!(session.run("two").outcome().await.unwrap().text, "Two.");
    assert!(!control.is_active());
}

// C38: a program that does not read on in one run keeps nobody from ending the others.
#[tokio::test(start_paused = true)]
async fn a_run_is_ended_from_elsewhere_while_another_one_of_its_process_is_not_polled() {
    let store = Arc::new(MemorySessions::new());
    let process = || {
        let turns = [Turn::empty().then_hang(), Turn::empty().then_hang()];
        let agent = Agent::builder(ScriptedModel::new(turns).unverified()).build().unwrap();
        Sessions::new(agent, Arc::clone(&store) as _)
    };
    let (here, elsewhere) = (process(), process());
    let mut unread = here.open("ann", Some("unread")).await.unwrap().run("one");
    unread.next().await.unwrap();
    let mut run = here.open("ann", Some("s")).await.unwrap().run(RunInput::from("two").with_run_id("two"));
    run.next().await.unwrap();
    assert!(elsewhere.get("ann", "s").await.unwrap().stop("two", "enough").await.unwrap());
    let since = tokio::time::Instant::now();
    let ended = tokio::time::timeout(Duration::from_secs(60), run.outcome()).await;
    assert_eq!(ended.expect("nobody looked").unwrap().reason, EndReason::Cancelled);
    assert!(since.elapsed() < Duration::from_secs(2), "{:?}", since.elapsed());
    drop(unread);
}

// C38: a run that waits for somebody, and that nobody drives, has its end in its log once it is resumed.
#[tokio::test(start_paused = true)]
async fn a_run_that_waits_is_ended_from_elsewhere() {
    let store = Arc::new(MemorySessions::new());
    let pay = tool_fn("pay", "Pays", || Ok("paid")).with_approval(attache_core::Approval::Always);
    let model = ScriptedModel::new([Turn::call("pay", serde_json::json!({}))]).unverified();
    let agent = Agent::builder(model).tool(pay).build().unwrap();
    let sessions = Sessions::new(agent, Arc::clone(&store) as _);
    let session = sessions.open("ann", Some("s")).await.unwrap();
    let waits = session.run(RunInput::from("Pay.").with_run_id("one")).outcome().await.unwrap();
    assert_eq!(waits.reason, EndReason::PendingApproval);
    assert!(session.stop("one", "enough").await.unwrap());
    let ended = session.resume().outcome().await.unwrap();
    assert_eq!((ended.reason, ended.detail.as_deref()), (EndReason::Cancelled, Some("enough")));
    assert_eq!(session.info().await.unwrap().open_run, None);
    assert_eq!(session.last().await.unwrap().unwrap().approvals, []);
}

// C38: whoever knows the journal of a run can say something to it, and nothing of it is lost or read twice.
#[tokio::test]
async fn something_said_from_elsewhere_is_read_at_the_next_call_of_the_model() {
    let store = Arc::new(MemorySessions::new());
    let model = ScriptedModel::new([
        Turn::call("look", serde_json::json!({})),
        Turn::text("Done."),
        Turn::text("Both."),
    ]);
    let model = model.unverified();
    let elsewhere = {
        let agent = Agent::builder(ScriptedModel::new([])).build().unwrap();
        Sessions::new(agent, Arc::clone(&store) as _)
    };
    let look = tool_fn("look", "", move || {
        let elsewhere = elsewhere.clone();
        async move {
            let journal = elsewhere.get("ann", "s").await.unwrap().journal_of("r");
            // Two that are alike are two.
            say(&*journal, "by the way").await.unwrap();
            say(&*journal, "by the way").await.unwrap();
            Ok::<_, attache_core::ToolError>("seen")
        }
    });
    let agent = Agent::builder(model.clone()).tool(look).build().unwrap();
    let session = Sessions::new(agent, Arc::clone(&store) as _).open("ann", Some("s")).await.unwrap();
    let mut run = session.run(RunInput::from("look").with_run_id("r"));
    // Its own inbox has something at the same time.
    run.control().inject("and this").unwrap();
    let mut said = 0;
    while let Some(event) = run.next().await {
        if matches!(event.kind, attache_agent::EventKind::StepFinished { .. }) && said == 0 {
            said = 1;
            run.control().inject("and that").unwrap();
        }
    }
    let requests = model.requests();
    let heard = |at: usize, text: &str| {
        let told = |message: &&Arc<Message>| match &***message {
            Message::User(user) => {
                user.parts.iter().any(|part| matches!(part, UserPart::Text(said) if said.text() == text))
            }
            _ => false,
        };
        requests[at].messages.iter().filter(told).count()
    };
    assert_eq!((heard(0, "by the way"), heard(0, "and this")), (0, 1));
    assert_eq!((heard(1, "by the way"), heard(1, "and this"), heard(1, "and that")), (2, 1, 1));
    let journal = session.journal_of("r");
    let late = say(&*journal, "late").await;
    assert!(matches!(late, Err(SubmitError::ChatLoopClosed)), "{late:?}");
}

#[tokio::test]
async fn a_run_that_was_interrupted_reads_what_was_said_once_it_goes_on() {
    let look = tool_fn("look", "", || Ok("seen"));
    let turns = [Turn::call("look", serde_json::json!({})), Turn::text("Done.")];
    let model = ScriptedModel::new(turns).unverified();
    let agent = Agent::builder(model.clone()).tool(look).build().unwrap();
    let session = Sessions::new(agent, Arc::new(MemorySessions::new())).open("ann", Some("s")).await.unwrap();
    let mut run = session.run(RunInput::from("look").with_run_id("r"));
    while let Some(event) = run.next().await {
        if matches!(event.kind, attache_agent::EventKind::ToolFinished { .. }) {
            break;
        }
    }
    drop(run);
    say(&*session.journal_of("r"), "by the way").await.unwrap();
    assert_eq!(session.resume().outcome().await.unwrap().text, "Done.");
    let told = model.requests().last().map(|request| format!("{:?}", request.messages)).unwrap();
    assert_eq!(told.matches("by the way").count(), 1, "{told}");
}

/// An agent that asks another one to pay, which waits until somebody approves that.
fn paying(turns: impl IntoIterator<Item = Turn>, inside: impl IntoIterator<Item = Turn>) -> Agent {
    let pay = tool_fn("pay", "Pays", || Ok("paid")).with_approval(Approval::Always);
    let clerk = Agent::builder(ScriptedModel::new(inside).unverified()).tool(pay).build().unwrap();
    let model = ScriptedModel::new(turns).unverified();
    Agent::builder(model).tool(clerk.as_tool("clerk", "Pays bills")).build().unwrap()
}

// R31: a process that has only the log knows for whom an agent inside waits, as the one that drove it does.
#[tokio::test]
async fn an_approval_inside_an_agent_is_known_by_the_log() {
    let store = Arc::new(MemorySessions::new());
    let asks = [Turn::call("clerk", json!({"task": "Pay the bill"}))];
    let first = Sessions::new(paying(asks, [Turn::call("pay", json!({}))]), store.clone());
    let driven = first.open("ann", Some("s")).await.unwrap().run("Pay").outcome().await.unwrap();
    assert_eq!((driven.reason.clone(), driven.approvals.len()), (EndReason::PendingApproval, 1));
    assert_eq!((driven.pending.len(), &*driven.pending[0].name), (1, "pay"));

    let after = Sessions::new(paying([Turn::text("Done.")], [Turn::text("Paid.")]), store);
    let session = after.open("ann", Some("s")).await.unwrap();
    let known = session.last().await.unwrap().unwrap();
    assert_eq!(known, driven);

    // The next question is refused until somebody has decided, and closes nothing.
    let refused = session.run("Hello?").outcome().await.unwrap_err();
    assert!(refused.decide_error().is_some() || refused.to_string().contains("approv"), "{refused:?}");
    assert_eq!(session.last().await.unwrap().unwrap().approvals, driven.approvals);

    let journal = session.journal_of(&driven.run_id);
    decide(&*journal, &driven.approvals[0].id, "ann", Decision::Approve).await.unwrap();
    let done = session.resume().outcome().await.unwrap();
    assert_eq!((done.reason.clone(), &*done.text), (EndReason::Answer, "Done."));
    assert_eq!(session.last().await.unwrap().unwrap(), done);
}

/// A store that refuses to delete some documents, for good or once.
struct Keeping {
    inner: MemoryDocumentStore,
    /// The first letter of the names of those that it keeps for good.
    keeps: &'static str,
    fails_once: AtomicBool,
}

impl DocumentStore for Keeping {
    fn id(&self) -> &str {
        self.inner.id()
    }

    fn put<'a>(&'a self, document: &'a Document) -> BoxFuture<'a, Result<(), StoreError>> {
        self.inner.put(document)
    }

    fn get<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        self.inner.get(id)
    }

    fn delete<'a>(&'a self, id: &'a DocumentId) -> BoxFuture<'a, Result<(), StoreError>> {
        let kind = match self.fails_once.swap(false, Ordering::SeqCst) {
            true => StoreErrorKind::Unavailable,
            false if !self.keeps.is_empty() && id.as_str().starts_with(self.keeps) => StoreErrorKind::Invalid,
            false => return self.inner.delete(id),
        };
        Box::pin(async move { Err(StoreError::new(kind, "it stays")) })
    }
}

fn keeping(keeps: &'static str, fails_once: bool) -> Arc<Keeping> {
    let fails_once = AtomicBool::new(fails_once);
    Arc::new(Keeping { inner: MemoryDocumentStore::default(), keeps, fails_once })
}

fn named(name: String) -> Document {
    Document::from_bytes(name.clone(), "text/plain").with_id(DocumentId::parse(name).unwrap())
}

async fn with_documents(documents: &Arc<Keeping>, given: Vec<Document>) -> (Arc<MemorySessions>, Sessions) {
    let store = Arc::new(MemorySessions::new());
    let model = ScriptedModel::new([Turn::text("done")]).unverified();
    let agent = Agent::builder(model).store(Arc::clone(documents) as _).build().unwrap();
    let sessions = Sessions::new(agent, Arc::clone(&store) as _).with_documents(Arc::clone(documents) as _);
    let message = UserMessage::new(given.into_iter().map(|document| Some(UserPart::Document(document))));
    let _answered_or_not = sessions.open("ann", Some("s")).await.unwrap().run(message).outcome().await;
    (store, sessions)
}

#[tokio::test]
async fn documents_that_cannot_be_deleted_keep_no_others_from_it() {
    let documents = keeping("kept", false);
    let kept = (0..3000).map(|at| named(format!("kept-{at}")));
    let free: Vec<_> = (0..50).map(|at| named(format!("free-{at}"))).collect();
    let (store, sessions) = with_documents(&documents, kept.chain(free.clone()).collect()).await;
    documents.get(free[0].id()).await.unwrap();
    // The process dies behind the deletion of the session.
    store.clear("ann", None).await.unwrap();
    sessions.cleanup().await.unwrap_err();
    for document in free {
        assert!(documents.get(document.id()).await.is_err());
    }
}

#[tokio::test]
async fn what_a_cleanup_fails_to_delete_it_tries_again() {
    let documents = keeping("", false);
    let document = named("a".to_owned());
    let (_, sessions) = with_documents(&documents, vec![document.clone()]).await;
    documents.get(document.id()).await.unwrap();
    let late = sessions.with_clock(|| SystemTime::now() + Duration::from_secs(2 * 3600));
    documents.fails_once.store(true, Ordering::SeqCst);
    late.cleanup().await.unwrap_err();
    assert!(documents.get(document.id()).await.is_err(), "it is gone all the same");
}

// C25: "an error" of the turn that it is attached in, and a note from then on
#[tokio::test]
async fn a_document_that_failed_a_turn_fails_no_later_one() {
    let model = ScriptedModel::new([Turn::text("On 1 May.")]);
    let agent = Agent::builder(model.clone()).build().unwrap();
    let sessions = Sessions::new(agent, Arc::new(MemorySessions::new()));
    let session = sessions.open("ann", Some("s")).await.unwrap();
    let scan =
        Document::from_bytes(b"\x89PNG\r\n\x1a\n pixels".to_vec(), "image/png").with_file_name("scan.png");
    for _ in 0..2 {
        let looked = UserMessage::text("Look.").attach(scan.clone());
        let failed =
            session.run(RunInput::new([Message::User(looked).shared()])).outcome().await.unwrap_err();
        assert!(matches!(failed.reason(), EndReason::ProviderError(_)), "{failed}");
    }
    let outcome = session.run("When is it due?").outcome().await.unwrap();
    assert_eq!(outcome.text, "On 1 May.");
    let [request] = &*model.requests() else { panic!("the model was asked once") };
    let told: Vec<_> = request.messages.iter().filter(|message| message.role() == Role::User).collect();
    let [first, second, asked] = &*told else { panic!("{told:?}") };
    for message in [first, second] {
        let Message::User(user) = &***message else { panic!("{message:?}") };
        let shown = format!("{:?}", user.routed.as_ref().unwrap());
        assert!(shown.contains("scan.png") && shown.contains("does not take image/png"), "{shown}");
    }
    assert!(asked.metadata().is_empty(), "{asked:?}");
}

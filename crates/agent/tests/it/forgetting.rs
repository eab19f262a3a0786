//! An agent that is given no store says so where documents are lost by it.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use crate::common::journals::{Fault, Faulty, Method};
use attache_agent::{Agent, MemoryDocumentStore, MemoryJournal};
use attache_core::{Document, UserMessage, UserPart};
use attache_testkit::{ScriptedModel, Turn};

/// The warnings that `tracing` was told.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

struct Text(String);

impl tracing::field::Visit for Text {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        write!(self.0, "{field}={value:?} ").unwrap();
    }
}

impl tracing::Subscriber for Told {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() == tracing::Level::WARN
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.lock().unwrap().push(text.0);
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

impl Told {
    fn times(&self, words: &str) -> usize {
        self.0.lock().unwrap().iter().filter(|text| text.contains(words)).count()
    }
}

fn question(bytes: Vec<u8>) -> UserMessage {
    let document = Document::from_bytes(bytes, "text/plain");
    UserMessage::new([UserPart::text("What is it?"), document.into()])
}

fn builder() -> attache_agent::AgentBuilder {
    Agent::builder(ScriptedModel::new(std::iter::repeat_n(Turn::text("A text."), 4)).unverified())
}

fn lasting() -> Arc<Faulty> {
    Faulty::new((Method::Append, usize::MAX, Fault::Fails))
}

#[tokio::test]
async fn documents_that_do_not_outlive_the_process_are_warned_of_where_the_run_does() {
    const WORDS: &str = "has documents in memory alone";
    let told = Told::default();
    let _guard = tracing::subscriber::set_default(told.clone());
    // With a second one around, a test in another thread cannot switch the events off.
    let _second = tracing::Dispatch::new(Told::default());
    let agent = builder().build().unwrap();
    agent.run(question(b"one".to_vec())).outcome().await.unwrap();
    agent.run_in(Arc::new(MemoryJournal::new()), question(b"two".to_vec())).outcome().await.unwrap();
    agent.run_in(lasting(), "no document").outcome().await.unwrap();
    let elsewhere = Document::external("https://h.example/plan.txt");
    let _answered_or_not = agent.run_in(lasting(), UserMessage::new([elsewhere.into()])).outcome().await;
    assert_eq!(told.times(WORDS), 0, "nothing is lost that was kept");
    for _ in 0..2 {
        let agent = agent.clone();
        let run = agent.run_in(lasting(), question(b"three".to_vec()));
        let _answered_or_not = run.outcome().await;
    }
    assert_eq!(told.times(WORDS), 1);
    let made = Turn::text("Here.").making(Document::from_bytes(&b"a picture"[..], "image/png"));
    let making = Agent::builder(ScriptedModel::new([made]).unverified()).build().unwrap();
    making.run_in(lasting(), "Draw.").outcome().await.unwrap();
    assert_eq!(told.times(WORDS), 2, "the model made it");
    let agent = builder().build().unwrap();
    let run = agent.run_in(lasting(), "go");
    run.control().inject(question(b"five".to_vec())).unwrap();
    let _answered_or_not = run.outcome().await;
    assert_eq!(told.times(WORDS), 3, "it was said on the way");
    let kept = builder().store(Arc::new(MemoryDocumentStore::default())).build().unwrap();
    kept.run_in(lasting(), question(b"four".to_vec())).outcome().await.unwrap();
    assert_eq!(told.times(WORDS), 3, "it has a store");
}

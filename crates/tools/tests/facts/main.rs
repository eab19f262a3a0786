//! Facts that outlive a conversation.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a broken expectation is a failed test"
)]

use std::sync::Arc;

use attache_agent::{Agent, MemoryJournal, RECALLED, Recall, RunInput};
use attache_core::facts::{Fact, LongTermMemory};
use attache_core::{BoxFuture, Message, StoreError, StoreErrorKind};
use attache_testkit::{FunctionModel, ScriptedModel, Turn};
use attache_tools::{MemoryFacts, fact_tools};
use serde_json::json;

fn agent(memory: &Arc<MemoryFacts>, model: impl Into<attache_core::ModelHandle>, principal: &str) -> Agent {
    let builder = Agent::builder(model).tools(fact_tools(Arc::clone(memory)));
    builder.principal(principal).build().unwrap()
}

fn results(messages: &[Arc<Message>]) -> Vec<String> {
    let of = |message: &Arc<Message>| match &**message {
        Message::ToolResults(results) => {
            results.results.iter().map(|result| result.tree.model_text().into_owned()).collect()
        }
        _ => Vec::new(),
    };
    messages.iter().flat_map(of).collect()
}

#[tokio::test]
async fn a_model_remembers_in_one_conversation_and_recalls_in_another() {
    let memory = Arc::new(MemoryFacts::new());
    let first = ScriptedModel::new([
        Turn::call("remember", json!({"fact": "Ann prefers trains."})),
        Turn::text("ok"),
    ]);
    agent(&memory, first, "ann").run("I like trains").outcome().await.unwrap();

    let later =
        || ScriptedModel::new([Turn::call("recall", json!({"query": "train or plane?"})), Turn::text("ok")]);
    let outcome = agent(&memory, later(), "ann").run("Book a trip").outcome().await.unwrap();
    assert!(results(&outcome.messages)[0].contains("Ann prefers trains."));
    let outcome = agent(&memory, later(), "bob").run("Book a trip").outcome().await.unwrap();
    assert_eq!(results(&outcome.messages), ["Nothing like that is remembered."], "Bob has facts of his own");
}

#[tokio::test]
async fn a_fact_that_is_forgotten_is_gone() {
    let memory = Arc::new(MemoryFacts::new());
    let fact = memory.remember("ann", "The code word is heron.").await.unwrap();
    assert!(!memory.forget("bob", &fact.id).await.unwrap(), "not his");
    let model = ScriptedModel::new([Turn::call("forget", json!({"id": fact.id})), Turn::text("ok")]);
    let outcome = agent(&memory, model, "ann").run("Forget it").outcome().await.unwrap();
    assert_eq!(results(&outcome.messages), ["Forgotten."]);
    assert!(memory.search("ann", "code word", 5).await.unwrap().is_empty());
}

#[tokio::test]
async fn without_a_principal_nothing_is_remembered() {
    let memory = Arc::new(MemoryFacts::new());
    let model = ScriptedModel::new([Turn::call("remember", json!({"fact": "x"})), Turn::text("ok")]);
    let tools = fact_tools(Arc::clone(&memory));
    let agent = Agent::builder(model).tools(tools).build().unwrap();
    let outcome = agent.run("go").outcome().await.unwrap();
    assert_eq!(results(&outcome.messages), ["this tool is not set up"]);
    assert!(memory.search("", "", 5).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_best_match_comes_first_and_the_same_text_is_one_fact() {
    let memory = MemoryFacts::new();
    for text in
        ["Invoices go to Berlin.", "Berlin is cold.", "The cat is called Mia.", "Invoices go to Berlin."]
    {
        memory.remember("ann", text).await.unwrap();
    }
    let texts =
        |facts: Vec<attache_core::facts::Fact>| facts.into_iter().map(|fact| fact.text).collect::<Vec<_>>();
    let found = texts(memory.search("ann", "where does the invoice to Berlin go", 5).await.unwrap());
    assert_eq!(found[0], "Invoices go to Berlin.");
    assert_eq!(
        texts(memory.search("ann", "", 2).await.unwrap()),
        ["Invoices go to Berlin.", "The cat is called Mia."]
    );
    memory.remember("ann", "租赁合同从七月开始。").await.unwrap();
    assert_eq!(texts(memory.search("ann", "合同什么时候开始", 1).await.unwrap()), ["租赁合同从七月开始。"]);
}

#[tokio::test]
async fn a_memory_is_bounded() {
    let memory = MemoryFacts::new().with_max_facts(1);
    memory.remember("ann", "one").await.unwrap();
    memory.remember("ann", "one").await.unwrap();
    assert_eq!(memory.remember("ann", "two").await.unwrap_err().kind(), StoreErrorKind::TooLarge);
    memory.remember("bob", "two").await.unwrap();
    assert_eq!(
        memory.remember("eve", &"x".repeat(5_000)).await.unwrap_err().kind(),
        StoreErrorKind::TooLarge
    );
}

/// The texts that requests tell of what is remembered.
fn recalled(messages: &[Arc<Message>]) -> Vec<String> {
    let of = |message: &Arc<Message>| match &**message {
        Message::User(user) if user.metadata.get(RECALLED).is_some() => Some(format!("{:?}", user.parts)),
        _ => None,
    };
    messages.iter().filter_map(of).collect()
}

// Reported: volatile text at the head of the prompt defeats caching (QwenLM/qwen-code#4777)
#[tokio::test]
async fn what_is_recalled_stands_behind_its_question_and_in_no_later_run() {
    let memory = Arc::new(MemoryFacts::new());
    memory.remember("ann", "Ann lives in Oslo.").await.unwrap();
    for streaming in [true, false] {
        let model = FunctionModel::new(|_, _| Turn::text("ok"));
        let agent = Agent::builder(model.clone()).system("Be kind.").streaming(streaming);
        let agent = agent.hook(Recall::new(memory.clone())).principal("ann").build().unwrap();
        let mut history = Vec::new();
        for question in ["Hello", "Where do I live? In Oslo?", "Is Oslo cold?", "Thanks"] {
            let input = RunInput::from(question).with_history(history);
            history = agent.run(input).outcome().await.unwrap().messages;
        }
        let asked = model.asked();
        let requests: Vec<_> = asked.requests().map(|request| request.messages.clone()).collect();
        assert_eq!(requests.iter().map(Vec::len).collect::<Vec<_>>(), [2, 5, 7, 8]);
        let told: Vec<usize> = requests.iter().map(|messages| recalled(messages).len()).collect();
        assert_eq!(told, [0, 1, 1, 0]);
        assert!(recalled(&requests[1])[0].contains("Ann lives in Oslo."));
        // Apart from the last message, which tells it, each request is the beginning of the next.
        let ids = |messages: &[Arc<Message>]| -> Vec<String> {
            messages.iter().map(|message| message.id().to_string()).collect()
        };
        for pair in requests.windows(2) {
            let stays = pair[0].len() - recalled(&pair[0]).len();
            assert!(ids(&pair[1]).starts_with(&ids(&pair[0][..stays])));
        }
    }
}

#[tokio::test]
async fn nobody_is_told_what_somebody_else_said() {
    let memory = Arc::new(MemoryFacts::new());
    memory.remember("ann", "The code word is heron.").await.unwrap();
    for (principal, told) in [(Some("ann"), 1), (Some("bob"), 0), (None, 0)] {
        let model = FunctionModel::new(|_, _| Turn::text("ok"));
        let mut builder = Agent::builder(model.clone()).hook(Recall::new(memory.clone()));
        if let Some(principal) = principal {
            builder = builder.principal(principal);
        }
        builder.build().unwrap().run("What is the code word?").outcome().await.unwrap();
        let asked = model.asked();
        let requests: Vec<_> = asked.requests().map(|request| request.messages.clone()).collect();
        assert_eq!(recalled(&requests[0]).len(), told, "{principal:?}");
    }
}

#[tokio::test]
async fn what_is_recalled_is_bounded_in_facts_and_tokens() {
    let memory = Arc::new(MemoryFacts::new());
    for n in 0..20 {
        memory.remember("ann", &format!("Invoice {n} is paid.")).await.unwrap();
    }
    memory.remember("ann", &format!("Invoice: {}.", "a long story ".repeat(200))).await.unwrap();
    let facts = async |recall: Recall| {
        let model = FunctionModel::new(|_, _| Turn::text("ok"));
        let agent = Agent::builder(model).hook(recall).principal("ann").build().unwrap();
        let outcome = agent.run("Which invoice is paid? [1] (?)").outcome().await.unwrap();
        recalled(&outcome.messages).first().map_or(0, |told| told.matches("\\\"fact\\\"").count())
    };
    assert_eq!(facts(Recall::new(memory.clone())).await, 5);
    assert_eq!(facts(Recall::new(memory.clone()).with_max_facts(20)).await, 20);
    // Each takes some twenty tokens; the long one never fits.
    let few = facts(Recall::new(memory.clone()).with_max_facts(21).with_max_tokens(100)).await;
    assert!((2..10).contains(&few), "{few}");
    assert_eq!(facts(Recall::new(memory.clone()).with_max_tokens(0)).await, 0);
    assert_eq!(facts(Recall::new(memory.clone()).with_max_facts(0)).await, 0);
}

/// A memory that fails, or never answers.
struct Away(bool);

impl LongTermMemory for Away {
    fn remember<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<Fact, StoreError>> {
        Box::pin(std::future::pending())
    }

    fn search<'a>(
        &'a self,
        _: &'a str,
        _: &'a str,
        _: usize,
    ) -> BoxFuture<'a, Result<Vec<Fact>, StoreError>> {
        if self.0 {
            return Box::pin(std::future::pending());
        }
        let error = StoreError::new(StoreErrorKind::Unavailable, "away");
        Box::pin(std::future::ready(Err(error)))
    }

    fn forget<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test(start_paused = true)]
async fn a_memory_that_is_away_ends_no_run() {
    for hangs in [true, false] {
        let facts = fact_tools(Arc::new(MemoryFacts::new()));
        let agent = Agent::builder(ScriptedModel::new([Turn::text("ok")])).tools(facts);
        let agent = agent.hook(Recall::new(Arc::new(Away(hangs)))).principal("ann").build().unwrap();
        let outcome = agent.run("Where do I live?").outcome().await.unwrap();
        assert_eq!((&*outcome.text, recalled(&outcome.messages).len()), ("ok", 0), "hangs: {hangs}");
    }
}

#[tokio::test]
async fn a_run_that_is_resumed_reads_what_it_recalled_first() {
    let (memory, journal) = (Arc::new(MemoryFacts::new()), Arc::new(MemoryJournal::new()));
    memory.remember("ann", "Ann lives in Oslo.").await.unwrap();
    let turns = [Turn::call("recall", json!({"query": "x"})), Turn::text("ok")];
    let agent = |model: &ScriptedModel| {
        let agent = Agent::builder(model.clone()).tools(fact_tools(memory.clone()));
        agent.hook(Recall::new(memory.clone())).principal("ann").build().unwrap()
    };
    let model = ScriptedModel::new(turns.clone());
    agent(&model).run_in(journal.clone(), "Where do I live?").outcome().await.unwrap();
    let uncut = model.requests();
    assert_eq!(uncut.iter().map(|request| recalled(&request.messages).len()).collect::<Vec<_>>(), [1, 1]);
    // A fact that is remembered meanwhile changes nothing.
    memory.remember("ann", "Ann lives in Bergen.").await.unwrap();
    let entries = journal.entries();
    for cut in 1..entries.len() {
        let asked = entries[..cut].iter().filter(|entry| entry.key.as_str().starts_with("model/")).count();
        let model = ScriptedModel::new(turns[asked..].to_vec());
        let rest = Arc::new(MemoryJournal::from_entries(entries[..cut].to_vec()));
        agent(&model).resume(rest).outcome().await.unwrap();
        for (request, expected) in model.requests().iter().zip(&uncut[asked..]) {
            assert_eq!(recalled(&request.messages), recalled(&expected.messages), "cut {cut}");
        }
    }
}

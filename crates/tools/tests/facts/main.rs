//! Facts that outlive a conversation.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a broken expectation is a failed test"
)]

use std::sync::Arc;

use attache_agent::{Agent, RunInput};
use attache_core::{LongTermMemory, Message, StoreErrorKind, UserMessage};
use attache_testkit::{FunctionModel, ScriptedModel, Turn};
use attache_tools::{MemoryFacts, fact_tools, recalled};
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
    let texts = |facts: Vec<attache_core::Fact>| facts.into_iter().map(|fact| fact.text).collect::<Vec<_>>();
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

// Reported: volatile text at the head of the prompt defeats caching (QwenLM/qwen-code#4777)
#[tokio::test]
async fn what_is_recalled_stands_in_front_of_its_question_and_not_at_the_head() {
    let memory = MemoryFacts::new();
    memory.remember("ann", "Ann lives in Oslo.").await.unwrap();
    let model = FunctionModel::new(|_, _| Turn::text("ok"));
    let agent = Agent::builder(model.clone()).system("Be kind.").build().unwrap();
    let mut history = Vec::new();
    for question in ["Hello", "Where do I live? In Oslo?", "Thanks"] {
        let facts = recalled(&memory, "ann", question, 3).await.unwrap();
        let messages = facts.into_iter().chain([UserMessage::text(question)]);
        let input =
            RunInput::new(messages.map(|message| Message::User(message).shared())).with_history(history);
        history = agent.run(input).outcome().await.unwrap().messages;
    }
    let asked = model.asked();
    let requests: Vec<Vec<String>> = asked
        .requests()
        .map(|request| request.messages.iter().map(|message| message.id().to_string()).collect())
        .collect();
    assert_eq!(requests.iter().map(Vec::len).collect::<Vec<_>>(), [2, 5, 7]);
    assert!(requests.windows(2).all(|pair| pair[1].starts_with(&pair[0])), "the prefix holds");
    let Message::User(facts) = &*history[3] else { panic!("{:?}", history[3]) };
    assert!(format!("{:?}", facts.parts).contains("Ann lives in Oslo."));
}

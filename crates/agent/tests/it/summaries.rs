//! The summary of a run, and that of a conversation.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use attache_agent::{Agent, Compaction, Price, Prices, RUN_ONLY, RunInput, tool_fn};
use attache_core::message::{MadeDocument, Metadata};
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, ChatRequest, ContentTree, Document, Effect, Message,
    ModelHandle, ResultStatus, ToolCall, ToolError, ToolResult, ToolResultsMessage, Usage, UserMessage,
    UserPart,
};
use attache_testkit::{FunctionModel, ScriptedModel, Turn};
use serde_json::json;

use crate::common::Number;
use crate::common::kit::pdf;

#[tokio::test(start_paused = true)]
async fn a_summary_tells_tokens_cost_tools_with_their_times_and_documents_for_people_and_as_json() {
    let look = tool_fn("look", "", |Number { n }: Number| async move {
        tokio::time::sleep(Duration::from_secs(u64::try_from(n).unwrap())).await;
        Ok::<_, ToolError>(pdf("a.pdf"))
    })
    .with_effect(Effect::Read);
    let fails = tool_fn("fails", "", |_: Number| async { Err::<u8, _>(ToolError::new("canary")) });
    let inner = Agent::builder(
        ScriptedModel::new([Turn::call("fails", json!({"n": 1})), Turn::text("canary")]).unverified(),
    );
    let inner = inner.tool(fails).build().unwrap();
    let usage = Usage::new(1_000, 200).with_cached_tokens(600);
    let turns = [
        Turn::call("look", json!({"n": 2})).and_call("look", json!({"n": 1})).costing(usage),
        Turn::call("ask", json!({"task": "canary"})).costing(Usage::new(100, 10)),
        Turn::text("canary").costing(Usage::new(400, 50)),
    ];
    let model = ScriptedModel::new(turns).unverified().with_capabilities_of("anthropic", "claude-sonnet-4-5");
    let model = ModelHandle::from(model);
    let prices = Prices::new("USD").with_model(model.id(), Price::new(1.0, 10.0));
    let agent =
        Agent::builder(model).prices(prices).tool(look).tool(inner.as_tool("ask", "")).build().unwrap();
    let (outcome, summary) = agent.run("canary").outcome_and_summary().await;
    let outcome = outcome.unwrap();
    let cost = outcome.cost.known;
    assert_eq!(
        summary.to_string(),
        format!(
            "answer after 3 model calls in 2.0 s (0.0 s asking)\n\
             tokens: 1,520 read (600 cached), 270 written; cost {cost}\n\
             tools: look 2 calls 3.0 s, ask/fails 1 call (1 failed) 0.0 s, ask 1 call 0.0 s\n\
             documents: 2 native"
        )
    );
    let value = serde_json::to_value(&summary).unwrap();
    assert_eq!(value["run_id"], outcome.run_id);
    assert_eq!(value["reason"], "answer");
    assert_eq!((&value["steps"], &value["cost"]), (&json!(3), &json!(cost.units())));
    assert_eq!(value["usage"]["input_tokens"], 1_520);
    assert_eq!(value["tools"][0], json!({"name": "look", "calls": 2, "failed": 0, "seconds": 3.0}));
    assert_eq!(value["documents"], json!({"native": 2}));
    assert!(!value.to_string().contains("canary"));
}

#[tokio::test]
async fn the_summary_of_a_run_that_fails_tells_the_reason_and_no_cost_that_nobody_knows() {
    let agent = Agent::builder(ScriptedModel::new([Turn::empty()]).unverified()).build().unwrap();
    let (outcome, summary) = agent.run("go").outcome_and_summary().await;
    assert!(outcome.is_err());
    assert!(summary.to_string().starts_with("empty_response after 1 model call in 0.0 s"), "{summary}");
    assert_eq!(serde_json::to_value(&summary).unwrap()["cost"], json!(null));
}

#[tokio::test]
async fn a_summary_counts_the_calls_whose_cost_nobody_knows_where_no_price_fits() {
    for (prices, unknown) in [(Some(Prices::new("USD")), 1), (None, 0)] {
        let model = ScriptedModel::new([Turn::text("done").costing(Usage::new(10, 1))]).unverified();
        let mut agent = Agent::builder(model);
        if let Some(prices) = prices {
            agent = agent.prices(prices);
        }
        let (_, summary) = agent.build().unwrap().run("go").outcome_and_summary().await;
        assert_eq!((summary.cost, summary.unknown_cost_steps), (None, unknown));
        assert_eq!(
            summary.to_string().ends_with("; nobody knows the cost of 1 call"),
            unknown == 1,
            "{summary}"
        );
    }
}

// A summary names the documents that tools can take, and no others.
#[tokio::test]
async fn withheld_documents_stand_in_no_summary() {
    let document = |name: &str| Document::inline(name).with_file_name(name);
    let [lease, notes, secret, other] = ["lease", "notes", "secret", "secret-too"].map(document);
    let event = ContentTree::parse("\"it came\"", vec![notes.clone(), other.clone()]).unwrap();
    let event = event.with_withheld(vec![other.id().clone()]);
    let call = ToolCall::new("find", Arguments::new("{}"));
    let tree = ContentTree::parse("\"found\"", vec![lease.clone(), secret.clone()]).unwrap();
    let tree = tree.with_withheld(vec![secret.id().clone()]);
    let result = ToolResult::new(&call, ResultStatus::Ok, tree);
    let picture = Document::from_bytes(&b"\x89PNG"[..], "image/png").with_file_name("cat");
    let made = AssistantMessage::new([AssistantPart::text("A cat."), MadeDocument::new(picture).into()]);
    let mut history = vec![
        Message::User(UserMessage::new([Some(UserPart::Object(event))])),
        Message::Assistant(AssistantMessage::new([call.into()])),
        Message::ToolResults(ToolResultsMessage::new([result])),
        Message::Assistant(made),
    ];
    let words = "word ".repeat(300);
    history.extend((0..8).flat_map(|_| [Message::user("old"), Message::assistant(&*words)]));
    let model =
        FunctionModel::new(|request, _| match request.tools.is_empty() && request.messages.len() == 2 {
            true => Turn::text("They looked at things."),
            false => Turn::text("ok"),
        });
    let memory = Compaction::new().with_threshold(2_000).with_recent(400).with_ceiling(1_500);
    let agent = Agent::builder(model.clone()).memory(memory).build().unwrap();
    let history = history.into_iter().map(Message::shared);
    agent.run(RunInput::from("now").with_history(history)).outcome().await.unwrap();
    let asked: Vec<String> =
        model.asked().requests().map(|request| format!("{:?}", request.messages)).collect();
    assert_eq!(asked.len(), 2, "for a summary, and for the answer");
    for asked in asked {
        assert!(["lease", "notes", "cat"].iter().all(|name| asked.contains(name)), "{asked}");
        assert!(!asked.contains("secret"), "{asked}");
    }
}

/// So many old turns of about 1,500 tokens.
fn old(turns: usize) -> impl Iterator<Item = Arc<Message>> {
    let words = "word ".repeat(1_500);
    (0..turns)
        .flat_map(move |n| [Message::user(format!("old {n}")).shared(), Message::assistant(&*words).shared()])
}

fn asks_for_summary(request: &ChatRequest) -> bool {
    format!("{:?}", request.messages[0]).contains("You keep the record")
}

// R27: a cost of which a part is unknown is unknown.
#[tokio::test]
async fn the_cost_of_a_summary_in_pieces_is_known_where_that_of_each_piece_is() {
    for (first, unknown) in [(Usage::new(1_000, 100), 0), (Usage::default(), 1)] {
        let pieces = Arc::new(AtomicUsize::new(0));
        let asked = Arc::clone(&pieces);
        let model = FunctionModel::new(move |request, _| match asks_for_summary(request) {
            true if asked.fetch_add(1, Ordering::Relaxed) == 0 => {
                Turn::text("They met.").costing(first.clone())
            }
            true => Turn::text("They talked.").costing(Usage::new(1_000, 100)),
            false => Turn::text("ok").costing(Usage::new(10, 1)),
        });
        let model = ModelHandle::from(model);
        let prices = Prices::new("USD").with_model(model.id(), Price::new(10.0, 30.0));
        let agent = Agent::builder(model).prices(prices).memory(Compaction::new()).build().unwrap();
        let outcome = agent.run(RunInput::from("now").with_history(old(60))).outcome().await.unwrap();
        assert!(pieces.load(Ordering::Relaxed) > 1);
        assert_eq!(outcome.cost.unknown_steps, unknown);
    }
}

// A74, A51: facts of a turn stay while it lasts, and in no record that outlives it
#[tokio::test]
async fn what_one_run_alone_was_told_stays_in_it_and_in_no_summary() {
    let read = tool_fn("read", "", |_: Number| async { Ok::<_, ToolError>("word ".repeat(1_000)) });
    let model = FunctionModel::new(|request, number| match (asks_for_summary(request), number) {
        (true, _) => Turn::text("They read."),
        (false, 0..12) => Turn::call("read", json!({"n": number})),
        _ => Turn::text("done"),
    });
    let memory = Compaction::new().with_threshold(6_000).with_recent(2_000).with_ceiling(4_000);
    let agent = Agent::builder(model.clone())
        .tool(read.with_effect(Effect::Read))
        .memory(memory.with_clearing(false));
    let page = UserMessage::event(ContentTree::text("THE PAGE"));
    let page = page.with_metadata(Metadata::new().with(RUN_ONLY, true));
    let input = [Message::user("THE TASK"), Message::User(page)].map(Message::shared);
    let outcome = agent.build().unwrap().run(RunInput::new(input)).outcome().await.unwrap();
    assert_eq!(outcome.text, "done");
    let (summaries, replies): (Vec<String>, Vec<String>) = model
        .asked()
        .requests()
        .map(|request| (asks_for_summary(request), format!("{:?}", request.messages)))
        .fold(Default::default(), |(mut summaries, mut replies), (is_summary, text)| {
            if is_summary {
                summaries.push(text)
            } else {
                replies.push(text)
            }
            (summaries, replies)
        });
    assert!(!summaries.is_empty() && !summaries.concat().contains("THE PAGE"));
    assert!(replies.iter().all(|request| request.contains("THE TASK") && request.contains("THE PAGE")));
}

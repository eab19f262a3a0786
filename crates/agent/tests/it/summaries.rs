//! The summary of a run, and that of a conversation.

use std::time::Duration;

use attache_agent::{Agent, Compaction, Price, Prices, RunInput, tool_fn};
use attache_core::message::MadeDocument;
use attache_core::{
    Arguments, AssistantMessage, AssistantPart, ContentTree, Document, Effect, Message, ModelHandle,
    ResultStatus, ToolCall, ToolError, ToolResult, ToolResultsMessage, Usage, UserMessage, UserPart,
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

//! The summary of a run.

use std::time::Duration;

use attache_agent::{Agent, Price, Prices, tool_fn};
use attache_core::{Effect, ModelHandle, ToolError, Usage};
use attache_testkit::{ScriptedModel, Turn};
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

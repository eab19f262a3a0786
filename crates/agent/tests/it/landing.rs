//! How a run ends at its limits: the model is told why, and answers without tools.

use std::sync::Arc;

use crate::common::Counter;
use crate::common::kit::{before, counting, holding};
use attache_agent::{Agent, AgentBuilder, EndReason, EntryKind, MemoryJournal, NoArguments, Run, tool_fn};
use attache_core::{Effect, FinishReason, Message, ToolChoice, ToolError, Usage, UserPart};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::json;

/// The text of the last message of a request.
fn last_said(model: &ScriptedModel) -> String {
    let request = model.requests().pop().unwrap();
    let Some(Message::User(user)) = request.messages.last().map(|message| (**message).clone()) else {
        panic!("{:?}", request.messages)
    };
    let [UserPart::Text(text)] = user.parts.as_slice() else { panic!("{user:?}") };
    text.text().to_owned()
}

#[tokio::test]
async fn the_model_is_told_which_limit_it_lands_at() {
    type Limit = fn(AgentBuilder) -> AgentBuilder;
    let cases: [(Limit, EndReason, &str); 4] = [
        (|builder| builder.max_steps(3), EndReason::MaxSteps, "This is the last step of this run."),
        (
            |builder| builder.max_tokens_per_run(60),
            EndReason::TokenLimit,
            "The token limit of this run is reached.",
        ),
        (
            |builder| builder.max_tool_calls(2),
            EndReason::ToolCallLimit,
            "The limit of tool calls of this run is reached.",
        ),
        (|builder| builder, EndReason::NoProgress, "The same call was repeated without progress."),
    ];
    for (limit, reason, why) in cases {
        let is_stuck = reason == EndReason::NoProgress;
        let cost = Usage::new(20, 10);
        let calls = (0..if is_stuck { 5 } else { 2 })
            .map(|n| Turn::call("look", json!({"n": if is_stuck { 0 } else { n }})).costing(cost.clone()));
        let model = ScriptedModel::new(calls.chain([Turn::text("so far")]));
        let look =
            tool_fn("look", "", move |crate::common::Number { n }: crate::common::Number| async move {
                if is_stuck { Err(ToolError::new("it is closed")) } else { Ok(n) }
            });
        let agent =
            limit(Agent::builder(model.clone()).tool(look.with_effect(Effect::Read))).build().unwrap();
        let outcome = agent.run("go").outcome().await.unwrap();
        assert_eq!((&outcome.reason, &*outcome.text), (&reason, "so far"));
        assert_eq!(
            last_said(&model),
            format!("{why} Tools are off now: answer with what you have, and say what is missing.")
        );
        assert_eq!(model.requests().pop().unwrap().tool_choice, ToolChoice::None);
    }
    // With nothing done yet there is nothing to land.
    let model = ScriptedModel::new([Turn::text("42")]);
    Agent::builder(model.clone()).max_steps(1).build().unwrap().run("6*7?").outcome().await.unwrap();
    assert_eq!(last_said(&model), "6*7?");
}

#[tokio::test]
async fn tokens_that_the_provider_counts_are_not_guessed_as_well() {
    let cost = Usage::new(10, 10);
    let long = "word ".repeat(2_000);
    let turns = (0..4).map(|n| Turn::call("look", json!({"n": n})).and_text(&long).costing(cost.clone()));
    let model = ScriptedModel::new(turns.chain([Turn::text("done").costing(cost.clone())]));
    let look = counting("look", Effect::Read, &Counter::default());
    let agent = Agent::builder(model).tool(look).max_tokens_per_run(101).build().unwrap();
    let outcome = agent.run("go").outcome().await.unwrap();
    assert_eq!((outcome.reason, outcome.steps), (EndReason::Answer, 5));
}

#[tokio::test]
async fn a_reply_that_is_paused_again_and_again_ends_with_what_it_said() {
    let paused = || Turn::text("more").finishing(FinishReason::Pause);
    let model = ScriptedModel::new((0..19).map(|_| paused()));
    let outcome = Agent::builder(model.clone()).build().unwrap().run("go").outcome().await.unwrap();
    assert_eq!((outcome.reason, &*outcome.text), (EndReason::Answer, "more"));
    assert_eq!(model.requests().len(), 11, "ten are continued");
    // At the last step it is not continued.
    let model = ScriptedModel::new((0..3).map(|_| paused()));
    let agent = Agent::builder(model.clone()).max_steps(3).build().unwrap();
    let outcome = agent.run("go").outcome().await.unwrap();
    assert_eq!((outcome.reason, model.requests().len()), (EndReason::MaxSteps, 3));
}

// A log from elsewhere may hold what this program never writes.
#[tokio::test]
async fn a_reply_whose_calls_share_an_id_is_refused() {
    let calls = Turn::call("look", "{}").and_call("look", "{}");
    let look = tool_fn("look", "", |_: NoArguments| async { Ok::<_, ToolError>(1) });
    let model = ScriptedModel::new([calls, Turn::text("done")]);
    let journal = Arc::new(MemoryJournal::new());
    let agent = Agent::builder(model).tool(look.with_effect(Effect::Read)).build().unwrap();
    agent.run_in(journal.clone(), "go").outcome().await.unwrap();
    let mut entries = before(&journal.entries(), "end");
    entries.truncate(2);
    assert!(Run::replay(&entries).is_ok());
    let EntryKind::Reply(reply) = &mut entries[1].kind else { panic!("{}", entries[1].key) };
    let Message::Assistant(message) = &mut Arc::make_mut(&mut reply.message) else { panic!() };
    let ids: Vec<_> = message.tool_calls().map(|call| call.id.clone()).collect();
    for part in &mut message.parts {
        if let attache_core::AssistantPart::ToolCall(call) = part {
            call.id = ids[0].clone();
        }
    }
    let error = Run::replay(&entries).unwrap_err();
    assert!(error.to_string().contains("two calls have one id"), "{error}");
    let resumed = agent.resume(holding(entries)).outcome().await;
    assert_eq!(resumed.unwrap_err().reason(), &EndReason::InternalError);
}

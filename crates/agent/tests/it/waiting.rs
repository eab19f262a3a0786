//! Calls that the caller answers, beside tools of our own.

use std::sync::Arc;
use std::time::Duration;

use crate::common::Counter;
use attache_agent::{
    Agent, AgentBuilder, EndReason, EventKind, MemoryJournal, NoArguments, Outcome, Tools, tool_fn,
};
use attache_core::{Message, ToolDefinition, ToolError, ToolResult};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::json;

fn external(name: &str) -> ToolDefinition {
    ToolDefinition::new(name, "", json!({"type": "object", "properties": {}}))
}

/// A model that asks for `ask`, which the caller answers, `works`, which takes ten seconds, and `hangs`.
fn agent(turns: impl IntoIterator<Item = Turn>, finished: &Counter) -> AgentBuilder {
    let finished = finished.clone();
    let works = tool_fn("works", "", move |_: NoArguments| {
        let finished = finished.clone();
        async move {
            tokio::time::sleep(Duration::from_secs(10)).await;
            finished.add();
            Ok::<_, ToolError>("worked")
        }
    });
    let hangs = tool_fn("hangs", "", |_: NoArguments| async {
        std::future::pending::<()>().await;
        Ok::<(), ToolError>(())
    });
    Agent::builder(ScriptedModel::new(turns))
        .tool(works)
        .tool(hangs)
        .tool_set(Tools::new().with_external(external("ask")))
        .answer_deadline(Duration::from_secs(5))
}

fn last_results(outcome: &Outcome) -> Vec<(String, bool)> {
    let results = outcome.messages.iter().rev().find_map(|message| match &**message {
        Message::ToolResults(results) => Some(results),
        _ => None,
    });
    let told = |result: &ToolResult| (result.tree.model_text().into_owned(), result.is_error());
    results.unwrap().results.iter().map(told).collect()
}

// P18: the time for answers is not the time for tools
#[tokio::test(start_paused = true)]
async fn tools_of_our_own_finish_when_the_caller_does_not_answer() {
    let finished = Counter::default();
    let calls =
        Turn::call("works", "{}").and_call("ask", "{}").and_call("hangs", "{}").and_call("works", "{}");
    let journal = Arc::new(MemoryJournal::new());
    let first = agent([calls], &finished).parallel_calls(2).build().unwrap();
    let outcome = first.run_in(journal.clone(), "go").outcome().await.unwrap();
    assert_eq!(outcome.reason, EndReason::PendingExternal);
    assert_eq!(outcome.pending.iter().map(|call| &*call.name).collect::<Vec<_>>(), ["ask"]);
    assert_eq!(finished.get(), 2, "one of them began after the time for answers was up");
    let told = last_results(&outcome);
    assert_eq!(told[0], ("worked".to_owned(), false));
    assert_eq!(told[1], ("no result was delivered in time".to_owned(), true));
    assert!(told[2].0.starts_with("timed out after 60 s") && told[3].0 == "worked", "{told:?}");
    assert_eq!(outcome.messages.len(), 3, "each call has a result, so the conversation may go on from here");
    assert_eq!(attache_agent::Run::replay(&journal.entries()).unwrap().outcome(), outcome);

    // Over its journal the run goes on with the answer, and nothing runs twice.
    let second = agent([Turn::text("done")], &finished).build().unwrap();
    let mut run = second.resume(journal.clone());
    let control = run.control();
    let mut end = None;
    while let Some(event) = run.next().await {
        match event.kind {
            EventKind::ExternalPending { call } => {
                control.submit([ToolResult::ok(&call, "yes")]).await.unwrap()
            }
            EventKind::ToolStarted { call } => panic!("{call:?}"),
            EventKind::Finished(result) => end = result.ok(),
            _ => {}
        }
    }
    let end = end.unwrap();
    assert_eq!((&end.reason, &*end.text, end.pending.len()), (&EndReason::Answer, "done", 0));
    assert_eq!(last_results(&end)[1], ("yes".to_owned(), false));
    assert_eq!(attache_agent::Run::replay(&journal.entries()).unwrap().outcome(), *end);
}

// An answer that is late but comes before the run gives up is an answer.
#[tokio::test(start_paused = true)]
async fn a_late_answer_counts_while_tools_run() {
    let finished = Counter::default();
    let turns = [Turn::call("works", "{}").and_call("ask", "{}"), Turn::text("done")];
    let mut run = agent(turns, &finished).build().unwrap().run("go");
    let control = run.control();
    let answering = async {
        tokio::time::sleep(Duration::from_secs(7)).await;
        let calls = control.awaiting();
        control.submit(calls.iter().map(|call| ToolResult::ok(call, "late"))).await.unwrap();
    };
    let running = async {
        while let Some(event) = run.next().await {
            if let EventKind::Finished(result) = event.kind {
                return result.unwrap();
            }
        }
        panic!("a run tells its end")
    };
    let (outcome, ()) = tokio::join!(running, answering);
    assert_eq!((&outcome.reason, finished.get()), (&EndReason::Answer, 1));
    assert_eq!(last_results(&outcome)[1], ("late".to_owned(), false));
}

// The limit of tool calls refuses what is beyond it, not the round that reaches it; the caller's calls count too.
#[tokio::test]
async fn calls_beyond_the_limit_are_refused_one_by_one() {
    let doubled = Counter::default();
    let double = |n: i64| ("double", json!({"n": n}).to_string());
    let ask = || ("ask", "{}".to_owned());
    let turn = |calls: Vec<(&str, String)>| {
        calls.into_iter().fold(Turn::empty(), |turn, (name, arguments)| {
            turn.and_call(name, serde_json::from_str::<serde_json::Value>(&arguments).unwrap())
        })
    };
    let rounds = [vec![double(1), ask()], vec![ask(), double(2), ask(), double(3)]];
    let model = ScriptedModel::new(rounds.map(turn).into_iter().chain([Turn::text("done")]));
    let agent = Agent::builder(model.clone())
        .tool(crate::common::double(&doubled))
        .tool_set(Tools::new().with_external(external("ask")))
        .max_tool_calls(4)
        .build()
        .unwrap();
    let mut run = agent.run("go");
    let control = run.control();
    let mut asked = 0;
    let mut end = None;
    while let Some(event) = run.next().await {
        match event.kind {
            EventKind::ExternalPending { call } => {
                asked += 1;
                control.submit([ToolResult::ok(&call, "yes")]).await.unwrap();
            }
            EventKind::Finished(result) => end = result.ok(),
            _ => {}
        }
    }
    let end = end.unwrap();
    assert_eq!((&end.reason, &*end.text, end.steps), (&EndReason::ToolCallLimit, "done", 3));
    assert_eq!((asked, doubled.get()), (2, 2));
    let results = |at: usize| {
        let Message::ToolResults(results) = &*model.requests()[at].messages[2 * at] else { panic!() };
        results.results.iter().map(|result| result.tree.model_text().into_owned()).collect::<Vec<_>>()
    };
    let refused = "not executed: the limit of 4 tool calls in this run is reached";
    assert_eq!(results(1), ["2", "yes"]);
    assert_eq!(results(2), ["yes", "4", refused, refused]);
}

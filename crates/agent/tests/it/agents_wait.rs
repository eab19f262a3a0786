//! Agents inside tools that wait for people, and the time and tokens that nobody counts.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::agents::{around, ask, inner, slow};
use crate::common::kit::{counting, holding, told};
use crate::common::{Counter, Number};
use attache_agent::{
    Agent, Decision, EndReason, EntryKind, EventKind, HookError, MemoryJournal, Outcome, RunHook, tool_fn,
};
use attache_core::{Approval, BoxFuture, Effect, Tool, ToolCall, ToolError, ToolResult, Usage};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::json;
use tokio::time::sleep;

// Usage that nobody counts inside is guessed, and the run around has it in its own limit, in one go and resumed.
#[tokio::test]
async fn guessed_tokens_of_an_agent_inside_count_against_the_limit_around_it() {
    let said = "word ".repeat(400);
    let build = |outer: Vec<Turn>, inner_turns: Vec<Turn>| {
        let research = inner(inner_turns, vec![]);
        let model = ScriptedModel::new(outer).unverified();
        Agent::builder(model).tools([research]).max_tokens_per_run(1_500).build().unwrap()
    };
    let counted = Usage::new(100, 10);
    // Each of the agents inside says about 500 tokens, which its provider does not count.
    let calls = || (0..9).map(|_| ask("research", "x").costing(counted.clone()));
    let unknown = || (0..9).map(|_| Turn::text(&said).costing(Usage::default())).collect::<Vec<_>>();
    let journal = Arc::new(MemoryJournal::new());
    let uncut = build(calls().collect(), unknown()).run_in(journal.clone(), "go").outcome().await.unwrap();
    assert_eq!(uncut.reason, EndReason::TokenLimit);
    assert!((3..=4).contains(&uncut.steps), "{} steps", uncut.steps);
    let entries = journal.entries();
    for cut in 1..entries.len() {
        let asked = |part: &str| {
            let fits = |key: &str| key.contains(part);
            entries[..cut].iter().filter(|entry| fits(entry.key.as_str())).count()
        };
        let inside = asked(">model/");
        let around = asked("model/") - inside;
        let outer = calls().skip(around).collect();
        let rest = build(outer, unknown().split_off(inside)).resume(holding(entries[..cut].to_vec()));
        let resumed = rest.outcome().await.unwrap();
        assert_eq!((resumed.reason, resumed.steps), (uncut.reason.clone(), uncut.steps), "cut {cut}");
    }
}

/// An agent that looks for that many seconds, pays with an approval, waits for people that long, and has a time limit of
/// a minute as a tool.
fn patient(turns: Vec<Turn>, looks: u64, patience: u64) -> Arc<dyn Tool> {
    let pay = tool_fn("pay", "", |Number { n }: Number| Ok(n));
    let pay = pay.with_spec(|spec| spec.with_approval(Approval::Always));
    let agent = Agent::builder(ScriptedModel::new(turns).unverified()).tool(pay).tools([slow(looks)]);
    let agent = agent.tool_timeout(Duration::from_secs(1_000)).patience(Duration::from_secs(patience));
    let tool = agent.build().unwrap().as_tool("research", "");
    Arc::new(tool.with_metadata(|metadata| metadata.timeout = Some(Duration::from_secs(60))))
}

fn pays_and_looks() -> Vec<Turn> {
    vec![Turn::call("pay", json!({"n": 7})), Turn::call("slow", json!({"n": 1})), Turn::text("paid")]
}

#[tokio::test(start_paused = true)]
async fn the_time_limit_of_an_agent_inside_stands_still_while_a_person_decides() {
    for (looks, ends) in
        [(40, "paid"), (70, "[the agent research stopped before its work was done: deadline]")]
    {
        // Live: somebody decides after an hour.
        let research = patient(pays_and_looks(), looks, 7_200);
        let mut run = around([ask("research", "pay"), Turn::text("done")], vec![research]).run("go");
        let control = run.control();
        let mut decided = false;
        let outcome = loop {
            let event = run.next().await.unwrap();
            if let EventKind::Nested { event, .. } = &event.kind
                && let EventKind::ApprovalRequested(request) = &event.kind
                && !std::mem::replace(&mut decided, true)
            {
                let (control, id) = (control.clone(), request.id.clone());
                tokio::spawn(async move {
                    sleep(Duration::from_secs(3_600)).await;
                    control.decide(&id, "ann", Decision::Approve).await.unwrap();
                });
            }
            if let Some(outcome) = event.kind.outcome() {
                break outcome.clone();
            }
        };
        assert_eq!(outcome.reason, EndReason::Answer);
        assert!(told(&outcome.messages)[0].contains(ends), "{looks}: {:?}", told(&outcome.messages));
        // Resumed: somebody decides days later.
        let journal = Arc::new(MemoryJournal::new());
        let research = patient(pays_and_looks(), looks, 0);
        let run = around([ask("research", "pay")], vec![research]).run_in(journal.clone(), "go");
        let outcome = run.outcome().await.unwrap();
        // Nothing of the time is in the log.
        let is_bounded = |entry: &attache_agent::Entry| matches!(&entry.kind, EntryKind::Started(started) if started.deadline.is_some());
        assert!(!journal.entries().iter().any(is_bounded));
        let research = patient(pays_and_looks().split_off(1), looks, 0);
        let rest = around([Turn::text("done")], vec![research]).resume(journal);
        let outcome = rest.approve(&outcome.approvals[0].id).outcome().await.unwrap();
        assert!(told(&outcome.messages)[0].contains(ends), "{looks}: {:?}", told(&outcome.messages));
    }
}

// Waiting is no failure, also where a failure of a tool ends the run.
#[tokio::test]
async fn an_agent_inside_that_waits_does_not_end_a_run_that_ends_with_failures_of_tools() {
    let journal = Arc::new(MemoryJournal::new());
    let agent = |turns: Vec<Turn>, inside: Vec<Turn>| {
        let builder = Agent::builder(ScriptedModel::new(turns).unverified());
        let builder = builder.tools([patient(inside, 0, 0)]).abort_on_tool_error(true);
        // It sees the outcomes of calls alone.
        builder
            .tool_outcome(|_, came| came.map_err(|error| ToolError::abort(error.to_string())))
            .build()
            .unwrap()
    };
    let first = agent(vec![ask("research", "pay")], pays_and_looks());
    let outcome = first.run_in(journal.clone(), "go").outcome().await.unwrap();
    assert_eq!((&outcome.reason, outcome.approvals.len()), (&EndReason::PendingApproval, 1));
    let rest = agent(vec![Turn::text("done")], pays_and_looks().split_off(1)).resume(journal);
    let outcome = rest.approve(&outcome.approvals[0].id).outcome().await.unwrap();
    assert_eq!((outcome.reason, told(&outcome.messages)), (EndReason::Answer, vec!["paid".to_owned()]));
}

// R31 inside: settling one of them runs that one, and no other again.
#[tokio::test]
async fn approvals_inside_two_agents_are_settled_one_by_one() {
    let (paid, journal) = (Counter::default(), Arc::new(MemoryJournal::new()));
    let build = |outer: Vec<Turn>, one: Vec<Turn>, two: Vec<Turn>| {
        let pays = |name: &str, turns: Vec<Turn>| -> Arc<dyn Tool> {
            let pay = counting("pay", Effect::SideEffect, &paid);
            let pay: Arc<dyn Tool> =
                Arc::new(pay.with_metadata(|metadata| metadata.approval = Approval::Always));
            Arc::new(around(turns, vec![pay]).as_tool(name, ""))
        };
        around(outer, vec![pays("one", one), pays("two", two)])
    };
    let pay = |n: i64| vec![Turn::call("pay", json!({"n": n}))];
    let both = ask("one", "x").and_call("two", json!({"task": "x"}));
    let outcome = build(vec![both], pay(1), pay(2)).run_in(journal.clone(), "go").outcome().await.unwrap();
    let of = |outcome: &Outcome, n: &str| {
        let mut requests = outcome.approvals.iter();
        requests.find(|request| request.call.arguments.raw().contains(n)).map(|request| request.id.clone())
    };
    assert_eq!((&outcome.reason, outcome.approvals.len(), paid.get()), (&EndReason::PendingApproval, 2, 0));
    let (first, second) = (of(&outcome, "1").unwrap(), of(&outcome, "2").unwrap());
    let rest =
        build(vec![], vec![], vec![Turn::text("two is paid")]).resume(journal.clone()).approve(&second);
    let outcome = rest.outcome().await.unwrap();
    assert_eq!((&outcome.reason, outcome.approvals.len(), paid.get()), (&EndReason::PendingApproval, 1, 1));
    assert_eq!(of(&outcome, "1").as_ref(), Some(&first), "the question is the same");
    let rest = build(vec![Turn::text("done")], vec![Turn::text("one is paid")], vec![]).resume(journal);
    let outcome = rest.approve(&first).outcome().await.unwrap();
    assert_eq!((outcome.reason, paid.get()), (EndReason::Answer, 2));
    assert_eq!(told(&outcome.messages), ["one is paid", "two is paid"]);
}

/// Hears the results of tools.
struct Hears(Arc<Mutex<Vec<String>>>);

impl RunHook for Hears {
    fn after_tool<'a>(
        &'a self,
        _: &'a ToolCall,
        result: &'a mut ToolResult,
    ) -> BoxFuture<'a, Result<(), HookError>> {
        self.0.lock().unwrap().push(result.tree.model_text().into_owned());
        Box::pin(std::future::ready(Ok(())))
    }
}

#[tokio::test]
async fn hooks_hear_of_an_agent_that_waited_once_it_is_done() {
    let (heard, journal) = (Arc::new(Mutex::new(Vec::new())), Arc::new(MemoryJournal::new()));
    let build = |outer: Vec<Turn>, turns: Vec<Turn>| {
        let model = ScriptedModel::new(outer).unverified();
        let research = patient(turns, 0, 0);
        Agent::builder(model).tools([research]).hook(Hears(Arc::clone(&heard))).build().unwrap()
    };
    let pays = Turn::call("pay", json!({"n": 7}));
    let run = build(vec![ask("research", "pay")], vec![pays]).run_in(journal.clone(), "go");
    let outcome = run.outcome().await.unwrap();
    assert_eq!((outcome.reason, heard.lock().unwrap().len()), (EndReason::PendingApproval, 0));
    let rest = build(vec![Turn::text("done")], vec![Turn::text("paid")]).resume(journal);
    rest.approve(&outcome.approvals[0].id).outcome().await.unwrap();
    assert_eq!(*heard.lock().unwrap(), ["paid"]);
}

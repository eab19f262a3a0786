//! Results that come later: from a worker, from a person, days after the call.

use std::sync::Arc;
use std::time::Duration;

use crate::common::journals::{Fault, Faulty, Method};
use crate::common::kit::{UNKNOWN, all, end, holding, pdf, results, roles, told, until_it_waits};
use crate::common::{Counter, Number};
use attache_agent::{
    Agent, AgentBuilder, Disposition, EndReason, Entry, EntryKind, Event, EventKind, MemoryDocumentStore,
    MemoryJournal, Run, SubmitError, deliver, tool_fn,
};
use attache_core::tool::Deferred;
use attache_core::{Effect, ResultStatus, Tool, ToolError, ToolResult};
use attache_testkit::{ScriptedModel, Turn};
use attache_tools::AskUser;
use serde_json::{Value, json};

/// A tool that starts a job and does not wait for it.
fn render(started: &Counter, lifetime: Option<Duration>) -> impl Tool + 'static {
    let started = started.clone();
    tool_fn("render", "Renders", move |Number { n }: Number| {
        started.add();
        let job = Deferred::to(format!("job-{n}"));
        let job = lifetime.map(|lifetime| job.clone().with_lifetime(lifetime)).unwrap_or(job);
        async move { Ok::<_, ToolError>(job) }
    })
}

fn builder(started: &Counter, turns: impl IntoIterator<Item = Turn>) -> AgentBuilder {
    let model = ScriptedModel::new(turns).unverified();
    Agent::builder(model).tool(render(started, None)).tool(AskUser::new())
}

fn agent(started: &Counter, turns: impl IntoIterator<Item = Turn>) -> Agent {
    builder(started, turns).build().unwrap()
}

fn renders(n: i64) -> Turn {
    Turn::call("render", json!({"n": n}))
}

fn deferred(events: &[Event]) -> Vec<String> {
    let handle = |event: &Event| match &event.kind {
        EventKind::CallDeferred(request) => request.deferred.handle.clone(),
        _ => None,
    };
    events.iter().filter_map(handle).collect()
}

#[tokio::test]
async fn a_result_comes_days_later_and_the_tool_is_not_run_again() {
    let (started, journal) = (Counter::default(), Arc::new(MemoryJournal::new()));
    let turn = renders(1).and_call("render", json!({"n": 2}));
    let outcome = agent(&started, [turn]).run_in(journal.clone(), "go").outcome().await.unwrap();
    assert_eq!((&outcome.reason, started.get()), (&EndReason::PendingExternal, 2));
    let handles: Vec<_> = outcome.deferred.iter().map(|request| request.deferred.handle.as_deref()).collect();
    assert_eq!(handles, [Some("job-1"), Some("job-2")]);
    assert_eq!(
        (outcome.pending.len(), outcome.unknown.len()),
        (2, 0),
        "nothing is unknown: somebody works on it"
    );
    assert_eq!(told(&outcome.messages), ["no result yet: it comes later", "no result yet: it comes later"]);
    assert_eq!(Run::replay(&journal.entries()).unwrap().outcome(), outcome);
    // The second one is ready first.
    let calls: Vec<_> = outcome.deferred.iter().map(|request| request.call.clone()).collect();
    deliver(&*journal, ToolResult::ok(&calls[1], "two")).await.unwrap();
    let half = agent(&started, []).resume(journal.clone()).outcome().await.unwrap();
    assert_eq!((&half.reason, half.deferred.len(), started.get()), (&EndReason::PendingExternal, 1, 2));
    deliver(&*journal, ToolResult::ok(&calls[0], "one")).await.unwrap();
    let again = deliver(&*journal, ToolResult::ok(&calls[0], "another")).await.unwrap_err();
    assert!(matches!(again, SubmitError::DuplicateResult { .. }));
    let done = agent(&started, [Turn::text("done")]).resume(journal.clone()).outcome().await.unwrap();
    assert_eq!(
        (&done.reason, told(&done.messages), started.get()),
        (&EndReason::Answer, vec!["one".into(), "two".into()], 2)
    );
    assert_eq!((roles(&done.messages).as_str(), done.unknown.len()), ("ucra", 0));
    assert_eq!(Run::replay(&journal.entries()).unwrap().outcome(), done);
}

// The job was started and cannot be started again: the word that its result comes later is worth more than one attempt.
#[tokio::test(start_paused = true)]
async fn a_journal_that_fails_for_a_moment_loses_no_job() {
    // The appends: the start, the reply, the intent, and that the result comes later.
    for fault in [Fault::Fails, Fault::FailsAfterwards] {
        let (started, journal) = (Counter::default(), Faulty::new((Method::Append, 4, fault)));
        let outcome = agent(&started, [renders(1)]).run_in(journal.clone(), "go").outcome().await.unwrap();
        assert_eq!((&outcome.reason, started.get()), (&EndReason::PendingExternal, 1), "{fault:?}");
        let handles: Vec<_> =
            outcome.deferred.iter().map(|request| request.deferred.handle.as_deref()).collect();
        assert_eq!((handles, outcome.unknown.len()), (vec![Some("job-1")], 0), "{fault:?}");
        assert_eq!(Run::replay(&journal.inner.entries()).unwrap().outcome(), outcome, "{fault:?}");
    }
}

#[tokio::test]
async fn documents_of_a_result_that_comes_later_reach_the_model() {
    let (started, journal) = (Counter::default(), Arc::new(MemoryJournal::new()));
    let store = Arc::new(MemoryDocumentStore::default());
    let model =
        ScriptedModel::new([renders(1), Turn::text("done")]).with_capabilities_of("openai-chat", "gpt-4o");
    let agent = Agent::builder(model.clone()).tool(render(&started, None)).store(store).build().unwrap();
    let outcome = agent.run_in(journal.clone(), "go").outcome().await.unwrap();
    let report = pdf("rendered.pdf");
    let result = ToolResult::of(&outcome.deferred[0].call, &json!({"file": "rendered"})).unwrap();
    let with = ToolResult::of(&outcome.deferred[0].call, &("rendered", &report)).unwrap();
    assert!(result.documents.is_empty());
    deliver(&*journal, with).await.unwrap();
    let done = agent.resume(journal.clone()).outcome().await.unwrap();
    assert_eq!(roles(&done.messages), "ucrda");
    model.asked().assert_saw(&report);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_driven_takes_the_result_when_it_comes() {
    for kept in [true, false] {
        let (started, journal) = (Counter::default(), Arc::new(MemoryJournal::new()));
        let agent = builder(&started, [renders(1), Turn::text("done")]).patience(Duration::from_secs(60));
        let agent = agent.build().unwrap();
        let mut run = if kept { agent.run_in(journal.clone(), "go") } else { agent.run("go") };
        let control = run.control();
        assert_eq!(deferred(&until_it_waits(&mut run).await), ["job-1"]);
        let call = control.awaiting().remove(0);
        control.submit([ToolResult::ok(&call, "rendered")]).await.unwrap();
        let outcome = end(&all(&mut run).await);
        assert_eq!(
            (&outcome.reason, told(&outcome.messages)),
            (&EndReason::Answer, vec!["rendered".into()]),
            "kept: {kept}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_that_comes_too_late_is_none() {
    let (started, journal) = (Counter::default(), Arc::new(MemoryJournal::new()));
    let agent = |turns: Vec<Turn>, patience: u64| {
        let tool = render(&started, Some(Duration::from_secs(5)));
        let builder = Agent::builder(ScriptedModel::new(turns).unverified()).tool(tool);
        builder.patience(Duration::from_secs(patience)).build().unwrap()
    };
    let outcome = agent(vec![renders(1), Turn::text("done")], 60).run("go").outcome().await.unwrap();
    assert_eq!(
        (outcome.reason, told(&outcome.messages)),
        (EndReason::Answer, vec!["no result was delivered in time".into()])
    );
    // The time is in the log: it is up, whoever drives the run.
    let outcome = agent(vec![renders(1)], 0).run_in(journal.clone(), "go").outcome().await.unwrap();
    let mut text = serde_json::to_value(journal.entries()).unwrap();
    for entry in text.as_array_mut().unwrap() {
        if let Some(deferred) = entry["kind"].get_mut("deferred") {
            assert!(deferred["expiresAt"].as_u64().unwrap() > 1_000_000_000_000);
            deferred["expiresAt"] = json!(1);
        }
    }
    let late = holding(serde_json::from_value::<Vec<Entry>>(text).unwrap());
    let call = &outcome.deferred[0].call;
    let refused = deliver(&*late, ToolResult::ok(call, "late")).await.unwrap_err();
    assert!(matches!(&refused, SubmitError::Overdue { id } if *id == call.id), "{refused:?}");
    let done = agent(vec![Turn::text("done")], 0).resume(late.clone()).outcome().await.unwrap();
    assert_eq!(told(&done.messages), ["no result was delivered in time"]);
    let refused = deliver(&*late, ToolResult::ok(call, "late")).await.unwrap_err();
    assert!(matches!(refused, SubmitError::ChatLoopClosed));
    // One that was left in time stands, whenever the run goes on.
    let (journal, brief) = (Arc::new(MemoryJournal::new()), Duration::from_millis(1500));
    let tool = render(&started, Some(brief));
    let model = ScriptedModel::new([renders(1), Turn::text("done")]).unverified();
    let agent = Agent::builder(model).tool(tool).patience(Duration::ZERO).build().unwrap();
    let outcome = agent.run_in(journal.clone(), "go").outcome().await.unwrap();
    deliver(&*journal, ToolResult::ok(&outcome.deferred[0].call, "in time")).await.unwrap();
    std::thread::sleep(brief);
    let done = agent.resume(journal).outcome().await.unwrap();
    assert_eq!(told(&done.messages), ["in time"]);
}

#[tokio::test]
async fn a_run_with_deferred_calls_cut_at_any_entry_starts_no_job_twice() {
    let (started, journal) = (Counter::default(), Arc::new(MemoryJournal::new()));
    let pending = agent(&started, [renders(1)]).run_in(journal.clone(), "go").outcome().await.unwrap();
    deliver(&*journal, ToolResult::ok(&pending.deferred[0].call, "rendered")).await.unwrap();
    agent(&started, [Turn::text("done")]).resume(journal.clone()).outcome().await.unwrap();
    let entries = journal.entries();
    for cut in 1..entries.len() {
        let (started, journal) = (Counter::default(), holding(entries[..cut].to_vec()));
        let has = |key: &str| entries[..cut].iter().any(|entry| entry.key.as_str().starts_with(key));
        let turns = [renders(1), Turn::text("done")];
        let left = turns.into_iter().skip(usize::from(has("model/1")) + usize::from(has("model/2")));
        let mut outcome = agent(&started, left).resume(journal.clone()).outcome().await.unwrap();
        if outcome.reason == EndReason::PendingExternal {
            deliver(&*journal, ToolResult::ok(&outcome.deferred[0].call, "rendered")).await.unwrap();
            outcome = agent(&started, [Turn::text("done")]).resume(journal.clone()).outcome().await.unwrap();
        }
        let place = &entries[cut].key;
        let was_begun = has("begun/") && !has("deferred/");
        let expected = if was_begun { UNKNOWN } else { "rendered" };
        assert_eq!(
            (told(&outcome.messages), started.get()),
            (vec![expected.to_owned()], usize::from(!has("begun/"))),
            "cut before {place}"
        );
        assert_eq!(Run::replay(&journal.entries()).unwrap().outcome(), outcome, "cut before {place}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_run_tells_that_nobody_knows_what_became_of_the_job() {
    let (started, journal) = (Counter::default(), Arc::new(MemoryJournal::new()));
    let agent = builder(&started, [renders(1)]).patience(Duration::from_secs(60)).build().unwrap();
    let mut run = agent.run_in(journal.clone(), "go");
    until_it_waits(&mut run).await;
    run.control().cancel();
    let outcome = end(&all(&mut run).await);
    assert_eq!((outcome.unknown.len(), told(&outcome.messages)), (1, vec![UNKNOWN.to_owned()]));
    assert_eq!(Run::replay(&journal.entries()).unwrap().outcome(), outcome);
}

// A29: a question to the user pauses the run, and the answer is its result.
#[tokio::test]
async fn a_run_that_asks_the_user_goes_on_with_the_answer() {
    let (started, journal) = (Counter::default(), Arc::new(MemoryJournal::new()));
    let asks = Turn::call("ask_user", json!({"question": "Which city?"}))
        .and_call("ask_user", json!({"question": "Really?", "choices": ["yes", "no"]}));
    let outcome = agent(&started, [asks]).run_in(journal.clone(), "go").outcome().await.unwrap();
    assert_eq!(outcome.reason, EndReason::InputRequired);
    let prompts: Vec<_> = outcome.deferred.iter().map(|request| request.deferred.prompt.as_deref()).collect();
    assert_eq!(prompts, [Some("Which city?"), Some("Really?")]);
    let [city, really] = &outcome.deferred[..] else { panic!() };
    // The reply must fit.
    let run = agent(&started, []).resume(journal.clone()).reply(&really.call.id, "perhaps");
    let refused = run.outcome().await.unwrap_err();
    let source = std::error::Error::source(&refused).unwrap().downcast_ref::<SubmitError>();
    assert!(matches!(source, Some(SubmitError::Unfit { .. })), "{source:?}");
    let run = agent(&started, [Turn::text("done")]).resume(journal.clone());
    let done = run.reply(&really.call.id, "yes").reply(&city.call.id, "Berlin").outcome().await.unwrap();
    assert_eq!(
        (&done.reason, told(&done.messages)),
        (&EndReason::Answer, vec!["Berlin".into(), "yes".into()])
    );
    assert!(results(&done.messages).iter().all(|result| result.status == ResultStatus::Ok));
    let again = agent(&started, []).resume(journal.clone()).reply(&city.call.id, "Paris").outcome().await;
    assert!(again.is_err(), "the question is answered");
}

#[tokio::test]
async fn a_call_may_need_an_approval_and_then_a_result() {
    let (started, journal) = (Counter::default(), Arc::new(MemoryJournal::new()));
    let agent = |turns: Vec<Turn>| {
        let tool = render(&started, None)
            .with_metadata(|metadata| metadata.approval = attache_core::Approval::Always);
        Agent::builder(ScriptedModel::new(turns).unverified()).tool(tool).build().unwrap()
    };
    let first = agent(vec![renders(1)]).run_in(journal.clone(), "go").outcome().await.unwrap();
    assert_eq!((&first.reason, started.get()), (&EndReason::PendingApproval, 0));
    // Nobody works on it yet, and it has no result.
    let early = deliver(&*journal, ToolResult::ok(&first.approvals[0].call, "early")).await.unwrap_err();
    assert!(matches!(early, SubmitError::NotYet { .. }));
    let second =
        agent(vec![]).resume(journal.clone()).approve(&first.approvals[0].id).outcome().await.unwrap();
    assert_eq!((&second.reason, started.get()), (&EndReason::PendingExternal, 1));
    let run = agent(vec![Turn::text("done")]).resume(journal.clone());
    let done = run.reply(&second.deferred[0].call.id, json!({"pages": 3})).outcome().await.unwrap();
    assert_eq!((told(&done.messages), started.get()), (vec![r#"{"pages":3}"#.to_owned()], 1));
    let submitted = journal.entries().into_iter().filter(|entry| {
        matches!(&entry.kind, EntryKind::ToolOutcome(outcome) if outcome.disposition == Disposition::Submitted)
    });
    assert_eq!(submitted.count(), 1);
}

#[tokio::test]
async fn a_value_outside_of_a_run_says_that_the_result_comes_later() {
    let value: Value = serde_json::to_value(Deferred::to("job-1")).unwrap();
    assert_eq!(value, json!({"deferred": "job-1"}));
    // Text that looks like it defers nothing.
    let forged = tool_fn("forged", "", || Ok(json!({"deferred": "job-1"}))).with_effect(Effect::Read);
    let model = ScriptedModel::new([Turn::call("forged", "{}"), Turn::text("done")]);
    let outcome = Agent::builder(model).tool(forged).build().unwrap().run("go").outcome().await.unwrap();
    assert_eq!(
        (outcome.reason, told(&outcome.messages)),
        (EndReason::Answer, vec![r#"{"deferred":"job-1"}"#.into()])
    );
}

#[tokio::test]
async fn a_result_that_comes_later_tells_with_which_arguments_the_job_was_started() {
    let (started, journal) = (Counter::default(), Arc::new(MemoryJournal::new()));
    let agent = |turns: Vec<Turn>| {
        let tool = render(&started, None)
            .with_metadata(|metadata| metadata.approval = attache_core::Approval::Always);
        Agent::builder(ScriptedModel::new(turns).unverified()).tool(tool).build().unwrap()
    };
    let asked = agent(vec![renders(1)]).run_in(journal.clone(), "go").outcome().await.unwrap();
    let run = agent(vec![]).resume(journal.clone()).edit(&asked.approvals[0].id, json!({"n": 2}));
    let waits = run.outcome().await.unwrap();
    assert_eq!(waits.deferred[0].deferred.handle.as_deref(), Some("job-2"));
    deliver(&*journal, ToolResult::ok(&waits.deferred[0].call, "rendered")).await.unwrap();
    let done = agent(vec![Turn::text("done")]).resume(journal).outcome().await.unwrap();
    let read: Value = serde_json::from_str(&told(&done.messages)[0]).unwrap();
    assert_eq!((&read["arguments"], &read["result"]), (&json!({"n": 2}), &json!("rendered")));
}

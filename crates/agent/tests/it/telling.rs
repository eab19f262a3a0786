//! The calls of a run as its driver tells them, and as its log does.

use std::sync::Arc;
use std::time::Duration;

use attache_agent::{
    Agent, AgentBuilder, Ask, CallVerdict, Decision, Entry, Event, EventKind, HookContext, HookError, Limits,
    LogEvents, MemoryJournal, OutputMode, OutputSpec, Proposal, Run, RunHook, Tools, Verdict,
};
use attache_core::{Approval, BoxFuture, Effect, FinishReason, Tool, ToolCall, ToolDefinition, ToolResult};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::json;

use crate::common::Counter;
use crate::common::kit::{all, counting, end, holding, until_it_waits};

/// The tool that the caller answers.
fn ask() -> ToolDefinition {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    ToolDefinition::new("ask", "", schema)
}

fn plain(turns: impl IntoIterator<Item = Turn>) -> AgentBuilder {
    Agent::builder(ScriptedModel::new(turns).unverified())
}

/// An agent with a tool that the caller answers.
fn asking(turns: impl IntoIterator<Item = Turn>) -> AgentBuilder {
    plain(turns).tool_set(Tools::new().with_external(ask())).answer_deadline(Duration::from_secs(60))
}

fn asks(n: i64) -> Turn {
    Turn::call("ask", json!({"n": n}))
}

/// The calls that events tell: as requested, as started, as the caller's.
fn calls(events: &[Event]) -> Vec<String> {
    let said = |call: &ToolCall| format!("{} {}", call.name, call.arguments.raw());
    let word = |event: &Event| {
        let (mut kind, mut depth) = (&event.kind, 0);
        while let EventKind::Nested { path, event } = kind {
            (kind, depth) = (&event.kind, depth + path.len());
        }
        let word = match kind {
            EventKind::ToolCallsRequested { calls, .. } => {
                format!("requests {}", calls.iter().map(said).collect::<Vec<_>>().join(", "))
            }
            EventKind::ToolStarted { call } => format!("starts {}", said(call)),
            EventKind::ExternalPending { call } => format!("asks {}", said(call)),
            _ => return None,
        };
        Some(format!("{}{word}", "> ".repeat(depth)))
    };
    events.iter().filter_map(word).collect()
}

fn by_log(entries: &[Entry]) -> Vec<String> {
    let mut log = LogEvents::new();
    let told: Vec<Event> = entries.iter().flat_map(|entry| log.take(entry).unwrap()).collect();
    calls(&told)
}

/// Drives a run to its end, with "yes" for each call of the caller and a decision about each question. The log tells of the
/// same calls.
async fn told(agent: Agent, decision: &Decision) -> Vec<String> {
    told_typed(agent, decision, None).await
}

/// The same of a run that may be asked for a value.
async fn told_typed(agent: Agent, decision: &Decision, value: Option<OutputSpec>) -> Vec<String> {
    let journal = Arc::new(MemoryJournal::new());
    let run = agent.run_in(journal.clone(), "go");
    let mut run = match value {
        Some(spec) => run.with_output(spec),
        None => run,
    };
    let (control, mut seen) = (run.control(), Vec::new());
    loop {
        let events = until_it_waits(&mut run).await;
        let has_ended = events.last().is_some_and(|event| event.kind.outcome().is_some());
        seen.extend(events);
        if has_ended {
            break;
        }
        for call in control.awaiting() {
            control.submit([ToolResult::ok(&call, "yes")]).await.unwrap();
        }
        for asked in Run::replay(&journal.entries()).unwrap().approvals() {
            control.decide(&asked.id, "ann", decision.clone()).await.unwrap();
        }
    }
    let live = calls(&seen);
    assert_eq!(by_log(&journal.entries()), live);
    live
}

/// A hook that lets the calls be made, or with the number 2.
struct Looks(bool);

impl RunHook for Looks {
    fn before_tool<'a>(
        &'a self,
        _: &'a ToolCall,
        _: &'a HookContext<'_>,
    ) -> BoxFuture<'a, Result<CallVerdict, HookError>> {
        let verdict = if self.0 { CallVerdict::Rewrite(json!({"n": 2})) } else { CallVerdict::Run };
        Box::pin(std::future::ready(Ok(verdict)))
    }
}

#[tokio::test(start_paused = true)]
async fn the_log_tells_calls_as_people_and_hooks_have_changed_them() {
    let patient = |builder: AgentBuilder| builder.patience(Duration::from_secs(60));
    let questions = |proposal: &Proposal<'_>| match proposal.approved_by {
        None => Verdict::Ask(Ask::because("it is a large number")),
        Some(_) => Verdict::Run,
    };
    let edit = Decision::Edit(json!({"n": 60}));
    let agent = patient(asking([asks(50), Turn::text("done")]).approval_policy(questions)).build().unwrap();
    assert_eq!(told(agent, &edit).await, [r#"requests ask {"n":50}"#, r#"asks ask {"n":60}"#]);

    let paid = Counter::default();
    let pay =
        counting("pay", Effect::SideEffect, &paid).with_metadata(|tool| tool.approval = Approval::Always);
    let pays = || [Turn::call("pay", json!({"n": 50})), Turn::text("done")];
    let agent = patient(plain(pays()).tool(pay)).build().unwrap();
    assert_eq!(told(agent, &edit).await, [r#"requests pay {"n":50}"#, r#"starts pay {"n":60}"#]);

    for (turns, word) in [(pays(), "starts pay"), ([asks(50), Turn::text("done")], "asks ask")] {
        let pay = counting("pay", Effect::SideEffect, &paid);
        let agent = asking(turns).tool(pay).hook(Looks(true)).build().unwrap();
        let calls = told(agent, &edit).await;
        assert_eq!(calls.last().unwrap(), &format!(r#"{word} {{"n":2}}"#));
    }
}

#[tokio::test(start_paused = true)]
async fn the_log_tells_no_call_that_was_approved_and_is_not_made() {
    let second_thoughts = |proposal: &Proposal<'_>| match proposal.approved_by {
        None => Verdict::Ask(Ask::because("it is a large number")),
        Some(_) => Verdict::Deny("not by them".to_owned()),
    };
    let agent = asking([asks(50), Turn::text("done")]).approval_policy(second_thoughts);
    let agent = agent.patience(Duration::from_secs(60)).build().unwrap();
    assert_eq!(told(agent, &Decision::Approve).await, [r#"requests ask {"n":50}"#]);
}

#[tokio::test(start_paused = true)]
async fn the_log_asks_the_caller_for_the_calls_that_the_driver_asks_for() {
    let done = || Turn::text("done");
    let ask_1 = vec![r#"requests ask {"n":1}"#, r#"asks ask {"n":1}"#];
    let cut = |reason: FinishReason| asking([asks(1).finishing(reason), asks(1), done()]);
    let mut once = Limits::default();
    once.max_calls_per_reply = 1;
    let nothing: Vec<&str> = vec![];
    let cases = vec![
        ("plain", asking([asks(1), done()]), ask_1.clone()),
        ("cut", cut(FinishReason::Length), ask_1.clone()),
        ("refused", cut(FinishReason::Refusal), nothing.clone()),
        ("filtered", cut(FinishReason::ContentFilter), nothing.clone()),
        (
            "unfit",
            asking([Turn::call("ask", json!({"n": "many"})), done()]),
            vec![r#"requests ask {"n":"many"}"#],
        ),
        (
            "beyond a limit",
            asking([asks(1).and_call("ask", json!({"n": 2})), done()]).limits(once),
            vec![r#"requests ask {"n":1}, ask {"n":2}"#, r#"asks ask {"n":1}"#],
        ),
        ("looked at", asking([asks(1), done()]).hook(Looks(false)), ask_1.clone()),
    ];
    for (case, agent, expected) in cases {
        assert_eq!(told(agent.build().unwrap(), &Decision::Approve).await, expected, "{case}");
    }
    let spec = || OutputSpec::new(json!({"type": "object"})).with_mode(OutputMode::Tool);
    let answers = || Turn::call("final_answer", json!({}));
    for (turn, expected) in
        [(answers(), nothing), (answers().and_call("ask", json!({"n": 1})), vec![r#"requests ask {"n":1}"#])]
    {
        let agent = asking([turn, done()]).build().unwrap();
        assert_eq!(told_typed(agent, &Decision::Approve, Some(spec())).await, expected);
    }
}

/// The agents inside tools, and those to which the conversation is handed over, may look at calls where the first one does
/// not, or the other way round.
#[tokio::test(start_paused = true)]
async fn the_log_asks_the_caller_for_calls_of_other_agents_alike() {
    let done = || Turn::text("done");
    for (outer_looks, inner_looks) in [(false, true), (true, false), (false, false), (true, true)] {
        let hooked = |builder: AgentBuilder, looks: bool| match looks {
            true => builder.hook(Looks(false)),
            false => builder,
        };
        let inner = || hooked(asking([asks(1), done()]), inner_looks).build().unwrap();
        let outer =
            plain([Turn::call("helper", json!({"task": "x"})), done()]).tool(inner().as_tool("helper", ""));
        let calls = told(hooked(outer, outer_looks).build().unwrap(), &Decision::Approve).await;
        let expected = [r#"> requests ask {"n":1}"#, r#"> asks ask {"n":1}"#];
        assert_eq!(calls[calls.len() - 2..], expected, "{outer_looks} {inner_looks}");

        let outer =
            plain([Turn::call("transfer_to_other", json!({}))]).handoff(inner().as_handoff("other", "Asks"));
        let calls = told(hooked(outer, outer_looks).build().unwrap(), &Decision::Approve).await;
        let expected = [r#"requests ask {"n":1}"#, r#"asks ask {"n":1}"#];
        assert_eq!(calls[calls.len() - 2..], expected, "{outer_looks} {inner_looks}");
    }
}

/// Logs of older programs say nothing of a call that the caller answers, but its result.
#[tokio::test(start_paused = true)]
async fn a_log_without_word_of_its_call_tells_it_and_gets_one_when_the_run_goes_on() {
    let journal = Arc::new(MemoryJournal::new());
    let agent = asking([asks(1)]).build().unwrap();
    let waits = agent.run_in(journal.clone(), "go").outcome().await.unwrap();
    let of_older = |entry: &Entry| !entry.key.as_str().starts_with("begun/");
    let older = || holding(journal.entries().into_iter().filter(of_older));
    let told = vec![r#"requests ask {"n":1}"#, r#"asks ask {"n":1}"#];

    let goes_on = older();
    let _ = agent.resume(goes_on.clone()).outcome().await.unwrap();
    assert_eq!(by_log(&goes_on.entries()), told);

    let answered = older();
    attache_agent::deliver(&*answered, ToolResult::ok(&waits.pending[0], "yes")).await.unwrap();
    let events = all(&mut asking([Turn::text("done")]).build().unwrap().resume(answered.clone())).await;
    assert_eq!(end(&events).text, "done");
    let entries: Vec<Entry> = answered.entries().into_iter().filter(of_older).collect();
    assert_eq!(by_log(&entries), told);
}

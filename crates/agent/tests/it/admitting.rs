//! Calls before anything of them begins: those that the caller answers pass the policy for approvals too, a reply may be
//! held up as a whole, and calls that are not run are told as the agent wants it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::Counter;
use crate::common::kit::{all, counting, end, holding, keys, told, until_it_waits};
use attache_agent::{
    Agent, AgentBuilder, Ask, CallVerdict, DecideError, Decision, EndReason, Event, EventKind, HookContext,
    HookError, MemoryJournal, Proposal, RefusalReason, Run, RunHook, StepTools, SubmitError, Tools, Verdict,
    deliver,
};
use attache_core::{
    Approval, AssistantMessage, BoxFuture, Effect, Tool, ToolCall, ToolDefinition, ToolError, ToolResult,
};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::json;

/// The tool that the caller answers.
fn ask() -> ToolDefinition {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    ToolDefinition::new("ask", "", schema)
}

fn policy(proposal: &Proposal<'_>) -> Verdict {
    assert_eq!(proposal.by_caller, proposal.call.name == "ask");
    match (proposal.call.name.as_str(), proposal.arguments.get("n").and_then(|n| n.as_i64())) {
        ("ask", Some(101..)) => Verdict::Deny("nobody asks as much".to_owned()),
        ("ask", Some(11..)) => Verdict::Ask(Ask::because("it is a large number")),
        ("ask", Some(0)) => panic!("a bug in a policy"),
        _ => Verdict::Run,
    }
}

fn builder(turns: impl IntoIterator<Item = Turn>) -> AgentBuilder {
    Agent::builder(ScriptedModel::new(turns).unverified())
        .tool_set(Tools::new().with_external(ask()))
        .answer_deadline(Duration::from_secs(60))
}

fn judged(turns: impl IntoIterator<Item = Turn>) -> Agent {
    builder(turns).approval_policy(policy).build().unwrap()
}

fn asks(n: i64) -> Turn {
    Turn::call("ask", json!({"n": n}))
}

fn announced(events: &[Event]) -> Vec<String> {
    let call = |event: &Event| match &event.kind {
        EventKind::ExternalPending { call } => Some(call.arguments.raw().to_owned()),
        _ => None,
    };
    events.iter().filter_map(call).collect()
}

/// Drives a run whose calls the caller answers with "yes".
async fn answered(mut run: attache_agent::AgentRun) -> (Vec<String>, attache_agent::Outcome) {
    let (control, mut seen) = (run.control(), Vec::new());
    loop {
        let events = until_it_waits(&mut run).await;
        seen.extend(announced(&events));
        if let Some(outcome) = events.last().and_then(|event| event.kind.outcome()) {
            return (seen, outcome.clone());
        }
        for call in control.awaiting() {
            control.submit([ToolResult::ok(&call, "yes")]).await.unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn calls_that_the_caller_answers_pass_the_policy() {
    let cases = [
        (5, vec![r#"{"n":5}"#], "yes"),
        (500, vec![], "not executed: nobody asks as much"),
        (0, vec![], "not executed: nobody could say whether it may run"),
    ];
    for streaming in [true, false] {
        for (n, calls, said) in &cases {
            let agent = builder([asks(*n), Turn::text("done")]).approval_policy(policy).streaming(streaming);
            let (seen, outcome) = answered(agent.build().unwrap().run("go")).await;
            assert_eq!(outcome.reason, EndReason::Answer);
            assert_eq!(seen, *calls);
            assert_eq!(told(&outcome.messages), [*said]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_the_caller_answers_waits_for_its_approval_first() {
    let decisions = [
        (Decision::Approve, Some(r#"{"n":50}"#)),
        (Decision::Edit(json!({"n": 60})), Some(r#"{"n":60}"#)),
        (Decision::Deny("not now".to_owned()), None),
    ];
    for (decision, call) in decisions {
        let journal = Arc::new(MemoryJournal::new());
        let mut run = judged([asks(50)]).run_in(journal.clone(), "go");
        let events = all(&mut run).await;
        let outcome = end(&events);
        assert_eq!((outcome.reason, announced(&events).len()), (EndReason::PendingApproval, 0));
        let [request] = &outcome.approvals[..] else { panic!("{:?}", outcome.approvals) };
        assert_eq!((&*request.call.name, request.reason.as_deref()), ("ask", Some("it is a large number")));
        // It has the record of any other proposal, and takes no result before.
        assert!(keys(&journal).iter().any(|key| key.starts_with("asked/")));
        let early = deliver(&*journal, ToolResult::ok(&request.call, "yes")).await.unwrap_err();
        assert!(matches!(early, SubmitError::NotYet { .. }), "{early}");

        let resumed = judged([Turn::text("done")]).resume(journal.clone());
        let (seen, outcome) = answered(resumed.decide(&request.id, "ann", decision.clone())).await;
        assert_eq!(outcome.reason, EndReason::Answer);
        assert_eq!(seen, call.into_iter().collect::<Vec<_>>(), "{decision:?}");
        let said = &told(&outcome.messages)[0];
        match &decision {
            Decision::Deny(_) => assert_eq!(said, "not executed: not now"),
            Decision::Edit(_) => assert!(said.contains("a person changed") && said.contains("yes"), "{said}"),
            _ => assert_eq!(said, "yes"),
        }
        assert_eq!(Run::replay(&journal.entries()).unwrap().outcome(), outcome);
        let entries = journal.entries();
        for cut in 1..entries.len() {
            let has = |key: &str| entries[..cut].iter().any(|entry| entry.key.as_str().starts_with(key));
            let rest = holding(entries[..cut].to_vec());
            let skip = usize::from(has("model/1")) + usize::from(has("model/2"));
            let turns = [asks(50), Turn::text("done")].into_iter().skip(skip);
            let (mut seen, mut again) = answered(judged(turns).resume(rest.clone())).await;
            if again.reason == EndReason::PendingApproval {
                assert!(seen.is_empty() && !has("decided/"), "cut {cut}");
                let run = judged([Turn::text("done")]).resume(rest.clone());
                let run = run.decide(&again.approvals[0].id, "ann", decision.clone());
                (seen, again) = answered(run).await;
            }
            assert_eq!((again.reason, told(&again.messages)), (EndReason::Answer, told(&outcome.messages)));
            let calls = if has("tool/") { None } else { call };
            assert_eq!(seen, calls.into_iter().collect::<Vec<_>>(), "cut {cut}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_was_left_after_the_approval_is_taken() {
    let journal = Arc::new(MemoryJournal::new());
    let outcome = judged([asks(50)]).run_in(journal.clone(), "go").outcome().await.unwrap();
    let request = &outcome.approvals[0];
    attache_agent::decide(&*journal, &request.id, "ann", Decision::Approve).await.unwrap();
    // The driver has not said yet that it was approved.
    let early = deliver(&*journal, ToolResult::ok(&request.call, "yes")).await.unwrap_err();
    assert!(matches!(early, SubmitError::NotYet { .. }), "{early}");
    let pending = judged([]).resume(journal.clone()).outcome().await.unwrap();
    assert_eq!((pending.reason, pending.pending.len()), (EndReason::PendingExternal, 1));
    deliver(&*journal, ToolResult::ok(&request.call, "yes")).await.unwrap();
    // The caller was told of it in time: it counts after the approval has expired.
    tokio::time::advance(Duration::from_secs(48 * 3600)).await;
    let done = judged([Turn::text("done")]).resume(journal.clone()).outcome().await.unwrap();
    assert_eq!((done.reason, told(&done.messages)), (EndReason::Answer, vec!["yes".to_owned()]));
}

/// An agent that looks, pays after an approval, and asks the caller.
fn office(looked: &Counter, paid: &Counter, turns: impl IntoIterator<Item = Turn>) -> AgentBuilder {
    let pay =
        counting("pay", Effect::SideEffect, paid).with_metadata(|tool| tool.approval = Approval::Always);
    builder(turns).tool(counting("look", Effect::Read, looked)).tool(pay)
}

fn busy() -> Turn {
    Turn::call("look", json!({"n": 1}))
        .and_call("pay", json!({"n": 2}))
        .and_call("ask", json!({"n": 3}))
        .and_call("pay", json!({"n": 4}))
}

#[tokio::test(start_paused = true)]
async fn no_call_of_a_reply_runs_before_somebody_has_decided_about_all() {
    let (looked, paid, journal) = (Counter::default(), Counter::default(), Arc::new(MemoryJournal::new()));
    let agent = |turns: Vec<Turn>| office(&looked, &paid, turns).hold_all(true).build().unwrap();
    let mut run = agent(vec![busy()]).run_in(journal.clone(), "go");
    let events = all(&mut run).await;
    let outcome = end(&events);
    assert_eq!((outcome.reason, outcome.approvals.len()), (EndReason::PendingApproval, 2));
    assert_eq!((looked.get(), paid.get(), announced(&events).len()), (0, 0, 0));
    assert_eq!(outcome.pending.len(), 4);
    // One decision is not all.
    let ids: Vec<String> = outcome.approvals.iter().map(|request| request.id.clone()).collect();
    let half = agent(vec![]).resume(journal.clone()).approve(&ids[1]).outcome().await.unwrap();
    assert_eq!(
        (half.reason, half.approvals.len(), looked.get(), paid.get()),
        (EndReason::PendingApproval, 1, 0, 0)
    );
    let run = agent(vec![Turn::text("done")]).resume(journal.clone()).deny(&ids[0], "no");
    let (seen, done) = answered(run).await;
    assert_eq!((done.reason, seen.len(), looked.get(), paid.get()), (EndReason::Answer, 1, 1, 1));
    assert_eq!(told(&done.messages), ["1", "not executed: no", "yes", "4"]);
    // At each cut nothing runs before both decisions, and everything once.
    let entries = journal.entries();
    for cut in 1..entries.len() {
        let has =
            |key: &str| entries[..cut].iter().filter(|entry| entry.key.as_str().starts_with(key)).count();
        let (looked, paid, rest) = (Counter::default(), Counter::default(), holding(entries[..cut].to_vec()));
        let agent = |turns: Vec<Turn>| office(&looked, &paid, turns).hold_all(true).build().unwrap();
        let turns = [busy(), Turn::text("done")].into_iter().skip(has("model/")).collect();
        let (_, mut outcome) = answered(agent(turns).resume(rest.clone())).await;
        while outcome.reason == EndReason::PendingApproval {
            assert_eq!((looked.get(), paid.get()), (0, 0), "cut {cut}");
            let request = outcome.approvals[0].clone();
            let decision = match request.call.arguments.raw() {
                r#"{"n":2}"# => Decision::Deny("no".to_owned()),
                _ => Decision::Approve,
            };
            let run = agent(vec![Turn::text("done")]).resume(rest.clone());
            (_, outcome) = answered(run.decide(&request.id, "ann", decision)).await;
        }
        assert_eq!(outcome.reason, EndReason::Answer, "cut {cut}");
        let is_told = |entry: &attache_agent::Entry| {
            let Some(call) = entry.key.as_str().strip_prefix("begun/") else { return true };
            has(&format!("tool/{call}")) > 0
        };
        // An effect that was begun and not told of is of unknown outcome.
        if entries[..cut].iter().all(is_told) {
            assert_eq!(told(&outcome.messages), told(&done.messages), "cut {cut}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_is_held_up_goes_on_in_the_run_that_waits() {
    for holds in [true, false] {
        let (looked, paid) = (Counter::default(), Counter::default());
        let agent = office(&looked, &paid, [busy(), Turn::text("done")]);
        let agent = agent.hold_all(holds).patience(Duration::from_secs(60)).build().unwrap();
        let mut run = agent.run("go");
        let control = run.control();
        let events = until_it_waits(&mut run).await;
        let requests: Vec<String> = events
            .iter()
            .filter_map(|event| match &event.kind {
                EventKind::ApprovalRequested(request) => Some(request.id.clone()),
                _ => None,
            })
            .collect();
        assert_eq!(
            (requests.len(), looked.get(), announced(&events).len()),
            (2, usize::from(!holds), usize::from(!holds))
        );
        control.decide(&requests[0], "ann", Decision::Approve).await.unwrap();
        let events = until_it_waits(&mut run).await;
        assert_eq!((paid.get(), announced(&events).len()), (usize::from(!holds), 0));
        control.decide(&requests[1], "ann", Decision::Approve).await.unwrap();
        let (_, outcome) = answered(run).await;
        assert_eq!((outcome.reason, looked.get(), paid.get()), (EndReason::Answer, 1, 2));
        let late = control.decide(&requests[0], "ann", Decision::Deny("no".to_owned())).await.unwrap_err();
        assert!(matches!(late, DecideError::Decided { .. } | DecideError::Closed { .. }), "{late}");
    }
}

/// A hook with one verdict about the calls with the number 1.
struct First(CallVerdict);

impl RunHook for First {
    fn before_tool<'a>(
        &'a self,
        call: &'a ToolCall,
        _: &'a HookContext<'_>,
    ) -> BoxFuture<'a, Result<CallVerdict, HookError>> {
        let is_first = call.arguments.raw() == r#"{"n":1}"#;
        let verdict = if is_first { self.0.clone() } else { CallVerdict::Run };
        Box::pin(std::future::ready(Ok(verdict)))
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_starts_beside_a_call_that_trips_however_many_there_are() {
    for holds in [true, false] {
        let looked = Counter::default();
        let many = (2..20)
            .fold(Turn::call("look", json!({"n": 1})), |turn, n| turn.and_call("look", json!({"n": n})));
        let agent = builder([many])
            .tool(counting("look", Effect::Read, &looked))
            .hold_all(holds)
            .hook(First(CallVerdict::Trip("fraud".to_owned())))
            .build()
            .unwrap();
        let outcome = agent.run("go").outcome().await.unwrap();
        assert_eq!((outcome.reason, looked.get()), (EndReason::GuardrailTripped, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn hooks_see_calls_that_the_caller_answers() {
    let trips = builder([asks(1)]).hook(First(CallVerdict::Trip("fraud".to_owned()))).build().unwrap();
    let (seen, outcome) = answered(trips.run("go")).await;
    assert_eq!((outcome.reason, seen.len()), (EndReason::GuardrailTripped, 0));
    let cases = [
        (CallVerdict::Deny("no".to_owned()), None, "no"),
        (CallVerdict::Replace("later".to_owned()), None, "later"),
        (CallVerdict::Rewrite(json!({"n": 2})), Some(r#"{"n":2}"#), "yes"),
        (CallVerdict::Run, Some(r#"{"n":1}"#), "yes"),
    ];
    for (verdict, call, said) in cases {
        let agent = builder([asks(1), Turn::text("done")]).hook(First(verdict.clone())).build().unwrap();
        let (seen, outcome) = answered(agent.run("go")).await;
        assert_eq!(
            (outcome.reason, seen),
            (EndReason::Answer, call.into_iter().map(str::to_owned).collect())
        );
        assert!(told(&outcome.messages)[0].contains(said), "{verdict:?}");
    }
}

/// The name of a call that is not run, the reason, and whether its tool is known.
type Heard = (String, RefusalReason, bool);

/// An agent whose calls are not run, each for another reason, and what it is told of them.
fn refusing(
    turns: impl IntoIterator<Item = Turn>,
    aborts_at: Option<RefusalReason>,
    heard: &Arc<Mutex<Vec<Heard>>>,
) -> Agent {
    let heard = Arc::clone(heard);
    builder(turns)
        .tool(counting("look", Effect::Read, &Counter::default()))
        .tool(
            counting("rare", Effect::Read, &Counter::default())
                .with_metadata(|tool| tool.max_calls = Some(1)),
        )
        .step_tools(|step| match step.number {
            1 => StepTools::all(),
            _ => StepTools::subset(["ask"]),
        })
        .approval_policy(policy)
        .tool_refusal(move |refusal| {
            let call = refusal.call.name.clone();
            heard.lock().unwrap().push((call, refusal.reason, refusal.tool.is_some()));
            if aborts_at == Some(refusal.reason) {
                return Some(ToolError::abort("enough"));
            }
            Some(ToolError::new(format!("[{:?}] {}", refusal.reason, refusal.text)))
        })
        .build()
        .unwrap()
}

fn refused_calls() -> [Turn; 3] {
    [
        Turn::call("look", json!({"n": "many"}))
            .and_call("loook", "{}")
            .and_call("ask", json!({"n": 500}))
            .and_call("rare", json!({"n": 1}))
            .and_call("rare", json!({"n": 2})),
        Turn::call("look", json!({"n": 1})),
        Turn::text("done"),
    ]
}

#[tokio::test]
async fn the_word_about_calls_that_are_not_run_may_be_another() {
    let (heard, journal) = (Arc::default(), Arc::new(MemoryJournal::new()));
    let outcome =
        refusing(refused_calls(), None, &heard).run_in(journal.clone(), "go").outcome().await.unwrap();
    let expected = [
        ("look", RefusalReason::Arguments, true),
        ("loook", RefusalReason::UnknownTool, false),
        ("ask", RefusalReason::Denied, true),
        ("rare", RefusalReason::Limit, true),
        ("look", RefusalReason::Off, true),
    ];
    let mut seen = heard.lock().unwrap().clone();
    seen.sort_by_key(|(call, reason, _)| {
        expected.iter().position(|(name, why, _)| (*name, *why) == (call, *reason))
    });
    assert_eq!(seen, expected.map(|(call, reason, known)| (call.to_owned(), reason, known)));
    let said = told(&outcome.messages);
    let begin = ["[Arguments]", "[UnknownTool]", "[Denied] not executed: nobody", "1", "[Limit]", "[Off]"];
    assert_eq!(said.len(), begin.len());
    for (said, begin) in said.iter().zip(begin) {
        assert!(said.starts_with(begin), "{said}");
    }
    // The log has the words: whoever resumes the run tells the same, without asking.
    let entries = journal.entries();
    for cut in 1..entries.len() {
        let has =
            |key: &str| entries[..cut].iter().filter(|entry| entry.key.as_str().starts_with(key)).count();
        let heard = Arc::default();
        let turns = refused_calls().into_iter().skip(has("model/"));
        let run = refusing(turns, None, &heard).resume(holding(entries[..cut].to_vec()));
        let again = run.outcome().await.unwrap();
        assert_eq!(told(&again.messages), said, "cut {cut}");
        assert!(heard.lock().unwrap().len() + has("tool/") <= 6, "cut {cut}");
    }
}

#[tokio::test]
async fn a_call_that_is_not_run_may_end_the_run() {
    use RefusalReason::{Arguments, Denied, Limit, UnknownTool};
    for reason in [Arguments, UnknownTool, Denied, Limit] {
        let agent = refusing(refused_calls(), Some(reason), &Arc::default());
        let outcome = end(&all(&mut agent.run("go")).await);
        assert_eq!(outcome.reason, EndReason::ToolAbort, "{reason:?}");
        assert!(told(&outcome.messages).iter().any(|said| said == "enough"), "{reason:?}");
    }
    let outcome = refusing([Turn::text("done")], None, &Arc::default()).run("go").outcome().await.unwrap();
    assert_eq!(outcome.reason, EndReason::Answer);
}

#[tokio::test]
async fn calls_by_hand_are_refused_in_the_same_words() {
    let manager = refusing([], None, &Arc::default()).tool_manager().await.unwrap();
    let calls = [
        ("look", json!({"n": "many"})),
        ("loook", json!({})),
        ("ask", json!({"n": 500})),
        ("ask", json!({"n": 5})),
    ];
    let calls = calls.map(|(name, arguments)| {
        ToolCall::new(name, attache_core::Arguments::new(arguments.to_string())).into()
    });
    let round = manager.answer(AssistantMessage::new(calls)).await;
    let said: Vec<String> =
        round.results.iter().map(|result| result.tree.model_text().into_owned()).collect();
    let begin = ["[Arguments]", "[UnknownTool]", "[Denied] not executed: nobody asks"];
    assert_eq!(said.len(), 3);
    for (said, begin) in said.iter().zip(begin) {
        assert!(said.starts_with(begin), "{said}");
    }
    assert_eq!(round.pending.len(), 1, "the policy lets one of them be asked");
}

/// A log whose reply asks the caller, with a result that somebody left before anybody looked at the call.
async fn left_early(n: i64) -> Arc<MemoryJournal> {
    let journal = Arc::new(MemoryJournal::new());
    let outcome = builder([asks(n)]).build().unwrap().run_in(journal.clone(), "go").outcome();
    let call =
        tokio::time::timeout(Duration::from_secs(300), outcome).await.unwrap().unwrap().pending.remove(0);
    let journal = holding(journal.entries());
    deliver(&*journal, ToolResult::ok(&call, "secret")).await.unwrap();
    journal
}

/// The run's messages hold the refusal alone, live and replayed.
fn reads(outcome: &attache_agent::Outcome, journal: &MemoryJournal, said: &str) {
    assert_eq!(told(&outcome.messages), [said]);
    assert_eq!(Run::replay(&journal.entries()).unwrap().outcome(), *outcome);
}

#[tokio::test(start_paused = true)]
async fn a_result_is_not_taken_before_somebody_let_the_call_through() {
    let agent = builder([asks(50), Turn::text("done")]).approval_policy(policy);
    let agent = agent.patience(Duration::from_secs(60)).build().unwrap();
    let mut run = agent.run("go");
    let control = run.control();
    let mut denied = false;
    while let Some(event) = run.next().await {
        if let EventKind::ToolCallsRequested { calls, .. } = &event.kind {
            assert!(control.awaiting().is_empty());
            let early = control.submit([ToolResult::ok(&calls[0], "secret")]).await.unwrap_err();
            assert!(matches!(early, SubmitError::NotAwaiting), "{early}");
        }
        if let EventKind::ApprovalRequested(request) = &event.kind {
            let early = control.submit([ToolResult::ok(&request.call, "secret")]).await.unwrap_err();
            assert!(matches!(early, SubmitError::NotAwaiting), "{early}");
            control.decide(&request.id, "ann", Decision::Deny("not now".to_owned())).await.unwrap();
            denied = true;
        }
        if let Some(outcome) = event.kind.outcome() {
            assert_eq!(told(&outcome.messages), ["not executed: not now"]);
        }
    }
    assert!(denied);
}

#[tokio::test(start_paused = true)]
async fn a_result_that_was_left_before_a_denial_is_not_read() {
    // The policy denies it.
    let journal = left_early(500).await;
    let run = judged([Turn::text("done")]).resume(journal.clone());
    let events = all(&mut { run }).await;
    reads(&end(&events), &journal, "not executed: nobody asks as much");
    let shown = |event: &Event| match &event.kind {
        EventKind::ToolFinished { result, .. } => Some(result.tree.model_text().into_owned()),
        _ => None,
    };
    assert_eq!(events.iter().filter_map(shown).collect::<Vec<_>>(), ["not executed: nobody asks as much"]);
    // A person denies it.
    let journal = left_early(50).await;
    let asked = judged([]).resume(journal.clone()).outcome().await.unwrap();
    assert_eq!(asked.reason, EndReason::PendingApproval);
    let run = judged([Turn::text("done")]).resume(journal.clone()).deny(&asked.approvals[0].id, "not now");
    reads(&run.outcome().await.unwrap(), &journal, "not executed: not now");
    // A hook denies it, answers it, or ends the run.
    for (verdict, said) in [
        (CallVerdict::Deny("no".to_owned()), "no"),
        (CallVerdict::Replace("later".to_owned()), "later"),
        (CallVerdict::Trip("fraud".to_owned()), "fraud"),
    ] {
        let journal = left_early(1).await;
        let agent = builder([Turn::text("done")]).hook(First(verdict.clone())).build().unwrap();
        let outcome = end(&all(&mut agent.resume(journal.clone())).await);
        reads(&outcome, &journal, said);
        match verdict {
            CallVerdict::Trip(_) => assert_eq!(outcome.reason, EndReason::GuardrailTripped),
            _ => assert_eq!(outcome.reason, EndReason::Answer),
        }
    }
    // The word about a call that is not run may end the run too.
    let journal = left_early(500).await;
    let agent = refusing([], Some(RefusalReason::Denied), &Arc::default());
    let outcome = end(&all(&mut agent.resume(journal.clone())).await);
    assert_eq!(outcome.reason, EndReason::ToolAbort);
    reads(&outcome, &journal, "enough");
    // One that is let through is taken.
    let journal = left_early(5).await;
    let outcome = judged([Turn::text("done")]).resume(journal.clone()).outcome().await.unwrap();
    reads(&outcome, &journal, "secret");
}

#[tokio::test]
async fn calls_of_a_reply_that_is_held_up_are_judged_once_together_and_once_each() {
    let count = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&count);
    let step = counting("step", Effect::Read, &Counter::default())
        .with_metadata(|metadata| metadata.sequential = true);
    let looks = [Turn::call("look", json!({"n": 1})), Turn::call("look", json!({"n": 2})), Turn::text("so")];
    let helper = Agent::builder(ScriptedModel::new(looks).unverified())
        .tool(counting("look", Effect::Read, &Counter::default()))
        .build()
        .unwrap();
    let busy = (1..5)
        .fold(Turn::call("helper", json!({"task": "x"})), |turn, n| turn.and_call("step", json!({"n": n})));
    let agent = builder([busy, Turn::text("done")])
        .tool(step)
        .tool(helper.as_tool("helper", ""))
        .hold_all(true)
        .approval_policy(move |_: &Proposal<'_>| {
            *counted.lock().unwrap() += 1;
            Verdict::Run
        });
    let outcome = agent.build().unwrap().run("go").outcome().await.unwrap();
    assert_eq!((outcome.reason, told(&outcome.messages).len()), (EndReason::Answer, 5));
    assert_eq!(*count.lock().unwrap(), 10);
}

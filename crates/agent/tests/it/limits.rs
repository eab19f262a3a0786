//! The limits of a run beside those of steps: calls, corrections, circles, spending, time.

use std::sync::Arc;
use std::time::Duration;

use crate::common::kit::{all, counting, holding, keys, results, told, warnings};
use crate::common::{Counter, Number};
use attache_agent::{
    Agent, AgentBuilder, Disposition, EndReason, EntryKind, EventKind, Limits, MemoryJournal, Money,
    NoArguments, Outcome, Price, Prices, Run, RunInput, Tools, tool_fn,
};
use attache_core::{Effect, ModelSettings, Tool, ToolChoice, ToolDefinition, ToolError, Usage};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::json;
use tokio::time::sleep;

fn limits(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    change(&mut limits);
    limits
}

async fn outcome_of(builder: AgentBuilder) -> Outcome {
    builder.build().unwrap().run("go").outcome().await.unwrap()
}

fn look(calls: &Counter) -> impl Tool + 'static {
    counting("look", Effect::Read, calls)
}

fn looks(from: i64, count: i64) -> impl Iterator<Item = Turn> {
    (from..from + count).map(|n| Turn::call("look", json!({"n": n})))
}

#[tokio::test]
async fn calls_of_one_tool_are_limited_and_others_go_on() {
    let (looked, other) = (Counter::default(), Counter::default());
    let once = counting("once", Effect::Read, &other).with_metadata(|metadata| metadata.max_calls = Some(1));
    let asked = Tools::new().with_external(ToolDefinition::new("ask", "", json!({"type": "object"})));
    let turns = looks(0, 3)
        .chain((0..2).map(|n| Turn::call("once", json!({"n": n}))))
        .chain([Turn::call("look", json!({"n": 9})), Turn::text("done")]);
    let builder = Agent::builder(ScriptedModel::new(turns)).tool(look(&looked)).tool(once).tool_set(asked);
    let outcome = outcome_of(builder.limits(limits(|limits| limits.max_calls_per_tool = 2))).await;
    assert_eq!((&outcome.reason, looked.get(), other.get()), (&EndReason::Answer, 2, 1));
    let said = told(&outcome.messages);
    let refused =
        |limit: u32| format!("not executed: the limit of {limit} calls of this tool in this run is reached");
    assert_eq!(said, ["0", "1", &refused(2), "0", &refused(1), &refused(2)]);
    assert_eq!(Limits::default().max_calls_per_tool, 40);
}

#[tokio::test]
async fn a_reply_with_too_many_calls_has_the_first_of_them_made() {
    let looked = Counter::default();
    let many =
        (1..20).fold(Turn::call("look", json!({"n": 0})), |turn, n| turn.and_call("look", json!({"n": n})));
    let model = ScriptedModel::new([many, Turn::text("done")]);
    let outcome = outcome_of(Agent::builder(model).tool(look(&looked))).await;
    assert_eq!(looked.get(), 16);
    let said = told(&outcome.messages);
    assert_eq!((said.len(), &*said[15]), (20, "15"));
    assert_eq!(
        said[16],
        "not executed: at most 16 calls are made at once; make the others in your next reply"
    );
}

/// A tool that asks for another try at odd numbers.
fn picky(calls: &Counter) -> impl Tool + 'static {
    let calls = calls.clone();
    tool_fn("look", "", move |Number { n }: Number| {
        calls.add();
        async move { if n % 2 == 1 { Err(ToolError::retry(format!("{n} is odd"))) } else { Ok(n) } }
    })
    .with_effect(Effect::Read)
}

#[tokio::test]
async fn a_tool_that_the_model_cannot_call_right_ends_the_run_with_an_answer() {
    let calls = Counter::default();
    let turns = |numbers: &[i64]| -> Vec<Turn> {
        let calls = numbers.iter().map(|n| Turn::call("look", json!({"n": n})));
        calls.chain([Turn::text("it is closed")]).collect()
    };
    let model = ScriptedModel::new(turns(&[1, 3, 5]));
    let outcome = outcome_of(Agent::builder(model.clone()).tool(picky(&calls))).await;
    assert_eq!((outcome.reason, &*outcome.text), (EndReason::ToolRetriesExhausted, "it is closed"));
    assert_eq!((model.requests()[3].tool_choice.clone(), calls.get()), (ToolChoice::None, 3));
    // A success in between begins anew.
    let model = ScriptedModel::new(turns(&[1, 3, 2, 5, 7]));
    let outcome = outcome_of(Agent::builder(model).tool(picky(&calls))).await;
    assert_eq!(outcome.reason, EndReason::Answer);
    // Arguments that do not fit are a call to correct as well, and a tool may have its own number.
    let model = ScriptedModel::new([
        Turn::call("look", json!({"n": "many"})),
        Turn::call("look", json!({})),
        Turn::text("no"),
    ]);
    let tool = picky(&calls).with_metadata(|metadata| metadata.max_retries = Some(1));
    assert_eq!(outcome_of(Agent::builder(model).tool(tool)).await.reason, EndReason::ToolRetriesExhausted);
}

#[tokio::test]
async fn a_run_may_go_on_without_the_tool_that_it_cannot_call_right() {
    let turns = [1, 3, 5].map(|n| Turn::call("look", json!({"n": n}))).into_iter();
    let model = ScriptedModel::new(turns.chain([Turn::text("without it")]));
    let builder = Agent::builder(model.clone()).tool(picky(&Counter::default()));
    let outcome = outcome_of(builder.limits(limits(|limits| limits.go_on_without_tool = true))).await;
    assert_eq!(outcome.reason, EndReason::Answer);
    assert_eq!(told(&outcome.messages)[2], "5 is odd\n\n[Do not call this tool again.]");
}

// R11
#[tokio::test]
async fn tools_that_there_are_not_end_the_run_after_some_rounds() {
    let ghosts = (0..3).map(|n| Turn::call("ghost", json!({"n": n})));
    let model = ScriptedModel::new(ghosts.chain([Turn::text("I cannot")])).unverified();
    let builder = Agent::builder(model).tool(look(&Counter::default()));
    let mut run = builder.build().unwrap().run("go");
    let events = all(&mut run).await;
    let dispositions: Vec<Disposition> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::ToolFinished { disposition, .. } => Some(*disposition),
            _ => None,
        })
        .collect();
    assert_eq!(dispositions, [Disposition::NoSuchTool; 3]);
    let outcome = events.last().unwrap().kind.outcome().unwrap();
    assert_eq!((&outcome.reason, &*outcome.text), (&EndReason::ToolRetriesExhausted, "I cannot"));
    // A call that is made in between begins anew.
    let turn = |name: &str| Turn::call(name, json!({"n": 1}));
    let turns =
        ["ghost", "ghost", "look", "ghost", "ghost"].map(turn).into_iter().chain([Turn::text("done")]);
    let model = ScriptedModel::new(turns).unverified();
    assert_eq!(
        outcome_of(Agent::builder(model).tool(look(&Counter::default()))).await.reason,
        EndReason::Answer
    );
}

fn tool(name: &'static str, output: &'static str) -> impl Tool + 'static {
    tool_fn(name, "", move |_: NoArguments| Ok(serde_json::from_str::<serde_json::Value>(output).unwrap()))
        .with_effect(Effect::Read)
}

// R17
#[tokio::test]
async fn circles_of_calls_that_succeed_end_as_well() {
    for circle in [&["a"][..], &["a", "b"], &["a", "b", "c"]] {
        let calls = circle.iter().cycle().map(|name| Turn::call(name, "{}"));
        let rounds = circle.len() * 4 + 1;
        let model = ScriptedModel::new(calls.take(rounds).chain([Turn::text("stuck")])).unverified();
        let builder =
            Agent::builder(model.clone()).tool(tool("a", "1")).tool(tool("b", "2")).tool(tool("c", "3"));
        let outcome = outcome_of(builder).await;
        assert_eq!((&outcome.reason, &*outcome.text), (&EndReason::NoProgress, "stuck"), "{circle:?}");
        let nudged = told(&outcome.messages).iter().position(|text| text.contains("several times"));
        assert_eq!(nudged, Some(circle.len() * 2), "{circle:?}");
    }
}

#[tokio::test]
async fn searching_and_finding_nothing_is_no_progress() {
    for (output, effect) in [("[]", Effect::Read), ("null", Effect::Read), ("null", Effect::SideEffect)] {
        let search = tool_fn("search", "", move |_: Number| {
            Ok(serde_json::from_str::<serde_json::Value>(output).unwrap())
        });
        let turns = (0..8).map(|n| Turn::call("search", json!({"n": n}))).chain([Turn::text("nothing")]);
        let outcome =
            outcome_of(Agent::builder(ScriptedModel::new(turns)).tool(search.with_effect(effect))).await;
        let nudged = told(&outcome.messages).iter().position(|text| text.contains("found nothing"));
        // A tool with an effect has done something, although it returns nothing.
        let expected = match effect {
            Effect::Read => (EndReason::NoProgress, Some(3)),
            _ => (EndReason::Answer, None),
        };
        assert_eq!((outcome.reason, nudged), expected, "{output} {effect:?}");
    }
}

fn submit(submitted: &Counter) -> impl Tool + 'static {
    let submitted = submitted.clone();
    tool_fn("submit", "", move |Number { n }: Number| {
        submitted.add();
        async move { if n < 0 { Err(ToolError::new("no such form")) } else { Ok(format!("delivered {n}")) } }
    })
    .with_spec(|spec| spec.with_finish(true))
}

#[tokio::test]
async fn a_tool_that_finishes_ends_the_run_with_its_output() {
    let (looked, submitted) = (Counter::default(), Counter::default());
    let both = Turn::call("submit", json!({"n": 7})).and_call("look", json!({"n": 1}));
    let failed = Turn::call("submit", json!({"n": -1}));
    let model = ScriptedModel::new([failed, both]);
    let outcome = outcome_of(Agent::builder(model).tool(look(&looked)).tool(submit(&submitted))).await;
    assert_eq!((outcome.reason, &*outcome.text), (EndReason::FinishTool, "delivered 7"));
    assert_eq!((looked.get(), submitted.get(), outcome.steps), (1, 2, 2));
}

// R18
#[tokio::test]
async fn a_tool_that_finishes_stays_available_at_a_limit() {
    let (looked, submitted) = (Counter::default(), Counter::default());
    let last = |n: i64| Turn::call("look", json!({"n": 5})).and_call("submit", json!({"n": n}));
    for (n, expected) in [(7, (EndReason::FinishTool, "delivered 7")), (-1, (EndReason::MaxSteps, ""))] {
        let model = ScriptedModel::new(looks(0, 2).chain([last(n)]));
        let builder = Agent::builder(model.clone()).tool(look(&looked)).tool(submit(&submitted));
        let outcome = outcome_of(builder.max_steps(3)).await;
        assert_eq!((outcome.reason.clone(), &*outcome.text), expected);
        let request = model.requests().pop().unwrap();
        assert_eq!(request.tool_choice, ToolChoice::Auto);
        let notice = format!("{:?}", request.messages.last().unwrap());
        assert!(notice.contains("Tools are off now but for submit"), "{notice}");
        assert_eq!(told(&outcome.messages)[2], "not executed: tools are off");
    }
    assert_eq!((looked.get(), submitted.get()), (4, 2));
}

/// The id of the scripted models.
fn model_id() -> String {
    attache_core::ModelHandle::from(ScriptedModel::new([])).id().to_owned()
}

fn prices() -> Prices {
    Prices::new("USD").with_model(model_id(), Price::new(10.0, 30.0))
}

// R27
#[tokio::test]
async fn the_outcome_says_what_is_known_of_the_cost_and_what_is_not() {
    let counted = || Turn::call("look", json!({"n": 1})).costing(Usage::new(1_000, 100));
    let turns = || [counted(), Turn::text("done").costing(Usage::default())];
    let builder = || Agent::builder(ScriptedModel::new(turns())).tool(look(&Counter::default()));
    let mut run = builder().prices(prices()).build().unwrap().run("go");
    let events = all(&mut run).await;
    let cost = events.last().unwrap().kind.outcome().unwrap().cost;
    assert_eq!((cost.known, cost.unknown_steps), (Money::new(0.013), 1));
    assert!(!cost.is_complete());
    assert_eq!(warnings(&events), ["cost_unknown"]);
    // Without prices nothing is known, and nothing is said.
    let mut run = builder().build().unwrap().run("go");
    let events = all(&mut run).await;
    let cost = events.last().unwrap().kind.outcome().unwrap().cost;
    assert_eq!((cost.known, cost.unknown_steps), (Money::ZERO, 2));
    assert!(warnings(&events).is_empty());
}

#[tokio::test]
async fn a_limit_of_cost_needs_the_price_of_the_model() {
    let builder = || Agent::builder(ScriptedModel::new([Turn::text("done")]).unverified()).max_cost(1.0);
    let elsewhere = || Prices::new("USD").with_model("openai/gpt-5", Price::new(1.0, 1.0));
    for builder in [builder(), builder().prices(elsewhere())] {
        let error = builder.build().unwrap().run("go").outcome().await.unwrap_err();
        let cause = error.provider_error().unwrap().to_string();
        assert!(cause.contains("nobody configured a price of"), "{cause}");
        assert_eq!(error.partial().steps, 0);
    }
    let outcome = outcome_of(builder().prices(elsewhere().with_unknown_allowed(true))).await;
    assert_eq!((outcome.reason, outcome.cost.unknown_steps), (EndReason::Answer, 1));
}

/// The agent whose replies have 100 tokens at most, and its model. Each step costs what is given.
fn spender(cost: f64, steps: i64) -> (ScriptedModel, AgentBuilder) {
    let usage = Usage::new(400, 100);
    let turns = looks(0, steps).map(|turn| turn.costing(usage.clone()));
    let model = ScriptedModel::new(turns.chain([Turn::text("so far").costing(usage.clone())])).unverified();
    let settings = ModelSettings::new().with_max_tokens(100_u32);
    let builder = Agent::builder(model.clone()).settings(settings).tool(look(&Counter::default()));
    (model, builder.prices(prices()).max_cost(cost))
}

// A step costs 0.007. The last answer has its room, and the limit holds.
#[tokio::test]
async fn money_is_set_aside_before_it_is_spent() {
    for steps in 1..6_u32 {
        let limit = 0.0215 + 0.007 * f64::from(steps - 1);
        let (model, builder) = spender(limit, i64::from(steps));
        let outcome = outcome_of(builder).await;
        assert_eq!((&outcome.reason, &*outcome.text), (&EndReason::CostLimit, "so far"), "{steps}");
        assert_eq!(outcome.steps, steps + 1);
        assert!(outcome.cost.known <= Money::new(limit), "{} of {limit}", outcome.cost.known);
        assert_eq!(model.requests().pop().unwrap().tool_choice, ToolChoice::None);
    }
    // Not even one answer can be paid.
    let (model, builder) = spender(0.001, 0);
    let outcome = outcome_of(builder).await;
    assert_eq!((outcome.reason, outcome.steps, model.requests().len()), (EndReason::CostLimit, 0, 0));
    // Nor can the question, however short its answer is.
    let model = ScriptedModel::new([Turn::text("done")]).unverified();
    let outcome = outcome_of(Agent::builder(model.clone()).prices(prices()).max_cost(1e-9)).await;
    assert_eq!((outcome.reason, outcome.steps, model.requests().len()), (EndReason::CostLimit, 0, 0));
}

/// The requests of a run at a limit, cut at each entry and resumed.
#[tokio::test]
async fn a_run_at_its_limit_of_cost_is_resumed_as_it_was() {
    let (model, builder) = spender(0.0285, 2);
    let journal = Arc::new(MemoryJournal::new());
    let uncut = builder.build().unwrap().run_in(journal.clone(), RunInput::from("go").with_run_id("r"));
    let uncut = uncut.outcome().await.unwrap();
    assert_eq!((&uncut.reason, uncut.steps), (&EndReason::CostLimit, 3));
    let entries = journal.entries();
    assert!(entries.iter().any(|entry| matches!(entry.kind, EntryKind::Landing(_))));
    for cut in 1..entries.len() {
        let asked = entries[..cut].iter().filter(|entry| entry.key.as_str().starts_with("model/")).count();
        let turns = looks(0, 2).chain([Turn::text("so far")]).map(|turn| turn.costing(Usage::new(400, 100)));
        let rest = ScriptedModel::new(turns.skip(asked)).unverified();
        let (_, builder) = spender(0.0285, 0);
        let options = attache_agent::RunOptions::new().with_model(rest.clone());
        let agent = builder.build().unwrap();
        let outcome = agent.resume_with(holding(entries[..cut].to_vec()), options).outcome().await.unwrap();
        assert_eq!(
            (&outcome.reason, outcome.cost, outcome.usage),
            (&uncut.reason, uncut.cost, uncut.usage.clone())
        );
        let texts = |messages: &[Arc<attache_core::Message>]| -> Vec<String> {
            messages.iter().map(|message| format!("{:?}", message.role())).collect()
        };
        for (request, expected) in rest.requests().iter().zip(model.requests().iter().skip(asked)) {
            assert_eq!(texts(&request.messages), texts(&expected.messages), "cut {cut}");
            assert_eq!(request.tool_choice, expected.tool_choice, "cut {cut}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_time_is_almost_up_is_asked_for_an_answer() {
    let slow = tool_fn("look", "", |_: Number| async {
        sleep(Duration::from_secs(3_600)).await;
        Ok("never")
    });
    let model = ScriptedModel::new([Turn::call("look", json!({"n": 1})), Turn::text("so far")]);
    let builder = Agent::builder(model.clone()).tool(slow.with_effect(Effect::Read));
    let start = tokio::time::Instant::now();
    // A tenth of the time is left for the answer, whatever a tool takes.
    let outcome = outcome_of(builder.tool_timeout(Duration::MAX).deadline(Duration::from_secs(100))).await;
    assert_eq!((outcome.reason, &*outcome.text), (EndReason::Deadline, "so far"));
    assert!(results(&outcome.messages)[0].tree.model_text().starts_with("timed out after"));
    let passed = start.elapsed();
    assert!(passed >= Duration::from_secs(89) && passed <= Duration::from_secs(91), "{passed:?}");
    let notice = format!("{:?}", model.requests().pop().unwrap().messages.last().unwrap());
    assert!(notice.contains("The time of this run is almost up."), "{notice}");
}

#[tokio::test(start_paused = true)]
async fn no_call_is_begun_when_the_time_of_the_run_is_almost_up() {
    for blocking in [false, true] {
        let slow = tool_fn("look", "", |_: Number| async {
            sleep(Duration::from_secs(3_600)).await;
            Ok("never")
        });
        let paid = Counter::default();
        let pay = counting("pay", Effect::SideEffect, &paid)
            .with_metadata(|metadata| (metadata.sequential, metadata.blocking) = (true, blocking));
        let both = Turn::call("look", json!({"n": 1})).and_call("pay", json!({"n": 7}));
        let builder = Agent::builder(ScriptedModel::new([both, Turn::text("so far")]));
        let builder = builder.tool(slow.with_effect(Effect::Read)).tool(pay).tool_timeout(Duration::MAX);
        let agent = builder.deadline(Duration::from_secs(100)).build().unwrap();
        let journal = Arc::new(MemoryJournal::new());
        let outcome = agent.run_in(journal.clone(), "go").outcome().await.unwrap();
        assert_eq!((&outcome.reason, &*outcome.text), (&EndReason::Deadline, "so far"));
        let said = told(&outcome.messages);
        assert_eq!(said[1], "not executed: the time of this run is almost up", "blocking: {blocking}");
        assert_eq!((paid.get(), outcome.unknown.len()), (0, 0), "blocking: {blocking}");
        assert!(!keys(&journal).iter().any(|key| key.starts_with("begun/")), "{:?}", keys(&journal));
        assert_eq!(Run::replay(&journal.entries()).unwrap().outcome(), outcome);
    }
}

// Behind it no answer comes for which time would have to be left.
#[tokio::test(start_paused = true)]
async fn a_tool_that_ends_the_run_has_the_rest_of_its_time() {
    let slow = tool_fn("look", "", |_: Number| async {
        sleep(Duration::from_secs(3_600)).await;
        Ok("never")
    });
    let submit = tool_fn("submit", "", |Number { n }: Number| async move {
        sleep(Duration::from_secs(5)).await;
        Ok(format!("delivered {n}"))
    });
    let turns = [Turn::call("look", json!({"n": 1})), Turn::call("submit", json!({"n": 7}))];
    let builder = Agent::builder(ScriptedModel::new(turns)).tool(slow.with_effect(Effect::Read));
    let builder = builder.tool(submit.with_spec(|spec| spec.with_finish(true)));
    let outcome = outcome_of(builder.tool_timeout(Duration::MAX).deadline(Duration::from_secs(100))).await;
    assert_eq!((outcome.reason, &*outcome.text), (EndReason::FinishTool, "delivered 7"));
}

#[tokio::test]
async fn a_hint_that_a_call_repeats_itself_names_no_tool_that_may() {
    let polled = Counter::default();
    let poll = counting("poll", Effect::Read, &polled).with_metadata(|metadata| metadata.poll = true);
    let both = (0..3).map(|n| Turn::call("a", "{}").and_call("poll", json!({"n": n})));
    let model = ScriptedModel::new(both.chain([Turn::text("done")]));
    let outcome = outcome_of(Agent::builder(model).tool(tool("a", "1")).tool(poll)).await;
    let said = told(&outcome.messages);
    assert!(said[5].contains("The call a was made several times"), "{said:?}");
}

/// A tool that says another thing each time, and fails before the call of that number.
fn flaky(calls: &Counter, until: usize) -> impl Tool + 'static {
    let calls = calls.clone();
    tool_fn("get", "", move |Number { n }: Number| {
        calls.add();
        let id = calls.get();
        async move { if id < until { Err(ToolError::new(format!("500, request {id}"))) } else { Ok(n) } }
    })
    .with_effect(Effect::Read)
}

// A31: whatever it says, and whatever is called beside it; one that says the same each time ends sooner
#[tokio::test]
async fn a_call_that_fails_again_is_told_so_and_ends_the_run_at_last() {
    let turn = |n: i64| Turn::call("get", json!({"n": 7})).and_call("look", json!({"n": n}));
    let fails = || tool_fn("get", "", |_: Number| async { Err::<u8, _>(ToolError::new("500")) });
    for (differs, rounds) in [(true, 10), (false, 5)] {
        let model = ScriptedModel::new((0..rounds).map(turn).chain([Turn::text("it is down")]));
        let journal = Arc::new(MemoryJournal::new());
        let builder = Agent::builder(model.clone()).tool(look(&Counter::default()));
        let builder = match differs {
            true => builder.tool(flaky(&Counter::default(), 99)),
            false => builder.tool(fails().with_effect(Effect::Read)),
        };
        let outcome = builder.build().unwrap().run_in(journal.clone(), "go").outcome().await.unwrap();
        assert_eq!((&outcome.reason, &*outcome.text), (&EndReason::NoProgress, "it is down"), "{differs}");
        assert_eq!(model.requests().last().unwrap().tool_choice, ToolChoice::None);
        let said = told(&outcome.messages);
        assert!(!said[0].contains("has failed") && said[3] == "1", "{said:?}");
        assert!(
            said[2].starts_with("500")
                && said[2].contains("[This call has failed 2 times with these arguments.")
        );
        assert!(said[said.len() - 2].contains(&format!("has failed {rounds} times")), "{said:?}");
        assert_eq!(Run::replay(&journal.entries()).unwrap().outcome(), outcome);
    }
}

// The word about a round that stands still takes that about a call away from no other.
#[tokio::test]
async fn a_call_that_fails_in_equal_rounds_is_told_so_too() {
    let fails = tool_fn("get", "", |_: Number| async { Err::<u8, _>(ToolError::new("500")) });
    let turn = || Turn::call("get", json!({"n": 7})).and_call("look", json!({"n": 1}));
    let model = ScriptedModel::new((0..3).map(|_| turn()).chain([Turn::text("it is down")]));
    let agent = Agent::builder(model).tool(look(&Counter::default())).tool(fails.with_effect(Effect::Read));
    let said = told(&outcome_of(agent).await.messages);
    assert!(said[4].contains("has failed 3 times") && said[5].contains("made several times"), "{said:?}");
}

#[tokio::test]
async fn failures_of_a_call_are_forgotten_once_it_succeeds_or_something_was_changed() {
    let again = || Turn::call("get", json!({"n": 7}));
    // It succeeds at its fourth time.
    let model = ScriptedModel::new((0..5).map(|_| again()).chain([Turn::text("done")]));
    let outcome = outcome_of(Agent::builder(model).tool(flaky(&Counter::default(), 4))).await;
    assert_eq!(outcome.reason, EndReason::Answer);
    // Other arguments are another call.
    let model =
        ScriptedModel::new((0..6).map(|n| Turn::call("get", json!({"n": n}))).chain([Turn::text("done")]));
    let outcome = outcome_of(Agent::builder(model).tool(flaky(&Counter::default(), 99))).await;
    assert!(!told(&outcome.messages).concat().contains("has failed"));
    // Tests are run again after each change.
    let write = counting("write", Effect::SideEffect, &Counter::default());
    let turns =
        (0..6).flat_map(|n| [again(), Turn::call("write", json!({"n": n}))]).chain([Turn::text("done")]);
    let builder = Agent::builder(ScriptedModel::new(turns)).tool(flaky(&Counter::default(), 99)).tool(write);
    let outcome = outcome_of(builder).await;
    assert_eq!(outcome.reason, EndReason::Answer);
    assert!(!told(&outcome.messages).concat().contains("has failed"));
}

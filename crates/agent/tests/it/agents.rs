//! Agents as tools of other agents.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::kit::{all, counting, end, holding, results, told, until_it_waits};
use crate::common::{Counter, Number};
use attache_agent::{
    Agent, DecideError, EndReason, Event, EventKind, Limits, MemoryJournal, Money, NoArguments, Outcome,
    Price, Prices, RunInput, SubmitError, Tools, deliver, tool_fn,
};
use attache_core::schemars::{self, JsonSchema};
use attache_core::{
    Approval, Document, Effect, ErrorKind, FinishReason, Message, ModelHandle, Tool, ToolCall, ToolContext,
    ToolDefinition, ToolError, ToolResult, Usage, UserMessage, UserPart,
};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::json;
use tokio::time::sleep;

pub(crate) fn ask(name: &str, task: &str) -> Turn {
    Turn::call(name, json!({"task": task}))
}

/// The agent around, whose tools are these.
pub(crate) fn around(turns: impl IntoIterator<Item = Turn>, tools: Vec<Arc<dyn Tool>>) -> Agent {
    Agent::builder(ScriptedModel::new(turns).unverified()).tools(tools).build().unwrap()
}

pub(crate) fn inner(turns: impl IntoIterator<Item = Turn>, tools: Vec<Arc<dyn Tool>>) -> Arc<dyn Tool> {
    Arc::new(around(turns, tools).as_tool("research", "Looks things up"))
}

/// The events of agents inside: their names on the way, and the kind.
fn inside(events: &[Event]) -> Vec<String> {
    let tell = |event: &Event| match &event.kind {
        EventKind::Nested { path, event } => {
            let names: Vec<&str> = path.iter().map(|agent| agent.name.as_str()).collect();
            let word = crate::common::words(std::slice::from_ref(event)).remove(0);
            Some(format!("{}: {word}", names.join("/")))
        }
        _ => None,
    };
    events.iter().filter_map(tell).collect()
}

// openai/openai-agents-python#864, google/adk-python#4095
#[tokio::test]
async fn the_events_of_an_agent_inside_are_told_while_it_works() {
    let look = counting("look", Effect::Read, &Counter::default());
    let turns = [Turn::call("look", json!({"n": 4})), Turn::text("4")];
    let agent =
        around([ask("research", "how many?"), Turn::text("4")], vec![inner(turns, vec![Arc::new(look)])]);
    let events = all(&mut agent.run("go")).await;
    let told: Vec<String> = inside(&events).into_iter().filter(|word| !word.ends_with("delta")).collect();
    let expected = [
        "started",
        "step",
        "requested 1",
        "finish tool_calls",
        "tool look",
        "result 4",
        "received 1",
        "step",
        "content 4",
        "finish stop",
        "end answer",
    ];
    assert_eq!(told, expected.map(|word| format!("research: {word}")));
    // They stand between the start of the tool and its end, and are counted with the others.
    let place =
        |wanted: &dyn Fn(&EventKind) -> bool| events.iter().position(|event| wanted(&event.kind)).unwrap();
    let started = place(&|kind| matches!(kind, EventKind::ToolStarted { .. }));
    let finished = place(&|kind| matches!(kind, EventKind::ToolFinished { .. }));
    let nested: Vec<usize> = events
        .iter()
        .enumerate()
        .filter(|(_, event)| matches!(event.kind, EventKind::Nested { .. }))
        .map(|(at, _)| at)
        .collect();
    assert!(nested.iter().all(|at| started < *at && *at < finished), "{started} {nested:?} {finished}");
    assert!(events.iter().zip(1..).all(|(event, seq)| event.seq == seq));
}

// R27: sub-runs count, and each step counts once.
#[tokio::test]
async fn what_agents_inside_spend_is_a_part_of_the_whole_once() {
    let usage = |n: u64| Usage::new(n, n);
    let deepest = inner([Turn::text("d").costing(usage(1))], vec![]);
    let middle =
        around([ask("research", "x").costing(usage(10)), Turn::text("m").costing(usage(100))], vec![deepest]);
    let turns = [ask("middle", "x").costing(usage(1_000)), Turn::text("done").costing(usage(10_000))];
    let model = ScriptedModel::new(turns);
    let prices = Prices::new("USD").with_model(ModelHandle::from(model.clone()).id(), Price::new(1.0, 1.0));
    let agent = Agent::builder(model).tool(middle.as_tool("middle", "")).prices(prices).build().unwrap();
    let journal = Arc::new(MemoryJournal::new());
    let outcome = agent.run_in(journal.clone(), "go").outcome().await.unwrap();
    // The agents inside have the prices of the one around.
    assert_eq!((&outcome.usage, outcome.cost.known), (&usage(11_111), Money::new(0.022222)));
    assert_eq!((outcome.cost.unknown_steps, outcome.steps), (0, 2));
    // The log tells the same.
    let again = agent.resume(journal).outcome().await.unwrap();
    assert_eq!((again.usage, again.cost), (outcome.usage, outcome.cost));
}

#[tokio::test]
async fn agents_inside_agents_have_a_way_of_names() {
    let deepest = inner([Turn::text("d")], vec![]);
    let middle = around([ask("research", "x"), Turn::text("m")], vec![deepest]).as_tool("middle", "");
    let agent = around([ask("middle", "x"), Turn::text("done")], vec![Arc::new(middle)]);
    let events = all(&mut agent.run("go")).await;
    let told = inside(&events);
    assert!(told.contains(&"middle/research: content d".to_owned()), "{told:?}");
    assert!(told.contains(&"middle: content m".to_owned()), "{told:?}");
}

#[tokio::test]
async fn agents_stand_inside_one_another_to_a_depth() {
    let nest = |levels: usize| {
        let mut agent = around([Turn::text("b")], vec![]);
        for _ in 0..levels {
            let tool: Arc<dyn Tool> = Arc::new(agent.as_tool("down", ""));
            agent = around([ask("down", "x"), Turn::text("up")], vec![tool]);
        }
        agent
    };
    for (levels, refused) in [(3, 0), (4, 1)] {
        let events = all(&mut nest(levels).run("go")).await;
        let texts: Vec<String> = inside(&events);
        let failed = texts.iter().filter(|text| text.contains("the agent down stopped")).count();
        assert_eq!(failed, refused, "{levels}: {texts:?}");
        assert_eq!(texts.iter().any(|text| text.ends_with("content b")), refused == 0);
    }
    // The outermost decides: one inside cannot allow more.
    let limits = |depth: u32| {
        let mut limits = Limits::default();
        limits.max_depth = depth;
        limits
    };
    let bottom: Arc<dyn Tool> = Arc::new(around([Turn::text("b")], vec![]).as_tool("down", ""));
    let middle = Agent::builder(ScriptedModel::new([ask("down", "x"), Turn::text("up")])).tools([bottom]);
    let middle = middle.limits(limits(9)).build().unwrap().as_tool("down", "");
    let top = Agent::builder(ScriptedModel::new([ask("down", "x"), Turn::text("up")]));
    let top = top.tool(middle).limits(limits(1)).build().unwrap();
    let events = all(&mut top.run("go")).await;
    assert!(!inside(&events).iter().any(|text| text.ends_with("content b")));
}

/// An agent whose agent inside pays twice, and looks.
fn payer(paid: &Counter, inner_turns: Vec<Turn>, outer_turns: Vec<Turn>) -> Agent {
    let pay = counting("pay", Effect::SideEffect, paid);
    around(outer_turns, vec![inner(inner_turns, vec![Arc::new(pay)])])
}

fn inner_turns() -> Vec<Turn> {
    let usage = Usage::new(100, 10);
    let pays = [1, 2].map(|n| Turn::call("pay", json!({"n": n})).costing(usage.clone()));
    pays.into_iter().chain([Turn::text("paid").costing(usage)]).collect()
}

#[tokio::test]
async fn an_agent_inside_cut_at_any_entry_is_resumed_with_the_run_around_it() {
    let outer_turns = || vec![ask("research", "pay"), Turn::text("done")];
    let (paid, journal) = (Counter::default(), Arc::new(MemoryJournal::new()));
    let uncut =
        payer(&paid, inner_turns(), outer_turns()).run_in(journal.clone(), "go").outcome().await.unwrap();
    assert_eq!((told(&uncut.messages), paid.get()), (vec!["paid".to_owned()], 2));
    let entries = journal.entries();
    let count = |entries: &[attache_agent::Entry], part: &str, is_inside: bool| {
        let fits =
            |key: &str| key.contains('>') == is_inside && key.rsplit('>').next().unwrap().starts_with(part);
        entries.iter().filter(|entry| fits(entry.key.as_str())).count()
    };
    for cut in 1..entries.len() {
        let kept = &entries[..cut];
        let paid = Counter::default();
        let inner = inner_turns().split_off(count(kept, "model/", true));
        let outer = outer_turns().split_off(count(kept, "model/", false));
        let journal = holding(kept.to_vec());
        let outcome = payer(&paid, inner, outer).resume(journal.clone()).outcome().await.unwrap();
        assert_eq!((&outcome.reason, told(&outcome.messages)), (&EndReason::Answer, told(&uncut.messages)));
        assert_eq!(paid.get(), 2 - count(kept, "begun/", true), "cut {cut}");
        assert_eq!((outcome.usage, outcome.cost), (uncut.usage.clone(), uncut.cost), "cut {cut}");
    }
}

#[tokio::test]
async fn an_agent_that_does_not_come_to_its_end_is_a_failed_result_or_says_so() {
    let cases: [(Vec<Turn>, bool, &str); 4] = [
        (
            vec![Turn::text("half").then_error(ErrorKind::Overloaded)],
            true,
            "the agent research stopped before its work was done: provider_error (overloaded). It had said: half",
        ),
        (
            vec![Turn::text("I must not").finishing(FinishReason::Refusal)],
            true,
            "the agent research stopped before its work was done: refusal. It had said: I must not",
        ),
        (vec![Turn::empty()], true, "the agent research stopped before its work was done: empty_response"),
        (
            vec![Turn::text("the first half").finishing(FinishReason::Length)],
            false,
            "the first half\n\n[the agent research stopped before its work was done: length]",
        ),
    ];
    for (turns, fails, text) in cases {
        let agent = around([ask("research", "x"), Turn::text("done")], vec![inner(turns, vec![])]);
        let outcome = agent.run("go").outcome().await.unwrap();
        let result = &results(&outcome.messages)[0];
        assert_eq!((result.is_error(), &*result.tree.model_text()), (fails, text));
        assert_eq!(outcome.reason, EndReason::Answer);
    }
}

fn chart() -> Document {
    Document::from_bytes(&b"\x89PNG\r\n\x1a\n chart"[..], "image/png").with_file_name("chart.png")
}

// The documents of the task reach the model inside, those of its tools the model around.
#[tokio::test]
async fn documents_go_in_by_reference_and_come_out_by_themselves() {
    let lease = Document::from_bytes("%PDF-1.4 lease", "application/pdf").with_file_name("lease.pdf");
    let drawn = chart();
    let draws = drawn.clone();
    let draw: Arc<dyn Tool> = Arc::new(tool_fn("draw", "", move |_: NoArguments| {
        let draws = draws.clone();
        async move { Ok::<_, ToolError>(draws) }
    }));
    let model =
        |turns: Vec<Turn>| ScriptedModel::new(turns).with_capabilities_of("anthropic", "claude-sonnet-4-5");
    for shown in [true, false] {
        let inside = model(vec![Turn::call("draw", "{}"), Turn::text("here it is")]);
        let given = json!({"task": "draw the lease", "documents": [lease.id().as_str()]});
        let outside = model(vec![Turn::call("artist", given), Turn::text("done")]);
        let artist = Agent::builder(inside.clone()).tools([Arc::clone(&draw)]).build().unwrap();
        let artist = artist.as_tool("artist", "").with_documents(shown);
        let agent = Agent::builder(outside.clone()).tool(artist).build().unwrap();
        let message = UserMessage::new([UserPart::text("go"), lease.clone().into()]);
        let outcome = agent.run(message).outcome().await.unwrap();
        assert!(inside.asked().saw(&lease));
        assert_eq!(outside.asked().saw(&drawn), shown);
        let result = &results(&outcome.messages)[0];
        assert_eq!(result.documents.len(), usize::from(shown));
        assert!(result.tree.model_text().contains("here it is"));
    }
    // Those that the model inside makes come out as well, but none of a conversation that the input brings.
    let before = {
        let inside = model(vec![Turn::call("draw", "{}"), Turn::text("here it is")]);
        let agent = Agent::builder(inside).tools([Arc::clone(&draw)]).build().unwrap();
        agent.run("draw").outcome().await.unwrap().messages
    };
    let sketch = Document::from_bytes(&b"\x89PNG\r\n\x1a\n sketch"[..], "image/png");
    let inside = model(vec![Turn::empty().making(sketch.clone())]);
    let artist = Agent::builder(inside).tools([Arc::clone(&draw)]).build().unwrap().as_tool("artist", "");
    let artist = artist.with_input(move |Number { .. }| RunInput::from("more").with_history(before.clone()));
    let outside = model(vec![Turn::call("artist", json!({"n": 1})), Turn::text("done")]);
    let agent = Agent::builder(outside.clone()).tool(artist).build().unwrap();
    let outcome = agent.run("go").outcome().await.unwrap();
    assert!(outside.asked().saw(&sketch), "{:?}", outcome.messages);
    assert!(!outside.asked().saw(&drawn));
    assert_eq!(results(&outcome.messages)[0].documents.len(), 1);
    // A made-up reference is an observation, and no agent is asked.
    let inside = ScriptedModel::new([]);
    let given = json!({"task": "x", "documents": ["nothing"]});
    let artist = Agent::builder(inside.clone()).build().unwrap().as_tool("artist", "");
    let agent = around([Turn::call("artist", given), Turn::text("done")], vec![Arc::new(artist)]);
    let outcome = agent.run("go").outcome().await.unwrap();
    assert!(results(&outcome.messages)[0].is_error());
}

struct Tenant(&'static str);

#[tokio::test]
async fn an_agent_inside_works_in_the_name_of_the_run_around_it() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let saw = Arc::clone(&seen);
    let who = tool_fn("who", "", move |context: ToolContext| {
        let tenant = context.get::<Tenant>().map(|tenant| tenant.0);
        saw.lock().unwrap().push((context.principal.clone(), tenant));
        Ok("seen")
    });
    let agent = Agent::builder(ScriptedModel::new([Turn::call("who", "{}"), Turn::text("x")])).tool(who);
    // Its own principal gains it nothing.
    let inner = agent.principal("root").build().unwrap().as_tool("research", "");
    let agent = Agent::builder(ScriptedModel::new([ask("research", "x"), Turn::text("done")])).tool(inner);
    agent.principal("ann").context(Tenant("acme")).build().unwrap().run("go").outcome().await.unwrap();
    assert_eq!(*seen.lock().unwrap(), [(Some("ann".to_owned()), Some("acme"))]);
}

pub(crate) fn slow(seconds: u64) -> Arc<dyn Tool> {
    let tool = tool_fn("slow", "", move |_: Number| async move {
        sleep(Duration::from_secs(seconds)).await;
        Ok("slept")
    });
    Arc::new(tool.with_effect(Effect::Read))
}

// The time limit of tools is not the agent's.
#[tokio::test(start_paused = true)]
async fn an_agent_inside_may_take_its_time_and_ends_with_the_run_around_it() {
    let naps = |count: i64| {
        let naps = (0..count).map(|n| Turn::call("slow", json!({"n": n})));
        naps.chain([Turn::text("rested")]).collect::<Vec<_>>()
    };
    let agent = around([ask("research", "rest"), Turn::text("done")], vec![inner(naps(5), vec![slow(50)])]);
    let outcome = agent.run("go").outcome().await.unwrap();
    assert_eq!(told(&outcome.messages), ["rested"]);
    // With a deadline both come to an answer in time.
    let model = ScriptedModel::new([ask("research", "rest"), Turn::text("done")]);
    let research = inner(naps(1), vec![slow(50_000)]);
    let agent = Agent::builder(model).tools([research]).deadline(Duration::from_secs(50)).build().unwrap();
    let outcome = agent.run("go").outcome().await.unwrap();
    assert_eq!((&outcome.reason, &*outcome.text), (&EndReason::Answer, "done"));
    let stopped = "rested\n\n[the agent research stopped before its work was done: deadline]";
    assert_eq!(told(&outcome.messages), [stopped]);
}

// The account around is drawn from inside as well.
#[tokio::test]
async fn an_agent_inside_spends_what_the_run_around_it_has_left() {
    let looks =
        |count: i64| (0..count).map(|n| Turn::call("look", json!({"n": n})).costing(Usage::new(100, 10)));
    for kept in [false, true] {
        let look = counting("look", Effect::Read, &Counter::default());
        let turns = looks(2).chain([Turn::text("so far").costing(Usage::new(100, 10))]).chain(looks(7));
        let research = inner(turns, vec![Arc::new(look)]);
        let model =
            ScriptedModel::new([ask("research", "x").costing(Usage::new(100, 10)), Turn::text("done")]);
        let agent =
            Agent::builder(model.unverified()).tools([research]).max_tokens_per_run(440).build().unwrap();
        let mut run = match kept {
            true => agent.run_in(Arc::new(MemoryJournal::new()), "go"),
            false => agent.run("go"),
        };
        let outcome = end(&all(&mut run).await);
        assert_eq!(outcome.reason, EndReason::TokenLimit);
        assert_eq!(
            told(&outcome.messages),
            ["so far\n\n[the agent research stopped before its work was done: token_limit]"]
        );
        assert!(outcome.usage.input_tokens >= Some(400), "{:?}", outcome.usage);
    }
}

/// An agent inside that asks somebody.
fn asker() -> Arc<dyn Tool> {
    let tools = Tools::new().with_external(ToolDefinition::new("person", "", json!({"type": "object"})));
    let model = ScriptedModel::new([Turn::call("person", "{}"), Turn::text("they said yes")]).unverified();
    let agent =
        Agent::builder(model).tool_set(tools).answer_deadline(Duration::from_secs(60)).build().unwrap();
    Arc::new(agent.as_tool("research", ""))
}

fn pending_of(outcome: &Outcome) -> Vec<&str> {
    outcome.pending.iter().map(|call| call.name.as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn what_an_agent_inside_waits_for_pauses_the_run_around_it() {
    let journal = Arc::new(MemoryJournal::new());
    let looked = Counter::default();
    let look: Arc<dyn Tool> = Arc::new(counting("look", Effect::Read, &looked));
    let both = ask("research", "x").and_call("look", json!({"n": 1}));
    let outer = |turns: Vec<Turn>| around(turns, vec![asker(), Arc::clone(&look)]);
    let outcome = outer(vec![both]).run_in(journal.clone(), "go").outcome().await.unwrap();
    assert_eq!((&outcome.reason, pending_of(&outcome)), (&EndReason::PendingExternal, vec!["person"]));
    // Nobody drives the run when the answer comes.
    deliver(&*journal, ToolResult::ok(&outcome.pending[0], "yes")).await.unwrap();
    let again = deliver(&*journal, ToolResult::ok(&outcome.pending[0], "no")).await;
    assert!(again.is_err());
    let tools = Tools::new().with_external(ToolDefinition::new("person", "", json!({"type": "object"})));
    let rest =
        Agent::builder(ScriptedModel::new([Turn::text("they said yes")])).tool_set(tools).build().unwrap();
    let agent = around([Turn::text("done")], vec![Arc::new(rest.as_tool("research", "")), look]);
    let outcome = agent.resume(journal).outcome().await.unwrap();
    assert_eq!(told(&outcome.messages), ["they said yes", "1"]);
    assert_eq!((outcome.reason, looked.get()), (EndReason::Answer, 1), "its sibling is not run again");
}

#[tokio::test]
async fn an_approval_inside_is_asked_for_outside_and_acted_on_inside() {
    let (paid, journal) = (Counter::default(), Arc::new(MemoryJournal::new()));
    let pay = || -> Arc<dyn Tool> {
        let paid = paid.clone();
        let pay = move |Number { n }: Number| {
            paid.add();
            Ok(n)
        };
        Arc::new(tool_fn("pay", "", pay).with_spec(|spec| spec.with_approval(Approval::Always)))
    };
    let research = inner([Turn::call("pay", json!({"n": 7}))], vec![pay()]);
    let outcome = around([ask("research", "pay")], vec![research]).run_in(journal.clone(), "go");
    let outcome = outcome.outcome().await.unwrap();
    assert_eq!((&outcome.reason, paid.get()), (&EndReason::PendingApproval, 0));
    // Nothing is unknown outside, and another run from here is refused as one from inside would be.
    assert_eq!(
        (outcome.unknown.len(), told(&outcome.messages).join("")),
        (0, "no result yet: somebody is asked about it".to_owned())
    );
    let other = RunInput::from("x").with_history(outcome.messages.clone());
    let refused = around([Turn::text("x")], vec![]).run(other).outcome().await.unwrap_err();
    assert!(matches!(refused.decide_error(), Some(DecideError::Open { .. })), "{refused:?}");
    let [request] = &outcome.approvals[..] else { panic!("{:?}", outcome.approvals) };
    assert_eq!((&*request.call.name, pending_of(&outcome)), ("pay", vec!["pay"]));
    let research = inner([Turn::text("paid")], vec![pay()]);
    let rest = around([Turn::text("done")], vec![research]).resume(journal).approve(&request.id);
    let outcome = rest.outcome().await.unwrap();
    assert_eq!((told(&outcome.messages), paid.get()), (vec!["paid".to_owned()], 1));
    assert_eq!((outcome.reason, outcome.approvals.len()), (EndReason::Answer, 0));
}

#[tokio::test(start_paused = true)]
async fn an_answer_for_an_agent_inside_is_submitted_to_the_run_around_it() {
    let mut run = around([ask("research", "x"), Turn::text("done")], vec![asker()]).run("go");
    let control = run.control();
    let events = until_it_waits(&mut run).await;
    assert!(inside(&events).iter().any(|word| word.contains("ExternalPending")), "{:?}", inside(&events));
    let calls = control.awaiting();
    assert_eq!(calls.len(), 1);
    control.submit([ToolResult::ok(&calls[0], "yes")]).await.unwrap();
    let outcome = end(&all(&mut run).await);
    assert_eq!(
        (told(&outcome.messages), &outcome.reason),
        (vec!["they said yes".to_owned()], &EndReason::Answer)
    );
    assert!(control.awaiting().is_empty());
}

// P13: a batch is taken as a whole, whichever runs its calls are of
#[tokio::test(start_paused = true)]
async fn answers_for_several_runs_are_taken_together_or_not_at_all() {
    let turns = [ask("research", "x").and_call("boss", "{}"), Turn::text("done")];
    let boss = Tools::new().with_external(ToolDefinition::new("boss", "", json!({"type": "object"})));
    let agent = Agent::builder(ScriptedModel::new(turns)).tools([asker()]).tool_set(boss).build().unwrap();
    let mut run = agent.run("go");
    let control = run.control();
    until_it_waits(&mut run).await;
    let calls = control.awaiting();
    let of = |name: &str| calls.iter().find(|call| call.name == name).unwrap();
    let (inside, outside) = (ToolResult::ok(of("person"), "yes"), ToolResult::ok(of("boss"), "so be it"));
    let stranger = ToolCall::new("person", of("person").arguments.clone());
    let foreign = ToolResult::ok(&stranger, "no");
    let refused = control.submit([inside.clone(), outside.clone(), foreign.clone()]).await;
    assert!(matches!(refused, Err(SubmitError::UnknownCall { .. })), "{refused:?}");
    let twice = control.submit([inside.clone(), outside.clone(), inside.clone()]).await;
    assert!(matches!(twice, Err(SubmitError::DuplicateResult { .. })), "{twice:?}");
    assert_eq!(control.awaiting().len(), 2);
    control.submit([outside]).await.unwrap();
    let refused = control.submit([foreign]).await;
    assert!(matches!(refused, Err(SubmitError::UnknownCall { .. })), "{refused:?}");
    control.submit([inside]).await.unwrap();
    let outcome = end(&all(&mut run).await);
    assert_eq!(told(&outcome.messages), ["they said yes", "so be it"]);
}

// R22
#[tokio::test(start_paused = true)]
async fn cancelling_the_run_around_stops_the_agent_inside_and_its_spending_counts() {
    let dropped = Counter::default();
    struct Dropped(Counter);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.add();
        }
    }
    let seen = dropped.clone();
    let hang = tool_fn("hang", "", move |_: NoArguments| {
        let guard = Dropped(seen.clone());
        async move {
            std::future::pending::<()>().await;
            drop(guard);
            Ok("never")
        }
    });
    let research = inner([Turn::call("hang", "{}").costing(Usage::new(100, 10))], vec![Arc::new(hang)]);
    let model = ScriptedModel::new([ask("research", "x").costing(Usage::new(1, 1))]);
    let mut run = Agent::builder(model).tools([research]).build().unwrap().run("go");
    until_it_waits(&mut run).await;
    run.control().cancel();
    let outcome = end(&all(&mut run).await);
    assert_eq!(
        (outcome.reason, outcome.usage, dropped.get()),
        (EndReason::Cancelled, Usage::new(101, 11), 1)
    );
}

// P35
#[tokio::test(start_paused = true)]
async fn an_agent_inside_waits_for_a_slow_consumer() {
    let made = Counter::default();
    let counted = made.clone();
    let chatty = attache_testkit::FunctionModel::new(move |_, _| {
        counted.add();
        Turn::call("look", json!({"n": counted.get()}))
    });
    let look = counting("look", Effect::Read, &Counter::default());
    let agent = Agent::builder(chatty).tool(look).max_steps(1_000).build().unwrap();
    let mut run =
        around([ask("research", "x"), Turn::text("done")], vec![Arc::new(agent.as_tool("research", ""))])
            .run("go");
    for _ in 0..20 {
        run.next().await.unwrap();
    }
    // However much time passes, it is no further than the events that wait.
    sleep(Duration::from_secs(3_600)).await;
    assert!(made.get() <= 12, "{} replies", made.get());
}

#[derive(serde::Deserialize, JsonSchema)]
struct City {
    /// The name of the city.
    name: String,
}

#[tokio::test]
async fn an_agent_may_take_typed_arguments() {
    let model = ScriptedModel::new([Turn::text("1237")]);
    let history = Agent::builder(model.clone()).system("You are terse.").build().unwrap();
    let tool = history.as_tool("history", "").with_input(|City { name }: City| format!("How old is {name}?"));
    assert_eq!(tool.spec().definition.input_schema()["required"], json!(["name"]));
    let call = Turn::call("history", json!({"name": "Berlin"}));
    let outcome = around([call, Turn::text("done")], vec![Arc::new(tool)]).run("go").outcome().await.unwrap();
    assert_eq!(told(&outcome.messages), ["1237"]);
    // It reads its task and nothing of the conversation around.
    let asked = &model.requests()[0].messages;
    let texts: Vec<String> = asked
        .iter()
        .map(|message| match &**message {
            Message::System(system) => system.parts[0].text().to_owned(),
            Message::User(user) => format!("{:?}", user.parts),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(texts.len(), 2);
    assert!(texts[1].contains("How old is Berlin?"), "{texts:?}");
}

#[tokio::test(start_paused = true)]
async fn agents_work_side_by_side_and_answer_in_call_order() {
    let agent = |seconds: u64, text: &str| {
        let tools = vec![slow(seconds)];
        around([Turn::call("slow", json!({"n": 1})), Turn::text(text)], tools)
    };
    let (late, early) = (agent(20, "late").as_tool("late", ""), agent(10, "early").as_tool("early", ""));
    let both = Turn::call("late", json!({"task": "x"})).and_call("early", json!({"task": "x"}));
    let start = tokio::time::Instant::now();
    let agent = around([both, Turn::text("done")], vec![Arc::new(late), Arc::new(early)]);
    let outcome = agent.run("go").outcome().await.unwrap();
    assert_eq!(told(&outcome.messages), ["late", "early"]);
    assert_eq!(start.elapsed().as_secs(), 20);
}

// The log of the run inside knows what was done, whatever effect its tool has.
#[tokio::test]
async fn an_agent_inside_with_effects_that_asks_the_user_is_resumed_with_the_answer() {
    let journal = Arc::new(MemoryJournal::new());
    let asker = |turns: Vec<Turn>| -> Arc<dyn Tool> {
        let model = ScriptedModel::new(turns).unverified();
        let agent = Agent::builder(model).tool(attache_tools::AskUser::new()).build().unwrap();
        Arc::new(agent.as_tool("research", "").with_metadata(|metadata| metadata.effect = Effect::SideEffect))
    };
    let asks = asker(vec![Turn::call("ask_user", json!({"question": "which?"}))]);
    let run = around([ask("research", "x")], vec![asks]).run_in(journal.clone(), "go");
    let outcome = run.outcome().await.unwrap();
    assert_eq!((&outcome.reason, outcome.unknown.len()), (&EndReason::InputRequired, 0));
    let [request] = &outcome.deferred[..] else { panic!("{:?}", outcome.deferred) };
    assert_eq!(request.deferred.prompt.as_deref(), Some("which?"));
    deliver(&*journal, ToolResult::ok(&request.call, "this one")).await.unwrap();
    let rest = asker(vec![Turn::text("they said this one")]);
    let outcome = around([Turn::text("done")], vec![rest]).resume(journal).outcome().await.unwrap();
    assert_eq!(told(&outcome.messages), ["they said this one"]);
}

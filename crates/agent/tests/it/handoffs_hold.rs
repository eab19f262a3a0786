//! The things of a run that hold through a hand-off: limits, spending, approvals, hooks, documents, values.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::journals::{Fault, Faulty, Method};
use crate::common::kit::{all, counting, end, holding, keys, pdf, told};
use crate::common::{Counter, Number};
use crate::handoffs::{OVER, agent, scripted, to, tools, triage};
use attache_agent::{
    Agent, CallVerdict, EndReason, EntryKind, EventKind, HookContext, HookError, Limits, MemoryJournal,
    Money, OutputMode, OutputSpec, Price, Prices, RunHook, RunInput, Tools, deliver, tool_fn,
};
use attache_core::{
    Approval, BoxFuture, Effect, ModelHandle, ToolCall, ToolChoice, ToolContext, ToolDefinition, ToolError,
    ToolResult, Usage, UserMessage, UserPart,
};
use attache_testkit::{FunctionModel, ScriptedModel, Turn};
use serde_json::json;

fn limits(handoffs: u32) -> Limits {
    let mut limits = Limits::default();
    limits.max_handoffs = handoffs;
    limits.max_steps = 60;
    limits
}

struct Tenant(&'static str);

/// Lets no tool of that name run.
struct Bars(&'static str);

impl RunHook for Bars {
    fn before_tool<'a>(
        &'a self,
        call: &'a ToolCall,
        _: &'a HookContext<'_>,
    ) -> BoxFuture<'a, Result<CallVerdict, HookError>> {
        let verdict =
            if call.name == self.0 { CallVerdict::Deny("barred".to_owned()) } else { CallVerdict::Run };
        Box::pin(std::future::ready(Ok(verdict)))
    }
}

// R27
#[tokio::test]
async fn what_all_agents_spend_is_one_sum_under_one_limit() {
    let usage = |n: u64| Usage::new(n, n);
    // Their names differ.
    let first = FunctionModel::new(move |_, _| to("billing").costing(usage(100))).unverified();
    let names = [ModelHandle::from(first.clone()), ModelHandle::from(scripted([]))];
    let [one, other] = names.map(|model| model.id().to_owned());
    let agent = |turns: Vec<Turn>, prices: &Prices| {
        let pay = counting("pay", Effect::Read, &Counter::default());
        let billing = Agent::builder(scripted(turns)).tool(pay).build().unwrap();
        Agent::builder(first.clone()).handoff(billing.as_handoff("billing", "")).prices(prices.clone())
    };
    let known = Prices::new("USD").with_model(one, Price::new(1.0, 1.0));
    let prices = known.clone().with_model(other, Price::new(10.0, 10.0));
    let here = agent(vec![Turn::text("here").costing(usage(1_000))], &prices);
    let outcome = here.build().unwrap().run("go").outcome().await.unwrap();
    assert_eq!((&outcome.usage, outcome.cost.known), (&usage(1_100), Money::new(0.0202)));
    // The limit is the run's.
    let pays = (0..9).map(|n| Turn::call("pay", json!({"n": n})).costing(usage(100)));
    let pays = agent(pays.chain([Turn::text("so far").costing(usage(1))]).collect(), &prices);
    let outcome = pays.max_tokens_per_run(700).build().unwrap().run("go").outcome().await.unwrap();
    assert_eq!((outcome.agent.as_deref(), outcome.reason), (Some("billing"), EndReason::TokenLimit));
    // So is the limit of cost: an agent whose price nobody knows is not asked.
    let unpriced = agent(Vec::new(), &known).max_cost(1.0).build().unwrap();
    let failed = unpriced.run("go").outcome().await.unwrap_err();
    assert_eq!(failed.partial().reason, EndReason::ProviderError("configuration".to_owned()));
}

#[tokio::test]
async fn hooks_of_the_run_and_of_the_next_agent_hold() {
    for (of_run, of_agent) in [(true, false), (false, true)] {
        let paid = Counter::default();
        let (first, second) =
            (scripted([to("billing")]), scripted([Turn::call("pay", json!({"n": 1})), Turn::text("x")]));
        let billing = agent(&second, "").tool(counting("pay", Effect::SideEffect, &paid));
        let billing = if of_agent { billing.hook(Bars("pay")) } else { billing };
        let agent = agent(&first, "").handoff(billing.build().unwrap().as_handoff("billing", ""));
        let agent = if of_run { agent.hook(Bars("pay")) } else { agent };
        let outcome = agent.build().unwrap().run("go").outcome().await.unwrap();
        assert_eq!((paid.get(), told(&outcome.messages)[1].as_str()), (0, "barred"));
    }
    // A hook may keep the conversation where it is.
    let (first, second) = (scripted([to("billing"), Turn::text("I stay")]), scripted([]));
    let billing = agent(&second, "").build().unwrap();
    let agent = agent(&first, "")
        .handoff(billing.as_handoff("billing", ""))
        .hook(Bars("transfer_to_billing"))
        .build()
        .unwrap();
    let outcome = agent.run("go").outcome().await.unwrap();
    assert_eq!((outcome.agent, &*outcome.text), (None, "I stay"));
}

// The other calls of the reply are not orphaned: their results come before the next agent is asked.
#[tokio::test(start_paused = true)]
async fn a_hand_off_waits_for_results_from_outside() {
    let (first, second) =
        (scripted([to("billing").and_call("person", json!({}))]), scripted([Turn::text("here")]));
    let billing = agent(&second, "You do bills.").build().unwrap();
    let build = || {
        let asks = Tools::new().with_external(ToolDefinition::new("person", "", json!({"type": "object"})));
        agent(&first, "")
            .tool_set(asks)
            .handoff(billing.as_handoff("billing", ""))
            .answer_deadline(Duration::from_secs(5))
            .build()
            .unwrap()
    };
    let journal = Arc::new(MemoryJournal::new());
    let outcome = build().run_in(journal.clone(), "go").outcome().await.unwrap();
    assert_eq!((&outcome.reason, second.requests().len()), (&EndReason::PendingExternal, 0));
    deliver(&*journal, ToolResult::ok(&outcome.pending[0], "yes")).await.unwrap();
    let outcome = build().resume(journal).outcome().await.unwrap();
    assert_eq!(
        (told(&outcome.messages), outcome.agent.as_deref()),
        (vec![OVER.to_owned(), "yes".to_owned()], Some("billing"))
    );
    assert_eq!(told(&second.requests()[0].messages), [OVER, "yes"]);
}

#[tokio::test]
async fn an_agent_inside_a_tool_may_hand_over() {
    let usage = Usage::new(10, 1);
    let build = |outer: &ScriptedModel, first: &ScriptedModel, second: &ScriptedModel, paid: &Counter| {
        let desk = triage(first, second, paid).as_tool("desk", "");
        agent(outer, "You write.").tool(desk).build().unwrap()
    };
    let outer_turns = || {
        vec![
            Turn::call("desk", json!({"task": "my bill"})).costing(usage.clone()),
            Turn::text("done").costing(usage.clone()),
        ]
    };
    let first_turns = || vec![to("billing").costing(usage.clone())];
    let second_turns = || {
        vec![
            Turn::call("pay", json!({"n": 7})).costing(usage.clone()),
            Turn::text("paid").costing(usage.clone()),
        ]
    };
    let (journal, paid) = (Arc::new(MemoryJournal::new()), Counter::default());
    let uncut = build(&scripted(outer_turns()), &scripted(first_turns()), &scripted(second_turns()), &paid);
    let events = all(&mut uncut.run_in(journal.clone(), "go")).await;
    let nested = |event: &attache_agent::Event| matches!(&event.kind, EventKind::Nested { event, .. } if matches!(&event.kind, EventKind::HandedOff { agent, .. } if agent == "billing"));
    assert_eq!(events.iter().filter(|event| nested(event)).count(), 1);
    let uncut = end(&events);
    // The run around was not handed over.
    assert_eq!((told(&uncut.messages), uncut.agent.as_deref()), (vec!["paid".to_owned()], None));
    assert_eq!(uncut.usage, Usage::new(50, 5));
    let entries = journal.entries();
    for cut in 1..entries.len() {
        let kept = &entries[..cut];
        let paid = Counter::default();
        let inside = kept.iter().filter(|entry| entry.key.as_str().contains(">model/")).count();
        let around = kept.iter().filter(|entry| entry.key.as_str().starts_with("model/")).count();
        let begun = kept.iter().any(
            |entry| matches!(&entry.kind, EntryKind::Begun(begun) if begun.effect == Effect::SideEffect),
        );
        let (outer, first) =
            (scripted(outer_turns().split_off(around)), scripted(first_turns().split_off(inside.min(1))));
        let second = scripted(second_turns().split_off(inside.saturating_sub(1)));
        let resumed =
            build(&outer, &first, &second, &paid).resume(holding(kept.to_vec())).outcome().await.unwrap();
        assert_eq!(
            (told(&resumed.messages), paid.get()),
            (told(&uncut.messages), usize::from(!begun)),
            "cut before {}",
            entries[cut].key
        );
        assert_eq!(resumed.usage, uncut.usage);
    }
}

#[tokio::test]
async fn the_next_agent_works_in_the_name_of_the_run() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let saw = Arc::clone(&seen);
    let who = tool_fn("who", "", move |context: ToolContext| {
        saw.lock().unwrap().push((
            context.principal.clone(),
            context.get::<Tenant>().map(|tenant| tenant.0),
            context.get::<u8>().copied(),
        ));
        Ok("seen")
    });
    let (first, second) = (scripted([to("billing")]), scripted([Turn::call("who", "{}"), Turn::text("x")]));
    // Its own principal gains it nothing.
    let billing = agent(&second, "").principal("root").tool(who).build().unwrap();
    let agent = agent(&first, "")
        .principal("ann")
        .context(Tenant("acme"))
        .handoff(billing.as_handoff("billing", ""))
        .build()
        .unwrap();
    agent.run(RunInput::from("go").with_context(7_u8)).outcome().await.unwrap();
    assert_eq!(*seen.lock().unwrap(), [(Some("ann".to_owned()), Some("acme"), Some(7))]);
}

#[tokio::test]
async fn a_hand_off_may_wait_for_an_approval() {
    for approves in [true, false] {
        let (first, second) =
            (scripted([to("billing").and_call("look", json!({"n": 1}))]), scripted([Turn::text("here")]));
        let billing = agent(&second, "You do bills.").build().unwrap();
        let builder = || {
            let handoff = billing
                .as_handoff("billing", "")
                .with_metadata(|metadata| metadata.approval = Approval::Always);
            agent(&first, "You are at the door.")
                .tool(counting("look", Effect::Read, &Counter::default()))
                .handoff(handoff)
        };
        let journal = Arc::new(MemoryJournal::new());
        let outcome = builder().build().unwrap().run_in(journal.clone(), "go").outcome().await.unwrap();
        assert_eq!((&outcome.reason, outcome.agent.as_deref()), (&EndReason::PendingApproval, None));
        let id = &outcome.approvals[0].id;
        first.push(Turn::text("I stay"));
        let run = builder().build().unwrap().resume(journal.clone());
        let run = if approves { run.approve(id) } else { run.deny(id, "not now") };
        let outcome = run.outcome().await.unwrap();
        let expected = if approves { (Some("billing"), "here") } else { (None, "I stay") };
        assert_eq!((outcome.agent.as_deref(), &*outcome.text), expected);
        assert_eq!(keys(&journal).iter().any(|key| key.starts_with("handoff/")), approves);
    }
}

// Two agents that pass a conversation to and fro come to an end.
#[tokio::test]
async fn hand_offs_to_and_fro_are_bounded() {
    let passes = |name: &'static str| {
        let model = FunctionModel::new(move |request, _| {
            match request
                .messages
                .iter()
                .any(|message| format!("{message:?}").contains("not handed over again"))
            {
                true => Turn::text(name),
                false => to(name),
            }
        });
        Agent::builder(model).system(name)
    };
    for (limit, bound) in [(4, 4), (3, 3), (0, 0)] {
        let second = passes("first").build().unwrap();
        let first =
            passes("second").handoff(second.as_handoff("second", "").with_return("first", "the rest"));
        let first = first.limits(limits(limit)).build().unwrap();
        assert_eq!(Limits::default().max_handoffs, 10);
        let journal = Arc::new(MemoryJournal::new());
        let outcome = first.run_in(journal.clone(), "go").outcome().await.unwrap();
        assert_eq!(keys(&journal).iter().filter(|key| key.starts_with("handoff/")).count(), bound);
        // Behind an even number of them the first agent has it.
        let at_home = bound % 2 == 0;
        assert_eq!(
            (outcome.agent.as_deref(), &*outcome.text),
            if at_home { (None, "second") } else { (Some("second"), "first") }
        );
    }
}

#[tokio::test]
async fn a_value_that_was_asked_for_is_asked_of_the_next_agent_in_its_own_way() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": false});
    let first = ScriptedModel::new([to("billing")]).with_capabilities_of("openai-chat", "gpt-4o");
    let second = ScriptedModel::new([Turn::call("final_answer", json!({"n": 4}))])
        .with_capabilities_of("deepseek", "deepseek-chat");
    let billing = Agent::builder(second.clone()).build().unwrap();
    let agent = Agent::builder(first.clone()).handoff(billing.as_handoff("billing", "")).build().unwrap();
    let outcome = agent.run("go").with_output(OutputSpec::new(schema)).outcome().await.unwrap();
    assert_eq!(outcome.structured.as_deref(), Some(&Ok(json!({"n": 4}))));
    assert!(first.requests()[0].settings.response_format.is_some());
    assert_eq!(tools(&second.requests()[0]), ["final_answer"]);
}

// Beside the final answer nothing is done any more.
#[tokio::test]
async fn a_hand_off_beside_the_final_answer_is_not_made() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let (first, second) = (scripted([to("billing").and_call("final_answer", json!({"n": 4}))]), scripted([]));
    let agent = triage(&first, &second, &Counter::default());
    let run = agent.run("go").with_output(OutputSpec::new(schema).with_mode(OutputMode::Tool));
    let outcome = run.outcome().await.unwrap();
    assert_eq!(
        (outcome.agent, told(&outcome.messages)[0].as_str()),
        (None, "not executed: final answer given")
    );
}

// The documents of the conversation go with it, into the form that the next model takes.
#[tokio::test]
async fn documents_go_with_the_conversation() {
    let lease = pdf("lease.pdf");
    for api in [("anthropic", "claude-sonnet-4-5"), ("openai-chat", "gpt-4o"), ("gemini", "gemini-2.5-flash")]
    {
        let first = ScriptedModel::new([
            Turn::call("fetch", json!({"n": 1})).and_call("transfer_to_billing", json!({}))
        ])
        .with_capabilities_of("openai-chat", "gpt-4o");
        let second = ScriptedModel::new([Turn::text("here")]).with_capabilities_of(api.0, api.1);
        let made = lease.clone();
        let fetch = tool_fn("fetch", "", move |_: Number| {
            let made = made.clone();
            async move { Ok::<_, ToolError>(made) }
        });
        let billing = agent(&second, "You do bills.").build().unwrap();
        let agent = agent(&first, "")
            .tool(fetch.with_effect(Effect::Read))
            .handoff(billing.as_handoff("billing", ""))
            .build()
            .unwrap();
        let question = pdf("question.pdf");
        let message = UserMessage::new([UserPart::text("go"), question.clone().into()]);
        agent.run(message).outcome().await.unwrap();
        assert!(second.asked().saw(&lease) && second.asked().saw(&question), "{api:?}");
    }
}

// A choice of tools is for the first step of each agent.
#[tokio::test]
async fn the_next_agent_makes_the_first_call_that_it_must_make() {
    let (first, second) =
        (scripted([to("billing")]), scripted([Turn::call("pay", json!({"n": 1})), Turn::text("x")]));
    let pay = counting("pay", Effect::Read, &Counter::default());
    let billing =
        agent(&second, "").tool(pay).tool_choice(ToolChoice::Tool("pay".to_owned())).build().unwrap();
    agent(&first, "")
        .handoff(billing.as_handoff("billing", ""))
        .build()
        .unwrap()
        .run("go")
        .outcome()
        .await
        .unwrap();
    let choices: Vec<ToolChoice> =
        second.requests().iter().map(|request| request.tool_choice.clone()).collect();
    assert_eq!(choices, [ToolChoice::Tool("pay".to_owned()), ToolChoice::Auto]);
    assert_eq!(first.requests()[0].tool_choice, ToolChoice::Auto);
}

#[tokio::test]
async fn each_agent_of_a_run_without_prices_has_its_own_uncut_and_resumed() {
    let usage = Usage::new(500, 500);
    let name = ModelHandle::from(scripted([])).id().to_owned();
    let build = |first: Vec<Turn>, second: Vec<Turn>, third: Vec<Turn>| {
        let prices = |price: f64| Prices::new("USD").with_model(name.clone(), Price::new(price, price));
        let sales = agent(&scripted(third), "").prices(prices(100.0)).build().unwrap();
        let billing = agent(&scripted(second), "").prices(prices(1.0));
        let billing = billing.handoff(sales.as_handoff("sales", "")).build().unwrap();
        agent(&scripted(first), "").handoff(billing.as_handoff("billing", "")).build().unwrap()
    };
    let turns = || [to("billing"), to("sales"), Turn::text("sold")].map(|turn| turn.costing(usage.clone()));
    let [one, two, three] = turns().map(|turn| vec![turn]);
    let journal = Arc::new(MemoryJournal::new());
    let uncut = build(one, two, three).run_in(journal.clone(), "go").outcome().await.unwrap();
    // 1000 tokens at a dollar a million, and 1000 at a hundred.
    assert_eq!(uncut.cost.known, Money::new(0.101));
    let entries = journal.entries();
    for cut in 1..entries.len() {
        let asked = entries[..cut].iter().filter(|entry| entry.key.as_str().starts_with("model/")).count();
        let mut left = turns().into_iter().map(|turn| vec![turn]).collect::<Vec<_>>();
        left.iter_mut().take(asked).for_each(Vec::clear);
        let [one, two, three] = <[Vec<Turn>; 3]>::try_from(left).unwrap_or_else(|_| panic!());
        let again = build(one, two, three).resume(holding(entries[..cut].to_vec())).outcome().await.unwrap();
        assert_eq!(again.cost, uncut.cost, "cut {cut}");
    }
}

// Its log cannot be opened, so that nothing ends it, whoever wants that.
#[tokio::test(start_paused = true)]
async fn a_run_that_waits_with_an_agent_that_is_gone_fails_where_it_is_cancelled() {
    let pay = tool_fn("pay", "Pays", || Ok("paid")).with_approval(Approval::Always);
    let billing = agent(&scripted([Turn::call("pay", json!({}))]), "").tool(pay).build().unwrap();
    let team = agent(&scripted([to("billing")]), "").handoff(billing.as_handoff("billing", ""));
    let journal = Arc::new(MemoryJournal::new());
    let waits = team.build().unwrap().run_in(journal.clone(), "go").outcome().await.unwrap();
    assert_eq!(waits.reason, EndReason::PendingApproval);
    let alone = agent(&scripted([]), "").build().unwrap();
    let before = journal.entries();
    let slow = Faulty::over(journal.clone(), (Method::Load, 1, Fault::Takes(1)));
    let run = alone.resume(slow.clone());
    run.control().cancel_because("enough");
    let failed = run.outcome().await.unwrap_err();
    assert_eq!(slow.calls(Method::Load), 1);
    assert_eq!(failed.partial().reason, EndReason::ProviderError("configuration".to_owned()));
    let cause = std::error::Error::source(&failed).unwrap().to_string();
    assert!(cause.contains("\"billing\""), "{cause}");
    assert_eq!(journal.entries(), before);
}

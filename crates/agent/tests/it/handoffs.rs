//! Agents that hand the conversation over to one another.

use std::sync::{Arc, Mutex};

use crate::common::kit::{all, before, counting, end, holding, keys, pdf, roles, told};
use crate::common::{Counter, Number, words};
use attache_agent::{
    AGENT, Agent, AgentBuilder, Compaction, Disposition, EndReason, EntryKind, MemoryJournal, NoArguments,
    OutputMode, OutputSpec, Run, RunInput, tool_fn,
};
use attache_core::{ChatRequest, Effect, ErrorKind, Message, Role, ToolError};
use attache_testkit::{FunctionModel, ScriptedModel, Turn};
use serde_json::json;

pub(crate) fn to(agent: &str) -> Turn {
    Turn::call(&format!("transfer_to_{agent}"), json!({}))
}

pub(crate) fn agent(model: &ScriptedModel, system: &str) -> AgentBuilder {
    Agent::builder(model.clone()).system(system)
}

pub(crate) fn scripted(turns: impl IntoIterator<Item = Turn>) -> ScriptedModel {
    ScriptedModel::new(turns).unverified()
}

/// An agent that looks, and hands over to billing, which pays.
pub(crate) fn triage(first: &ScriptedModel, second: &ScriptedModel, paid: &Counter) -> Agent {
    let pay = counting("pay", Effect::SideEffect, paid);
    let billing = agent(second, "You do bills.").tool(pay).build().unwrap();
    let look = counting("look", Effect::Read, &Counter::default());
    agent(first, "You are at the door.")
        .tool(look)
        .handoff(billing.as_handoff("billing", "Bills"))
        .build()
        .unwrap()
}

pub(crate) fn system(request: &ChatRequest) -> Vec<String> {
    let text = |message: &Arc<Message>| match &**message {
        Message::System(system) => Some(system.parts[0].text().to_owned()),
        _ => None,
    };
    request.messages.iter().filter_map(text).collect()
}

pub(crate) fn tools(request: &ChatRequest) -> Vec<&str> {
    request.tools.iter().map(|(name, _)| name).collect()
}

pub(crate) const OVER: &str = "The conversation was handed over to billing, who answers from now on.";

#[tokio::test]
async fn another_agent_answers_after_a_hand_off() {
    let mut seen = Vec::new();
    for streaming in [true, false] {
        let turns = [Turn::call("look", json!({"n": 1})), to("billing")];
        let (first, second) =
            (scripted(turns), scripted([Turn::call("pay", json!({"n": 7})), Turn::text("paid")]));
        let billing = agent(&second, "You do bills.").streaming(streaming);
        let billing = billing.tool(counting("pay", Effect::SideEffect, &Counter::default())).build().unwrap();
        let agent = agent(&first, "You are at the door.")
            .streaming(streaming)
            .tool(counting("look", Effect::Read, &Counter::default()))
            .handoff(billing.as_handoff("billing", "Questions about bills"))
            .build()
            .unwrap();
        let journal = Arc::new(MemoryJournal::new());
        let events = all(&mut agent.run_in(journal.clone(), "my bill")).await;
        let outcome = end(&events);
        assert_eq!((&outcome.reason, &*outcome.text), (&EndReason::Answer, "paid"));
        assert_eq!((outcome.agent.as_deref(), outcome.steps), (Some("billing"), 4));
        assert_eq!(
            (&*roles(&outcome.messages), told(&outcome.messages)),
            ("sucrcrcra", vec!["1".to_owned(), OVER.to_owned(), "7".to_owned()])
        );
        // The tool is named as in the field, and says what it is for.
        let offered = &first.requests()[0];
        assert_eq!(tools(offered), ["look", "transfer_to_billing"]);
        let definition = offered.tools.get("transfer_to_billing").unwrap();
        assert!(definition.description().ends_with("Questions about bills"), "{}", definition.description());
        // The conversation goes on; instructions and tools are those of the other agent alone.
        let asked = &second.requests()[0];
        assert_eq!(
            (system(asked), tools(asked), &*roles(&asked.messages)),
            (vec!["You do bills.".to_owned()], vec!["pay"], "sucrcr")
        );
        // Each reply says who made it.
        let said_by: Vec<Option<&str>> = outcome
            .messages
            .iter()
            .filter(|message| message.role() == Role::Assistant)
            .map(|message| message.metadata().get(AGENT).and_then(|agent| agent.as_str()))
            .collect();
        assert_eq!(said_by, [None, None, Some("billing"), Some("billing")]);
        // The log says it, and tells the whole run again.
        let log: Vec<String> = keys(&journal)
            .into_iter()
            .filter(|key| !key.starts_with("tool/") && !key.starts_with("begun/"))
            .collect();
        assert_eq!(log, ["start", "model/1", "model/2", "handoff/0", "model/3", "model/4", "end"]);
        assert_eq!(Run::replay(&journal.entries()).unwrap().outcome(), outcome);
        let words = words(&events);
        let at = |wanted: &str| {
            words
                .iter()
                .position(|word| word.contains(wanted))
                .unwrap_or_else(|| panic!("{wanted}: {words:?}"))
        };
        assert!(at(OVER) < at("HandedOff { from: None, agent: \"billing\" }"));
        assert!(at("HandedOff") < at("tool pay"));
        seen.push(words.into_iter().filter(|word| word != "delta").collect::<Vec<_>>());
    }
    assert_eq!(seen[0], seen[1]);
}

#[tokio::test]
async fn calls_beside_a_hand_off_are_run_and_a_second_one_is_told() {
    let turn = to("billing").and_call("look", json!({"n": 3})).and_call("transfer_to_sales", json!({}));
    let (first, second) = (scripted([turn]), scripted([Turn::text("here")]));
    let [billing, sales] =
        ["You do bills.", "You sell."].map(|system| agent(&second, system).build().unwrap());
    let agent = agent(&first, "You are at the door.")
        .tool(counting("look", Effect::Read, &Counter::default()))
        .handoff(billing.as_handoff("billing", ""))
        .handoff(sales.as_handoff("sales", ""))
        .build()
        .unwrap();
    let outcome = agent.run("go").outcome().await.unwrap();
    let second_one = "not executed: a conversation is handed over to one agent at a time, and this reply names another before";
    assert_eq!(told(&outcome.messages), [OVER, "3", second_one]);
    assert_eq!((outcome.agent.as_deref(), &*outcome.text), (Some("billing"), "here"));
    assert_eq!(system(&second.requests()[0]), ["You do bills."]);
}

// The former agent's tools are no tools of the next one.
#[tokio::test]
async fn a_call_of_a_tool_of_the_agent_before_is_unknown() {
    let looked = Counter::default();
    let (first, second) =
        (scripted([to("billing")]), scripted([Turn::call("look", json!({"n": 1})), Turn::text("so")]));
    let billing = agent(&second, "You do bills.").build().unwrap();
    let agent = agent(&first, "")
        .tool(counting("look", Effect::Read, &looked))
        .handoff(billing.as_handoff("billing", ""));
    let journal = Arc::new(MemoryJournal::new());
    agent.build().unwrap().run_in(journal.clone(), "go").outcome().await.unwrap();
    let dispositions: Vec<Disposition> = journal
        .entries()
        .iter()
        .filter_map(|entry| match &entry.kind {
            EntryKind::ToolOutcome(outcome) => Some(outcome.disposition),
            _ => None,
        })
        .collect();
    assert_eq!((dispositions, looked.get()), (vec![Disposition::Executed, Disposition::NoSuchTool], 0));
}

/// A value without ids, which models and tools draw anew.
fn without_ids(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(members) => {
            members.retain(|name, _| !name.to_ascii_lowercase().ends_with("id"));
            members.values_mut().for_each(without_ids);
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(without_ids),
        _ => {}
    }
}

/// A model that writes down what it is asked.
fn noting(asked: &Arc<Mutex<Vec<String>>>, turn: impl Fn(usize) -> Turn + Send + 'static) -> FunctionModel {
    let asked = Arc::clone(asked);
    FunctionModel::new(move |request, _| {
        let message = |message: &Arc<Message>| {
            let mut value = serde_json::to_value(&**message).unwrap();
            without_ids(&mut value);
            value.to_string()
        };
        let messages: Vec<String> = request.messages.iter().map(message).collect();
        let tools: Vec<&str> = request.tools.iter().map(|(name, _)| name).collect();
        asked.lock().unwrap().push(format!("{} {tools:?} {:?}", messages.join("\n"), request.tool_choice));
        turn(request.messages.iter().filter(|message| message.role() == Role::Assistant).count())
    })
    .unverified()
}

/// Three agents, a way back, a choice of messages, documents, a typed answer.
fn team(asked: &Arc<Mutex<Vec<String>>>, paid: &Counter) -> Agent {
    let fetch = |name: &'static str| {
        tool_fn(name, "", |Number { n }: Number| async move { Ok::<_, ToolError>(pdf(&format!("{n}.pdf"))) })
            .with_effect(Effect::Read)
    };
    let refunds = Agent::builder(noting(asked, |made| match made {
        3 => Turn::call("fetch", json!({"n": 2})).and_call("pay", json!({"n": 5})),
        4 => to("billing"),
        _ => panic!("{made}"),
    }));
    let refunds = refunds
        .system("You refund.")
        .tool(fetch("fetch"))
        .tool(counting("pay", Effect::SideEffect, paid))
        .build()
        .unwrap();
    // It forgets what was said before the question.
    let back = refunds.as_handoff("refunds", "Refunds").with_return("billing", "The rest").with_history(
        |messages| {
            let mut left = messages.to_vec();
            left.insert(0, Message::user("a summary").shared());
            left
        },
    );
    let billing = Agent::builder(noting(asked, |made| match made {
        1 => Turn::call("fetch", json!({"n": 1})),
        2 => to("refunds"),
        5 => Turn::call("final_answer", json!({"n": "x"})),
        _ => Turn::call("final_answer", json!({"n": 6})),
    }));
    let billing = billing
        .memory(Compaction::new().with_threshold(100_000))
        .tool(fetch("fetch"))
        .handoff(back)
        .build()
        .unwrap();
    let door = Agent::builder(noting(asked, |_| to("billing"))).system("You are at the door.");
    door.handoff(billing.as_handoff("billing", "Bills"))
        .tool(counting("look", Effect::Read, paid))
        .build()
        .unwrap()
}

// Invariant 13: a hand-off is not lost when a run is resumed, and nobody is asked otherwise.
#[tokio::test]
async fn hand_offs_cut_at_any_entry_go_on_as_uncut() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let spec = OutputSpec::new(schema).with_mode(OutputMode::Tool);
    let (asked, paid) = (Arc::default(), Counter::default());
    let journal = Arc::new(MemoryJournal::new());
    let run =
        team(&asked, &paid).run_in(journal.clone(), RunInput::from("go").with_run_id("r")).with_output(spec);
    let uncut = run.outcome().await.unwrap();
    assert_eq!(uncut.structured.as_deref(), Some(&Ok(json!({"n": 6}))), "{uncut:?}");
    assert_eq!((uncut.agent.as_deref(), paid.get()), (Some("billing"), 1));
    let requests = asked.lock().unwrap().clone();
    assert_eq!(requests.len(), 7);
    let entries = journal.entries();
    assert_eq!(entries.iter().filter(|entry| entry.key.as_str().starts_with("handoff/")).count(), 3);
    for cut in 1..entries.len() {
        let text = serde_json::to_string(&entries[..cut]).unwrap();
        let kept: Vec<attache_agent::Entry> = serde_json::from_str(&text).unwrap();
        let replied = kept.iter().filter(|entry| entry.key.as_str().starts_with("model/")).count();
        let (asked, paid) = (Arc::default(), Counter::default());
        let journal = holding(kept);
        let resumed = team(&asked, &paid).resume(journal.clone()).outcome().await.unwrap();
        let at = &entries[cut].key;
        let begun = entries[..cut].iter().any(|entry| {
            entry.key.as_str().starts_with("begun/")
                && matches!(&entry.kind, EntryKind::Begun(begun) if begun.effect == Effect::SideEffect)
        });
        let is_done = entries[..cut].iter().filter(|entry| matches!(&entry.kind, EntryKind::ToolOutcome(outcome) if outcome.result.tool_name.as_deref() == Some("pay"))).count() == 1;
        assert_eq!(
            (&resumed.agent, &resumed.structured),
            (&uncut.agent, &uncut.structured),
            "cut before {at}"
        );
        assert_eq!(paid.get(), usize::from(!begun), "cut before {at}");
        // An effect of unknown outcome is told otherwise.
        if !begun || is_done {
            assert_eq!(*asked.lock().unwrap(), requests[replied..], "cut before {at}");
            assert_eq!(roles(&resumed.messages), roles(&uncut.messages));
        }
        assert_eq!(Run::replay(&journal.entries()).unwrap().outcome(), resumed);
    }
}

#[tokio::test]
async fn an_agent_is_given_what_is_chosen_of_the_conversation() {
    let (first, second) =
        (scripted([Turn::call("look", json!({"n": 1})), to("billing")]), scripted([Turn::text("here")]));
    let billing = agent(&second, "You do bills.").build().unwrap();
    // A choice that leaves a call without its result is mended.
    let handoff = billing.as_handoff("billing", "").with_history(|messages| {
        assert_eq!(roles(messages), "ucrcr");
        messages[..4].to_vec()
    });
    let look = counting("look", Effect::Read, &Counter::default());
    let outcome = agent(&first, "You are at the door.")
        .tool(look)
        .handoff(handoff)
        .build()
        .unwrap()
        .run("go")
        .outcome()
        .await
        .unwrap();
    assert_eq!(roles(&second.requests()[0].messages), "sucrcr");
    assert_ne!(told(&second.requests()[0].messages)[1], OVER);
    assert_eq!(roles(&outcome.messages), "sucrcra");
    // Replies that are left out are no messages of the outcome.
    let (first, second) = (scripted([to("billing")]), scripted([Turn::text("here")]));
    let billing = agent(&second, "You do bills.").build().unwrap();
    let said = billing.as_handoff("billing", "").with_history(|messages| {
        messages.iter().filter(|message| message.role() == Role::User).cloned().collect()
    });
    let outcome = agent(&first, "You are at the door.")
        .handoff(said)
        .build()
        .unwrap()
        .run("go")
        .outcome()
        .await
        .unwrap();
    assert_eq!(roles(&outcome.messages), "sua");
    // One that panics fails the run, which somebody may resume; nothing is shown then that was to be left out.
    let (first, second) = (scripted([to("billing")]), scripted([]));
    let billing = agent(&second, "You do bills.").build().unwrap();
    let broken = billing.as_handoff("billing", "").with_history(|_| panic!("a bug"));
    let journal = Arc::new(MemoryJournal::new());
    let error = agent(&first, "")
        .handoff(broken)
        .build()
        .unwrap()
        .run_in(journal.clone(), "go")
        .outcome()
        .await
        .unwrap_err();
    assert_eq!(error.partial().reason, EndReason::ProviderError("configuration".to_owned()));
    second.push(Turn::text("here"));
    let mended = agent(&first, "").handoff(billing.as_handoff("billing", "")).build().unwrap();
    let outcome = mended.resume(journal).outcome().await.unwrap();
    assert_eq!((outcome.agent.as_deref(), &*outcome.text), (Some("billing"), "here"));
}

// The instructions of the agent before are not those of the next run.
#[tokio::test]
async fn a_later_run_goes_on_with_the_agent_that_answered() {
    let (first, second) = (scripted([to("billing")]), scripted([Turn::text("here")]));
    let triage = triage(&first, &second, &Counter::default());
    let outcome = triage.run("go").outcome().await.unwrap();
    second.push(Turn::text("again"));
    let input =
        RunInput::from("and now?").with_history(outcome.messages.clone()).with_agent(outcome.agent.clone());
    let next = triage.run(input).outcome().await.unwrap();
    assert_eq!((next.agent.as_deref(), &*next.text, next.steps), (Some("billing"), "again", 1));
    let requests = second.requests();
    assert_eq!(
        (system(&requests[1]), &*roles(&requests[1].messages)),
        (vec!["You do bills.".to_owned()], "sucrau")
    );
    // The first agent begins again where nobody says otherwise.
    first.push(Turn::text("welcome"));
    let input = RunInput::from("and now?").with_history(next.messages.clone());
    let last = triage.run(input).outcome().await.unwrap();
    assert_eq!((last.agent.as_deref(), &*last.text), (None, "welcome"));
    assert_eq!(system(&first.requests()[1]), ["You are at the door."]);
    // A name that leads nowhere is an error before anything is asked.
    let lost = triage.run(RunInput::from("x").with_agent("nobody".to_owned())).outcome().await.unwrap_err();
    assert_eq!(lost.partial().reason, EndReason::ProviderError("configuration".to_owned()));
}

#[tokio::test]
async fn an_agent_further_on_is_found_by_its_name() {
    let (first, second, third) = (scripted([]), scripted([]), scripted([Turn::text("deep"), to("billing")]));
    let refunds = agent(&third, "You refund.").build().unwrap();
    let billing = agent(&second, "You do bills.")
        .handoff(refunds.as_handoff("refunds", "").with_return("billing", ""))
        .build()
        .unwrap();
    let door = agent(&first, "").handoff(billing.as_handoff("billing", "")).build().unwrap();
    let run = |text: &str| door.run(RunInput::from(text).with_agent("refunds".to_owned()));
    let outcome = run("go").outcome().await.unwrap();
    assert_eq!((outcome.agent.as_deref(), &*outcome.text), (Some("refunds"), "deep"));
    second.push(Turn::text("back"));
    let outcome = run("go").outcome().await.unwrap();
    assert_eq!((outcome.agent.as_deref(), &*outcome.text), (Some("billing"), "back"));
}

// A hand-off is not lost on resume: an agent that does not know it says so, and asks nobody.
#[tokio::test]
async fn a_run_that_was_handed_over_is_resumed_by_an_agent_that_knows_the_other() {
    let (first, second) =
        (scripted([to("billing")]), scripted([Turn::text("x").then_error(ErrorKind::Overloaded)]));
    let journal = Arc::new(MemoryJournal::new());
    let paid = Counter::default();
    triage(&first, &second, &paid).run_in(journal.clone(), "go").outcome().await.unwrap_err();
    let other = agent(&first, "").build().unwrap().resume(journal.clone()).outcome().await.unwrap_err();
    assert_eq!(other.partial().reason, EndReason::ProviderError("configuration".to_owned()));
    assert!(format!("{:?}", std::error::Error::source(&other)).contains("billing"), "{other:?}");
    second.push(Turn::text("here"));
    let outcome = triage(&first, &second, &paid).resume(journal).outcome().await.unwrap();
    assert_eq!((outcome.agent.as_deref(), &*outcome.text), (Some("billing"), "here"));
}

#[test]
fn a_hand_off_whose_tool_is_there_already_is_refused_when_the_agent_is_built() {
    let model = ScriptedModel::new([]);
    let other = || agent(&model, "").build().unwrap();
    let twice = agent(&model, "")
        .handoff(other().as_handoff("billing", ""))
        .handoff(other().as_handoff("billing", ""));
    assert!(twice.build().is_err());
    let taken = tool_fn("transfer_to_door", "", |_: NoArguments| async { Ok::<_, ToolError>(1) });
    let billing = agent(&model, "").tool(taken).build().unwrap();
    assert!(
        agent(&model, "").handoff(billing.as_handoff("billing", "").with_return("door", "")).build().is_err()
    );
}

#[tokio::test]
async fn a_hand_off_that_the_log_does_not_know_is_not_made() {
    let looked = Counter::default();
    let look = || counting("look", Effect::Read, &looked);
    let journal = Arc::new(MemoryJournal::new());
    let first = scripted([Turn::call("look", json!({"n": 1})), Turn::text("so")]);
    agent(&first, "").tool(look()).build().unwrap().run_in(journal.clone(), "go").outcome().await.unwrap();
    let rest = holding(before(&journal.entries(), "model/2"));
    let (first, second) = (scripted([to("billing"), Turn::text("well")]), scripted([]));
    let billing = agent(&second, "You do bills.").build().unwrap();
    let anew = agent(&first, "").tool(look()).handoff(billing.as_handoff("billing", "")).build().unwrap();
    let outcome = anew.resume(rest).outcome().await.unwrap();
    assert_eq!(told(&outcome.messages), ["1", "not executed: this run began without that hand-off"]);
    assert_eq!((outcome.agent.as_deref(), &*outcome.text), (None, "well"));
}

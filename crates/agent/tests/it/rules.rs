//! The tools that a step may call, and the calls of those that it may not.

use std::sync::Arc;

use crate::common::Counter;
use crate::common::kit::{all, counting, end, holding, told, warnings};
use attache_agent::{Agent, MemoryJournal, OutputMode, OutputSpec, RunInput, StepTools, Tools};
use attache_core::{Effect, ModelSettings, ToolChoice, ToolDefinition};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::json;

#[tokio::test]
async fn a_step_calls_the_tools_of_its_subset_alone() {
    let (read, paid) = (Counter::default(), Counter::default());
    let both = || Turn::call("read", json!({"n": 1})).and_call("pay", json!({"n": 2}));
    let model = ScriptedModel::new([both(), both(), Turn::text("done")]).unverified();
    let agent = Agent::builder(model.clone())
        .tool(counting("read", Effect::Read, &read))
        .tool(counting("pay", Effect::SideEffect, &paid))
        .step_tools(|step| match step.number {
            1 => StepTools::subset(["read"]).with_choice(ToolChoice::Required),
            _ => StepTools::all(),
        })
        .build()
        .unwrap();
    let events = all(&mut agent.run("x")).await;
    let barred = "not executed: this tool is not available in this step";
    assert_eq!(told(&end(&events).messages), ["1", barred, "1", "2"]);
    assert_eq!((read.get(), paid.get()), (2, 1));
    let requests = model.requests();
    let offered = |at: usize| requests[at].tools.iter().map(|(wire, _)| wire.to_owned()).collect::<Vec<_>>();
    assert_eq!(offered(0), ["read"]);
    assert_eq!(offered(1), ["read", "pay"]);
    assert_eq!(
        (&requests[0].tool_choice, &requests[1].tool_choice),
        (&ToolChoice::Required, &ToolChoice::Auto)
    );
    assert_eq!(warnings(&events), ["tools_subset"]);
}

// A model that takes a list of allowed tools is sent the same tools in each step, so that its prefix stays.
#[tokio::test]
async fn a_subset_is_a_list_of_allowed_tools_where_the_model_takes_one() {
    let (read, paid) = (Counter::default(), Counter::default());
    let both = || Turn::call("read", json!({"n": 1})).and_call("pay", json!({"n": 2}));
    let model = ScriptedModel::new([both(), both(), both(), Turn::text("done")])
        .unverified()
        .with_capabilities_of("openai-responses", "gpt-5.1");
    let agent = Agent::builder(model.clone())
        .tool(counting("read", Effect::Read, &read))
        .tool(counting("pay", Effect::SideEffect, &paid))
        .step_tools(|step| match step.number {
            1 => StepTools::subset(["read"]).with_choice(ToolChoice::Required),
            2 => StepTools::subset(["none of them"]),
            _ => StepTools::subset(["read", "pay"]),
        })
        .build()
        .unwrap();
    let events = all(&mut agent.run("x")).await;
    assert_eq!((read.get(), paid.get()), (2, 1));
    let requests = model.requests();
    assert!(requests.iter().all(|request| request.tools == requests[0].tools && request.tools.len() == 2));
    let allowed: Vec<_> = requests.iter().map(|request| request.allowed_tools.as_deref()).collect();
    assert_eq!(allowed, [Some(&["read".to_owned()][..]), None, None, None]);
    let choices: Vec<_> = requests.iter().map(|request| request.tool_choice.clone()).collect();
    assert_eq!(choices, [ToolChoice::Required, ToolChoice::None, ToolChoice::Auto, ToolChoice::Auto]);
    assert_eq!(warnings(&events), Vec::<&str>::new());
}

#[tokio::test]
async fn a_rule_that_panics_bars_all_tools_and_the_run_goes_on() {
    let paid = Counter::default();
    let model = ScriptedModel::new([Turn::call("pay", json!({"n": 2})), Turn::text("done")]).unverified();
    let agent = Agent::builder(model.clone())
        .tool(counting("pay", Effect::SideEffect, &paid))
        .step_tools(|_| panic!("a bug in a rule"))
        .build()
        .unwrap();
    let events = all(&mut agent.run("x")).await;
    assert_eq!((end(&events).text.as_str(), paid.get()), ("done", 0));
    assert_eq!(told(&end(&events).messages), ["not executed: tool use is off in this step"]);
    assert!(model.requests().iter().all(|request| request.tool_choice == ToolChoice::None));
    assert_eq!(warnings(&events), ["step_tools_failed", "step_tools_failed"]);
}

#[tokio::test]
async fn a_step_with_a_subset_keeps_the_tool_that_takes_a_typed_answer() {
    let read = Counter::default();
    let model = ScriptedModel::new([Turn::call("final_answer", json!({"n": 7}))]).unverified();
    let agent = Agent::builder(model.clone())
        .tool(counting("read", Effect::Read, &read))
        .step_tools(|_| StepTools::subset(["read"]))
        .build()
        .unwrap();
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let spec = OutputSpec::new(schema).with_mode(OutputMode::Tool);
    let outcome = agent.run("x").with_output(spec).outcome().await.unwrap();
    assert_eq!(outcome.structured.as_deref(), Some(&Ok(json!({"n": 7}))));
    let offered: Vec<_> = model.requests()[0].tools.iter().map(|(wire, _)| wire.to_owned()).collect();
    assert_eq!(offered, ["read", "final_answer"]);
}

// Invariant 13: the rule is asked what it was asked before.
#[tokio::test]
async fn a_run_with_rules_cut_at_any_entry_goes_on_as_uncut() {
    let agent = |model: &ScriptedModel| {
        Agent::builder(model.clone())
            .tool(counting("read", Effect::Read, &Counter::default()))
            .tool(counting("pay", Effect::Read, &Counter::default()))
            .step_tools(|step| {
                // Paying is for those who read before.
                let has_read = step.history.iter().any(|message| format!("{message:?}").contains("\"read\""));
                if has_read { StepTools::all() } else { StepTools::subset(["read"]) }
            })
            .build()
            .unwrap()
    };
    let both = || Turn::call("pay", json!({"n": 2})).and_call("read", json!({"n": 1}));
    let turns = || [both(), both(), Turn::text("done")];
    let (journal, model) = (Arc::new(MemoryJournal::new()), ScriptedModel::new(turns()).unverified());
    let uncut = agent(&model).run_in(journal.clone(), RunInput::from("x")).outcome().await.unwrap();
    assert_eq!(told(&uncut.messages)[1..], ["1", "2", "1"]);
    let (entries, requests) = (journal.entries(), model.requests());
    for cut in 1..entries.len() {
        let kept = &entries[..cut];
        let asked = kept.iter().filter(|entry| entry.key.as_str().starts_with("model/")).count();
        let model = ScriptedModel::new(turns().into_iter().skip(asked)).unverified();
        let resumed = agent(&model).resume(holding(kept.to_vec())).outcome().await.unwrap();
        assert_eq!(told(&resumed.messages), told(&uncut.messages), "cut before {}", entries[cut].key);
        for (again, first) in model.requests().iter().zip(&requests[asked..]) {
            assert_eq!(again.tools, first.tools);
        }
    }
}

// R16, openai/openai-agents-python!263: a choice is forced once
#[tokio::test]
async fn a_forced_choice_holds_for_the_first_step_alone() {
    let calls = Counter::default();
    let model = ScriptedModel::new([Turn::call("read", json!({"n": 1})), Turn::text("done")]);
    let agent = Agent::builder(model.clone())
        .tool(counting("read", Effect::Read, &calls))
        .tool_choice(ToolChoice::Tool("read".to_owned()))
        .build()
        .unwrap();
    agent.run("x").outcome().await.unwrap();
    let choices: Vec<_> = model.requests().iter().map(|request| request.tool_choice.clone()).collect();
    assert_eq!(choices, [ToolChoice::Tool("read".to_owned()), ToolChoice::Auto]);
}

// Servers that ignore it: a call despite `none` runs nothing, whoever would run it
#[tokio::test]
async fn calls_that_come_although_tools_are_off_are_not_executed() {
    let calls = Counter::default();
    let ask = ToolDefinition::new("ask", "", json!({"type": "object", "properties": {}}));
    let turn = Turn::call("read", json!({"n": 1})).and_call("ask", "{}");
    let model = ScriptedModel::new([turn, Turn::text("done")]).unverified();
    let agent = Agent::builder(model)
        .tool(counting("read", Effect::Read, &calls))
        .tool_set(Tools::new().with_external(ask))
        .tool_choice(ToolChoice::None)
        .build()
        .unwrap();
    let outcome = agent.run("x").outcome().await.unwrap();
    assert_eq!(told(&outcome.messages), ["not executed: tool use is off in this step"; 2]);
    assert_eq!(calls.get(), 0);
}

#[tokio::test]
async fn one_call_at_a_time_is_held_where_a_model_makes_several() {
    let calls = Counter::default();
    let turn = Turn::call("read", json!({"n": 1}))
        .and_call("read", json!({"n": 2}))
        .and_call("read", json!({"n": 3}));
    let model = ScriptedModel::new([turn, Turn::text("done")]);
    let agent = Agent::builder(model)
        .tool(counting("read", Effect::Read, &calls))
        .settings(ModelSettings::new().with_parallel_tool_calls(false))
        .build()
        .unwrap();
    let told = told(&agent.run("x").outcome().await.unwrap().messages);
    assert_eq!((told[0].as_str(), calls.get()), ("1", 1));
    assert!(told[1..].iter().all(|text| text.starts_with("not executed: one call at a time")), "{told:?}");
}

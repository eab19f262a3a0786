//! The options of one run alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::common::kit::{before, holding, told};
use attache_agent::{
    Agent, EndReason, EventKind, Limits, MemoryJournal, RunInput, RunOptions, Tools, ToolsError, tool_fn,
};
use attache_core::{Effect, ModelSettings, Tool, ToolChoice, ToolContext};
use attache_testkit::{ScriptedModel, Turn};
use futures_util::StreamExt;

fn says(name: &'static str, text: &'static str) -> impl Tool + 'static {
    tool_fn(name, "Says something", move || Ok(text)).with_effect(Effect::Read)
}

fn who() -> impl Tool + 'static {
    tool_fn("who", "Says who asks", |context: ToolContext| Ok(context.principal)).with_effect(Effect::Read)
}

fn unasked() -> ScriptedModel {
    ScriptedModel::new([])
}

fn calls(name: &str) -> ScriptedModel {
    ScriptedModel::new([Turn::call(name, "{}"), Turn::text("done")])
}

#[tokio::test]
async fn one_run_asks_another_model_with_other_settings() {
    let model = ScriptedModel::new([Turn::text("thorough")]);
    let agent =
        Agent::builder(model.clone()).settings(ModelSettings::new().with_temperature(1.0)).build().unwrap();
    let quick = ScriptedModel::new([Turn::text("quick")]);
    let options = RunOptions::new()
        .with_model(quick.clone())
        .with_settings(ModelSettings::new().with_max_tokens(50_u32));
    let outcome = agent.run(RunInput::from("go").with_options(options)).outcome().await.unwrap();
    assert_eq!(outcome.text, "quick");
    let settings = &quick.requests()[0].settings;
    assert_eq!((settings.max_tokens, settings.temperature), (Some(50), None));
    let outcome = agent.run("go").outcome().await.unwrap();
    assert_eq!(outcome.text, "thorough", "the agent is as it was");
    assert_eq!(model.requests()[0].settings.temperature, Some(1.0));
}

#[tokio::test]
async fn one_run_has_more_tools() {
    let model = ScriptedModel::new([Turn::call("extra", "{}"), Turn::text("done"), Turn::text("done")]);
    let agent = Agent::builder(model.clone()).tool(says("own", "a")).build().unwrap();
    let options =
        RunOptions::new().with_tool(says("extra", "b")).with_tools(Tools::new().with(says("more", "c")));
    let outcome = agent.run(RunInput::from("go").with_options(options)).outcome().await.unwrap();
    assert_eq!(told(&outcome.messages), ["b"]);
    agent.run("go").outcome().await.unwrap();
    let offered: Vec<Vec<_>> = model
        .requests()
        .iter()
        .map(|request| request.tools.iter().map(|(name, _)| name.to_owned()).collect())
        .collect();
    assert_eq!(offered[0], ["own", "extra", "more"]);
    assert_eq!(offered[2], ["own"], "the next run has those of the agent");
}

#[tokio::test]
async fn a_name_that_the_agent_has_is_a_clash() {
    let agent = Agent::builder(unasked()).tool(says("own", "a")).build().unwrap();
    let options = RunOptions::new().with_tool(says("own", "b"));
    let error = agent.run(RunInput::from("go").with_options(options)).outcome().await.unwrap_err();
    assert_eq!(error.reason(), &EndReason::InternalError);
    let cause = std::error::Error::source(&error).unwrap().downcast_ref::<ToolsError>().unwrap();
    assert!(matches!(cause, ToolsError::Duplicate { name, .. } if name == "own"), "{cause}");
}

#[tokio::test]
async fn tools_learn_on_whose_behalf_the_run_works() {
    let turns = || [Turn::call("who", "{}"), Turn::text("done")];
    let model = ScriptedModel::new(turns().into_iter().chain(turns()));
    let agent = Agent::builder(model).tool(who()).principal("everybody").build().unwrap();
    let options = RunOptions::new().with_principal("ann");
    let outcome = agent.run(RunInput::from("go").with_options(options)).outcome().await.unwrap();
    assert_eq!(told(&outcome.messages), ["ann"]);
    assert_eq!(told(&agent.run("go").outcome().await.unwrap().messages), ["everybody"]);
}

#[tokio::test]
async fn limits_of_one_run_hold_when_it_is_resumed() {
    let mut limits = Limits::default();
    limits.max_steps = 2;
    let agent = |model: &ScriptedModel| Agent::builder(model.clone()).tool(says("own", "a")).build().unwrap();
    let (model, journal) = (calls("own"), Arc::new(MemoryJournal::new()));
    let input = RunInput::from("go").with_limits(limits);
    let outcome = agent(&model).run_in(journal.clone(), input).outcome().await.unwrap();
    assert_eq!((&outcome.reason, outcome.steps), (&EndReason::MaxSteps, 2));
    let cut = holding(before(&journal.entries(), "model/2"));
    let model = ScriptedModel::new([Turn::text("all that I have")]);
    let again = agent(&model).resume(cut).outcome().await.unwrap();
    assert_eq!(again.reason, EndReason::MaxSteps, "the log has the limits");
    assert_eq!(model.requests()[0].tool_choice, ToolChoice::None);
}

#[tokio::test]
async fn whoever_resumes_gives_the_options_again() {
    let journal = Arc::new(MemoryJournal::new());
    let agent = Agent::builder(unasked()).build().unwrap();
    let options = |model: &ScriptedModel| {
        RunOptions::new().with_model(model.clone()).with_tool(says("extra", "b")).with_principal("ann")
    };
    let input = RunInput::from("go").with_options(options(&calls("extra")));
    agent.run_in(journal.clone(), input).outcome().await.unwrap();
    let cut = holding(before(&journal.entries(), "model/2"));
    let model = ScriptedModel::new([Turn::text("done again")]);
    let outcome = agent.resume_with(cut, options(&model)).outcome().await.unwrap();
    assert_eq!(outcome.text, "done again");
    assert_eq!(model.requests()[0].tools.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["extra"]);
}

#[tokio::test]
async fn calls_of_one_run_share_values() {
    let count = tool_fn("count", "Counts its calls", |context: ToolContext| {
        Ok(context.run_value::<AtomicU32>().fetch_add(1, Ordering::SeqCst) + 1)
    });
    let turns =
        || [Turn::call("count", "{}").and_call("count", "{}"), Turn::call("count", "{}"), Turn::text("done")];
    let model = ScriptedModel::new(turns().into_iter().chain(turns()));
    let agent = Agent::builder(model).tool(count.with_effect(Effect::Read)).build().unwrap();
    for _ in 0..2 {
        let mut counted = told(&agent.run("go").outcome().await.unwrap().messages);
        counted.sort_unstable();
        assert_eq!(counted, ["1", "2", "3"], "each run begins anew");
    }
}

#[tokio::test]
async fn a_run_that_goes_on_otherwise_says_so() {
    let journal = Arc::new(MemoryJournal::new());
    let agent = |model: &ScriptedModel| Agent::builder(model.clone()).tool(says("own", "a")).build().unwrap();
    let ann = || RunOptions::new().with_principal("ann");
    let input = RunInput::from("go").with_options(ann());
    agent(&calls("own")).run_in(journal.clone(), input).outcome().await.unwrap();
    let told = async |options: RunOptions| {
        let cut = holding(before(&journal.entries(), "model/2"));
        let events: Vec<_> =
            agent(&ScriptedModel::new([Turn::text("done")])).resume_with(cut, options).collect().await;
        events.iter().any(|event| matches!(&event.kind, EventKind::Warning { code: "options_differ", .. }))
    };
    assert!(!told(ann()).await);
    assert!(told(RunOptions::new()).await);
    assert!(told(RunOptions::new().with_principal("bob")).await);
}

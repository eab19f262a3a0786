//! Tools by name: catalogs, selection, and names that lead to nothing.

use std::sync::Arc;

use crate::common::kit::told;
use crate::common::{Counter, Number, double};
use attache_agent::{
    Agent, Catalog, EndReason, NoArguments, Outcome, RunInput, RunOptions, ToolCatalog, Tools, ToolsError,
    tool_fn,
};
use attache_core::tool::ToolSpec;
use attache_core::{Approval, BoxFuture, Effect, Tool, ToolError};
use attache_macros::toolbox;
use attache_testkit::{ScriptedModel, Turn};
use serde_json::json;

fn says(name: &'static str, text: &'static str) -> impl Tool + 'static {
    tool_fn(name, "Says something.\nAt length.", move |_: NoArguments| Ok(text)).with_effect(Effect::Read)
}

/// Tools that a program keeps by itself, such as in a database: they are made when they are asked for.
struct Database {
    listed: Counter,
    fetched: Counter,
}

impl ToolCatalog for Database {
    fn name(&self) -> &'static str {
        "database"
    }

    fn version(&self) -> u64 {
        0
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<ToolSpec>, ToolError>> {
        self.listed.add();
        let row = |name: &'static str| says(name, "").spec().clone();
        Box::pin(async move { Ok(["one", "two", "gone"].map(row).to_vec()) })
    }

    fn get<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Arc<dyn Tool>>, ToolError>> {
        self.fetched.add();
        let here = std::thread::current().id();
        Box::pin(async move {
            tokio::task::yield_now().await;
            let tool: Option<Arc<dyn Tool>> = match name {
                "one" => Some(Arc::new(says("one", "the first"))),
                // The tool says so, and the row does not.
                "two" => Some(Arc::new(
                    tool_fn("two", "Says something.\nAt length.", move |_: NoArguments| {
                        assert_ne!(std::thread::current().id(), here);
                        Ok("the second")
                    })
                    .with_effect(Effect::Read)
                    .with_metadata(|metadata| metadata.blocking = true),
                )),
                _ => None,
            };
            Ok(tool)
        })
    }
}

// A13, A17: whatever keeps the tools, a call goes to the tool in this process
#[tokio::test]
async fn an_agent_runs_the_tools_of_any_catalog() {
    let (listed, fetched) = (Counter::default(), Counter::default());
    let turn = Turn::call("one", "{}").and_call("two", "{}").and_call("gone", "{}").and_call("three", "{}");
    let model = ScriptedModel::new([turn, Turn::text("done")]).unverified();
    let database = Database { listed: listed.clone(), fetched: fetched.clone() };
    let agent = Agent::builder(model.clone()).catalog(database).tool(says("own", "mine")).build().unwrap();
    assert_eq!(listed.get(), 0, "nobody is asked before a run");
    let outcome = agent.run("x").outcome().await.unwrap();
    let told = told(&outcome.messages);
    assert_eq!(told[..3], ["the first", "the second", "this tool is not available any more"]);
    assert!(told[3].starts_with(r#"there is no tool named "three""#));
    assert_eq!((listed.get(), fetched.get()), (1, 3));
    let names: Vec<_> = model.requests()[0].tools.iter().map(|(wire, _)| wire.to_owned()).collect();
    assert_eq!(names, ["one", "two", "gone", "own"]);
}

// A13, A14
#[test]
fn a_catalog_in_memory_finds_lists_and_refuses_second_names() {
    let catalog = Catalog::of([Arc::new(says("a", "")) as Arc<dyn Tool>]).unwrap();
    catalog.add(says("b", "")).unwrap();
    catalog.add(says("hidden", "").with_metadata(|metadata| metadata.enabled = false)).unwrap();
    let line = |name: &str| (name.to_owned(), "Says something.".to_owned());
    assert_eq!(catalog.summaries(), [line("a"), line("b")]);
    assert_eq!(catalog.find("b").unwrap().spec().definition.name(), "b");
    assert!(matches!(catalog.add(says("a", "")), Err(ToolsError::Duplicate { name, .. }) if name == "a"));
    assert_eq!(catalog.len(), 3);
    assert!(catalog.remove("a").is_some() && catalog.remove("a").is_none());
    assert_eq!(catalog.find("hidden").unwrap().spec().definition.name(), "hidden");
    assert_eq!(catalog.summaries(), [line("b")]);
}

// A88: the list and what was looked at before are made anew
#[tokio::test]
async fn tools_are_listed_again_when_their_catalog_has_changed() {
    let catalog = Catalog::of([Arc::new(says("a", "first")) as Arc<dyn Tool>]).unwrap();
    let model = ScriptedModel::new((0..3).map(|_| Turn::text("done")));
    let agent = Agent::builder(model.clone()).catalog(catalog.clone()).build().unwrap();
    agent.run("x").outcome().await.unwrap();
    agent.run("x").outcome().await.unwrap();
    assert!(
        Arc::ptr_eq(&model.requests()[0].tools, &model.requests()[1].tools),
        "what did not change is kept"
    );
    catalog
        .add(says("b", "second").with_metadata(|metadata| metadata.produces = vec!["x/y".into()]))
        .unwrap();
    assert_eq!(agent.preflight_all().await.unwrap().media.len(), 1);
    catalog.remove("a");
    agent.run("x").outcome().await.unwrap();
    let names: Vec<_> = model.requests()[2].tools.iter().map(|(wire, _)| wire.to_owned()).collect();
    assert_eq!(names, ["b"]);
}

struct Scales;

#[toolbox]
impl Scales {
    /// Weighs.
    #[tool(name = "scales.weigh", effect = "read")]
    fn weigh(&self) -> u32 {
        5
    }
}

// S14, S15: by instance, by name and of several kinds in one agent; tools of a run add to them
#[tokio::test]
async fn tools_of_all_kinds_go_together() {
    let catalog = Catalog::of([Arc::new(says("named", "by name")) as Arc<dyn Tool>]).unwrap();
    let calls = Counter::default();
    let turn = ["named", "scales.weigh", "one", "own", "extra"]
        .iter()
        .fold(Turn::call("double", json!({"n": 2})), |turn, name| turn.and_call(name, "{}"));
    let model = ScriptedModel::new([turn, Turn::text("done")]);
    let tools = Tools::new()
        .with(double(&calls))
        .with_all(Scales.into_tools())
        .with_catalog(Database { listed: Counter::default(), fetched: Counter::default() })
        .merged(catalog.select(["named"]).unwrap());
    let agent = Agent::builder(model).tool_set(tools).tool(says("own", "mine")).build().unwrap();
    let options = RunOptions::new().with_tools(Tools::new().with(says("extra", "of this run")));
    let outcome = agent.run(RunInput::from("x").with_options(options)).outcome().await.unwrap();
    assert_eq!(told(&outcome.messages), ["4", "by name", "5", "the first", "mine", "of this run"]);
    // The same tool, by instance and by name.
    let by_name = catalog.find("named").unwrap();
    assert_eq!(by_name.spec().definition, says("named", "").spec().definition);
}

// S16
#[tokio::test]
async fn a_name_that_no_catalog_has_is_an_error_with_near_names() {
    let catalog = Catalog::of([
        Arc::new(says("orders.find", "")) as Arc<dyn Tool>,
        Arc::new(says("orders.list", "")),
        Arc::new(says("stock.count", "")),
    ])
    .unwrap();
    let error = catalog.select(["stock.count", "order.find"]).unwrap_err();
    let ToolsError::Missing { name, near } = &error else { panic!("{error:?}") };
    assert_eq!((name.as_str(), near[0].as_str()), ("order.find", "orders.find"));
    assert!(
        error.to_string().starts_with(r#"there is no tool named "order.find"; did you mean orders.find"#)
    );
    assert_eq!(catalog.select(["weather"]).unwrap_err().to_string(), r#"there is no tool named "weather""#);
    let database = Database { listed: Counter::default(), fetched: Counter::default() };
    let error = Tools::named(&database, ["one", "twoo"]).await.unwrap_err();
    assert_eq!(error.to_string(), r#"there is no tool named "twoo"; did you mean two?"#);
}

async fn calling_what_is_not_offered(fallbacks: Vec<Catalog>, turn: Turn) -> Outcome {
    let model = ScriptedModel::new([turn, Turn::text("done")]).unverified();
    let agent = Agent::builder(model).tool(says("a", "of the agent"));
    let agent = fallbacks.into_iter().fold(agent, attache_agent::AgentBuilder::fallback).build().unwrap();
    let options = RunOptions::new().with_tool(says("b", "of the run"));
    agent.run(RunInput::from("x").with_options(options)).outcome().await.unwrap()
}

// S17: tools of the request, then of the static catalog, then of the dynamic one; neither is asked by default
#[tokio::test]
async fn a_name_is_looked_up_in_the_request_and_elsewhere_only_where_that_is_wanted() {
    let of = |tools: Vec<Arc<dyn Tool>>| Catalog::of(tools).unwrap();
    let turn =
        || ["a", "b", "c", "d", "e"].iter().fold(Turn::empty(), |turn, name| turn.and_call(name, "{}"));
    let fixed =
        || of(vec![Arc::new(says("a", "no")), Arc::new(says("b", "no")), Arc::new(says("c", "fixed"))]);
    let dynamic = || of(vec![Arc::new(says("c", "no")), Arc::new(says("d", "dynamic"))]);
    let all = told(&calling_what_is_not_offered(vec![fixed(), dynamic()], turn()).await.messages);
    assert_eq!(all[..4], ["of the agent", "of the run", "fixed", "dynamic"]);
    assert!(all[4].starts_with(r#"there is no tool named "e""#));
    // A hallucinated name runs nothing, whatever catalogs the program has.
    let none = told(&calling_what_is_not_offered(Vec::new(), turn()).await.messages);
    assert_eq!(none[..2], ["of the agent", "of the run"]);
    assert!(none[2..].iter().all(|text| text.starts_with("there is no tool named")), "{none:?}");
}

// A tool that a name leads to obeys what holds for all: its arguments fit, and an effect is written down first.
#[tokio::test]
async fn a_tool_that_a_name_leads_to_is_treated_as_all_are() {
    let paid = Counter::default();
    let counted = paid.clone();
    let pay = tool_fn("pay", "", move |Number { n }: Number| {
        counted.add();
        Ok(n)
    });
    let catalog = Catalog::of([Arc::new(pay) as Arc<dyn Tool>]).unwrap();
    let turn = Turn::call("pay", json!({"n": "many"})).and_call("pay", json!({"n": 5}));
    let model = ScriptedModel::new([turn, Turn::text("done")]).unverified();
    let journal = Arc::new(attache_agent::MemoryJournal::new());
    let agent = Agent::builder(model).fallback(catalog).build().unwrap();
    let outcome = agent.run_in(journal.clone(), "x").outcome().await.unwrap();
    let told = told(&outcome.messages);
    assert!(told[0].starts_with("the arguments of pay do not fit"), "{}", told[0]);
    assert_eq!((told[1].as_str(), paid.get()), ("5", 1));
    let begun =
        crate::common::kit::keys(&journal).into_iter().filter(|key| key.starts_with("begun/")).count();
    assert_eq!(begun, 1);
}

#[cfg(target_os = "linux")]
fn used() -> std::time::Duration {
    // The time that this thread had the processor: who else uses the machine does not count.
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    std::time::Duration::from_nanos(stat.split(' ').next().unwrap().parse().unwrap())
}

// A12: ten times the tools cost about ten times as much, and no call of the catalog looks at all of them
#[cfg(target_os = "linux")]
#[test]
fn the_start_of_an_agent_grows_like_its_tools() {
    let start = |count: usize| {
        let begun = used();
        let catalog = Catalog::new();
        for n in 0..count {
            let add = |Number { n }: Number| Ok(n);
            catalog.add(tool_fn(format!("area{}.tool{n}", n % 7), "Does something.", add)).unwrap();
        }
        let names: Vec<String> = (0..count).map(|n| format!("area{}.tool{n}", n % 7)).collect();
        let tools = catalog.select(names.iter().map(String::as_str)).unwrap();
        let disclosure = attache_agent::Disclosure::default();
        Agent::builder(ScriptedModel::new([])).tool_set(tools).disclosure(disclosure).build().unwrap();
        used() - begun
    };
    // A machine that was busy the whole time is asked again; a quadratic start never passes.
    let ratios = (0..5).map(|_| {
        let (few, many) = ((0..3).map(|_| start(100)).min().unwrap(), start(1_000));
        many.as_secs_f64() / few.as_secs_f64()
    });
    let ratios: Vec<f64> = ratios.collect();
    assert!(ratios.iter().any(|ratio| *ratio < 20.0), "{ratios:?}");
}

// The tool that takes the place of another is offered as it is, and asked for as it says.
#[tokio::test]
async fn a_tool_of_a_catalog_that_is_replaced_during_a_run_is_not_called_unasked() {
    let catalog = Catalog::of([Arc::new(says("pay", "old")) as Arc<dyn Tool>]).unwrap();
    let (own, paid) = (catalog.clone(), Counter::default());
    let count = paid.clone();
    let swap = tool_fn("swap", "Replaces the other", move || {
        own.remove("pay");
        let count = count.clone();
        let other = tool_fn("pay", "Says something.\nAt length.", move |_: NoArguments| {
            count.add();
            Ok("paid")
        });
        own.add(other.with_metadata(|metadata| metadata.approval = Approval::Always)).unwrap();
        Ok("swapped")
    });
    let turns = [Turn::call("swap", "{}"), Turn::call("pay", "{}")];
    let agent =
        Agent::builder(ScriptedModel::new(turns)).catalog(catalog.clone()).tool(swap).build().unwrap();
    let outcome = agent.run("x").outcome().await.unwrap();
    assert_eq!((outcome.reason, paid.get()), (EndReason::PendingApproval, 0));
}

#[tokio::test]
async fn a_tool_that_was_looked_up_and_is_gone_is_not_called_again() {
    let catalog = Catalog::of([Arc::new(says("extra", "found")) as Arc<dyn Tool>]).unwrap();
    let own = catalog.clone();
    let remove = tool_fn("remove", "Removes the other", move || {
        own.remove("extra");
        Ok("removed")
    });
    let turns = ["extra", "remove", "extra"].map(|name| Turn::call(name, "{}"));
    let model = ScriptedModel::new(turns.into_iter().chain([Turn::text("done")])).unverified();
    let agent = Agent::builder(model).tool(remove).fallback(catalog).build().unwrap();
    let outcome = agent.run("x").outcome().await.unwrap();
    let told = told(&outcome.messages);
    assert_eq!(told[0], "found");
    assert!(told[2].starts_with("there is no tool named"), "{told:?}");
}

//! Many tools in layers, and tools that come while a run goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::Counter;
use crate::common::kit::{all, before, end, holding, keys, told, warnings};
use attache_agent::{
    Agent, AgentBuilder, Catalog, Decision, Disclosure, EndReason, EntryKind, Event, EventKind, FunctionTool,
    MemoryJournal, NoArguments, RunInput, tool_fn,
};
use attache_core::tool::ToolSpec;
use attache_core::{
    Approval, Arguments, ChatRequest, ContentTree, Effect, Tool, ToolContext, ToolDefinition, ToolError,
    ToolHandler, ToolSet,
};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::{Map, Value, json};

/// A hundred tools as programs have them: ten areas of ten.
fn shop(calls: &Counter) -> Vec<Arc<dyn Tool>> {
    let areas = [
        "orders",
        "invoices",
        "stock",
        "customers",
        "mail",
        "reports",
        "users",
        "prices",
        "returns",
        "files",
    ];
    let verbs =
        ["find", "list", "create", "update", "delete", "export", "archive", "count", "share", "check"];
    let tool = |area: &str, verb: &str| -> Arc<dyn Tool> {
        let schema = json!({"type": "object", "required": ["id"], "properties": {
            "id": {"type": "string", "description": format!("The id of the {area}, as the list of {area} shows it.")},
            "reason": {"type": "string", "description": "The reason, which stands in the protocol that the auditors read."},
            "limit": {"type": "integer", "minimum": 1, "maximum": 500, "description": "The most entries to return; further ones come with the next page."},
            "page": {"type": "integer", "minimum": 1, "description": "The page, from 1; it is ignored where there is only one."},
            "format": {"enum": ["json", "csv", "text"], "description": "The form in which the result is written."},
        }});
        let text = format!(
            "{verb}s {area} of the shop.\nIt needs the right to {verb} {area}, and is written down in the protocol with the name of whoever asked for it."
        );
        let definition = ToolDefinition::new(format!("{area}.{verb}"), text, schema);
        let calls = calls.clone();
        let tool = FunctionTool::from_schema(definition, move |arguments: Map<String, Value>| {
            calls.add();
            Ok::<_, ToolError>(arguments["id"].clone())
        });
        Arc::new(tool.with_effect(Effect::Read))
    };
    areas.iter().flat_map(|area| verbs.iter().map(|verb| tool(area, verb))).collect()
}

fn layered(model: &ScriptedModel, calls: &Counter) -> AgentBuilder {
    Agent::builder(model.clone()).tools(shop(calls)).disclosure(Disclosure::default())
}

fn offered(request: &ChatRequest) -> Vec<String> {
    request.tools.iter().map(|(wire, _)| wire.to_owned()).collect()
}

/// The cost of a request's definitions, in characters.
fn cost(tools: &ToolSet) -> usize {
    let of = |(wire, definition): (&str, &ToolDefinition)| {
        wire.len() + definition.description().len() + definition.input_schema().to_string().len()
    };
    tools.iter().map(of).sum()
}

// A14, A15, A16: summaries first, then all of the tool that was asked for, behind the others
#[tokio::test]
async fn many_tools_are_shown_in_layers() {
    let calls = Counter::default();
    let script = [
        Turn::call("tool_detail", json!({"name": "orders_find"})),
        Turn::call("orders.find", json!({"id": "7"})),
        Turn::text("done"),
    ];
    let model = ScriptedModel::new(script);
    let agent = layered(&model, &calls).build().unwrap();
    let outcome = agent.run("Find order 7").outcome().await.unwrap();
    let requests = model.requests();
    assert_eq!(offered(&requests[0]), ["tool_detail", "tool_search"]);
    assert_eq!(offered(&requests[1]), ["tool_detail", "tool_search", "orders_find"]);
    assert_eq!(requests[2].tools, requests[1].tools);
    let whole = ScriptedModel::new([Turn::text("done")]);
    Agent::builder(whole.clone()).tools(shop(&calls)).build().unwrap().run("x").outcome().await.unwrap();
    let (lines, whole) = (cost(&requests[0].tools), cost(&whole.requests()[0].tools));
    // The first layer is a line for each of a hundred tools.
    assert!(lines * 15 < whole, "{lines} characters in place of {whole}");
    assert!(cost(&requests[1].tools) * 12 < whole);
    let summary = requests[0].tools.get("tool_detail").unwrap().description();
    assert!(summary.contains("\norders_find: finds orders of the shop.\n"), "{summary}");
    assert!(!summary.contains("auditors") && !summary.contains("protocol"));
    let told = told(&outcome.messages);
    let detail: Value = serde_json::from_str(&told[0]).unwrap();
    assert_eq!(detail["tool"]["parameters"]["properties"]["limit"]["maximum"], 500);
    assert_eq!(detail["tool"]["examples"], json!([{"id": "A-17"}]));
    assert_eq!((told[1].as_str(), calls.get()), ("7", 1));
}

// A14: how much a line for each of many tools takes is bounded
#[tokio::test]
async fn the_lines_of_many_tools_are_bounded() {
    let tool = |n: usize| -> Arc<dyn Tool> {
        let text = format!("{} {n}", "Does what nobody else does, and says so at length. ".repeat(9));
        Arc::new(tool_fn(format!("tool.number_{n}"), text, || Ok(())))
    };
    let model = ScriptedModel::new([Turn::text("done")]);
    let tools: Vec<_> = (0..1_000).map(tool).collect();
    let agent = Agent::builder(model.clone()).tools(tools).disclosure(Disclosure::default()).build().unwrap();
    agent.run("x").outcome().await.unwrap();
    let said = cost(&model.requests()[0].tools);
    assert!(said < 14_000, "{said} characters");
    assert!(
        model.requests()[0]
            .tools
            .get("tool_detail")
            .unwrap()
            .description()
            .ends_with(" that tool_search finds")
    );
}

// A15: names that there are none of
#[tokio::test]
async fn the_detail_of_an_unknown_tool_names_near_ones() {
    let script = [
        Turn::call("tool_detail", json!({"name": "order_finds"}))
            .and_call("tool_detail", json!({"name": "zzz"})),
        Turn::text("done"),
    ];
    let model = ScriptedModel::new(script);
    let outcome = layered(&model, &Counter::default()).build().unwrap().run("x").outcome().await.unwrap();
    let told = told(&outcome.messages);
    assert!(
        told[0].starts_with(r#"there is no tool named "order_finds"; did you mean orders_find"#),
        "{}",
        told[0]
    );
    assert_eq!(told[1], r#"there is no tool named "zzz"; tool_search finds tools by words"#);
    assert_eq!(model.requests()[0].tools, model.requests()[1].tools);
}

// A15
#[tokio::test]
async fn the_detail_of_a_tool_is_its_own_whatever_others_are_called() {
    let tool = |name: &'static str| tool_fn(name, name, |_: NoArguments| Ok(1));
    for names in [["GetUser", "getUser"], ["getUser", "GetUser"]] {
        let turn = Turn::call("tool_detail", json!({"name": "getUser"}));
        let turn = turn.and_call("tool_detail", json!({"name": "GETUSER"}));
        let model = ScriptedModel::new([turn, Turn::text("done")]);
        let agent = Agent::builder(model).disclosure(Disclosure::default().with_max_tools(1));
        let agent = names.into_iter().fold(agent, |agent, name| agent.tool(tool(name))).build().unwrap();
        let told = told(&agent.run("x").outcome().await.unwrap().messages);
        let detail: Value = serde_json::from_str(&told[0]).unwrap();
        assert_eq!(detail["tool"]["description"], "getUser", "{names:?}");
        assert!(told[1].starts_with("there is no tool named"), "either may be meant: {}", told[1]);
    }
}

#[tokio::test]
async fn tools_that_a_search_finds_are_offered() {
    let calls = Counter::default();
    let script = [
        Turn::call("tool_search", json!({"query": "which invoices are there, as a list", "limit": 2})),
        Turn::call("invoices.list", json!({"id": "all"})),
        Turn::text("done"),
    ];
    let model = ScriptedModel::new(script);
    let outcome = layered(&model, &calls).build().unwrap().run("x").outcome().await.unwrap();
    assert_eq!(model.requests()[1].tools.len(), 4);
    assert_eq!(offered(&model.requests()[1])[2], "invoices_list");
    assert_eq!((told(&outcome.messages)[1].as_str(), calls.get()), ("all", 1));
}

// A16: the model guessed the arguments
#[tokio::test]
async fn a_tool_that_was_not_shown_yet_is_shown_and_not_executed() {
    let calls = Counter::default();
    let call = || Turn::call("orders_delete", json!({"id": "7"}));
    let model = ScriptedModel::new([call(), call(), Turn::text("done")]).unverified();
    let outcome = layered(&model, &calls).build().unwrap().run("x").outcome().await.unwrap();
    let told = told(&outcome.messages);
    assert!(
        told[0].starts_with("not executed: the definition of orders_delete was not shown yet"),
        "{}",
        told[0]
    );
    assert!(told[0].contains("auditors"));
    assert_eq!((told[1].as_str(), calls.get()), ("7", 1));
    assert_eq!(offered(&model.requests()[1])[2..], ["orders_delete"]);
}

#[tokio::test]
async fn few_tools_and_tools_that_are_always_visible_are_shown_whole() {
    let model = ScriptedModel::new([Turn::text("done"), Turn::text("done"), Turn::text("done")]);
    let few: Vec<_> = shop(&Counter::default()).into_iter().take(20).collect();
    let disclosure = Disclosure::default().with_max_tokens(100_000);
    let agent = Agent::builder(model.clone()).tools(few.clone()).disclosure(disclosure).build().unwrap();
    agent.run("x").outcome().await.unwrap();
    assert_eq!(model.requests()[0].tools.len(), 20);
    // The same tools are too many by their tokens.
    let disclosure = Disclosure::default().with_max_tokens(1_000);
    let agent = Agent::builder(model.clone()).tools(few).disclosure(disclosure).build().unwrap();
    agent.run("x").outcome().await.unwrap();
    assert_eq!(model.requests()[1].tools.len(), 2);
    let pinned = tool_fn("ping", "", || Ok(())).with_spec(|spec| spec.with_always_visible(true));
    layered(&model, &Counter::default()).tool(pinned).build().unwrap().run("x").outcome().await.unwrap();
    assert_eq!(offered(&model.requests()[2]), ["ping", "tool_detail", "tool_search"]);
}

// Invariants 4 and 13: what was offered stays the beginning of what is offered, cut or not.
#[tokio::test]
async fn a_layered_run_cut_at_any_entry_offers_the_same_tools() {
    let calls = Counter::default();
    let turns = || {
        [
            Turn::call("tool_search", json!({"query": "count the stock"})),
            Turn::call("stock_count", json!({"id": "1"})).and_call("mail_find", json!({"id": "2"})),
            Turn::call("tool_detail", json!({"name": "prices_check"})),
            Turn::call("mail_find", json!({"id": "3"})),
            Turn::text("done"),
        ]
    };
    let (journal, model) = (Arc::new(MemoryJournal::new()), ScriptedModel::new(turns()).unverified());
    let agent = layered(&model, &calls).build().unwrap();
    let uncut = agent.run_in(journal.clone(), RunInput::from("x").with_run_id("r")).outcome().await.unwrap();
    let recorded: Vec<String> =
        keys(&journal).into_iter().filter(|key| key.starts_with("offered/")).collect();
    assert_eq!(recorded, ["offered/0", "offered/1", "offered/2"]);
    let requests = model.requests();
    for pair in requests.windows(2) {
        let (one, other) = (offered(&pair[0]), offered(&pair[1]));
        assert_eq!(one, other[..one.len()]);
    }
    let entries = journal.entries();
    for cut in 1..entries.len() {
        let text = serde_json::to_string(&entries[..cut]).unwrap();
        let kept: Vec<attache_agent::Entry> = serde_json::from_str(&text).unwrap();
        let asked = kept.iter().filter(|entry| entry.key.as_str().starts_with("model/")).count();
        let model = ScriptedModel::new(turns().into_iter().skip(asked)).unverified();
        let journal = holding(kept);
        let resumed =
            layered(&model, &calls).build().unwrap().resume(journal.clone()).outcome().await.unwrap();
        assert_eq!(told(&resumed.messages), told(&uncut.messages), "cut before {}", entries[cut].key);
        for (again, first) in model.requests().iter().zip(&requests[asked..]) {
            assert_eq!(again.tools, first.tools, "cut before {}", entries[cut].key);
        }
        assert_eq!(keys(&journal).len(), entries.len());
    }
}

/// A server that lists more with each version.
#[derive(Clone)]
struct Growing(Arc<AtomicU64>);

impl ToolHandler for Growing {
    type Output = String;

    fn name(&self) -> &'static str {
        "growing"
    }

    fn version(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ToolError> {
        let all =
            ["grow", "second", "third"].map(|name| ToolSpec::new(ToolDefinition::new(name, "", json!({}))));
        let count = usize::try_from(self.version()).unwrap();
        // The new ones come first in its list.
        Ok(all.into_iter().take(count).rev().collect())
    }

    async fn call(&self, tool: &str, _: &Arguments, _: ToolContext) -> Result<String, ToolError> {
        if tool == "grow" {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
        Ok(format!("{tool} was called"))
    }
}

#[tokio::test]
async fn tools_that_a_family_lists_during_a_run_stand_behind_the_others() {
    let turns = || [Turn::call("grow", "{}"), Turn::call("second", "{}"), Turn::text("done")];
    let (journal, model) = (Arc::new(MemoryJournal::new()), ScriptedModel::new(turns()));
    let own = || tool_fn("own", "", |_: NoArguments| Ok(())).with_effect(Effect::Read);
    let agent = |model: &ScriptedModel, growing: &Growing| {
        Agent::builder(model.clone()).handler(growing.clone()).tool(own()).build().unwrap()
    };
    let growing = Growing(Arc::new(AtomicU64::new(1)));
    let events = all(&mut agent(&model, &growing).run_in(journal.clone(), RunInput::from("x"))).await;
    assert_eq!(told(&end(&events).messages), ["grow was called", "second was called"]);
    let requests = model.requests();
    assert_eq!(offered(&requests[0]), ["grow", "own"]);
    assert_eq!(offered(&requests[1]), ["grow", "own", "second"]);
    let names = |event: &Event| match &event.kind {
        EventKind::ToolsOffered { names } => Some(names.clone()),
        _ => None,
    };
    assert_eq!(events.iter().filter_map(names).collect::<Vec<_>>(), [["second"]]);
    // Whoever resumes it offers what the log says, whatever the server lists now.
    let growing = Growing(Arc::new(AtomicU64::new(3)));
    let model = ScriptedModel::new(turns().into_iter().skip(1));
    let cut = holding(before(&journal.entries(), "model/2"));
    assert!(
        cut.entries().iter().any(
            |entry| matches!(&entry.kind, EntryKind::Offered(offered) if offered.names().eq(["second"]))
        )
    );
    let resumed = agent(&model, &growing).resume(cut).outcome().await.unwrap();
    assert_eq!(model.requests()[0].tools, requests[1].tools);
    assert_eq!(told(&resumed.messages)[1], "second was called");
}

#[tokio::test]
async fn a_new_tool_with_the_name_of_another_is_left_out() {
    let catalog = Catalog::new();
    let adds = catalog.clone();
    let grow = tool_fn("grow", "", move |_: NoArguments| {
        adds.add(tool_fn("own", "Another one", || Ok("theirs"))).map_err(ToolError::from)
    });
    let model = ScriptedModel::new([Turn::call("grow", "{}"), Turn::call("own", "{}"), Turn::text("done")]);
    let own = tool_fn("own", "", || Ok("mine"));
    let agent = Agent::builder(model.clone()).tool(grow).tool(own).catalog(catalog).build().unwrap();
    let events = all(&mut agent.run("x")).await;
    assert_eq!(told(&end(&events).messages)[1], "mine");
    assert_eq!(warnings(&events), ["tools_unavailable"]);
    assert_eq!(model.requests()[0].tools, model.requests()[1].tools);
}

/// A server whose one tool is changed, or taken away.
#[derive(Clone)]
struct Changing(Arc<AtomicU64>, Counter, &'static [&'static str]);

impl ToolHandler for Changing {
    type Output = String;

    fn name(&self) -> &'static str {
        "changing"
    }

    fn version(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }

    async fn tools(&self) -> Result<Vec<ToolSpec>, ToolError> {
        let version = usize::try_from(self.version()).unwrap();
        let text = self.2[version];
        let pay = ToolSpec::new(ToolDefinition::new("pay", text, json!({}))).with_approval(Approval::Always);
        Ok(Vec::from_iter((text != "gone").then_some(pay)))
    }

    async fn call(&self, tool: &str, _: &Arguments, _: ToolContext) -> Result<String, ToolError> {
        self.1.add();
        Ok(format!("{tool} was called"))
    }
}

// The tool that was approved is the one that runs.
#[tokio::test]
async fn a_tool_that_its_server_changes_while_an_approval_waits_is_not_called() {
    for (versions, expected, times) in [
        (&["Pays", "Pays"], "pay was called", 1),
        (&["Pays", "Pays twice"], "has changed", 0),
        (&["Pays", "gone"], "not available any more", 0),
    ] {
        let (version, paid, journal) =
            (Arc::new(AtomicU64::new(0)), Counter::default(), Arc::new(MemoryJournal::new()));
        let agent = |turn: Turn| {
            let family = Changing(Arc::clone(&version), paid.clone(), versions);
            Agent::builder(ScriptedModel::new([turn])).handler(family).build().unwrap()
        };
        let run = agent(Turn::call("pay", "{}")).run_in(journal.clone(), RunInput::from("x"));
        let asked = run.outcome().await.unwrap();
        version.store(1, Ordering::SeqCst);
        let run = agent(Turn::text("done")).resume(journal).approve(&asked.approvals[0].id);
        let told = told(&run.outcome().await.unwrap().messages);
        assert!(told[0].contains(expected), "{told:?}");
        assert_eq!(paid.get(), times);
    }
}

// A84: leave to call a tool, given for the run, is no leave for another one behind its name.
#[tokio::test]
async fn a_tool_that_its_server_changes_is_offered_anew_in_the_same_run_and_asked_for_again() {
    let (version, paid, journal) =
        (Arc::new(AtomicU64::new(0)), Counter::default(), Arc::new(MemoryJournal::new()));
    let pay = || Turn::call("pay", "{}");
    let pull = Arc::clone(&version);
    let pull = tool_fn("pull", "", move |_: NoArguments| {
        pull.store(1, Ordering::SeqCst);
        Ok(())
    });
    let model = ScriptedModel::new([pay(), pay(), Turn::call("pull", "{}"), pay()]);
    let family = Changing(Arc::clone(&version), paid.clone(), &["Pays", "Pays twice"]);
    let agent = Agent::builder(model.clone()).handler(family).tool(pull).build().unwrap();
    let asked = agent.run_in(journal.clone(), RunInput::from("x")).outcome().await.unwrap();
    let mut granted =
        agent.resume(journal.clone()).decide(&asked.approvals[0].id, "ann", Decision::ApproveAlways);
    let events = all(&mut granted).await;
    let asked = end(&events);
    // The leave held for the second call, and not for the tool as it is now.
    assert_eq!(asked.reason, EndReason::PendingApproval, "{asked:?}");
    assert_eq!(warnings(&events), ["tool_changed"]);
    assert_eq!(paid.get(), 2);
    let described = |request: &ChatRequest| {
        let tool = request.tools.iter().find(|(_, tool)| tool.name() == "pay");
        tool.map(|(_, tool)| tool.description().to_owned())
    };
    let requests = model.requests();
    let seen: Vec<_> = requests.iter().filter_map(described).collect();
    assert_eq!(seen, ["Pays", "Pays", "Pays", "Pays twice"]);
    // Another process knows the new one from the log.
    let other = ScriptedModel::new([Turn::text("done")]);
    let family = Changing(version, paid.clone(), &["Pays", "Pays twice"]);
    let agent = Agent::builder(other.clone()).handler(family);
    let agent = agent.tool(tool_fn("pull", "", |_: NoArguments| Ok(()))).build().unwrap();
    let outcome = agent.resume(journal).approve(&asked.approvals[0].id).outcome().await.unwrap();
    assert_eq!((outcome.reason, paid.get()), (EndReason::Answer, 3));
    assert_eq!(described(&other.requests()[0]).as_deref(), Some("Pays twice"));
}

// The model has not seen it, and pays nothing for it before it asks.
#[tokio::test]
async fn a_tool_that_waits_and_changes_is_shown_as_it_is_now_when_it_is_asked_for() {
    let (version, paid, journal) =
        (Arc::new(AtomicU64::new(0)), Counter::default(), Arc::new(MemoryJournal::new()));
    let build = |model: &ScriptedModel| {
        let pull = Arc::clone(&version);
        let pull = tool_fn("pull", "", move |_: NoArguments| {
            pull.store(1, Ordering::SeqCst);
            Ok(())
        });
        let pull = pull.with_spec(|spec| spec.with_always_visible(true));
        let family = Changing(Arc::clone(&version), paid.clone(), &["Pays", "Pays twice"]);
        let agent = Agent::builder(model.clone()).handler(family).tool(pull);
        agent.disclosure(Disclosure::default().with_max_tools(1)).build().unwrap()
    };
    let detail = Turn::call("tool_detail", json!({"name": "pay"}));
    let model = ScriptedModel::new([Turn::call("pull", "{}"), detail, Turn::call("pay", "{}")]);
    let mut run = build(&model).run_in(journal.clone(), RunInput::from("x"));
    let events = all(&mut run).await;
    assert_eq!(warnings(&events), ["tool_changed"]);
    let requests = model.requests();
    let first = ["pull", "tool_detail", "tool_search"];
    assert_eq!(offered(&requests[0]), first);
    assert_eq!(offered(&requests[1]), first);
    // Not even the words of those that show it are others, so that the prefix holds.
    assert_eq!(requests[0].tools, requests[1].tools);
    assert_eq!(offered(&requests[2]), [&first[..], &["pay"]].concat());
    let asked = end(&events);
    assert_eq!(asked.reason, EndReason::PendingApproval);
    assert!(told(&asked.messages)[1].contains("Pays twice"), "{:?}", told(&asked.messages));
    // Another process knows it from the log, and calls the one that was approved.
    let other = ScriptedModel::new([Turn::text("done")]);
    let resumed = build(&other).resume(journal).approve(&asked.approvals[0].id).outcome().await.unwrap();
    assert_eq!((resumed.reason, paid.get()), (EndReason::Answer, 1));
    assert_eq!(other.requests()[0].tools, requests[2].tools);
}

#[tokio::test]
async fn a_tool_that_waits_and_changed_while_nobody_ran_it_is_shown_as_it_is_now() {
    let (version, paid, journal) =
        (Arc::new(AtomicU64::new(0)), Counter::default(), Arc::new(MemoryJournal::new()));
    let build = |model: &ScriptedModel| {
        let go = tool_fn("go", "", |_: NoArguments| Ok(()));
        let go = go.with_spec(|spec| spec.with_always_visible(true).with_approval(Approval::Always));
        let family = Changing(Arc::clone(&version), paid.clone(), &["Pays", "Pays twice"]);
        let agent = Agent::builder(model.clone()).handler(family).tool(go);
        agent.disclosure(Disclosure::default().with_max_tools(1)).build().unwrap()
    };
    let first = ScriptedModel::new([Turn::call("go", "{}")]);
    let asked = build(&first).run_in(journal.clone(), RunInput::from("x")).outcome().await.unwrap();
    version.store(1, Ordering::SeqCst);
    // It is the first thing that the other process does.
    let detail = Turn::call("tool_detail", json!({"name": "pay"}));
    let model = ScriptedModel::new([detail, Turn::call("pay", "{}")]);
    let mut run = build(&model).resume(journal.clone()).approve(&asked.approvals[0].id);
    let events = all(&mut run).await;
    assert_eq!(warnings(&events), ["tool_changed"]);
    let requests = model.requests();
    assert_eq!(offered(&requests[0]), ["go", "tool_detail", "tool_search"], "it stays hidden");
    let asked = end(&events);
    assert_eq!(asked.reason, EndReason::PendingApproval, "{:?}", told(&asked.messages));
    assert!(told(&asked.messages)[1].contains("Pays twice"), "{:?}", told(&asked.messages));
    let last = ScriptedModel::new([Turn::text("done")]);
    let outcome = build(&last).resume(journal).approve(&asked.approvals[0].id).outcome().await.unwrap();
    assert_eq!((outcome.reason, paid.get()), (EndReason::Answer, 1));
}

#[tokio::test]
async fn a_tool_that_changed_while_nobody_ran_it_is_offered_anew_by_whoever_resumes_the_run() {
    let (version, paid, journal) =
        (Arc::new(AtomicU64::new(0)), Counter::default(), Arc::new(MemoryJournal::new()));
    let agent = |turns: Vec<Turn>| {
        let family = Changing(Arc::clone(&version), paid.clone(), &["Pays", "Pays twice"]);
        Agent::builder(ScriptedModel::new(turns)).handler(family).build().unwrap()
    };
    let run = agent(vec![Turn::call("pay", "{}")]).run_in(journal.clone(), RunInput::from("x"));
    let asked = run.outcome().await.unwrap();
    version.store(1, Ordering::SeqCst);
    let resumed = agent(vec![Turn::call("pay", "{}")]).resume(journal.clone());
    let again = resumed.approve(&asked.approvals[0].id).outcome().await.unwrap();
    assert_eq!((again.reason, paid.get()), (EndReason::PendingApproval, 0));
    let resumed = agent(vec![Turn::text("done")]).resume(journal).approve(&again.approvals[0].id);
    let outcome = resumed.outcome().await.unwrap();
    assert_eq!((outcome.reason, paid.get()), (EndReason::Answer, 1));
}

#[tokio::test]
async fn a_tool_whose_name_clashes_on_the_wire_is_called_by_the_name_that_was_shown() {
    let says =
        |name: &'static str| tool_fn(name, "", move |_: NoArguments| Ok(name)).with_effect(Effect::Read);
    let shown = wire_of("a_b");
    let turns = [
        Turn::call("tool_detail", json!({"name": &shown})),
        Turn::call(shown.as_str(), "{}"),
        Turn::text("done"),
    ];
    let model = ScriptedModel::new(turns).unverified();
    let agent = Agent::builder(model.clone()).tool(says("a.b")).tool(says("a_b"));
    let agent = agent.disclosure(Disclosure::default().with_max_tools(1)).build().unwrap();
    let outcome = agent.run("x").outcome().await.unwrap();
    assert_eq!(model.requests()[1].tools.wire_name("a_b"), shown);
    assert_eq!(told(&outcome.messages)[1], "a_b");
}

/// The name on the wire of a tool behind `a.b`.
fn wire_of(name: &str) -> String {
    let named = |name: &str| ToolDefinition::new(name, "", json!({}));
    ToolSet::new([named("a.b"), named(name)]).unwrap().wire_name(name)
}

#[tokio::test]
async fn a_tool_of_a_catalog_named_like_those_that_show_tools_is_left_out() {
    let says =
        |name: &'static str| tool_fn(name, "", move |_: NoArguments| Ok(name)).with_effect(Effect::Read);
    let catalog = Catalog::new();
    for name in ["tool_search", "one", "two", "three"] {
        catalog.add(says(name)).unwrap();
    }
    let model = ScriptedModel::new([Turn::text("done")]);
    let agent = Agent::builder(model.clone()).catalog(catalog);
    let agent = agent.disclosure(Disclosure::default().with_max_tools(2)).build().unwrap();
    let events = all(&mut agent.run("x")).await;
    assert_eq!(end(&events).text, "done");
    assert_eq!(warnings(&events), ["tools_unavailable"]);
    assert_eq!(offered(&model.requests()[0]), ["tool_detail", "tool_search"]);
}

// Whoever changes the words of results does not hide which tools were shown.
#[tokio::test]
async fn the_results_that_show_tools_pass_by_whoever_changes_outcomes() {
    let turns = [Turn::call("tool_detail", json!({"name": "stock_count"})), Turn::text("done")];
    let model = ScriptedModel::new(turns);
    let agent = layered(&model, &Counter::default()).tool_outcome(|_, came| {
        came.map(|mut output| {
            output.tree = ContentTree::text("changed");
            output
        })
    });
    agent.build().unwrap().run("x").outcome().await.unwrap();
    assert_eq!(offered(&model.requests()[1]), ["tool_detail", "tool_search", "stock_count"]);
}

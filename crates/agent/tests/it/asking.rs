//! Tools that ask people while they work.

use std::sync::Arc;
use std::time::Duration;

use attache_agent::{Agent, EndReason, EventKind, MemoryJournal};
use attache_core::tool::{Deferred, ToolSpec, Unanswered};
use attache_core::{
    BoxFuture, Capture, Tool, ToolContext, ToolDefinition, ToolError, ToolOutput, ToolResult,
};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::{Map, Value, json};

use crate::common::Counter;
use crate::common::kit::{holding, told};

/// Counts its beginnings, asks, and says what it was told. With a handle it goes on where it stopped.
struct Signs {
    spec: ToolSpec,
    handle: Option<&'static str>,
    begun: Counter,
}

impl Signs {
    fn tool(handle: Option<&'static str>, begun: &Counter) -> Arc<dyn Tool> {
        let mut spec = ToolSpec::new(ToolDefinition::new("sign", "", json!({"type": "object"})));
        spec.metadata.asks = true;
        Arc::new(Self { spec, handle, begun: begun.clone() })
    }
}

impl Tool for Signs {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(
        &self,
        _: Map<String, Value>,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            match context.left_off() {
                None => drop(self.begun.add()),
                Some(handle) => assert_eq!(Some(&*handle), self.handle),
            }
            let mut question = Deferred::ask("Who signs?").with_schema(json!({"type": "string"}));
            question.handle = self.handle.map(str::to_owned);
            let said = match context.ask(question).await {
                Ok(name) => format!("signed by {name}"),
                Err(Unanswered::Declined { why }) => format!("declined: {why}"),
                Err(other) => return Err(ToolError::new(other.to_string())),
            };
            Ok(ToolOutput::new(Capture::new().finish(&said)?))
        })
    }
}

fn agent(turns: impl IntoIterator<Item = Turn>, tool: Arc<dyn Tool>) -> attache_agent::AgentBuilder {
    Agent::builder(ScriptedModel::new(turns).unverified()).tools([tool])
}

fn sign() -> Turn {
    Turn::call("sign", json!({}))
}

#[tokio::test]
async fn a_tool_that_asks_waits_also_where_a_failure_of_a_tool_ends_the_run() {
    let begun = Counter::default();
    let journal = Arc::new(MemoryJournal::new());
    let agent = |turns: Vec<Turn>| {
        agent(turns, Signs::tool(Some("half way"), &begun)).abort_on_tool_error(true).build().unwrap()
    };
    let outcome = agent(vec![sign()]).run_in(journal.clone(), "go").outcome().await.unwrap();
    assert_eq!(outcome.reason, EndReason::InputRequired);
    let rest = agent(vec![Turn::text("done")]).resume(journal).reply(&outcome.deferred[0].call.id, "Ann");
    let outcome = rest.outcome().await.unwrap();
    assert_eq!((told(&outcome.messages), begun.get()), (vec!["signed by \"Ann\"".to_owned()], 1));
}

#[tokio::test]
async fn a_tool_that_asks_goes_on_where_it_stopped_and_repeats_nothing() {
    let begun = Counter::default();
    let tool = || Signs::tool(Some("half way"), &begun);
    let journal = Arc::new(MemoryJournal::new());
    let outcome =
        agent([sign()], tool()).build().unwrap().run_in(journal.clone(), "go").outcome().await.unwrap();
    assert_eq!((outcome.reason, begun.get()), (EndReason::InputRequired, 1));
    // Nobody has answered yet: it waits again.
    let again = agent([], tool()).build().unwrap().resume(journal.clone()).outcome().await.unwrap();
    assert_eq!((again.reason, begun.get()), (EndReason::InputRequired, 1));
    let id = &outcome.deferred[0].call.id;
    let rest = agent([Turn::text("done")], tool()).build().unwrap().resume(journal.clone());
    let outcome = rest.reply(id, "Ann").outcome().await.unwrap();
    assert_eq!(told(&outcome.messages), ["signed by \"Ann\""]);
    assert_eq!(begun.get(), 1);
    // At each entry at which the process may die: it is begun once, and ends with the answer or as unknown.
    let entries = journal.entries();
    let answered = entries.iter().position(|entry| entry.key.as_str().ends_with(">end")).unwrap();
    let asked = entries.iter().position(|entry| entry.key.as_str().contains(">deferred/")).unwrap();
    for cut in asked + 1..entries.len() {
        let rest =
            agent([Turn::text("done")], tool()).build().unwrap().resume(holding(entries[..cut].to_vec()));
        let outcome = rest.outcome().await.unwrap();
        assert_eq!(begun.get(), 1, "cut {cut}");
        if cut > answered {
            assert_eq!(outcome.reason, EndReason::Answer, "cut {cut}");
        }
    }
}

/// Asks the same three times, and goes on from the answers that it has.
struct Thrice(ToolSpec);

impl Tool for Thrice {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(
        &self,
        _: Map<String, Value>,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let left = context.left_off().unwrap_or_default();
            let mut names: Vec<String> = left.split_terminator(',').map(str::to_owned).collect();
            while names.len() < 3 {
                let mut question = Deferred::ask("Who signs?");
                question.handle = Some(names.iter().map(|name| format!("{name},")).collect());
                let name = context.ask(question).await.map_err(|error| ToolError::new(error.to_string()))?;
                names.push(name.as_str().unwrap().to_owned());
            }
            Ok(ToolOutput::new(Capture::new().finish(&names.join(" "))?))
        })
    }
}

#[tokio::test]
async fn a_tool_that_asks_the_same_again_later_gets_another_answer() {
    let mut spec = ToolSpec::new(ToolDefinition::new("sign", "", json!({"type": "object"})));
    spec.metadata.asks = true;
    let tool: Arc<dyn Tool> = Arc::new(Thrice(spec));
    let journal = Arc::new(MemoryJournal::new());
    let first = agent([sign()], tool.clone()).build().unwrap();
    let mut outcome = first.run_in(journal.clone(), "go").outcome().await.unwrap();
    for name in ["Ann", "Ben", "Cleo"] {
        assert_eq!(outcome.reason, EndReason::InputRequired, "{name}");
        let id = outcome.deferred[0].call.id.clone();
        let rest = agent([Turn::text("done")], tool.clone()).build().unwrap().resume(journal.clone());
        outcome = rest.reply(&id, name).outcome().await.unwrap();
    }
    assert_eq!(told(&outcome.messages), ["Ann Ben Cleo"]);
}

#[tokio::test]
async fn a_tool_that_cannot_go_on_later_learns_that_nobody_is_there() {
    let begun = Counter::default();
    for handle in [None, Some("half way")] {
        let run = agent([sign(), Turn::text("done")], Signs::tool(handle, &begun)).build().unwrap().run("go");
        let outcome = run.outcome().await.unwrap();
        assert_eq!(told(&outcome.messages), ["nobody is there to answer"]);
    }
    // With a journal too: the tool has no handle.
    let journal = Arc::new(MemoryJournal::new());
    let run =
        agent([sign(), Turn::text("done")], Signs::tool(None, &begun)).build().unwrap().run_in(journal, "go");
    assert_eq!(told(&run.outcome().await.unwrap().messages), ["nobody is there to answer"]);
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_tool_that_asks_stands_still_while_people_think() {
    for (thinks, expected) in [(3_600, "signed by \"Ann\""), (10_000, "nobody is there to answer")] {
        let agent = agent([sign(), Turn::text("done")], Signs::tool(None, &Counter::default()));
        let agent = agent.tool_timeout(Duration::from_secs(5)).patience(Duration::from_secs(7_200));
        let mut run = agent.build().unwrap().run("go");
        let control = run.control();
        let outcome = loop {
            let event = run.next().await.unwrap();
            if let EventKind::Nested { event, path } = &event.kind
                && let EventKind::CallDeferred(request) = &event.kind
            {
                // As the outcome and the log have it.
                let path: Vec<&str> = path.iter().map(|agent| &*agent.name).collect();
                assert_eq!(path, ["sign"]);
                let (control, result) = (control.clone(), ToolResult::of(&request.call, &"Ann").unwrap());
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_secs(thinks)).await;
                    let _ = control.submit([result]).await;
                });
            }
            if let Some(outcome) = event.kind.outcome() {
                break outcome.clone();
            }
        };
        assert_eq!(told(&outcome.messages), [expected]);
    }
}

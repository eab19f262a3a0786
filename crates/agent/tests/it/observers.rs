//! Observers: what they see, that they disturb nobody, and what they put around the work.

use std::any::Any;
use std::cell::RefCell;
use std::sync::{Arc, Mutex};

use attache_agent::{
    Agent, Event, EventKind, Judgement, MemoryJournal, ModelCall, ModelCallObserver, ObservedRun, Observer,
    OpenedRun, RunObserver, ToolCallEnd, ToolCallObserver, ToolCallStart, tool_fn,
};
use attache_core::{
    Approval, Arguments, AssistantMessage, Effect, ErrorKind, ProviderError, StreamChunk, Tool, ToolCall,
    ToolContext, ToolError,
};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::json;

use crate::common::kit::{all, end, until_it_waits};
use crate::common::{Number, words};

thread_local! {
    /// The work that this thread polls, the innermost last.
    static WORK: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn work() -> String {
    WORK.with_borrow(|work| work.join(" > "))
}

/// Work that is entered until this is dropped.
struct Inside;

impl Inside {
    fn of(name: &str) -> Option<Box<dyn Any>> {
        WORK.with_borrow_mut(|work| work.push(name.to_owned()));
        Some(Box::new(Self))
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        WORK.with_borrow_mut(|work| drop(work.pop()));
    }
}

/// Writes down what it is told, and panics where a test says so.
#[derive(Clone, Default)]
struct Notes {
    panics_at: Option<&'static str>,
    mark: Option<&'static str>,
    told: Arc<Mutex<Vec<String>>>,
}

impl Notes {
    fn note(&self, point: &str, what: &str) {
        self.told.lock().unwrap().push(format!("{point} {what}").trim_end().to_owned());
        assert_ne!(self.panics_at, Some(point), "a bug in an observer");
    }

    fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }

    fn count(&self, point: &str) -> usize {
        self.told().iter().filter(|told| told.split(' ').next() == Some(point)).count()
    }
}

impl Observer for Notes {
    fn run(&self, run: &ObservedRun<'_>) -> Arc<dyn RunObserver> {
        self.note("run", if run.is_resumed { "again" } else { "" });
        Arc::new(self.clone())
    }

    fn tool_call(&self, call: &ToolCallStart<'_>) -> Option<Arc<dyn ToolCallObserver>> {
        self.note("by_hand", &call.call.name);
        Some(Arc::new(self.clone()))
    }
}

impl RunObserver for Notes {
    fn enter(&self) -> Option<Box<dyn Any>> {
        assert_ne!(self.panics_at, Some("enter"), "a bug in an observer");
        Inside::of("run")
    }

    fn opened(&self, run: &OpenedRun<'_>) {
        self.note("opened", run.mark.unwrap_or_default());
    }

    fn mark(&self) -> Option<String> {
        self.mark.map(str::to_owned)
    }

    fn event(&self, event: &Event) {
        self.note("event", &words(std::slice::from_ref(event)).concat());
    }

    fn model_call(&self, call: &ModelCall<'_>) -> Option<Box<dyn ModelCallObserver>> {
        self.note("model", &call.step.to_string());
        Some(Box::new(self.clone()))
    }

    fn tool_call(&self, call: &ToolCallStart<'_>) -> Option<Arc<dyn ToolCallObserver>> {
        self.note("tool", &call.call.name);
        Some(Arc::new(self.clone()))
    }

    fn ended(&self) {
        self.note("over", "");
    }
}

impl ModelCallObserver for Notes {
    fn enter(&self) -> Option<Box<dyn Any>> {
        Inside::of("model")
    }

    fn chunk(&mut self, chunk: Result<&StreamChunk, &ProviderError>) {
        let word = match chunk {
            Ok(StreamChunk::Done(_)) => "done",
            Ok(_) => return,
            Err(_) => "error",
        };
        self.note("chunk", word);
    }

    fn ended(&mut self) {
        self.note("replied", "");
    }
}

impl ToolCallObserver for Notes {
    fn enter(&self) -> Option<Box<dyn Any>> {
        Inside::of("tool")
    }

    fn ended(&self, end: &ToolCallEnd<'_>) {
        let end = match end {
            ToolCallEnd::Result(outcome) => format!("{:?}", outcome.disposition),
            other => format!("{other:?}"),
        };
        self.note("ran", &end);
    }
}

/// A tool that says what its thread works on.
fn look(blocking: bool) -> impl Tool + 'static {
    tool_fn("look", "", |_: Number| async {
        let before = work();
        tokio::task::yield_now().await;
        Ok::<_, ToolError>(json!([before, work()]))
    })
    .with_effect(Effect::Read)
    .with_spec(|spec| spec.with_blocking(blocking))
}

fn turns() -> [Turn; 2] {
    [Turn::call("look", json!({"n": 1})), Turn::text("4")]
}

fn agent(turns: impl IntoIterator<Item = Turn>, observers: &[&Notes]) -> attache_agent::AgentBuilder {
    let builder = Agent::builder(ScriptedModel::new(turns).unverified());
    observers.iter().fold(builder, |builder, notes| builder.observer((*notes).clone()))
}

#[tokio::test]
async fn an_observer_is_told_of_runs_requests_and_tools_in_order_and_of_each_end_once() {
    let notes = Notes::default();
    let agent = agent(turns(), &[&notes]).tool(look(false)).build().unwrap();
    agent.run("go").outcome().await.unwrap();
    let told: Vec<String> = notes.told().into_iter().filter(|told| !told.contains("delta")).collect();
    assert_eq!(
        told,
        [
            "run",
            "opened",
            "event started",
            "event step",
            "model 1",
            "chunk done",
            "replied",
            "event requested 1",
            "event finish tool_calls",
            "tool look",
            "event tool look",
            "ran Executed",
            r#"event result ["run > tool","run > tool"]"#,
            "event received 1",
            "event step",
            "model 2",
            "event content 4",
            "chunk done",
            "replied",
            "event finish stop",
            "event end answer",
            "over",
        ]
    );
    assert_eq!(work(), "");
}

#[tokio::test]
async fn what_observers_set_around_a_tool_stands_on_the_thread_that_it_blocks() {
    let notes = Notes::default();
    let agent = agent(turns(), &[&notes]).tool(look(true)).build().unwrap();
    let outcome = agent.run("go").outcome().await.unwrap();
    let told = crate::common::kit::told(&outcome.messages);
    assert_eq!(told, [r#"["tool","tool"]"#]);
}

// A89
#[tokio::test]
async fn an_observer_that_panics_anywhere_affects_neither_the_run_nor_the_others() {
    let well = Notes::default();
    let undisturbed = {
        let agent = agent(turns(), &[&well]).tool(look(false)).build().unwrap();
        all(&mut agent.run("go")).await
    };
    let points = ["run", "enter", "opened", "event", "model", "chunk", "replied", "tool", "ran", "over"];
    for point in points {
        let panicking = Notes { panics_at: Some(point), ..Notes::default() };
        let other = Notes::default();
        let agent = agent(turns(), &[&panicking, &other]).tool(look(false)).build().unwrap();
        let events = all(&mut agent.run("go")).await;
        let plain = |events: &[Event]| {
            let words = words(events).into_iter();
            words.filter(|word| !word.starts_with("result")).collect::<Vec<_>>()
        };
        assert_eq!(plain(&events), plain(&undisturbed), "{point}");
        let untold = |notes: &Notes| {
            notes.told().into_iter().filter(|told| !told.contains("result")).collect::<Vec<_>>()
        };
        assert_eq!(untold(&other), untold(&well), "{point}");
        // It looks on at that piece of work no longer.
        if ["run", "opened", "event", "over"].contains(&point) {
            assert_eq!(panicking.count(point), 1, "{point}");
        }
        assert_eq!(work(), "", "{point}");
    }
}

// A89
#[tokio::test]
async fn observers_learn_of_a_failure_once() {
    let notes = Notes::default();
    let failing = agent([Turn::empty().then_error(ErrorKind::Overloaded)], &[&notes]).build().unwrap();
    assert!(failing.run("go").outcome().await.is_err());
    let told = notes.told();
    let ends = ["chunk error", "replied", "event end provider_error (overloaded)", "over"];
    for end in ends {
        assert_eq!(told.iter().filter(|told| *told == end).count(), 1, "{end}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_dropped_ends_the_work_inside_before_itself() {
    let notes = Notes::default();
    let hang = tool_fn("look", "", |_: Number| async {
        std::future::pending::<()>().await;
        Ok::<_, ToolError>(0)
    });
    let agent = agent(turns(), &[&notes]).tool(hang).build().unwrap();
    let mut run = agent.run("go");
    until_it_waits(&mut run).await;
    drop(run);
    let told = notes.told();
    assert_eq!(told[told.len() - 2..], ["ran Dropped", "over"]);

    let notes = Notes::default();
    let agent = self::agent([Turn::empty().then_hang()], &[&notes]).build().unwrap();
    let mut run = agent.run("go");
    until_it_waits(&mut run).await;
    drop(run);
    let told = notes.told();
    assert_eq!(told[told.len() - 2..], ["replied", "over"]);
}

#[tokio::test]
async fn the_mark_of_an_observer_comes_back_when_the_run_is_resumed() {
    let notes = Notes { mark: Some("the first"), ..Notes::default() };
    let pay = || {
        tool_fn("pay", "", |Number { n }: Number| async move { Ok::<_, ToolError>(n) })
            .with_approval(Approval::Always)
    };
    let build = |turns: Vec<Turn>, notes: &Notes| agent(turns, &[notes]).tool(pay()).build().unwrap();
    let journal = Arc::new(MemoryJournal::new());
    let first = build(vec![Turn::call("pay", json!({"n": 1}))], &notes);
    let paused = first.run_in(journal.clone(), "go").outcome().await.unwrap();
    let later = Notes { mark: Some("the second"), ..Notes::default() };
    let second = build(vec![Turn::text("paid")], &later);
    second.resume(journal).approve(&paused.approvals[0].id).outcome().await.unwrap();
    assert!(notes.told().contains(&"opened the first".to_owned()), "{:?}", notes.told());
    assert_eq!(later.told()[..2], ["run again", "opened the first"]);
}

#[tokio::test]
async fn an_agent_inside_a_tool_is_observed_by_those_around_it_unless_it_has_its_own() {
    let (outer, own) = (Notes::default(), Notes::default());
    for (observers, around, inside) in [(&[][..], 2, 0), (&[&own][..], 1, 1)] {
        outer.told.lock().unwrap().clear();
        let inner = agent([Turn::text("4")], observers).build().unwrap();
        let turns = [Turn::call("research", json!({"task": "how many?"})), Turn::text("4")];
        let agent = agent(turns, &[&outer]).tool(inner.as_tool("research", "")).build().unwrap();
        let events = all(&mut agent.run("go")).await;
        assert_eq!(end(&events).text, "4");
        assert!(events.iter().any(|event| matches!(event.kind, EventKind::Nested { .. })));
        assert_eq!((outer.count("run"), own.count("run")), (around, inside));
    }
}

// S24
#[tokio::test(start_paused = true)]
async fn calls_by_hand_are_observed_where_their_tools_run() {
    let notes = Notes::default();
    let fails = tool_fn("fails", "", || Err::<u8, _>(ToolError::new("no")));
    let hangs = tool_fn("hangs", "", |_: Number| async {
        std::future::pending::<()>().await;
        Ok::<_, ToolError>(1)
    });
    let later = tool_fn("later", "", || Ok(attache_core::tool::Deferred::to("a ticket")));
    let agent = agent([], &[&notes]).tool(look(false)).tool(fails).tool(hangs).tool(later).build().unwrap();
    let manager = agent.tool_manager().await.unwrap();
    let call = |name: &str, arguments: &str| ToolCall::new(name, Arguments::new(arguments));
    let context = ToolContext::new;
    let result = manager.run(&call("look", r#"{"n": 1}"#), context()).await;
    assert_eq!(result.tree.json(), r#"["tool","tool"]"#);
    manager.run(&call("fails", "{}"), context()).await;
    // Neither of these runs.
    manager.run(&call("look", "{}"), context()).await;
    manager.run(&call("nobody", "{}"), context()).await;
    let hangs = call("hangs", r#"{"n": 1}"#);
    let soon = std::time::Duration::from_millis(1);
    assert!(tokio::time::timeout(soon, manager.run(&hangs, context())).await.is_err());
    let Judgement::Run(judged) = manager.judge(&call("later", "{}"), context()).await else {
        panic!("it runs")
    };
    assert!(manager.attempt(judged, context()).await.is_err());
    assert_eq!(
        notes.told(),
        [
            "by_hand look",
            "ran Executed",
            "by_hand fails",
            "ran Executed",
            "by_hand hangs",
            "ran Dropped",
            "by_hand later",
            "ran Deferred",
        ]
    );
    // One that panics disturbs nobody.
    for point in ["by_hand", "ran"] {
        let buggy = Notes { panics_at: Some(point), ..Notes::default() };
        let notes = Notes::default();
        let agent = self::agent([], &[&buggy, &notes]).tool(look(false)).build().unwrap();
        let reply = AssistantMessage::new([call("look", r#"{"n": 1}"#).into()]);
        let round = agent.tool_manager().await.unwrap().answer(reply).await;
        assert_eq!(round.messages().count(), 2, "{point}");
        assert_eq!(notes.told(), ["by_hand look", "ran Executed"], "{point}");
    }
}

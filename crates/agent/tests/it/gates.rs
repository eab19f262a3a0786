//! Calls that wait for somebody while others run: each is made once, and each decision is taken once.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use crate::common::journals::{Fault, Faulty, Method};
use crate::common::kit::{all, before, end, heard, holding, told, until_it_waits};
use crate::common::{Counter, Number};
use attache_agent::{
    Agent, Control, DecideError, Decision, EndReason, Entry, Fence, Journal, JournalError, Key,
    MemoryJournal, SubmitError, decide, deliver, tool_fn,
};
use attache_core::tool::Deferred;
use attache_core::{Approval, BoxFuture, Effect, Tool, ToolError, ToolResult};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::sleep;

const PATIENCE: Duration = Duration::from_secs(5);
/// The time after which a journal looks again; the run looks for itself before.
const LOOK: Duration = Duration::from_secs(10);

fn pay(paid: &Arc<Mutex<Vec<i64>>>) -> impl Tool + 'static {
    let paid = Arc::clone(paid);
    let pay = move |Number { n }: Number| {
        paid.lock().unwrap().push(n);
        async move {
            sleep(2 * LOOK).await;
            Ok::<_, ToolError>(format!("paid {n}"))
        }
    };
    tool_fn("pay", "Pays", pay).with_approval(Approval::Always)
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_approved_or_denied_while_another_runs_is_made_once_at_most() {
    for decision in [Decision::Approve, Decision::Deny("no".to_owned())] {
        let (paid, go) = (Arc::<Mutex<Vec<i64>>>::default(), Arc::new(Notify::new()));
        let journal = Arc::new(MemoryJournal::new());
        let agent = |turns: Vec<Turn>, patience: Duration| {
            let waits = Arc::clone(&go);
            let alone = move |Number { .. }: Number| {
                let waits = Arc::clone(&waits);
                async move {
                    waits.notified().await;
                    Ok::<_, ToolError>("alone")
                }
            };
            let alone = tool_fn("alone", "", alone)
                .with_approval(Approval::Always)
                .with_spec(|spec| spec.with_sequential(true));
            let builder = Agent::builder(ScriptedModel::new(turns).unverified());
            builder.tool(alone).tool(pay(&paid)).patience(patience).build().unwrap()
        };
        let turn = Turn::call("alone", json!({"n": 1})).and_call("pay", json!({"n": 5}));
        let first = agent(vec![turn], Duration::ZERO).run_in(journal.clone(), "go").outcome().await.unwrap();
        let ids: Vec<&str> = first.approvals.iter().map(|request| &*request.id).collect();
        let resumed = agent(vec![Turn::text("done")], 100 * PATIENCE).resume(journal.clone());
        let mut run = resumed.approve(ids[0]);
        until_it_waits(&mut run).await;
        run.control().decide(ids[1], "ann", decision.clone()).await.unwrap();
        until_it_waits(&mut run).await;
        go.notify_one();
        let outcome = end(&all(&mut run).await);
        let (times, result) = match decision {
            Decision::Approve => (vec![5], "paid 5"),
            _ => (vec![], "not executed: no"),
        };
        assert_eq!(outcome.reason, EndReason::Answer);
        assert_eq!(
            (&*paid.lock().unwrap(), told(&outcome.messages)),
            (&times, vec!["alone".to_owned(), result.to_owned()])
        );
    }
}

/// A journal that notices only now and then what was left in it. A run whose control it has is told something more while
/// its end is recorded.
#[derive(Default)]
struct Slow(MemoryJournal, Mutex<Option<Control>>);

impl Journal for Slow {
    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        self.0.load()
    }

    fn claim(&self, entries: usize) -> BoxFuture<'_, Result<Fence, JournalError>> {
        self.0.claim(entries)
    }

    fn append(&self, fence: Fence, entries: Vec<Entry>) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        if entries.iter().any(|entry| entry.key.as_str() == "end")
            && let Some(control) = self.1.lock().unwrap().take()
        {
            control.inject("one more").unwrap();
        }
        self.0.append(fence, entries)
    }

    fn deliver(&self, entry: Entry) -> BoxFuture<'_, Result<Entry, JournalError>> {
        self.0.deliver(entry)
    }

    fn wait<'a>(
        &'a self,
        key: &'a Key,
        until: Option<SystemTime>,
    ) -> BoxFuture<'a, Result<Option<Entry>, JournalError>> {
        Box::pin(async move {
            let is_late = until.is_some_and(|until| until <= SystemTime::now());
            if !is_late {
                sleep(LOOK).await;
            }
            self.0.wait(key, until).await
        })
    }
}

#[tokio::test(start_paused = true)]
async fn decisions_that_a_run_finds_when_its_patience_is_over_start_nothing_twice_and_are_taken_once() {
    for effect in [Effect::Read, Effect::SideEffect] {
        let (paid, started) = (Arc::<Mutex<Vec<i64>>>::default(), Counter::default());
        let journal = Arc::new(Slow::default());
        let agent = |turns: Vec<Turn>, patience: Duration| {
            let counts = started.clone();
            let render = move |Number { .. }: Number| {
                counts.add();
                async { Ok::<_, ToolError>(Deferred::to("job")) }
            };
            let render = tool_fn("render", "", render).with_approval(Approval::Always).with_effect(effect);
            let builder = Agent::builder(ScriptedModel::new(turns).unverified());
            builder.tool(render).tool(pay(&paid)).patience(patience).build().unwrap()
        };
        let turn = Turn::call("render", json!({"n": 1})).and_call("pay", json!({"n": 5}));
        let first = agent(vec![turn], Duration::ZERO).run_in(journal.clone(), "go").outcome().await.unwrap();
        let ids: Vec<&str> = first.approvals.iter().map(|request| &*request.id).collect();
        let mut run = agent(vec![], PATIENCE).resume(journal.clone()).approve(ids[0]);
        until_it_waits(&mut run).await;
        decide(&*journal, ids[1], "ann", Decision::Approve).await.unwrap();
        let outcome = end(&all(&mut run).await);
        assert_eq!((&outcome.reason, outcome.deferred.len()), (&EndReason::PendingExternal, 1), "{effect:?}");
        assert_eq!((&*paid.lock().unwrap(), started.get()), (&vec![5], 1), "{effect:?}");
    }
}

#[tokio::test]
async fn a_message_that_comes_while_the_end_is_recorded_comes_back() {
    let journal = Arc::new(Slow::default());
    let agent = Agent::builder(ScriptedModel::new([Turn::text("done")])).max_steps(1).build().unwrap();
    let mut run = agent.run_in(journal.clone(), "go");
    let control = run.control();
    control.follow_up("and then?").unwrap();
    *journal.1.lock().unwrap() = Some(control);
    let outcome = end(&all(&mut run).await);
    let unread = heard(&outcome.unread);
    assert_eq!(unread.len(), 2);
    assert!(unread[0].contains("and then?") && unread[1].contains("one more"), "{unread:?}");
}

#[tokio::test]
async fn an_agent_inside_whose_call_was_interrupted_takes_no_decision_and_no_result() {
    let (paid, journal) = (Arc::<Mutex<Vec<i64>>>::default(), Arc::new(MemoryJournal::new()));
    let around = |turns: Vec<Turn>| {
        let render = tool_fn("render", "", || async { Ok::<_, ToolError>(Deferred::to("job")) });
        let turn = Turn::call("pay", json!({"n": 7})).and_call("render", json!({}));
        let inside = Agent::builder(ScriptedModel::new([turn]).unverified()).tool(pay(&paid)).tool(render);
        let research = inside.build().unwrap().as_tool("research", "Looks things up");
        Agent::builder(ScriptedModel::new(turns).unverified()).tool(research).build().unwrap()
    };
    let first = around(vec![Turn::call("research", json!({"task": "pay"}))]);
    let first = first.run_in(journal.clone(), "go").outcome().await.unwrap();
    assert_eq!(first.reason, EndReason::PendingApproval);
    let mut run = around(vec![Turn::text("I stopped")]).resume(journal.clone());
    run.control().interrupt("stop").unwrap();
    let outcome = end(&all(&mut run).await);
    assert_eq!((outcome.reason, &*outcome.text), (EndReason::Answer, "I stopped"));
    // The run around goes on: it has not ended.
    let journal = holding(before(&journal.entries(), "end"));
    let decided = decide(&*journal, &first.approvals[0].id, "ann", Decision::Approve).await.unwrap_err();
    assert!(matches!(decided, DecideError::Closed { .. }), "{decided:?}");
    let render = first.pending.iter().find(|call| call.name == "render").unwrap();
    let delivered = deliver(&*journal, ToolResult::ok(render, "late")).await.unwrap_err();
    assert!(matches!(delivered, SubmitError::ChatLoopClosed), "{delivered:?}");
}

#[tokio::test(start_paused = true)]
async fn an_interruption_that_the_journal_does_not_take_at_once_is_recorded_again() {
    // The beginning, the reply, and then the results of the calls that are interrupted.
    let journal = Faulty::new((Method::Append, 3, Fault::Fails));
    let hangs = tool_fn("hangs", "", std::future::pending::<Result<(), ToolError>>);
    let model = ScriptedModel::new([Turn::call("hangs", json!({})), Turn::text("stopped")]).unverified();
    let agent = Agent::builder(model).tool(hangs.with_effect(Effect::Read)).build().unwrap();
    let mut run = agent.run_in(journal.clone(), "go");
    until_it_waits(&mut run).await;
    run.control().interrupt("stop").unwrap();
    let outcome = end(&all(&mut run).await);
    assert_eq!((outcome.reason, &*outcome.text), (EndReason::Answer, "stopped"));
}

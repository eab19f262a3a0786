//! A journal that fails or hangs at any of its calls: the drive ends in time, and the run goes on from its log.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::Counter;
use crate::common::journals::{Fault, Faulty, Method};
use crate::common::kit::{UNKNOWN, all, counting, end, keys, roles, told, until_it_waits};
use attache_agent::{
    Agent, AgentRun, EndReason, Entry, Event, EventKind, Fence, Journal, JournalError, Key, MemoryJournal,
    Outcome, Run, Tools, deliver,
};
use attache_core::{BoxFuture, Effect, ToolCall, ToolDefinition, ToolResult, UserMessage, UserPart};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::json;
use tokio::time::{Instant, timeout};

const DAY: Duration = Duration::from_secs(24 * 3600);
const FAULTS: [Fault; 4] = [Fault::Fails, Fault::FailsAfterwards, Fault::Hangs, Fault::HangsAfterwards];

/// Reads and pays in one round, asks the caller in the next, and answers.
fn turns() -> Vec<Turn> {
    let both = Turn::call("pay", json!({"n": 1})).and_call("read", json!({"n": 2}));
    vec![both, Turn::call("ask", "{}"), Turn::text("done")]
}

fn agent(turns: Vec<Turn>, paid: &Counter) -> Agent {
    let ask = ToolDefinition::new("ask", "", json!({"type": "object", "properties": {}}));
    Agent::builder(ScriptedModel::new(turns).unverified())
        .tool(counting("pay", Effect::SideEffect, paid))
        .tool(counting("read", Effect::Read, &Counter::default()))
        .tool_set(Tools::new().with_external(ask))
        .answer_deadline(Duration::from_secs(3600))
        .build()
        .unwrap()
}

/// Drives a run to its end; the caller answers from outside, over the journal that works.
async fn drive(mut run: AgentRun, journal: &Arc<MemoryJournal>) -> Vec<Event> {
    let control = run.control();
    let mut events = Vec::new();
    while let Some(event) = run.next().await {
        match &event.kind {
            EventKind::ToolStarted { call } if call.name == "pay" => {
                // One that cannot be read any more is told as unread.
                let _closed = control.inject(UserMessage::new([UserPart::text("be brief")]));
            }
            EventKind::ExternalPending { call } => {
                deliver(&**journal, ToolResult::ok(call, "yes")).await.unwrap();
            }
            _ => {}
        }
        events.push(event);
    }
    events
}

/// The rest of the script that a log still needs.
fn rest(journal: &MemoryJournal) -> Vec<Turn> {
    let asked = keys(journal).iter().filter(|key| key.starts_with("model/")).count();
    turns().split_off(asked)
}

/// The conditions of a run that went on after a fault.
fn assert_whole(way: &str, outcome: &Outcome, journal: &MemoryJournal, paid: &Counter) {
    assert_eq!((&outcome.reason, &*outcome.text), (&EndReason::Answer, "done"), "{way}");
    let told = told(&outcome.messages);
    assert_eq!((&*told[1], &*told[2]), ("2", "yes"), "{way}");
    match &*told[0] {
        "1" => assert_eq!((paid.get(), outcome.unknown.len()), (1, 0), "{way}"),
        UNKNOWN => assert!(paid.get() <= 1 && outcome.unknown.len() == 1, "{way}"),
        other => panic!("{way}: {other}"),
    }
    assert_eq!(&Run::replay(&journal.entries()).unwrap().outcome(), outcome, "{way}");
}

#[tokio::test(start_paused = true)]
async fn each_call_of_a_journal_may_fail_or_hang() {
    let paid = Counter::default();
    let journal = Faulty::new(None);
    let uncut = end(&drive(agent(turns(), &paid).run_in(journal.clone(), "go"), &journal.inner).await);
    assert_whole("uncut", &uncut, &journal.inner, &paid);
    assert_eq!(roles(&uncut.messages), "ucrucra");
    for method in [Method::Load, Method::Claim, Method::Append, Method::Wait] {
        assert!(journal.calls(method) > 0, "{method:?} is called");
        for call in 1..=journal.calls(method) {
            for kind in FAULTS {
                let way = format!("{method:?} {call} {kind:?}");
                let paid = Counter::default();
                let faulty = Faulty::new((method, call, kind));
                let run = agent(turns(), &paid).run_in(faulty.clone(), "go");
                let start = Instant::now();
                let events = timeout(DAY, drive(run, &faulty.inner)).await.expect(&way);
                let outcome = end(&events);
                let inner = faulty.inner.clone();
                if outcome.reason == EndReason::Answer {
                    // The result of a tool is worth several attempts.
                    assert!(method == Method::Append, "{way}");
                    assert_whole(&way, &outcome, &inner, &paid);
                    continue;
                }
                assert_eq!(outcome.reason, EndReason::InternalError, "{way}");
                assert!(start.elapsed() <= Duration::from_secs(3600 + 61), "{way}: {:?}", start.elapsed());
                let ended = keys(&inner).contains(&"end".to_owned());
                assert!(!ended || matches!(kind, Fault::FailsAfterwards | Fault::HangsAfterwards), "{way}");
                // A message is read or unread. After a write that may have happened it is both.
                let read = keys(&inner).contains(&"inbox/0".to_owned());
                let injected = events.iter().any(|event| matches!(event.kind, EventKind::ToolStarted { .. }));
                assert!(!injected || read || outcome.unread.len() == 1, "{way}: a message is lost");
                let again = agent(rest(&inner), &paid);
                let run = match inner.entries().is_empty() {
                    true => again.run_in(inner.clone(), "go"),
                    false => again.resume(inner.clone()),
                };
                assert_whole(&way, &end(&drive(run, &inner).await), &inner, &paid);
            }
        }
    }
}

/// Each call of the log's methods while a run is resumed.
#[tokio::test(start_paused = true)]
async fn a_fault_while_resuming_costs_nothing() {
    let paid = Counter::default();
    let inner = Arc::new(MemoryJournal::new());
    let mut run = agent(turns(), &paid).run_in(inner.clone(), "go");
    until_it_waits(&mut run).await;
    drop(run);
    let entries = inner.entries();
    for method in [Method::Load, Method::Claim, Method::Wait] {
        for kind in FAULTS {
            let way = format!("{method:?} {kind:?}");
            let inner = crate::common::kit::holding(entries.clone());
            let faulty = Faulty::over(inner.clone(), (method, 1, kind));
            let run = agent(rest(&inner), &paid).resume(faulty);
            let outcome = end(&timeout(DAY, drive(run, &inner)).await.expect(&way));
            assert_eq!(outcome.reason, EndReason::InternalError, "{way}");
            assert_eq!(inner.entries(), entries, "{way}");
            let run = agent(rest(&inner), &paid).resume(inner.clone());
            assert_whole(&way, &end(&drive(run, &inner).await), &inner, &paid);
        }
    }
    assert_eq!(paid.get(), 1);
}

/// The look for a receipt must not hold the run up, whatever the journal does.
#[tokio::test(start_paused = true)]
async fn a_look_for_receipts_that_hangs_ends_the_drive() {
    let paid = Counter::default();
    let inner = Arc::new(MemoryJournal::new());
    agent(turns(), &paid).run_in(inner.clone(), "go").outcome().await.unwrap();
    // Begun, and no result: it is of unknown outcome when the run goes on.
    let begun = inner.entries().iter().position(|entry| entry.key.as_str().starts_with("begun/")).unwrap();
    let entries = inner.entries()[..=begun].to_vec();
    for kind in FAULTS {
        let inner = crate::common::kit::holding(entries.clone());
        let faulty = Faulty::over(inner.clone(), (Method::Wait, 1, kind));
        let run = agent(rest(&inner), &paid).resume(faulty);
        let outcome = end(&timeout(DAY, drive(run, &inner)).await.expect("it ends"));
        assert_eq!((outcome.reason, outcome.unknown.len()), (EndReason::InternalError, 1), "{kind:?}");
        let run = agent(rest(&inner), &paid).resume(inner.clone());
        let outcome = end(&drive(run, &inner).await);
        assert_eq!((&*told(&outcome.messages)[0], outcome.unknown.len()), (UNKNOWN, 1));
    }
    assert_eq!(paid.get(), 1);
}

/// Tools that run beside a call of the caller come to their end when the journal fails to wait for it.
#[tokio::test(start_paused = true)]
async fn effects_come_to_their_end_when_the_journal_fails_beside_them() {
    let paid = Counter::default();
    let done = paid.clone();
    let pay = attache_agent::tool_fn("pay", "", move |_: attache_agent::NoArguments| {
        let done = done.clone();
        async move {
            tokio::time::sleep(Duration::from_secs(5)).await;
            Ok::<_, attache_core::ToolError>(format!("receipt {}", 16 + done.add()))
        }
    });
    let ask = ToolDefinition::new("ask", "", json!({"type": "object", "properties": {}}));
    let model = ScriptedModel::new([Turn::call("ask", "{}").and_call("pay", "{}")]);
    let builder = Agent::builder(model).tool(pay).tool_set(Tools::new().with_external(ask));
    let faulty = Faulty::new((Method::Wait, 1, Fault::Fails));
    let error = builder.build().unwrap().run_in(faulty.clone(), "go").outcome().await.unwrap_err();
    assert_eq!((error.reason(), paid.get()), (&EndReason::InternalError, 1));
    assert_eq!(told(&error.partial().messages)[1], "receipt 17");
    assert!(error.partial().unknown.is_empty());
    assert_eq!(keys(&faulty.inner).iter().filter(|key| key.starts_with("tool/")).count(), 1);
}

/// A log that somebody writes all the time cannot be claimed. Whoever waits for it can be cancelled, and learns it.
#[tokio::test(start_paused = true)]
async fn a_log_that_always_moves_is_not_claimed_for_ever() {
    /// Moves on between each load and claim.
    #[derive(Default)]
    struct Moves(MemoryJournal, Mutex<usize>);
    impl Journal for Moves {
        fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
            self.0.load()
        }
        fn claim(&self, entries: usize) -> BoxFuture<'_, Result<Fence, JournalError>> {
            *self.1.lock().unwrap() += 1;
            Box::pin(async move { Err(JournalError::Moved { entries: entries + 1 }) })
        }
        fn append(&self, _: Fence, _: Vec<Entry>) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
            panic!("nobody has claimed it")
        }
        fn deliver(&self, entry: Entry) -> BoxFuture<'_, Result<Entry, JournalError>> {
            self.0.deliver(entry)
        }
        fn wait<'a>(
            &'a self,
            key: &'a Key,
            until: Option<std::time::SystemTime>,
        ) -> BoxFuture<'a, Result<Option<Entry>, JournalError>> {
            self.0.wait(key, until)
        }
    }
    let journal = Arc::new(Moves::default());
    let agent = agent(Vec::new(), &Counter::default());
    let error = timeout(DAY, agent.run_in(journal.clone(), "go").outcome()).await.unwrap().unwrap_err();
    assert!(matches!(error.journal_error(), Some(JournalError::Moved { .. })));
    assert!(*journal.1.lock().unwrap() > 1);

    let mut run = agent.run_in(journal, "go");
    run.control().cancel();
    assert_eq!(end(&all(&mut run).await).reason, EndReason::Cancelled);
}

/// A result that could not be recorded may be submitted again.
#[tokio::test(start_paused = true)]
async fn a_submission_that_fails_may_be_made_again() {
    for kind in FAULTS {
        let faulty = Faulty::new((Method::Deliver, 1, kind));
        let rounds = vec![Turn::call("ask", "{}"), Turn::text("done")];
        let mut run = agent(rounds, &Counter::default()).run_in(faulty.clone(), "go");
        until_it_waits(&mut run).await;
        let control = run.control();
        let calls: Vec<ToolCall> = control.awaiting();
        let result = || [ToolResult::ok(&calls[0], "yes")];
        timeout(DAY, control.submit(result())).await.expect("it ends").unwrap_err();
        control.submit(result()).await.unwrap();
        assert_eq!(told(&end(&all(&mut run).await).messages), ["yes"], "{kind:?}");
    }
}

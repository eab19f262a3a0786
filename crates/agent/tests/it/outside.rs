//! Results that somebody delivers from outside, who knows the journal and the call and drives nothing.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use crate::common::journals::{Fault, Faulty, Method};
use crate::common::kit::{all, before, end, holding, keys, told, until_it_waits};
use attache_agent::{
    Agent, AgentRun, EndReason, Entry, Event, EventKind, Fence, Journal, JournalError, Key, MemoryJournal,
    Run, SubmitError, Tools, deliver,
};
use attache_core::{BoxFuture, ToolCall, ToolCallId, ToolDefinition, ToolResult};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::json;

/// A model that asks the caller.
fn agent(turns: impl IntoIterator<Item = Turn>) -> Agent {
    let ask = ToolDefinition::new("ask", "", json!({"type": "object", "properties": {}}));
    let builder =
        Agent::builder(ScriptedModel::new(turns).unverified()).tool_set(Tools::new().with_external(ask));
    builder.answer_deadline(Duration::from_secs(3600)).build().unwrap()
}

fn asked(events: &[Event]) -> Vec<ToolCall> {
    let call = |event: &Event| match &event.kind {
        EventKind::ExternalPending { call } => Some(call.clone()),
        _ => None,
    };
    events.iter().filter_map(call).collect()
}

/// A run that waits for the answers to two calls.
async fn waiting(journal: Arc<dyn Journal>) -> (AgentRun, Vec<ToolCall>) {
    let calls = Turn::call("ask", "{}").and_call("ask", "{}");
    let mut run = agent([calls, Turn::text("done")]).run_in(journal, "go");
    let calls = asked(&until_it_waits(&mut run).await);
    assert_eq!(calls.len(), 2);
    (run, calls)
}

#[tokio::test(start_paused = true)]
async fn results_reach_a_run_that_nobody_drives() {
    let journal = Arc::new(MemoryJournal::new());
    let (run, calls) = waiting(journal.clone()).await;
    drop(run);
    let entries = journal.entries();
    deliver(&*journal, ToolResult::ok(&calls[1], "b")).await.unwrap();
    deliver(&*journal, ToolResult::ok(&calls[0], "a")).await.unwrap();
    assert_eq!(journal.entries(), entries, "who delivers writes nothing into the log");
    let outcome = agent([Turn::text("done")]).resume(journal.clone()).outcome().await.unwrap();
    assert_eq!(
        (&outcome.reason, told(&outcome.messages)),
        (&EndReason::Answer, vec!["a".into(), "b".into()])
    );
    assert_eq!(Run::replay(&journal.entries()).unwrap().outcome(), outcome);
}

#[tokio::test(start_paused = true)]
async fn results_reach_a_run_that_somebody_drives() {
    let journal = Arc::new(MemoryJournal::new());
    let (mut run, calls) = waiting(journal.clone()).await;
    deliver(&*journal, ToolResult::ok(&calls[0], "a")).await.unwrap();
    assert!(matches!(until_it_waits(&mut run).await[0].kind, EventKind::ToolFinished { .. }));
    deliver(&*journal, ToolResult::ok(&calls[1], "b")).await.unwrap();
    assert_eq!(told(&end(&all(&mut run).await).messages), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_second_result_is_refused_and_the_same_one_may_come_again() {
    let journal = Arc::new(MemoryJournal::new());
    let (mut run, calls) = waiting(journal.clone()).await;
    for moment in ["delivered", "in the log"] {
        let first = deliver(&*journal, ToolResult::ok(&calls[0], "a")).await;
        let duplicate = |result: Result<(), SubmitError>| matches!(result.unwrap_err(), SubmitError::DuplicateResult { id } if id == calls[0].id);
        match moment {
            // A webhook that did not hear the answer tries again.
            "delivered" => {
                first.unwrap();
                deliver(&*journal, ToolResult::ok(&calls[0], "a")).await.unwrap();
            }
            _ => assert!(duplicate(first)),
        }
        assert!(duplicate(deliver(&*journal, ToolResult::ok(&calls[0], "another")).await), "{moment}");
        until_it_waits(&mut run).await;
    }
    deliver(&*journal, ToolResult::ok(&calls[1], "b")).await.unwrap();
    assert_eq!(told(&end(&all(&mut run).await).messages), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_result_of_no_call_that_waits_is_refused() {
    let result = |id: &str| {
        let call = ToolCall::new("ask", attache_core::Arguments::new("{}"));
        ToolResult::ok(&call.with_id(ToolCallId::parse(id).unwrap()), "x")
    };
    let unknown = |error: SubmitError| matches!(error, SubmitError::UnknownCall { .. });
    let journal = Arc::new(MemoryJournal::new());
    assert!(unknown(deliver(&*journal, result("nobody")).await.unwrap_err()), "before the run began");
    let (run, calls) = waiting(journal.clone()).await;
    assert!(unknown(deliver(&*journal, result("nobody")).await.unwrap_err()));
    // Before the call was made.
    let early = holding(before(&journal.entries(), "model/1"));
    assert!(unknown(deliver(&*early, ToolResult::ok(&calls[0], "a")).await.unwrap_err()));
    let entries = journal.entries();
    drop(run);
    assert_eq!(journal.entries(), entries);
}

#[tokio::test(start_paused = true)]
async fn a_result_for_a_run_that_has_ended_is_refused() {
    let journal = Arc::new(MemoryJournal::new());
    let (mut run, calls) = waiting(journal.clone()).await;
    run.control().cancel();
    let outcome = end(&all(&mut run).await);
    let closed = |error: SubmitError| matches!(error, SubmitError::ChatLoopClosed);
    assert!(closed(deliver(&*journal, ToolResult::ok(&calls[0], "a")).await.unwrap_err()));
    assert_eq!(Run::replay(&journal.entries()).unwrap().outcome(), outcome);
    assert_eq!((outcome.reason, outcome.pending.len(), outcome.unknown.len()), (EndReason::Cancelled, 0, 0));
}

/// A journal in which something happens just before an entry is delivered, or just before the end is appended.
struct Between {
    inner: Arc<MemoryJournal>,
    before_delivery: tokio::sync::Mutex<Option<AgentRun>>,
    before_end: Mutex<Option<Entry>>,
}

impl Journal for Between {
    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        self.inner.load()
    }

    fn claim(&self, entries: usize) -> BoxFuture<'_, Result<Fence, JournalError>> {
        self.inner.claim(entries)
    }

    fn append(&self, fence: Fence, entries: Vec<Entry>) -> BoxFuture<'_, Result<Vec<Entry>, JournalError>> {
        Box::pin(async move {
            let is_end = entries.iter().any(|entry| entry.key.as_str() == "end");
            let due = self.before_end.lock().unwrap().take_if(|_| is_end);
            if let Some(entry) = due {
                self.inner.deliver(entry).await?;
            }
            self.inner.append(fence, entries).await
        })
    }

    fn deliver(&self, entry: Entry) -> BoxFuture<'_, Result<Entry, JournalError>> {
        Box::pin(async move {
            if let Some(mut run) = self.before_delivery.lock().await.take() {
                run.control().cancel();
                all(&mut run).await;
            }
            self.inner.deliver(entry).await
        })
    }

    fn wait<'a>(
        &'a self,
        key: &'a Key,
        until: Option<SystemTime>,
    ) -> BoxFuture<'a, Result<Option<Entry>, JournalError>> {
        self.inner.wait(key, until)
    }
}

fn between() -> Arc<Between> {
    let (inner, before_delivery) = (Arc::default(), tokio::sync::Mutex::default());
    Arc::new(Between { inner, before_delivery, before_end: Mutex::default() })
}

/// The run ends between the look of whoever delivers and the delivery.
#[tokio::test(start_paused = true)]
async fn a_result_that_comes_just_after_the_end_is_refused() {
    let journal = between();
    let (run, calls) = waiting(journal.clone()).await;
    *journal.before_delivery.lock().await = Some(run);
    let error = deliver(&*journal, ToolResult::ok(&calls[0], "a")).await.unwrap_err();
    assert!(matches!(error, SubmitError::ChatLoopClosed), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_result_that_comes_just_before_the_end_is_in_the_outcome() {
    let journal = between();
    let (mut run, calls) = waiting(journal.clone()).await;
    // The entry as it would be delivered.
    let copy = holding(journal.inner.entries());
    deliver(&*copy, ToolResult::ok(&calls[0], "a")).await.unwrap();
    let entry = copy.wait(&Key::result(&calls[0].id), Some(SystemTime::now())).await.unwrap().unwrap();
    *journal.before_end.lock().unwrap() = Some(entry);
    run.control().cancel();
    let outcome = end(&all(&mut run).await);
    assert_eq!((&outcome.reason, &*told(&outcome.messages)[0]), (&EndReason::Cancelled, "a"));
    assert_eq!(Run::replay(&journal.inner.entries()).unwrap().outcome(), outcome);
}

/// However the end of a run that waited for its caller is cut, the log is one that can be gone on from.
#[tokio::test(start_paused = true)]
async fn an_end_that_closes_calls_is_folded_at_each_cut() {
    let journal = Arc::new(MemoryJournal::new());
    let (mut run, _) = waiting(journal.clone()).await;
    run.control().cancel();
    let outcome = end(&all(&mut run).await);
    let entries = journal.entries();
    let asked = before(&entries, "end").len();
    let resumed = agent([]).resume(holding(entries[..asked].to_vec())).outcome().await.unwrap();
    assert_eq!((&resumed.reason, &resumed.messages), (&EndReason::Cancelled, &outcome.messages));
    for cut in 1..entries.len() {
        let journal = holding(entries[..cut].to_vec());
        let mut run = agent([Turn::call("ask", "{}")]).resume(journal.clone());
        until_it_waits(&mut run).await;
        run.control().cancel();
        let events = all(&mut run).await;
        assert!(events.is_empty() || end(&events).reason == EndReason::Cancelled, "cut at {cut}");
        assert!(keys(&journal).contains(&"end".to_owned()), "cut at {cut}");
    }
}

/// A webhook must not hang for ever, either.
#[tokio::test(start_paused = true)]
async fn delivering_to_a_journal_that_hangs_or_fails_is_an_error() {
    for (method, call) in [(Method::Load, 1), (Method::Deliver, 1)] {
        for kind in [Fault::Fails, Fault::FailsAfterwards, Fault::Hangs, Fault::HangsAfterwards] {
            let inner = Arc::new(MemoryJournal::new());
            let (run, calls) = waiting(inner.clone()).await;
            drop(run);
            let journal = Faulty::over(inner.clone(), (method, call, kind));
            let result = || ToolResult::ok(&calls[0], "a");
            let day = Duration::from_secs(24 * 3600);
            let delivered = tokio::time::timeout(day, deliver(&*journal, result())).await;
            let error = delivered.expect("it ends").unwrap_err();
            assert!(matches!(error, SubmitError::Journal(_)), "{method:?} {kind:?}: {error:?}");
            // The next attempt succeeds, whether the first one was written or not.
            deliver(&*journal, result()).await.unwrap();
            deliver(&*journal, ToolResult::ok(&calls[1], "b")).await.unwrap();
            let outcome = agent([Turn::text("done")]).resume(inner).outcome().await.unwrap();
            assert_eq!(told(&outcome.messages), ["a", "b"]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_submission_behind_another_delivery_is_a_duplicate() {
    let journal = Arc::new(MemoryJournal::new());
    let (mut run, calls) = waiting(journal.clone()).await;
    let control = run.control();
    deliver(&*journal, ToolResult::ok(&calls[0], "a")).await.unwrap();
    let second = control.submit([ToolResult::ok(&calls[0], "b")]).await;
    assert!(matches!(&second, Err(SubmitError::DuplicateResult { id }) if *id == calls[0].id), "{second:?}");
    control.submit([ToolResult::ok(&calls[1], "c")]).await.unwrap();
    assert_eq!(told(&end(&all(&mut run).await).messages), ["a", "c"]);
}

#[tokio::test(start_paused = true)]
async fn time_limits_may_be_as_long_as_durations_are() {
    let ask = ToolDefinition::new("ask", "", json!({"type": "object", "properties": {}}));
    let reads = attache_agent::tool_fn("reads", "", || Ok::<_, attache_core::ToolError>("read"));
    let turns = [Turn::call("ask", "{}").and_call("reads", "{}"), Turn::text("done")];
    let builder = Agent::builder(ScriptedModel::new(turns)).tool(reads);
    let builder = builder.tool_set(Tools::new().with_external(ask));
    let builder = builder.tool_timeout(Duration::MAX).answer_deadline(Duration::MAX).deadline(Duration::MAX);
    let mut run = builder.build().unwrap().run("go");
    let calls = asked(&until_it_waits(&mut run).await);
    run.control().submit([ToolResult::ok(&calls[0], "a")]).await.unwrap();
    assert_eq!(told(&end(&all(&mut run).await).messages), ["a", "read"]);
}

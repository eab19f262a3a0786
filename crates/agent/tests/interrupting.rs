//! Cancellations and deadlines that come while something is recorded which cannot be had again.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

mod common;

use std::sync::Arc;
use std::time::Duration;

use attache_agent::{Agent, AgentBuilder, EndReason, NoArguments, Outcome, Run, tool_fn};
use attache_core::{Content, Document, Effect, Message, Tool, ToolError, UserMessage};
use attache_testkit::{ScriptedModel, Turn};
use common::Counter;
use common::journals::{Fault, Faulty, Method, SlowStore};
use common::kit::{UNKNOWN, all, counting, end, heard, keys, pdf, told, until_it_waits};
use serde_json::json;
use tokio::time::{Instant, sleep};

fn agent(turns: impl IntoIterator<Item = Turn>, tool: impl Tool + 'static) -> AgentBuilder {
    Agent::builder(ScriptedModel::new(turns)).tool(tool)
}

/// Runs until it waits, cancels, and runs to the end.
async fn cancelled(agent: &Agent, journal: Arc<Faulty>) -> Outcome {
    let mut run = agent.run_in(journal, "go");
    until_it_waits(&mut run).await;
    run.control().cancel();
    end(&all(&mut run).await)
}

fn pay(paid: &Counter) -> impl Tool + 'static {
    counting("pay", Effect::Effect, paid)
}

// The appends: the start, the reply, the intent, the result.
#[tokio::test(start_paused = true)]
async fn a_result_that_is_being_recorded_is_recorded_before_a_cancellation() {
    let paid = Counter::default();
    let journal = Faulty::new((Method::Append, 4, Fault::Takes(2)));
    let agent = agent([Turn::call("pay", json!({"n": 7}))], pay(&paid)).build().unwrap();
    let outcome = cancelled(&agent, journal.clone()).await;
    assert_eq!((&outcome.reason, paid.get()), (&EndReason::Cancelled, 1));
    assert_eq!(told(&outcome.messages), ["7"]);
    assert!(outcome.unknown.is_empty());
    assert_eq!(Run::replay(&journal.inner.entries()).unwrap().outcome(), outcome);
}

#[tokio::test(start_paused = true)]
async fn a_result_that_is_being_recorded_is_recorded_before_a_deadline() {
    let paid = Counter::default();
    let journal = Faulty::new((Method::Append, 4, Fault::Takes(3)));
    let builder = agent([Turn::call("pay", json!({"n": 7}))], pay(&paid)).deadline(Duration::from_secs(1));
    let outcome = builder.build().unwrap().run_in(journal.clone(), "go").outcome().await.unwrap();
    assert_eq!((&outcome.reason, paid.get()), (&EndReason::Deadline, 1));
    assert_eq!(told(&outcome.messages), ["7"]);
    assert_eq!(Run::replay(&journal.inner.entries()).unwrap().outcome(), outcome);
}

#[tokio::test(start_paused = true)]
async fn a_document_that_is_being_stored_is_stored_before_a_cancellation() {
    let scan = tool_fn("scan", "", |_: NoArguments| async { Ok::<_, ToolError>(pdf("a.pdf")) });
    let store = Arc::new(SlowStore::new(2));
    let agent = agent([Turn::call("scan", "{}")], scan).store(store.clone()).build().unwrap();
    let journal = Faulty::new(None);
    let outcome = cancelled(&agent, journal.clone()).await;
    assert_eq!(outcome.reason, EndReason::Cancelled);
    let results = common::kit::results(&outcome.messages);
    let ids: Vec<_> = results[0].documents.iter().map(Document::id).collect();
    assert_eq!(ids.len(), 1);
    assert!(store.has(ids[0]).await);
    assert_eq!(
        told(&Run::replay(&journal.inner.entries()).unwrap().outcome().messages),
        told(&outcome.messages)
    );
}

// The appends: the start, the reply, both intents, the result of `pay`, the end that `stop` makes.
#[tokio::test(start_paused = true)]
async fn a_result_that_is_being_recorded_is_recorded_before_an_abort() {
    let paid = Counter::default();
    let stop = tool_fn("stop", "", |_: NoArguments| async {
        sleep(Duration::from_secs(1)).await;
        Err::<(), _>(ToolError::abort("stop now"))
    });
    let calls = Turn::call("pay", json!({"n": 7})).and_call("stop", "{}");
    let journal = Faulty::new((Method::Append, 4, Fault::Takes(2)));
    let agent = agent([calls], pay(&paid)).tool(stop).build().unwrap();
    let error = agent.run_in(journal.clone(), "go").outcome().await.unwrap_err();
    assert_eq!((error.reason(), paid.get()), (&EndReason::ToolAbort, 1));
    assert_eq!(told(&error.partial().messages), ["7", "stop now"]);
    assert_eq!(told(&Run::replay(&journal.inner.entries()).unwrap().outcome().messages), ["7", "stop now"]);
}

#[tokio::test(start_paused = true)]
async fn an_abort_that_is_being_recorded_is_recorded_before_a_cancellation() {
    let stop = tool_fn("stop", "", |_: NoArguments| async { Err::<(), _>(ToolError::abort("stop now")) });
    let journal = Faulty::new((Method::Append, 4, Fault::Takes(2)));
    let agent = agent([Turn::call("stop", "{}")], stop).build().unwrap();
    let outcome = cancelled(&agent, journal.clone()).await;
    assert_eq!((told(&outcome.messages), outcome.unknown.len()), (vec!["stop now".to_owned()], 0));
    assert_eq!(Run::replay(&journal.inner.entries()).unwrap().outcome(), outcome);
}

#[tokio::test(start_paused = true)]
async fn a_result_that_the_journal_does_not_take_holds_up_no_cancellation() {
    let paid = Counter::default();
    let journal = Faulty::lasting((Method::Append, 4, Fault::Hangs));
    let agent = agent([Turn::call("pay", json!({"n": 7}))], pay(&paid)).build().unwrap();
    let start = Instant::now();
    let outcome = cancelled(&agent, journal.clone()).await;
    assert!(start.elapsed() <= Duration::from_secs(6), "{:?}", start.elapsed());
    assert_eq!((&outcome.reason, told(&outcome.messages)), (&EndReason::Cancelled, vec![UNKNOWN.to_owned()]));
    assert!(!keys(&journal.inner).contains(&"end".to_owned()));
}

async fn injected(fault: Fault) -> (Outcome, Outcome) {
    // The appends: the start, the inbox.
    let journal = Faulty::new((Method::Append, 2, fault));
    let agent = Agent::builder(ScriptedModel::new([Turn::text("done")])).build().unwrap();
    let mut run = agent.run_in(journal.clone(), "go");
    run.control().inject(UserMessage::new([Content::text("and this")])).unwrap();
    until_it_waits(&mut run).await;
    run.control().cancel();
    let outcome = end(&all(&mut run).await);
    (outcome, Run::replay(&journal.inner.entries()).unwrap().outcome())
}

fn unread(outcome: &Outcome) -> Vec<String> {
    heard(&outcome.unread)
}

#[tokio::test(start_paused = true)]
async fn an_injected_message_that_is_being_recorded_is_read_or_unread_but_not_both() {
    let count = |outcome: &Outcome| {
        let ids = outcome.messages.iter().chain(&outcome.unread).map(|message: &Arc<Message>| message.id());
        let mut ids: Vec<String> = ids.map(ToString::to_string).collect();
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        (all, ids.len(), heard(&outcome.messages).len() + unread(outcome).len())
    };
    // In time, too late, and written without an answer.
    for (fault, read) in [(Fault::Takes(2), true), (Fault::Hangs, false), (Fault::HangsAfterwards, true)] {
        let (outcome, replayed) = injected(fault).await;
        assert_eq!(outcome.reason, EndReason::Cancelled);
        for outcome in [&outcome, &replayed] {
            assert_eq!(count(outcome), (2, 2, 2), "{fault:?}: {outcome:?}");
        }
        assert_eq!(replayed.unread.is_empty(), read, "{fault:?}");
    }
}

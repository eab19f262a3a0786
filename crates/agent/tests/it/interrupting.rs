//! Cancellations and deadlines that come while something is recorded which cannot be had again.

use std::sync::Arc;
use std::time::Duration;

use crate::common::Counter;
use crate::common::journals::{Fault, Faulty, Method, SlowStore};
use crate::common::kit::{all, counting, end, heard, keys, pdf, roles, told, until_it_waits};
use attache_agent::{
    Agent, AgentBuilder, EndReason, EventKind, HookContext, HookError, NoArguments, Outcome, ReplyVerdict,
    Run, RunHook, tool_fn,
};
use attache_core::{
    AssistantMessage, BoxFuture, Document, Effect, Message, Tool, ToolError, UserMessage, UserPart,
};
use attache_testkit::{ScriptedModel, Turn};
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
    counting("pay", Effect::SideEffect, paid)
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
    let results = crate::common::kit::results(&outcome.messages);
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
    assert_eq!(outcome.reason, EndReason::Cancelled);
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
    assert_eq!((&outcome.reason, told(&outcome.messages)), (&EndReason::Cancelled, vec!["7".to_owned()]));
    assert!(!keys(&journal.inner).contains(&"end".to_owned()));
}

/// Three payments, two of them at once: the first is being recorded when the second one makes room for the third.
#[tokio::test(start_paused = true)]
async fn a_result_that_is_being_recorded_survives_a_cancellation_between_two_calls() {
    let paid = Counter::default();
    let calls = (1..=3).fold(Turn::empty(), |turn, n| turn.and_call("pay", json!({"n": n})));
    // The start, the reply, two intents at once, the first result.
    let journal = Faulty::new((Method::Append, 4, Fault::Takes(2)));
    let agent = agent([calls], pay(&paid)).parallel_calls(2).build().unwrap();
    let mut run = agent.run_in(journal.clone(), "go");
    while let Some(event) = run.next().await {
        if matches!(event.kind, EventKind::ToolFinished { .. }) {
            break;
        }
    }
    run.control().cancel();
    let outcome = end(&all(&mut run).await);
    assert_eq!((&told(&outcome.messages)[..2], paid.get()), (&["1".to_owned(), "2".to_owned()][..], 2));
    assert!(outcome.unknown.is_empty());
    assert_eq!(Run::replay(&journal.inner.entries()).unwrap().outcome(), outcome);
}

/// The answer of the journal is lost, not what it was told.
#[tokio::test(start_paused = true)]
async fn a_reply_that_was_written_without_an_answer_is_said_once() {
    for fault in [Fault::HangsAfterwards, Fault::Hangs] {
        let journal = Faulty::new((Method::Append, 2, fault));
        let agent = Agent::builder(ScriptedModel::new([Turn::text("done")])).build().unwrap();
        let outcome = cancelled(&agent, journal.clone()).await;
        assert_eq!((&outcome.reason, roles(&outcome.messages)), (&EndReason::Cancelled, "ua".to_owned()));
        assert_eq!((outcome.steps, outcome.usage.output_tokens), (1, Some(5)), "{fault:?}");
        assert_eq!(Run::replay(&journal.inner.entries()).unwrap().outcome(), outcome, "{fault:?}");
    }
}

/// Blocks each reply.
struct Block;

impl RunHook for Block {
    fn after_model<'a>(
        &'a self,
        _: &'a AssistantMessage,
        _: &'a HookContext<'_>,
    ) -> BoxFuture<'a, Result<ReplyVerdict, HookError>> {
        Box::pin(async { Ok(ReplyVerdict::Block("I cannot say.".to_owned())) })
    }
}

/// Viewers have read the reply: they learn that it does not count, and what it cost, also where the run ends
/// while its verdict is recorded.
#[tokio::test(start_paused = true)]
async fn a_reply_that_is_withdrawn_while_the_run_is_interrupted_is_told_to_be() {
    for fault in [Fault::HangsAfterwards, Fault::Hangs, Fault::Takes(2)] {
        // The start, the word of the hook before the step, the reply.
        let journal = Faulty::new((Method::Append, 3, fault));
        let agent = Agent::builder(ScriptedModel::new([Turn::text("secret")])).hook(Block).build().unwrap();
        let mut run = agent.run_in(journal.clone(), "go");
        let mut events = until_it_waits(&mut run).await;
        run.control().cancel();
        events.extend(all(&mut run).await);
        let mut said = None;
        let mut told = Vec::new();
        for event in &events {
            match &event.kind {
                EventKind::StepStarted { reply, .. } => said = Some(reply),
                EventKind::ReplyWithdrawn { reply } => told.push((Some(reply) == said, 0)),
                EventKind::StepFinished { usage, .. } => told.push((true, usage.output_tokens.unwrap())),
                _ => {}
            }
        }
        assert_eq!(told, [(true, 0), (true, 5)], "{fault:?}");
        assert_eq!(end(&events).text, "I cannot say.", "{fault:?}");
    }
}

/// A document of the model belongs to the step in which it was made, and its tokens are told, however slow the journal is.
#[tokio::test(start_paused = true)]
async fn a_document_of_a_reply_has_its_step_while_the_run_is_interrupted() {
    for fault in [Fault::HangsAfterwards, Fault::Hangs, Fault::Takes(2)] {
        let journal = Faulty::new((Method::Append, 2, fault));
        let turn = Turn::text("Here.").making(pdf("a.pdf"));
        let agent = Agent::builder(ScriptedModel::new([turn]).unverified()).build().unwrap();
        let mut run = agent.run_in(journal, "go");
        let mut events = until_it_waits(&mut run).await;
        run.control().cancel();
        events.extend(all(&mut run).await);
        let steps = |is_meant: fn(&EventKind) -> bool| -> Vec<u32> {
            events.iter().filter(|event| is_meant(&event.kind)).map(|event| event.step).collect()
        };
        let started = steps(|kind| matches!(kind, EventKind::StepStarted { .. }));
        assert_eq!(
            (started.len(), steps(|kind| matches!(kind, EventKind::Made(_)))),
            (1, started),
            "{fault:?}"
        );
        assert_eq!(steps(|kind| matches!(kind, EventKind::StepFinished { .. })), [1], "{fault:?}");
        assert!(events.iter().map(|event| event.seq).eq(1..=events.len() as u64), "{fault:?}");
    }
}

/// The same of an intent. Its tool has not run, and nobody is told that it may have.
#[tokio::test(start_paused = true)]
async fn an_intent_that_was_written_without_an_answer_is_no_call_of_unknown_outcome() {
    for fault in [Fault::HangsAfterwards, Fault::Hangs, Fault::Takes(2)] {
        let paid = Counter::default();
        let calls = Turn::call("pay", json!({"n": 7})).and_call("pay", json!({"n": 8}));
        let journal = Faulty::new((Method::Append, 3, fault));
        let agent = agent([calls], pay(&paid)).parallel_calls(1).build().unwrap();
        let outcome = cancelled(&agent, journal.clone()).await;
        assert_eq!((&outcome.reason, paid.get()), (&EndReason::Cancelled, 0), "{fault:?}");
        assert_eq!(told(&outcome.messages), ["Tool execution was canceled."; 2], "{fault:?}");
        assert!(outcome.unknown.is_empty(), "{fault:?}");
        assert_eq!(Run::replay(&journal.inner.entries()).unwrap().outcome(), outcome, "{fault:?}");
    }
}

/// The same of a result. The end is not recorded before it.
#[tokio::test(start_paused = true)]
async fn a_result_that_was_written_without_an_answer_is_told() {
    for fault in [Fault::HangsAfterwards, Fault::Hangs] {
        let paid = Counter::default();
        let journal = Faulty::new((Method::Append, 4, fault));
        let agent = agent([Turn::call("pay", json!({"n": 7}))], pay(&paid)).build().unwrap();
        let outcome = cancelled(&agent, journal.clone()).await;
        assert_eq!(told(&outcome.messages), ["7"], "{fault:?}");
        assert_eq!(Run::replay(&journal.inner.entries()).unwrap().outcome(), outcome, "{fault:?}");
    }
}

/// A run is never ended in its log without a result that this process has.
#[tokio::test(start_paused = true)]
async fn a_result_that_the_journal_refuses_keeps_the_log_open() {
    let paid = Counter::default();
    let journal = Faulty::refusing("tool/");
    let agent = agent([Turn::call("pay", json!({"n": 7}))], pay(&paid)).build().unwrap();
    let outcome = cancelled(&agent, journal.clone()).await;
    assert_eq!((&outcome.reason, told(&outcome.messages)), (&EndReason::Cancelled, vec!["7".to_owned()]));
    let keys = keys(&journal.inner);
    assert!(!keys.iter().any(|key| key == "end" || key.starts_with("tool/")), "{keys:?}");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_slow_costs_no_result() {
    let scan = tool_fn("scan", "", |_: NoArguments| async { Ok::<_, ToolError>(pdf("a.pdf")) });
    let builder = agent([Turn::call("scan", "{}")], scan).store(Arc::new(SlowStore::new(3600)));
    let journal = Faulty::new(None);
    let start = Instant::now();
    let outcome = cancelled(&builder.build().unwrap(), journal.clone()).await;
    assert!(start.elapsed() <= Duration::from_secs(6), "{:?}", start.elapsed());
    assert_eq!(crate::common::kit::results(&outcome.messages)[0].documents.len(), 1);
    let replayed = Run::replay(&journal.inner.entries()).unwrap().outcome();
    assert_eq!(
        (&replayed.reason, told(&replayed.messages)),
        (&EndReason::Cancelled, told(&outcome.messages))
    );
}

/// Neither does it hold up an abort.
#[tokio::test(start_paused = true)]
async fn an_abort_does_not_wait_for_the_store_of_another_result() {
    let scan = tool_fn("scan", "", |_: NoArguments| async { Ok::<_, ToolError>(pdf("a.pdf")) });
    let stop = tool_fn("stop", "", |_: NoArguments| async {
        sleep(Duration::from_secs(1)).await;
        Err::<(), _>(ToolError::abort("stop now"))
    });
    let calls = Turn::call("scan", "{}").and_call("stop", "{}");
    let agent = agent([calls], scan).tool(stop).store(Arc::new(SlowStore::new(20))).build().unwrap();
    let start = Instant::now();
    let error = agent.run_in(Faulty::new(None), "go").outcome().await.unwrap_err();
    assert_eq!(error.reason(), &EndReason::ToolAbort);
    let told = told(&error.partial().messages);
    assert!(told[0].contains("a.pdf") && told[1] == "stop now", "{told:?}");
    assert!(start.elapsed() <= Duration::from_secs(30), "{:?}", start.elapsed());
}

/// A journal over one connection: whoever appends waits for whoever was first.
#[tokio::test(start_paused = true)]
async fn a_journal_with_one_connection_is_not_waited_for_in_a_circle() {
    let paid = Counter::default();
    let calls = (1..=4).fold(Turn::empty(), |turn, n| turn.and_call("pay", json!({"n": n})));
    let agent = agent([calls, Turn::text("done")], pay(&paid)).parallel_calls(2).build().unwrap();
    let start = Instant::now();
    let outcome = agent.run_in(Faulty::one_at_a_time(), "go").outcome().await.unwrap();
    assert_eq!((told(&outcome.messages).len(), paid.get()), (4, 4));
    // A dozen appends of a second each; a circle costs a minute.
    assert!(start.elapsed() <= Duration::from_secs(20), "{:?}", start.elapsed());
}

/// A tool may come to its end while the consumer holds an event, and then cancels.
#[tokio::test(start_paused = true)]
async fn a_tool_that_ended_unseen_has_its_result() {
    let (pays, paid) = tokio::sync::oneshot::channel::<&str>();
    let paid = Arc::new(tokio::sync::Mutex::new(paid));
    let pay = tool_fn("pay", "", move |_: NoArguments| {
        let paid = Arc::clone(&paid);
        async move { (&mut *paid.lock().await).await.map_err(|error| ToolError::new(error.to_string())) }
    });
    let agent = agent([Turn::call("pay", "{}")], pay).build().unwrap();
    let mut run = agent.run_in(Faulty::new(None), "go");
    until_it_waits(&mut run).await;
    pays.send("paid").unwrap();
    run.control().cancel();
    let outcome = end(&all(&mut run).await);
    assert_eq!((&outcome.reason, told(&outcome.messages)), (&EndReason::Cancelled, vec!["paid".to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_injected_before_a_cancellation_is_unread() {
    let agent = Agent::builder(ScriptedModel::new([Turn::text("done")]).unverified()).build().unwrap();
    let mut run = agent.run_in(Faulty::new(None), "go");
    let control = run.control();
    control.inject(UserMessage::new([UserPart::text("and this")])).unwrap();
    control.cancel();
    let outcome = end(&all(&mut run).await);
    assert_eq!((heard(&outcome.messages).len(), unread(&outcome).len()), (1, 1));
}

async fn injected(fault: Fault) -> (Outcome, Outcome) {
    // The appends: the start, the inbox.
    let journal = Faulty::new((Method::Append, 2, fault));
    let agent = Agent::builder(ScriptedModel::new([Turn::text("done")]).unverified()).build().unwrap();
    let mut run = agent.run_in(journal.clone(), "go");
    run.control().inject(UserMessage::new([UserPart::text("and this")])).unwrap();
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

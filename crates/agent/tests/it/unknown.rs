//! Effects of which nobody knows whether they happened: one sentence for the model, one list for the caller, and the
//! receipt when it comes after all.

use std::sync::Arc;
use std::time::Duration;

use crate::common::Counter;
use crate::common::kit::{UNKNOWN, all, end, heard, roles, told, until_it_waits};
use attache_agent::{
    Agent, AgentRun, EndReason, EventKind, Journal, JournalError, MemoryJournal, NoArguments, Outcome, Run,
    RunError, tool_fn,
};
use attache_core::tool::ToolSpec;
use attache_core::{Tool, ToolContext, ToolDefinition, ToolError, ToolErrorKind};
use attache_testkit::{ScriptedModel, Turn};
use tokio::time::sleep;

/// Pays, after that many seconds.
fn pays(name: &'static str, seconds: u64, paid: &Counter) -> impl Tool + use<> {
    let paid = paid.clone();
    tool_fn(name, "", move |_: NoArguments| {
        let paid = paid.clone();
        async move {
            sleep(Duration::from_secs(seconds)).await;
            Ok::<_, ToolError>(format!("receipt {}", 16 + paid.add()))
        }
    })
}

fn fails(name: &'static str, error: fn() -> ToolError) -> impl Tool + 'static {
    tool_fn(name, "", move |_: NoArguments| async move { Err::<(), _>(error()) })
}

fn agent(turns: impl IntoIterator<Item = Turn>, pay: impl Tool + 'static) -> Agent {
    let aborts = tool_fn("aborts", "", |_: NoArguments| async {
        sleep(Duration::from_secs(1)).await;
        Err::<(), _>(ToolError::abort("stop"))
    });
    let slow = tool_fn("slow", "", |_: NoArguments| async {
        sleep(Duration::from_secs(10)).await;
        Ok::<_, ToolError>("slow")
    });
    let builder = Agent::builder(ScriptedModel::new(turns)).tool(pay).tool(aborts).tool(slow);
    builder.tool_timeout(Duration::from_secs(60)).build().unwrap()
}

/// How the call of `pay` ends in the run, told once by the drive and once by its log.
fn assert_unknown(way: &str, outcome: &Outcome, journal: &MemoryJournal, text: &str) {
    let told = told(&outcome.messages);
    assert_eq!(told.last().map(String::as_str), Some(text), "{way}");
    assert_eq!(outcome.unknown.iter().map(|call| &*call.name).collect::<Vec<_>>(), ["pay"], "{way}");
    let replayed = Run::replay(&journal.entries()).unwrap().outcome();
    assert_eq!((&replayed.unknown, &replayed.messages), (&outcome.unknown, &outcome.messages), "{way}");
}

async fn ended(mut run: AgentRun) -> Outcome {
    end(&all(&mut run).await)
}

#[tokio::test(start_paused = true)]
async fn an_unknown_outcome_is_told_in_the_same_words_everywhere() {
    let paid = Counter::default();
    let call = || Turn::call("pay", "{}");
    let never = || pays("pay", 3600, &paid);
    let journal = || Arc::new(MemoryJournal::new());

    // The process dies, and another one goes on.
    let log = journal();
    let mut run = agent([call()], never()).run_in(log.clone(), "go");
    until_it_waits(&mut run).await;
    drop(run);
    let outcome = ended(agent([Turn::text("done")], never()).resume(log.clone())).await;
    assert_unknown("crash", &outcome, &log, UNKNOWN);

    // Somebody cancels.
    let log = journal();
    let mut run = agent([call()], never()).run_in(log.clone(), "go");
    until_it_waits(&mut run).await;
    run.control().cancel();
    assert_unknown("cancel", &ended(run).await, &log, UNKNOWN);

    // The run's time is up, and with it that of the tool.
    let log = journal();
    let builder = Agent::builder(ScriptedModel::new([call(), Turn::text("done")]).unverified()).tool(never());
    let run = builder.deadline(Duration::from_secs(5)).build().unwrap().run_in(log.clone(), "go");
    let outcome = ended(run).await;
    let text = told(&outcome.messages).remove(0);
    assert!(
        text == UNKNOWN || text.starts_with("timed out after ") && text.ends_with(&format!(" s; {UNKNOWN}"))
    );
    assert_unknown("deadline", &outcome, &log, &text);

    // Another tool ends the run.
    let log = journal();
    let calls = Turn::call("aborts", "{}").and_call("pay", "{}");
    assert_unknown("abort", &ended(agent([calls], never()).run_in(log.clone(), "go")).await, &log, UNKNOWN);

    // The tool takes too long, says so itself, or panics.
    let rest = || [call(), Turn::text("done")];
    let log = journal();
    let outcome = ended(agent(rest(), never()).run_in(log.clone(), "go")).await;
    assert_unknown("time-out", &outcome, &log, &format!("timed out after 60 s; {UNKNOWN}"));
    let log = journal();
    let late = fails("pay", || ToolError::new("no answer from the bank").with_kind(ToolErrorKind::Timeout));
    let outcome = ended(agent(rest(), late).run_in(log.clone(), "go")).await;
    assert_unknown("own time-out", &outcome, &log, &format!("no answer from the bank; {UNKNOWN}"));
    let log = journal();
    let outcome = ended(agent(rest(), fails("pay", || panic!("a bug"))).run_in(log.clone(), "go")).await;
    assert_unknown("panic", &outcome, &log, &format!("the tool failed unexpectedly; {UNKNOWN}"));

    // Another driver takes the run over.
    let log = journal();
    let mut first = agent([call()], never()).run_in(log.clone(), "go");
    until_it_waits(&mut first).await;
    let outcome = ended(agent([Turn::text("done")], never()).resume(log.clone())).await;
    assert_unknown("second driver", &outcome, &log, UNKNOWN);
    assert_eq!(paid.get(), 0);
}

/// A plain failure of an effect is its result: nothing is unknown of it, and reading is never of unknown outcome.
#[tokio::test(start_paused = true)]
async fn a_known_failure_is_not_of_unknown_outcome() {
    let turns = || [Turn::call("pay", "{}"), Turn::text("done")];
    let outcome = ended(agent(turns(), fails("pay", || ToolError::new("no funds"))).run("go")).await;
    assert_eq!((told(&outcome.messages), outcome.unknown.len()), (vec!["no funds".to_owned()], 0));
    /// Reads, and panics.
    struct Reads(ToolSpec);
    impl Tool for Reads {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }
        fn run(
            &self,
            _: serde_json::Map<String, serde_json::Value>,
            _: ToolContext,
        ) -> attache_core::BoxFuture<'_, Result<attache_core::ToolOutput, ToolError>> {
            panic!("a bug")
        }
    }
    let definition = ToolDefinition::new("pay", "", serde_json::json!({}));
    let reads = Reads(ToolSpec::new(definition).with_effect(attache_core::Effect::Read));
    let outcome = ended(agent(turns(), reads).run("go")).await;
    assert_eq!(told(&outcome.messages), ["the tool failed unexpectedly"]);
    assert!(outcome.unknown.is_empty());
}

fn superseded(result: Result<Outcome, RunError>) -> Outcome {
    let error = result.unwrap_err();
    assert_eq!(error.reason(), &EndReason::Superseded);
    assert!(matches!(error.journal_error(), Some(JournalError::Fenced)));
    error.partial().clone()
}

/// The first driver pays while the second one has taken over and works on something else.
#[tokio::test(start_paused = true)]
async fn a_superseded_driver_keeps_the_receipt_and_the_other_one_gets_it() {
    let paid = Counter::default();
    let journal = Arc::new(MemoryJournal::new());
    let first = agent([Turn::call("pay", "{}")], pays("pay", 5, &paid)).run_in(journal.clone(), "go");
    let (first, second) = tokio::join!(first.outcome(), async {
        sleep(Duration::from_secs(1)).await;
        let turns = [Turn::call("slow", "{}"), Turn::text("B done")];
        agent(turns, pays("pay", 5, &paid)).resume(journal.clone()).outcome().await.unwrap()
    });
    assert_eq!(paid.get(), 1);
    assert_eq!(told(&superseded(first).messages), ["receipt 17"]);
    assert_eq!(roles(&second.messages), "ucrcrea");
    assert_eq!(told(&second.messages), [UNKNOWN, "slow"]);
    let news = heard(&second.messages).pop().unwrap();
    assert!(news.contains("pay") && news.contains("receipt 17"), "{news}");
    assert!(second.unknown.is_empty());
    assert_eq!(Run::replay(&journal.entries()).unwrap().outcome(), second);
}

/// The second driver has its answer, and its consumer is slow: the receipt comes before the end.
#[tokio::test(start_paused = true)]
async fn a_receipt_before_the_end_makes_the_run_go_on() {
    let paid = Counter::default();
    let journal = Arc::new(MemoryJournal::new());
    let first = agent([Turn::call("pay", "{}")], pays("pay", 5, &paid)).run_in(journal.clone(), "go");
    let (first, second) = tokio::join!(first.outcome(), async {
        sleep(Duration::from_secs(1)).await;
        let turns = [Turn::text("perhaps"), Turn::text("it is paid")];
        let mut run = agent(turns, pays("pay", 5, &paid)).resume(journal.clone());
        let mut events = Vec::new();
        while let Some(event) = run.next().await {
            if matches!(event.kind, EventKind::StepFinished { .. }) {
                sleep(Duration::from_secs(10)).await;
            }
            events.push(event);
        }
        end(&events)
    });
    superseded(first);
    assert_eq!((&*roles(&second.messages), &*second.text), ("ucraea", "it is paid"));
    assert_eq!(paid.get(), 1);
}

/// A call that the first driver has begun comes to its end, also behind the call with which it learnt that it is
/// superseded.
#[tokio::test(start_paused = true)]
async fn a_superseded_driver_brings_all_its_effects_to_their_end() {
    let paid = Counter::default();
    let journal = Arc::new(MemoryJournal::new());
    let drive = |turns: Vec<Turn>| {
        let model = ScriptedModel::new(turns);
        let slow = pays("slow", 30, &Counter::default());
        Agent::builder(model).tool(pays("a", 2, &paid)).tool(pays("b", 5, &paid)).tool(slow).build().unwrap()
    };
    let calls = Turn::call("a", "{}").and_call("b", "{}");
    let first = drive(vec![calls]).run_in(journal.clone(), "go");
    let (first, second) = tokio::join!(first.outcome(), async {
        sleep(Duration::from_secs(1)).await;
        let turns = vec![Turn::call("slow", "{}"), Turn::text("B done")];
        drive(turns).resume(journal.clone()).outcome().await.unwrap()
    });
    assert_eq!(paid.get(), 2);
    assert_eq!(told(&superseded(first).messages), ["receipt 17", "receipt 18"]);
    let news = heard(&second.messages).split_off(1);
    assert!(news.len() == 2 && news[0].contains("receipt 17") && news[1].contains("receipt 18"), "{news:?}");
    assert!(second.unknown.is_empty());
}

/// A time-out is no receipt: nobody knows more than before.
#[tokio::test(start_paused = true)]
async fn a_time_out_of_a_superseded_driver_is_no_receipt() {
    let journal = Arc::new(MemoryJournal::new());
    let never = || pays("pay", 3600, &Counter::default());
    let drive = |turns: Vec<Turn>| {
        let builder = Agent::builder(ScriptedModel::new(turns)).tool(never());
        builder
            .tool(pays("slow", 30, &Counter::default()))
            .tool_timeout(Duration::from_secs(40))
            .build()
            .unwrap()
    };
    let first = drive(vec![Turn::call("pay", "{}")]).run_in(journal.clone(), "go");
    let (first, second) = tokio::join!(first.outcome(), async {
        sleep(Duration::from_secs(20)).await;
        let turns = vec![Turn::call("slow", "{}"), Turn::text("B done")];
        drive(turns).resume(journal.clone()).outcome().await.unwrap()
    });
    superseded(first);
    assert_eq!(second.unknown.len(), 1);
    assert_eq!(roles(&second.messages), "ucrcra");
}

/// The result of a tool that ends the run is a result like others, for the one who took the run over.
#[tokio::test(start_paused = true)]
async fn an_abort_of_a_superseded_driver_is_a_receipt() {
    let journal = Arc::new(MemoryJournal::new());
    let aborting = || {
        tool_fn("pay", "", |_: NoArguments| async {
            sleep(Duration::from_secs(5)).await;
            Err::<(), _>(ToolError::abort("the account is closed"))
        })
    };
    let first = agent([Turn::call("pay", "{}")], aborting()).run_in(journal.clone(), "go");
    let (first, second) = tokio::join!(first.outcome(), async {
        sleep(Duration::from_secs(1)).await;
        let turns = [Turn::call("slow", "{}"), Turn::text("B done")];
        agent(turns, aborting()).resume(journal.clone()).outcome().await.unwrap()
    });
    assert_eq!(told(&superseded(first).messages), ["the account is closed"]);
    let news = heard(&second.messages).pop().unwrap();
    assert!(news.contains("the account is closed"), "{news}");
}

/// A receipt for a run that has ended stays in the journal, and spoils no log.
#[tokio::test(start_paused = true)]
async fn a_receipt_after_the_end_leaves_the_log_as_it_is() {
    let paid = Counter::default();
    let journal = Arc::new(MemoryJournal::new());
    let mut first = agent([Turn::call("pay", "{}")], pays("pay", 5, &paid)).run_in(journal.clone(), "go");
    until_it_waits(&mut first).await;
    let second = agent([Turn::text("B done")], pays("pay", 5, &paid)).resume(journal.clone()).outcome().await;
    let entries = journal.load().await.unwrap();
    assert_eq!(told(&end(&all(&mut first).await).messages), ["receipt 17"]);
    assert_eq!(journal.load().await.unwrap(), entries);
    let again = agent([], pays("pay", 5, &paid)).resume(journal).outcome().await.unwrap();
    assert_eq!((again, paid.get()), (second.unwrap(), 1));
}

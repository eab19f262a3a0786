//! The tokens of replies that failed: they are paid for all the same.

use std::sync::Arc;
use std::time::Duration;

use crate::common::journals::Faulty;
use crate::common::kit::all;
use attache_agent::{
    Agent, Compaction, EndReason, EventKind, LogEvents, MemoryJournal, Money, Price, Prices, Run, RunInput,
};
use attache_core::{ErrorKind, FinishReason, LlmProvider as _, Message, Usage};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::json;

fn agent(turns: impl IntoIterator<Item = Turn>) -> Agent {
    let model = ScriptedModel::new(turns);
    let prices = Prices::new("USD").with_model(model.model_id(), Price::new(1.0, 10.0));
    Agent::builder(model).prices(prices).build().unwrap()
}

// P22: in the run, in its log, and in the run around it
#[tokio::test]
async fn tokens_of_a_reply_that_ends_as_an_error_are_counted() {
    let said = Turn::text("so far").costing(Usage::new(40, 7));
    for cut in [said.clone().finishing(FinishReason::Error), said.then_error(ErrorKind::Network)] {
        counted(cut).await;
    }
}

async fn counted(cut: Turn) {
    let cut = || cut.clone();
    let journal = Arc::new(MemoryJournal::new());
    let events = all(&mut agent([cut()]).run_in(journal.clone(), "go")).await;
    let failed = events.last().unwrap().kind.outcome().unwrap();
    let spent = |usage: &Usage| (usage.input_tokens, usage.output_tokens);
    assert_eq!((failed.steps, spent(&failed.usage)), (0, (Some(40), Some(7))));
    assert_eq!((failed.cost.known > Money::ZERO, failed.cost.unknown_steps), (true, 0));
    let told = events.iter().filter_map(|event| match &event.kind {
        EventKind::StepFinished { finish_reason, usage, .. } => Some((finish_reason.clone(), spent(usage))),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), [(FinishReason::Error, (Some(40), Some(7)))]);
    let outcome = agent([Turn::text("done")]).resume(journal.clone()).outcome().await.unwrap();
    assert_eq!(spent(&outcome.usage), (Some(50), Some(12)));
    assert_eq!(Run::replay(&journal.entries()).unwrap().outcome(), outcome);
    let clerk = agent([cut()]).as_tool("clerk", "Asks the clerk");
    let outer =
        ScriptedModel::new([Turn::call("clerk", json!({"task": "go"})), Turn::text("No.")]).unverified();
    let journal = Arc::new(MemoryJournal::new());
    let outer = Agent::builder(outer).tool(clerk).build().unwrap();
    let outcome = outer.run_in(journal.clone(), "go").outcome().await.unwrap();
    assert_eq!(spent(&outcome.usage), (Some(60), Some(17)));
    assert_eq!(Run::replay(&journal.entries()).unwrap().outcome().usage, outcome.usage);
}

// P22: a request was too long, and the next one, of a shorter conversation, has no answer.
#[tokio::test(start_paused = true)]
async fn tokens_of_a_request_that_was_too_long_are_counted_where_the_next_one_is_interrupted() {
    // With a memory the next one asks for a summary.
    let cases = [(EndReason::Cancelled, false), (EndReason::Cancelled, true), (EndReason::Deadline, false)];
    for (reason, summarises) in cases {
        let too_long = Turn::empty().costing(Usage::new(40, 7)).then_error(ErrorKind::ContextTooLong);
        let model = ScriptedModel::new([too_long, Turn::text("so far").then_hang()]).unverified();
        let prices = Prices::new("USD").with_model(model.model_id(), Price::new(1.0, 10.0));
        let mut agent = Agent::builder(model).prices(prices);
        if reason == EndReason::Deadline {
            agent = agent.deadline(Duration::from_secs(600));
        }
        if summarises {
            agent = agent.memory(Compaction::new());
        }
        let history = (0..8).flat_map(|n| {
            [Message::user(format!("old {n}")).shared(), Message::assistant("word ".repeat(2_000)).shared()]
        });
        let journal = Arc::new(MemoryJournal::new());
        let input = RunInput::from("now").with_history(history);
        let mut run = agent.build().unwrap().run_in(journal.clone(), input);
        if reason == EndReason::Cancelled {
            let control = run.control();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                control.cancel();
            });
        }
        let events = all(&mut run).await;
        let outcome = events.last().unwrap().kind.outcome().unwrap();
        assert_eq!((&outcome.reason, outcome.text.is_empty()), (&reason, summarises));
        let spent = |usage: &Usage| (usage.input_tokens, usage.output_tokens);
        assert_eq!(spent(&outcome.usage), (Some(40), Some(7)), "{reason}");
        assert!(outcome.cost.known > Money::ZERO);
        let told = |kind: &EventKind| match kind {
            EventKind::StepFinished { finish_reason, usage, .. } => {
                Some((finish_reason.clone(), spent(usage)))
            }
            _ => None,
        };
        let expected = [(FinishReason::Error, (Some(40), Some(7)))];
        assert_eq!(events.iter().filter_map(|event| told(&event.kind)).collect::<Vec<_>>(), expected);
        // The log says the same, and that it has an end and no failure.
        let entries = journal.entries();
        let replayed = Run::replay(&entries).unwrap();
        assert_eq!((&replayed.outcome(), replayed.has_failed()), (outcome, false));
        let mut log = LogEvents::new();
        let of_log = entries.iter().flat_map(|entry| log.take(entry).unwrap());
        assert_eq!(of_log.filter_map(|event| told(&event.kind)).collect::<Vec<_>>(), expected);
    }
}

// P22: the journal does not take the decision of the memory that makes the next request shorter.
#[tokio::test]
async fn tokens_of_a_request_that_was_too_long_are_counted_where_the_shorter_one_cannot_be_made() {
    let too_long = Turn::empty().costing(Usage::new(40, 7)).then_error(ErrorKind::ContextTooLong);
    let journal = Faulty::refusing("memory/");
    let history = (0..8).flat_map(|at| {
        [Message::user(format!("old {at}")).shared(), Message::assistant("word ".repeat(2_000)).shared()]
    });
    let input = RunInput::from("now").with_history(history);
    let events = all(&mut agent([too_long]).run_in(journal.clone(), input)).await;
    let Some(EventKind::Finished(Err(failed))) = events.last().map(|event| &event.kind) else {
        panic!("{events:?}")
    };
    assert!(failed.journal_error().is_some(), "{failed}");
    let spent = |usage: &Usage| (usage.input_tokens, usage.output_tokens);
    let partial = failed.partial();
    assert_eq!((spent(&partial.usage), partial.cost.known > Money::ZERO), ((Some(40), Some(7)), true));
    let told = events.iter().filter_map(|event| match &event.kind {
        EventKind::StepFinished { finish_reason, usage, .. } => Some((finish_reason.clone(), spent(usage))),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), [(FinishReason::Error, (Some(40), Some(7)))]);
    // The log says the same to whoever reads it alone.
    assert_eq!(spent(&Run::replay(&journal.inner.entries()).unwrap().outcome().usage), (Some(40), Some(7)));
}

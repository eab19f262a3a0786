//! Invariants 7 and 10: a run cut at any record goes on as if nothing had happened.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::common::Number;
use attache_agent::{
    Agent, Disposition, EndReason, Entry, EntryKind, MemoryJournal, Outcome, Run, RunInput, tool_fn,
};
use attache_core::{AssistantPart, Effect, Message, Tool, ToolError};
use attache_testkit::{ScriptedModel, Turn};
use proptest::prelude::*;
use serde_json::json;

type Executions = Arc<Mutex<HashMap<(String, String), usize>>>;

/// A tool that remembers how often it ran for which arguments.
fn counting(name: &'static str, effect: Effect, executions: &Executions) -> impl Tool + 'static {
    let executions = Arc::clone(executions);
    tool_fn(name, "", move |Number { n }: Number| {
        *executions.lock().unwrap().entry((name.to_owned(), n.to_string())).or_default() += 1;
        async move { if n % 5 == 4 { Err(ToolError::new("no fours")) } else { Ok(n * 2) } }
    })
    .with_effect(effect)
}

/// A script: rounds of calls (of tool 0, 1 or 2), then an answer.
fn turns(rounds: &[Vec<u8>]) -> Vec<Turn> {
    let mut n = 0;
    let rounds = rounds.iter().map(|round| {
        round.iter().fold(Turn::empty(), |turn, tool| {
            n += 1;
            turn.and_call(["reads", "repeats", "pays"][usize::from(*tool) % 3], json!({ "n": n }))
        })
    });
    rounds.collect::<Vec<_>>().into_iter().chain([Turn::text("done")]).collect()
}

fn agent(turns: Vec<Turn>, executions: &Executions) -> Agent {
    Agent::builder(ScriptedModel::new(turns))
        .tool(counting("reads", Effect::Read, executions))
        .tool(counting("repeats", Effect::Idempotent, executions))
        .tool(counting("pays", Effect::SideEffect, executions))
        .build()
        .unwrap()
}

async fn run(turns: Vec<Turn>, journal: &Arc<MemoryJournal>, executions: &Executions) -> Outcome {
    let agent = agent(turns, executions);
    let run = match journal.entries().is_empty() {
        true => agent.run_in(journal.clone(), RunInput::from("go").with_run_id("r")),
        false => agent.resume(journal.clone()),
    };
    run.outcome().await.unwrap()
}

/// The texts of the conversation, without ids that are drawn anew.
fn story(outcome: &Outcome) -> Vec<String> {
    let tell = |message: &Arc<Message>| match &**message {
        Message::Assistant(message) => message
            .parts
            .iter()
            .map(|part| match part {
                AssistantPart::Text(text) => text.text().to_owned(),
                AssistantPart::ToolCall(call) => format!("{}({})", call.name, call.arguments.raw()),
                other => format!("{other:?}"),
            })
            .collect::<Vec<_>>()
            .join(" "),
        Message::ToolResults(results) => results
            .results
            .iter()
            .map(|result| result.tree.model_text().into_owned())
            .collect::<Vec<_>>()
            .join(" "),
        other => format!("{:?}", other.role()),
    };
    outcome.messages.iter().map(tell).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_run_cut_at_every_record(rounds in prop::collection::vec(prop::collection::vec(0_u8..3, 1..4), 0..4)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let executions = Executions::default();
            let journal = Arc::new(MemoryJournal::new());
            let uncut = run(turns(&rounds), &journal, &executions).await;
            prop_assert_eq!(&uncut.reason, &EndReason::Answer);
            prop_assert_eq!(Run::replay(&journal.entries()).unwrap().outcome(), uncut.clone());
            let entries = journal.entries();

            for cut in 0..=entries.len() {
                let kept = &entries[..cut];
                let answered = kept.iter().filter(|entry| matches!(entry.kind, EntryKind::Reply(_))).count();
                let finished: Vec<_> = kept.iter().filter_map(|entry| match &entry.kind {
                    EntryKind::ToolOutcome(outcome) => Some(outcome.call_id.clone()),
                    _ => None,
                }).collect();
                // Stored and read back, as a crash would have it.
                let stored = serde_json::to_string(kept).unwrap();
                let journal = Arc::new(MemoryJournal::from_entries(serde_json::from_str::<Vec<Entry>>(&stored).unwrap()));
                let executions = Executions::default();
                let rest = turns(&rounds).split_off(answered);
                let resumed = run(rest, &journal, &executions).await;
                let log = journal.entries();
                prop_assert_eq!(Run::replay(&log).unwrap().outcome(), resumed.clone());

                // No finished call runs again; every call runs once at the most.
                let ran = executions.lock().unwrap().values().sum::<usize>();
                let unknown: Vec<_> = log.iter().filter_map(|entry| match &entry.kind {
                    EntryKind::ToolOutcome(outcome) if outcome.disposition == Disposition::Unknown => Some(outcome.call_id.clone()),
                    _ => None,
                }).collect();
                let total = rounds.iter().map(Vec::len).sum::<usize>();
                prop_assert_eq!(ran + finished.len() + unknown.len(), total);
                prop_assert!(executions.lock().unwrap().values().all(|times| *times == 1));

                // An effect whose intent was the last word comes back as unknown, and only that.
                let begun: Vec<_> = kept.iter().filter_map(|entry| match &entry.kind {
                    EntryKind::Begun(begun) if begun.effect == Effect::SideEffect && !finished.contains(&begun.call_id) => Some(begun.call_id.clone()),
                    _ => None,
                }).collect();
                prop_assert_eq!(&unknown, &begun);
                prop_assert_eq!(resumed.unknown.iter().map(|call| &call.id).collect::<Vec<_>>(), begun.iter().collect::<Vec<_>>());
                if begun.is_empty() {
                    prop_assert_eq!(story(&resumed), story(&uncut));
                }
            }
            Ok(())
        })?;
    }
}

//! Invariants 7 and 10: a run cut at any record goes on as if nothing had happened.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::common::Number;
use crate::common::kit::{holding, roles};
use attache_agent::{
    Agent, Disposition, EndReason, Entry, EntryKind, MemoryDocumentStore, MemoryJournal, NoArguments,
    Outcome, Run, RunInput, tool_fn,
};
use attache_core::{AssistantPart, Document, Effect, Message, Tool, ToolError};
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

type Shown = fn(usize) -> Document;

/// An agent that looks several times and is shown the `n`-th of these documents each time.
fn watcher(
    shown: Shown,
    seen: usize,
    turns: Vec<Turn>,
    store: Option<&Arc<MemoryDocumentStore>>,
) -> (Agent, ScriptedModel) {
    let seen = AtomicUsize::new(seen);
    let look = tool_fn("look", "", move |_: NoArguments| {
        let document = shown(seen.fetch_add(1, Ordering::SeqCst));
        async move { Ok::<_, ToolError>(document) }
    });
    let model = ScriptedModel::new(turns).unverified().with_capabilities_of("anthropic", "claude-opus-4-8");
    let builder = Agent::builder(model.clone()).tool(look.with_effect(Effect::Read));
    let builder = match store {
        Some(store) => builder.store(Arc::clone(store) as _),
        None => builder,
    };
    (builder.build().unwrap(), model)
}

fn frame(text: impl Into<String>) -> Document {
    Document::from_bytes(text.into(), "text/plain").with_file_name("frame.txt")
}

/// The log as it is read by another process; `before` there were hashes in it.
fn read_again(entries: &[Entry], before: bool) -> Vec<Entry> {
    let mut log = serde_json::to_value(entries).unwrap();
    fn strip(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::Object(members) => {
                members.remove("sha256");
                members.values_mut().for_each(strip);
            }
            serde_json::Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    if before {
        strip(&mut log);
    }
    serde_json::from_value(log).unwrap()
}

/// Documents of one size: the log alone tells which of them differ.
#[tokio::test]
async fn rounds_that_bring_documents_are_alike_in_the_log_where_they_were() {
    let cases: [(Shown, EndReason); 6] = [
        (|n| frame(format!("frame {n}")), EndReason::Answer),
        (|_| frame("frame 0"), EndReason::NoProgress),
        (|n| Document::inline(format!("frame {n}")), EndReason::Answer),
        (|_| Document::inline("frame 0"), EndReason::NoProgress),
        (|n| Document::external(format!("https://files.example/{n}.txt")), EndReason::Answer),
        (|_| Document::external("https://files.example/0.txt"), EndReason::NoProgress),
    ];
    for (case, (shown, reason)) in cases.into_iter().enumerate() {
        for keeps in [true, false] {
            let store = keeps.then(|| Arc::new(MemoryDocumentStore::default()));
            let rounds = if reason == EndReason::Answer { 6 } else { 5 };
            let turns = || (0..rounds).map(|_| Turn::call("look", "{}")).chain([Turn::text("done")]);
            let journal = Arc::new(MemoryJournal::new());
            let (agent, model) = watcher(shown, 0, turns().collect(), store.as_ref());
            let input = RunInput::from("go").with_run_id("r");
            let uncut = agent.run_in(journal.clone(), input).outcome().await.unwrap();
            assert_eq!((&uncut.reason, uncut.steps), (&reason, rounds + 1), "{case}, {keeps}");
            let asked = model.requests();
            let entries = journal.entries();
            assert_eq!(
                Run::replay(&read_again(&entries, false)).unwrap().outcome(),
                uncut,
                "{case}, {keeps}"
            );
            let old = Run::replay(&read_again(&entries, true)).unwrap().outcome();
            assert_eq!(old.reason, reason, "{case}, {keeps}");
            for cut in 1..entries.len() {
                let kept = read_again(&entries[..cut], false);
                let answered = kept.iter().filter(|entry| matches!(entry.kind, EntryKind::Reply(_))).count();
                let seen =
                    kept.iter().filter(|entry| matches!(entry.kind, EntryKind::ToolOutcome(_))).count();
                let (agent, model) = watcher(shown, seen, turns().skip(answered).collect(), store.as_ref());
                let resumed = agent.resume(holding(kept)).outcome().await.unwrap();
                assert_eq!(
                    (&resumed.reason, resumed.steps),
                    (&reason, uncut.steps),
                    "{case}, {keeps}, {cut}"
                );
                let rest: Vec<String> =
                    model.requests().iter().map(|request| roles(&request.messages)).collect();
                let expected: Vec<String> =
                    asked.iter().skip(answered).map(|request| roles(&request.messages)).collect();
                assert_eq!(rest, expected, "{case}, {keeps}, {cut}");
            }
        }
    }
}

//! Random runs through a journal that fails, delays, cuts and repeats at any operation, and with second drivers: no
//! effect twice, no message and no document lost, equal requests.
//!
//! `ATTACHE_FAULT_RUNS` sets how many runs there are; `cargo xtask faults` runs 5,000.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

mod journal;
mod sessions;
mod world;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use attache_agent::{
    AgentRun, ApprovalRequest, DecideError, Decision, Disposition, EndReason, EntryKind, EventKind,
    MemoryJournal, Outcome, Run, RunInput, SubmitError,
};
use attache_core::{DocumentSource, DocumentStore, Message, ToolCall, ToolResult};
use serde_json::json;

use journal::{Faulty, FaultyStore, Plan};
use sessions::Log;
use world::{Random, Script, TOOLS, World, heard};

/// The runs of one test in CI.
const RUNS: u64 = 300;
/// Drives after which no fault comes any more, so that each run ends.
const FAULTY_DRIVES: usize = 12;

fn script(random: &mut Random) -> Script {
    let rounds = 1 + random.below(5);
    let mut script: Script =
        (0..rounds).map(|_| (0..=random.below(3)).map(|_| random.below(TOOLS.len() - 1)).collect()).collect();
    // The document inside a mail is read one step later.
    script[0][0] = 3;
    script.push(vec![9]);
    script
}

/// The harness's own acts and the events that it heard, beside the log.
#[derive(Default)]
struct Heard {
    injected: AtomicUsize,
    /// The numbers of messages that came back unread.
    unread: Mutex<BTreeSet<usize>>,
    /// Results that a submission was told were taken.
    submitted: Mutex<BTreeSet<String>>,
    /// Decisions that somebody was told were taken.
    decided: Mutex<BTreeSet<String>>,
}

fn number_of(message: &Message) -> Option<usize> {
    let text = format!("{message:?}");
    let (_, rest) = text.split_once("heard ")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// The decision about a call: the same, whoever makes it.
fn decision(request: &ApprovalRequest) -> Decision {
    match request.call.id.as_str().bytes().map(usize::from).sum::<usize>() % 3 {
        0 => Decision::Deny("no".to_owned()),
        1 => Decision::Edit(json!({})),
        _ => Decision::Approve,
    }
}

/// Drives a run to its end or until its process dies, answering what it asks for.
async fn drive(mut run: AgentRun, journal: &Faulty, seen: &Heard, chatty: bool) -> Option<Outcome> {
    let control = run.control();
    let signals = Arc::clone(&journal.signals);
    let mut open: Vec<ToolCall> = Vec::new();
    let mut questions: Vec<ApprovalRequest> = Vec::new();
    let mut end = None;
    loop {
        let event = tokio::select! {
            biased;
            () = signals.died.notified() => break,
            () = signals.cancel.notified() => {
                control.cancel();
                continue;
            }
            event = run.next() => event,
        };
        let Some(event) = event else { break };
        match event.kind {
            EventKind::ExternalPending { call } => open.push(call),
            EventKind::CallDeferred(request) => open.push(request.call.clone()),
            EventKind::ApprovalRequested(request) => questions.push(*request),
            EventKind::StepFinished { .. } if chatty => {
                let number = seen.injected.fetch_add(1, Ordering::SeqCst);
                if number < 3 && control.inject(heard(number)).is_err() {
                    seen.unread.lock().unwrap().insert(number);
                }
            }
            EventKind::Finished(_) => end = event.kind.outcome().cloned(),
            _ => {}
        }
        for request in questions.drain(..) {
            loop {
                let decided = tokio::select! {
                    biased;
                    () = signals.died.notified() => {
                        signals.died.notify_one();
                        break;
                    }
                    decided = control.decide(&request.id, "ann", decision(&request)) => decided,
                };
                match decided {
                    Ok(_) => {
                        seen.decided.lock().unwrap().insert(request.id.clone());
                        break;
                    }
                    Err(DecideError::Journal(_)) if control.is_active() => {}
                    // Both drivers decide alike.
                    Err(DecideError::Decided { first }) => panic!("decided otherwise: {first:?}"),
                    Err(_) => break,
                }
            }
        }
        for call in open.drain(..) {
            // A journal that failed is asked again: nothing else may wake the run.
            loop {
                let submitted = tokio::select! {
                    biased;
                    () = signals.died.notified() => {
                        signals.died.notify_one();
                        break;
                    }
                    submitted = control.submit([ToolResult::ok(&call, "yes")]) => submitted,
                };
                match submitted {
                    Ok(()) => {
                        seen.submitted.lock().unwrap().insert(call.id.to_string());
                        break;
                    }
                    Err(SubmitError::Journal(_)) if control.is_active() => {}
                    Err(_) => break,
                }
            }
        }
    }
    drop(run);
    // Messages that the run did not read come back, whatever ended the drive.
    let unread = end.iter().flat_map(|outcome| outcome.unread.clone()).chain(control.unread());
    seen.unread.lock().unwrap().extend(unread.filter_map(|message| number_of(&message)));
    end
}

fn is_final(outcome: &Outcome) -> bool {
    !matches!(
        outcome.reason,
        EndReason::InternalError
            | EndReason::Superseded
            | EndReason::ProviderError(_)
            | EndReason::PendingExternal
            | EndReason::PendingApproval
    )
}

async fn one_run(seed: u64, log: Log) {
    let mut random = Random(seed);
    let world = Arc::new(World {
        script: script(&mut random),
        slow: random.below(6),
        narrow: random.below(2) == 0,
        compacts: random.below(3) == 0,
        typed: random.below(2) == 0,
        layered: random.below(3) == 0,
        nests: random.below(2) == 0,
        hooked: random.below(3) == 0,
        chooses: random.below(2) == 0,
        store: Arc::new(FaultyStore::new([0, 2, 3, 5][random.below(4)])),
        guarded: random.below(3) == 0,
        ..World::default()
    });
    let unread_log = Arc::new(MemoryJournal::new());
    let own = match &log {
        Log::Journal(own) => own,
        Log::Session { .. } => &unread_log,
    };
    let seen = Heard::default();
    let chatty = random.below(2) == 0;
    let mut ended = None;
    for attempt in 0..200 {
        // A cancellation is a real end: it comes late.
        let faults = log.faults();
        let faults = if attempt > 1 { faults } else { &faults[..faults.len() - 1] };
        let odds = if attempt < FAULTY_DRIVES { 4 + random.below(20) } else { 0 };
        let journal = Faulty::new(own, Plan { random: Random(random.0 ^ 0x5eed), odds, faults });
        let first = async { drive(log.drive(&world, &journal).await, &journal, &seen, chatty).await };
        let second = async {
            journal.signals.second.notified().await;
            let beside = Faulty::new(own, Plan::none());
            drive(log.drive(&world, &beside).await, &beside, &seen, false).await
        };
        let outcome = {
            let (mut first, mut second) = (std::pin::pin!(first), std::pin::pin!(second));
            tokio::select! {
                outcome = &mut first => match outcome {
                    // The second one has the run now.
                    Some(outcome) if outcome.reason == EndReason::Superseded => second.await,
                    outcome => outcome,
                },
                outcome = &mut second => {
                    // The first one comes to its own end, which a dead process never does.
                    let left = first.await;
                    left.filter(is_final).or(outcome)
                }
            }
        };
        // A cancellation that the journal did not take ends the drive alone.
        let has_ended = log.entries(&world).await.iter().any(|entry| entry.key.as_str() == "end");
        if has_ended && outcome.as_ref().is_some_and(is_final) {
            ended = outcome;
            break;
        }
    }
    let ended = ended.unwrap_or_else(|| panic!("seed {seed}: the run comes to no end"));
    let entries = log.entries(&world).await;
    let run = Run::replay(&entries);
    let run = run.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    // A driver that was superseded may have been cancelled beside the one that went on.
    if ended.reason != EndReason::Cancelled {
        assert_eq!(run.outcome().reason, ended.reason, "seed {seed}");
    }

    // No effect twice, and each that happened is told: by its result, its receipt, or as of unknown outcome.
    let results: Vec<_> = entries
        .iter()
        .filter_map(|entry| match &entry.kind {
            EntryKind::ToolOutcome(outcome) | EntryKind::Receipt(outcome) => Some(outcome),
            _ => None,
        })
        .collect();
    for (call, times) in &*world.effects.lock().unwrap() {
        assert_eq!(*times, 1, "seed {seed}: {call} ran {times} times");
        let id = call.rsplit('/').next().unwrap();
        let told = results.iter().any(|outcome| outcome.call_id.as_str() == id)
            || run.outcome().unknown.iter().any(|call| call.id.as_str() == id)
            || id.starts_with("inner");
        assert!(told, "seed {seed}: nobody is told of {call}");
    }
    // Results that came back well were not run for nothing: a known outcome has its effect.
    for outcome in results.iter().filter(|outcome| outcome.disposition == Disposition::Executed) {
        let name = outcome.result.tool_name.as_deref();
        if name == Some("pays") && !outcome.call_id.as_str().starts_with("inner") {
            let happened = world.effects.lock().unwrap().contains_key(&format!("r/{}", outcome.call_id));
            assert!(happened, "seed {seed}: {} has a result and no effect", outcome.call_id);
        }
    }
    // No message lost: each is in the log or came back.
    let in_log: BTreeSet<usize> = run
        .history()
        .iter()
        .filter(|message| world::is_heard(message))
        .filter_map(|message| number_of(message))
        .collect();
    let unread = seen.unread.lock().unwrap().clone();
    for number in 0..seen.injected.load(Ordering::SeqCst).min(3) {
        assert!(
            in_log.contains(&number) || unread.contains(&number),
            "seed {seed}: message {number} is lost"
        );
    }
    // No result that a caller was told is taken is lost.
    for call in &*seen.submitted.lock().unwrap() {
        let taken = results
            .iter()
            .any(|outcome| outcome.call_id.as_str() == call && outcome.disposition == Disposition::Submitted);
        assert!(taken, "seed {seed}: the answer to {call} is lost");
    }
    // Nor is a decision, and none is taken twice.
    let decided: Vec<&str> = entries
        .iter()
        .filter_map(|entry| match &entry.kind {
            EntryKind::Decided(decided) if decided.decision.is_some() => Some(decided.id.as_str()),
            _ => None,
        })
        .collect();
    for approval in &*seen.decided.lock().unwrap() {
        let times = decided.iter().filter(|id| *id == approval).count();
        assert_eq!(times, 1, "seed {seed}: the decision on {approval} counts {times} times");
    }
    // Nothing that needs an approval runs without one.
    for outcome in results.iter().filter(|outcome| outcome.result.tool_name.as_deref() == Some("approved")) {
        let effects = world.effects.lock().unwrap();
        let asked = entries.iter().any(|entry| match &entry.kind {
            EntryKind::Asked(asked) => asked.call_id == outcome.call_id && decided.contains(&&*asked.id),
            _ => false,
        });
        assert!(
            asked || !effects.contains_key(&format!("r/{}", outcome.call_id)),
            "seed {seed}: {outcome:?}"
        );
    }
    // No document lost: the store has each that the log mentions.
    for message in run.history() {
        for document in message.documents() {
            let kept = world.store.get(document.id()).await.is_ok();
            let here = matches!(document.source(), DocumentSource::Bytes(_));
            assert!(kept || here, "seed {seed}: {document:?} is lost");
        }
    }
    // Equal requests: whoever asked for a step, with the same messages heard, asked for it in the same words.
    for ((step, _), requests) in &*world.requests.lock().unwrap() {
        for request in requests {
            assert_eq!(request, &requests[0], "seed {seed}: step {step}");
        }
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap()
}

// Invariants 10 and 13
#[test]
fn random_faults_lose_and_repeat_nothing() {
    let runs =
        std::env::var("ATTACHE_FAULT_RUNS").map_or(RUNS, |runs| runs.parse().expect("a number of runs"));
    let first = std::env::var("ATTACHE_FAULT_SEED").map_or(0, |seed| seed.parse().expect("a seed"));
    for seed in first..first + runs {
        runtime().block_on(one_run(seed, Log::Journal(Arc::default())));
        // A session is one run in five: it shares the driver.
        if seed % 5 == 0 {
            runtime().block_on(one_run(seed, Log::session()));
        }
    }
}

// Invariant 13: at each cut, the rest of the run asks what the uncut run asked, byte for byte.
#[test]
fn a_run_cut_at_every_entry_asks_the_same() {
    let (mut compacted, mut handed, mut nested) = (0, 0, 0);
    for seed in 0..16 {
        let mut random = Random(seed);
        let (script, slow) = (script(&mut random), random.below(6));
        let world = |store| {
            Arc::new(World {
                script: script.clone(),
                slow,
                narrow: seed % 2 == 0,
                compacts: seed % 3 == 1,
                layered: seed % 4 > 1,
                nests: seed % 2 == 1,
                hooked: seed % 5 == 2,
                chooses: seed % 4 == 1,
                typed: seed % 3 == 0,
                guarded: seed % 3 == 2,
                store,
                ..World::default()
            })
        };
        runtime().block_on(async {
            let (uncut, log) = (world(Arc::default()), Arc::new(MemoryJournal::new()));
            let journal = Faulty::new(&log, Plan::none());
            let run = uncut.agent().run_in(journal.clone(), RunInput::from("go").with_run_id("r"));
            let run = uncut.asked(run);
            let seen = Heard::default();
            let outcome = drive(run, &journal, &seen, true).await.unwrap();
            assert!(is_final(&outcome), "seed {seed}: {:?}", outcome.reason);
            let entries = log.entries();
            let count = |part: &str| entries.iter().filter(|entry| entry.key.as_str().contains(part)).count();
            compacted += count("memory/");
            handed += count("handoff/");
            nested += count(">model/");
            let mut asked = 0;
            for cut in 1..entries.len() {
                let text = serde_json::to_string(&entries[..cut]).unwrap();
                let log = Arc::new(MemoryJournal::from_entries(
                    serde_json::from_str::<Vec<attache_agent::Entry>>(&text).unwrap(),
                ));
                let rest = world(Arc::clone(&uncut.store));
                let journal = Faulty::new(&log, Plan::none());
                drive(rest.agent().resume(journal.clone()), &journal, &Heard::default(), false).await;
                let expected = uncut.requests.lock().unwrap();
                let unknown = log.entries().iter().any(|entry| matches!(&entry.kind, EntryKind::ToolOutcome(outcome) if outcome.disposition == Disposition::Unknown));
                for (step, requests) in &*rest.requests.lock().unwrap() {
                    // A call of unknown outcome and messages that were not heard yet change what comes after.
                    if let Some(expected) = expected.get(step).filter(|_| !unknown) {
                        assert_eq!(requests[0], expected[0], "seed {seed}, cut {cut}, step {step:?}");
                        asked += 1;
                    }
                }
            }
            assert!(asked > 0, "seed {seed}: nothing was compared");
        });
    }
    assert!(compacted > 3, "{compacted} decisions of the memory");
    assert!(handed > 3 && nested > 3, "{handed} hand-offs, {nested} replies inside");
}

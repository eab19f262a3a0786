//! Kills a process that runs an agent over files, again and again, and lets another go on, until the run ends. Then the
//! files alone must tell that nothing was lost and no effect was repeated.
//!
//! The number of kills is 200, or that of the variable `ATTACHE_KILLS`; the seed is drawn from the time, or is that of
//! `ATTACHE_KILL_SEED`. It is printed, so that a failure can be had again, as far as timing allows.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

mod check;
mod random;
mod scenario;
mod stop;
mod watched;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use attache_agent::{Action, Entry, Journal, Run, deliver};
use attache_core::{Capture, DocumentStore, ResultStatus, ToolResult};
use attache_stores::{FileDocumentStore, FileJournal};
use random::Random;
use scenario::{Files, approval};

const TEST: &str = "a_run_killed_anywhere_loses_nothing_and_repeats_no_effect";

/// How a process is stopped.
#[derive(Debug)]
enum Plan {
    /// At this moment of those that it counts, and if it is in the middle of a write, as if the machine had died.
    At(u64),
    /// After this time.
    After(Duration),
    /// Another process takes the run over while it works; both are stopped after this time.
    Rival(Duration),
    /// Not at all.
    ToTheEnd,
}

#[test]
fn a_run_killed_anywhere_loses_nothing_and_repeats_no_effect() {
    if let Some(order) = stop::order() {
        std::process::exit(scenario::run(&order));
    }
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let kills = number("ATTACHE_KILLS").unwrap_or(200);
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed = number("ATTACHE_KILL_SEED").unwrap_or(since_1970.as_secs());
    println!("ATTACHE_KILL_SEED={seed} ATTACHE_KILLS={kills}");
    let since = Instant::now();
    let mut random = Random::new(seed);
    let (mut killed, mut runs) = (0, 0);
    let mut found = check::Found::default();
    while killed < kills {
        let scenario = random.next();
        let folder = tempfile::tempdir().unwrap();
        let files = Files::new(folder.path());
        let was_rivalled = kill_until_the_end(&files, scenario, &mut random, &mut killed);
        println!("scenario {scenario}: {killed} kills so far");
        found.add(&check::files(&files, was_rivalled));
        runs += 1;
    }
    println!("{killed} kills in {runs} runs, {:.1?}: {found:?}", since.elapsed());
    // The test must not pass because nothing happened.
    assert!(
        found.executed > 0 && found.documents > 0 && found.nested > 0 && found.approvals > 0,
        "{found:?}"
    );
    assert!(kills < 100 || found.unknown > 0, "{found:?}");
}

/// Starts processes over the files until the run has ended. Says whether there were two at once.
fn kill_until_the_end(files: &Files, scenario: u64, random: &mut Random, killed: &mut u64) -> bool {
    let mut was_rivalled = false;
    for attempt in 0.. {
        assert!(attempt < 200, "the run does not end: {}", fs::read_to_string(files.log()).unwrap());
        let plan = match random.below(20) {
            _ if attempt >= 25 => Plan::ToTheEnd,
            0..10 => Plan::At(random.below(30)),
            10..17 => Plan::After(Duration::from_millis(random.below(80))),
            17 => Plan::Rival(Duration::from_millis(20 + random.below(80))),
            _ => Plan::ToTheEnd,
        };
        if random.below(3) == 0 {
            approve(files);
        }
        was_rivalled |= matches!(plan, Plan::Rival(_));
        let (ended, kills) = run_one(files, scenario, &plan, random);
        *killed += kills;
        if ended {
            return was_rivalled;
        }
    }
    unreachable!("the loop has no end of its own");
}

/// Runs one process, or two, and stops them as planned. Says whether the run has ended, and how many were killed.
fn run_one(files: &Files, scenario: u64, plan: &Plan, random: &mut Random) -> (bool, u64) {
    let at = if let Plan::At(moment) = plan { *moment } else { u64::MAX };
    let mut child = start(files, scenario, at);
    match plan {
        Plan::After(time) => {
            std::thread::sleep(*time);
            (false, kill(&mut child))
        }
        Plan::Rival(time) => {
            std::thread::sleep(*time / 2);
            let mut rival = start(files, scenario, u64::MAX);
            std::thread::sleep(*time);
            (false, kill(&mut child) + kill(&mut rival))
        }
        Plan::At(_) | Plan::ToTheEnd => {
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
            match next_word(&mut lines) {
                Word::Waits if matches!(plan, Plan::ToTheEnd) || random.below(2) == 0 => {
                    approve(files);
                    match next_word(&mut lines) {
                        Word::Stopped(moment) => (false, stopped(files, &mut child, &moment, random)),
                        Word::Waits => panic!("it waits for one approval"),
                        Word::Gone => (end(&mut child), 0),
                    }
                }
                Word::Waits => (false, kill(&mut child)),
                Word::Stopped(moment) => (false, stopped(files, &mut child, &moment, random)),
                Word::Gone => (end(&mut child), 0),
            }
        }
    }
}

/// What a process says.
enum Word {
    /// It stands still at this moment.
    Stopped(String),
    /// It waits for the approval.
    Waits,
    /// Nothing more.
    Gone,
}

fn next_word(lines: &mut std::io::Lines<BufReader<ChildStdout>>) -> Word {
    for line in lines {
        let line = line.unwrap();
        if let Some((_, moment)) = line.split_once(stop::STOPPED) {
            return Word::Stopped(moment.to_owned());
        }
        if line.contains(stop::WAITS) {
            return Word::Waits;
        }
    }
    Word::Gone
}

fn start(files: &Files, scenario: u64, moment: u64) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", TEST, "--nocapture", "--test-threads=1"]);
    stop::give_order(&mut command, files.folder(), scenario, moment);
    command.stdout(Stdio::piped()).spawn().unwrap()
}

/// Kills a process; 1 if it was still there.
fn kill(child: &mut Child) -> u64 {
    child.kill().unwrap();
    let status = child.wait().unwrap();
    let code = status.code();
    assert!(matches!(code, None | Some(scenario::ENDED | scenario::SUPERSEDED)), "{status}");
    u64::from(code.is_none())
}

/// True if a process that was not killed has ended the run.
fn end(child: &mut Child) -> bool {
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(scenario::ENDED), "it was the only one");
    true
}

/// Kills a process that stands still. What it wrote and does not know of yet may be lost in part, as if the machine had
/// died in the middle.
fn stopped(files: &Files, child: &mut Child, moment: &str, random: &mut Random) -> u64 {
    let killed = kill(child);
    if let Some(known) = moment.strip_prefix(stop::WRITTEN) {
        let known: u64 = known.parse().unwrap();
        let log = fs::OpenOptions::new().write(true).open(files.log()).unwrap();
        let length = log.metadata().unwrap().len();
        log.set_len(known + random.below(length - known + 1)).unwrap();
    }
    killed
}

/// Delivers the approval from outside, if the run waits for it.
fn approve(files: &Files) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let journal = FileJournal::open(files.log()).unwrap();
        let entries = journal.load().await.unwrap();
        let Some(call) = pending(&entries) else { return };
        let store = FileDocumentStore::open(files.documents()).unwrap();
        let document = approval(call.id.as_str());
        store.put(&document).await.unwrap();
        let tree = Capture::new().finish(&document.without_bytes().with_store_id("files")).unwrap();
        match deliver(&journal, ToolResult::new(&call, ResultStatus::Ok, tree)).await {
            // It was delivered before, and nobody has taken it yet.
            Ok(()) | Err(attache_agent::SubmitError::DuplicateResult { .. }) => {}
            Err(error) => panic!("{error:?}"),
        }
    });
}

/// The call that waits for somebody outside.
fn pending(entries: &[Entry]) -> Option<attache_core::ToolCall> {
    let own = entries.iter().filter(|entry| check::scope(&entry.key).is_empty());
    match Run::replay(own).unwrap().next() {
        Action::AnswerCalls { calls } => {
            calls.into_iter().find(|pending| pending.external).map(|pending| pending.call)
        }
        _ => None,
    }
}

/// The text of a file, empty if there is none.
fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

//! Kills a process that runs an agent, again and again, and lets another go on, until the run ends. Then what is kept
//! must tell that nothing was lost, that no effect was repeated, and that the model was asked as if nothing had happened.
//!
//! First a run is killed at each moment that it counts, then runs at random moments, over files, SQLite and PostgreSQL. The
//! number of kills over each store is 100, or that of the variable `ATTACHE_KILLS`; the seed is drawn from the time, or is
//! that of `ATTACHE_KILL_SEED`. It is printed, so that a failure can be had again, as far as timing allows.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a broken expectation is a failed test, and a failed test needs its seed"
)]

mod check;
mod kept;
mod random;
mod scenario;
#[allow(dead_code, reason = "a test that kills copies no database")]
#[path = "../sessions/server.rs"]
mod server;
mod stop;
mod watched;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use kept::{Kept, Store};
use random::Random;

/// How a process is stopped.
#[derive(Debug)]
enum Plan {
    /// At this moment of those that it counts, and if it is in the middle of a write, as if the machine had died. It waits
    /// for who is outside, or ends where it would have to.
    At { moment: u64, is_patient: bool },
    /// After this time.
    After(Duration),
    /// Another process takes the run over while it works; both are stopped after this time.
    Rival(Duration),
    /// Not at all.
    ToTheEnd,
}

#[test]
fn a_run_over_files_killed_anywhere_loses_nothing_and_repeats_no_effect() {
    crash(Store::Files);
}

#[test]
fn a_run_over_sqlite_killed_anywhere_loses_nothing_and_repeats_no_effect() {
    crash(Store::Sqlite);
}

#[test]
fn a_run_over_postgres_killed_anywhere_loses_nothing_and_repeats_no_effect() {
    crash(Store::Postgres);
}

fn crash(store: Store) {
    if let Some(order) = stop::order() {
        std::process::exit(scenario::run(&order));
    }
    let database = (store == Store::Postgres).then(|| server::Server::shared().database());
    let place = Place { store, url: database.as_ref().map(|database| database.url.clone()) };
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let kills = number("ATTACHE_KILLS").unwrap_or(100);
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed = number("ATTACHE_KILL_SEED").unwrap_or(since_1970.as_secs());
    println!("ATTACHE_KILL_SEED={seed} ATTACHE_KILLS={kills} {}", store.name());
    let since = Instant::now();
    let mut random = Random::new(seed);
    let (mut killed, mut runs) = (0, 0);
    let mut found = check::Found::default();
    let mut points = None;
    while killed < kills || points.is_none() {
        let scenario = random.next();
        let uncut = uncut(&place, scenario);
        // Each moment of the first run, a kill for each and another one behind it: with few kills only some of them, evenly.
        if points.is_none() {
            let stride = uncut.moments.div_ceil((kills / 2).max(1)).max(1);
            let first = random.below(stride);
            let moments = (first..uncut.moments).step_by(usize::try_from(stride).unwrap());
            for moment in moments.clone() {
                let next = random.below(uncut.moments);
                let twice = |attempt| match attempt {
                    0 => Plan::At { moment, is_patient: true },
                    1 => Plan::At { moment: next, is_patient: true },
                    _ => Plan::ToTheEnd,
                };
                found.add(&until_the_end(&place, scenario, &uncut, &mut random, &mut killed, twice));
                runs += 1;
            }
            points = Some((moments.count(), uncut.moments));
            continue;
        }
        let mut chance = Random::new(random.next());
        let plan = |attempt| match chance.below(20) {
            _ if attempt >= 25 => Plan::ToTheEnd,
            0..10 => Plan::At { moment: chance.below(40), is_patient: chance.below(2) == 0 },
            10..17 => Plan::After(Duration::from_millis(chance.below(80))),
            17 => Plan::Rival(Duration::from_millis(20 + chance.below(80))),
            _ => Plan::ToTheEnd,
        };
        found.add(&until_the_end(&place, scenario, &uncut, &mut random, &mut killed, plan));
        println!("scenario {scenario}: {killed} kills so far");
        runs += 1;
    }
    println!("{killed} kills in {runs} runs, (points, of) {points:?}, {:.1?}: {found:?}", since.elapsed());
    // The test must not pass because nothing happened.
    assert!(killed >= kills && found.is_something(), "{found:?}");
    assert!(kills < 100 || found.unknown > 0, "{found:?}");
}

/// The place of runs.
struct Place {
    store: Store,
    url: Option<String>,
}

impl Place {
    /// The place of one run, with a folder of its own.
    fn of_run(&self, folder: &Path) -> Kept {
        Kept::new(self.store, folder, self.url.as_deref())
    }
}

/// A run that nobody kills.
struct Uncut {
    /// The number of moments that its process counts.
    moments: u64,
    /// Each request, by its step.
    requests: check::Requests,
}

fn uncut(place: &Place, scenario: u64) -> Uncut {
    let folder = tempfile::tempdir().unwrap();
    let kept = place.of_run(folder.path());
    let mut moments = 0;
    loop {
        let mut child = start(&kept, scenario, u64::MAX, true);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        loop {
            match next_word(&mut lines) {
                Word::Waits => kept.settle(),
                Word::Counted(number) => moments = moments.max(number),
                Word::Stopped(moment) => panic!("nobody said so: {moment}"),
                Word::Gone => break,
            }
        }
        match end(&mut child) {
            State::Ended => break,
            _ => kept.settle(),
        }
    }
    Uncut { moments, requests: check::Requests::read(&kept) }
}

/// Where a run is when its process is gone.
#[derive(Debug, PartialEq)]
enum State {
    Ended,
    /// It waits for somebody outside.
    Pending,
    /// Its process was killed.
    Cut,
}

/// Starts processes until the run has ended, and looks at what is kept then.
fn until_the_end(
    place: &Place,
    scenario: u64,
    uncut: &Uncut,
    random: &mut Random,
    killed: &mut u64,
    mut plan: impl FnMut(u64) -> Plan,
) -> check::Found {
    let folder = tempfile::tempdir().unwrap();
    let kept = place.of_run(folder.path());
    let mut was_rivalled = false;
    for attempt in 0.. {
        assert!(attempt < 200, "the run does not end: {:?}", kept.folder());
        let plan = plan(attempt);
        if random.below(3) == 0 {
            kept.settle();
        }
        was_rivalled |= matches!(plan, Plan::Rival(_));
        let (state, kills) = run_one(&kept, scenario, &plan, random);
        *killed += kills;
        match state {
            State::Ended => break,
            State::Pending => kept.settle(),
            State::Cut => {}
        }
    }
    check::all(&kept, was_rivalled, &uncut.requests)
}

/// Runs one process, or two, and stops them as planned. Says where the run is then, and how many were killed.
fn run_one(kept: &Kept, scenario: u64, plan: &Plan, random: &mut Random) -> (State, u64) {
    let mut child = match plan {
        Plan::At { moment, is_patient } => start(kept, scenario, *moment, *is_patient),
        _ => start(kept, scenario, u64::MAX, true),
    };
    match plan {
        Plan::After(time) => {
            std::thread::sleep(*time);
            (State::Cut, kill(&mut child))
        }
        Plan::Rival(time) => {
            std::thread::sleep(*time / 2);
            let mut rival = start(kept, scenario, u64::MAX, true);
            std::thread::sleep(*time);
            (State::Cut, kill(&mut child) + kill(&mut rival))
        }
        Plan::At { .. } | Plan::ToTheEnd => {
            let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
            loop {
                match next_word(&mut lines) {
                    Word::Waits if matches!(plan, Plan::ToTheEnd) => kept.settle(),
                    // Somebody is there, but for one time in eight.
                    Word::Waits if random.below(8) > 0 => {
                        if let Err(error) = kept.settle_beside() {
                            let killed = kill(&mut child);
                            assert!(stood_still(&mut lines), "nobody stood still: {error:?}");
                            kept.settle();
                            return (State::Cut, killed);
                        }
                    }
                    Word::Waits => return (State::Cut, kill(&mut child)),
                    Word::Stopped(moment) => return (State::Cut, stopped(kept, &mut child, &moment, random)),
                    Word::Counted(_) => {}
                    Word::Gone => return (end(&mut child), 0),
                }
            }
        }
    }
}

/// The output of a process.
enum Word {
    /// It stands still at this moment.
    Stopped(String),
    /// It waits for the approval.
    Waits,
    /// It has counted this many moments, and ends.
    Counted(u64),
    /// Nothing more.
    Gone,
}

fn next_word(lines: &mut std::io::Lines<BufReader<ChildStdout>>) -> Word {
    for line in lines {
        let line = line.unwrap();
        if let Some((_, moment)) = line.split_once(stop::STOPPED) {
            return Word::Stopped(moment.to_owned());
        }
        if let Some((_, number)) = line.split_once(stop::COUNTED) {
            return Word::Counted(number.parse().unwrap());
        }
        if line.contains(stop::WAITS) {
            return Word::Waits;
        }
    }
    Word::Gone
}

/// True if the process said so before it was killed.
fn stood_still(lines: &mut std::io::Lines<BufReader<ChildStdout>>) -> bool {
    loop {
        match next_word(lines) {
            Word::Stopped(_) => return true,
            Word::Gone => return false,
            Word::Waits | Word::Counted(_) => {}
        }
    }
}

fn start(kept: &Kept, scenario: u64, moment: u64, is_patient: bool) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", kept.store.test(), "--nocapture", "--test-threads=1"]);
    stop::give_order(&mut command, kept, scenario, moment, is_patient);
    command.stdout(Stdio::piped()).spawn().unwrap()
}

/// Kills a process; 1 if it was still there.
fn kill(child: &mut Child) -> u64 {
    child.kill().unwrap();
    let status = child.wait().unwrap();
    let code = status.code();
    let by_itself = [scenario::ENDED, scenario::SUPERSEDED, scenario::PENDING];
    assert!(code.is_none_or(|code| by_itself.contains(&code)), "{status}");
    u64::from(code.is_none())
}

/// Where the run is when a process that was not killed is gone.
fn end(child: &mut Child) -> State {
    let status = child.wait().unwrap();
    match status.code() {
        Some(scenario::ENDED) => State::Ended,
        Some(scenario::PENDING) => State::Pending,
        _ => panic!("{status}: it was the only one"),
    }
}

/// Kills a process that stands still. Bytes that it wrote and does not know of yet may be lost in part, as if the
/// machine had died in the middle.
fn stopped(kept: &Kept, child: &mut Child, moment: &str, random: &mut Random) -> u64 {
    let killed = kill(child);
    if let Some(known) = moment.strip_prefix(stop::WRITTEN) {
        kept.tear(known.parse().unwrap(), random);
    }
    killed
}

/// The text of a file, empty if there is none.
fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

//! Everything that CI runs, in the order in which it fails soonest.

use std::env;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use crate::docs as pages;
use crate::shell::{Failure, report, root, run as command, run_with, target};
use crate::workspace::{self, Package};
use crate::{api, counterparts, deny, environment, gate, suite, tidy};

/// The crates with features that their users combine at will: they build without any, and each night with each of them
/// alone. Those of other crates are built as features of the facade or of the workspace turn them on.
const WITH_FEATURES: [&str; 5] =
    ["attache-models", "attache-testkit", "attache-otel", "attache-convert", FACADE];

const FACADE: &str = "attache";

/// A stage: its name, the seconds of processor time that it may take on an empty target folder, and its work.
type Stage = (&'static str, u64, fn() -> Result<(), Failure>);

/// The checks, which build no test. They run beside the build of the tests.
const CHECKS: [Stage; 7] = [
    ("tidy", 30, || tidy::run(&root())),
    ("fmt", 10, fmt),
    ("lint", 550, lint),
    ("crates", 450, crates),
    ("docs", 20, pages::check),
    ("api", 150, || api::run(false, &[])),
    ("gate", 510, || gate::gate(None)),
];

const TEST: Stage = ("test", 2_200, test);

/// The checks that find little and take long.
const NIGHTLY: Stage = ("nightly", 4_500, nightly);

/// Runs these stages in their order, or all but the nightly one.
pub(crate) fn run(only: &[&str]) -> Result<(), Failure> {
    let stages: Vec<Stage> = CHECKS.into_iter().chain([TEST, NIGHTLY]).collect();
    if let Some(unknown) = only.iter().find(|name| !stages.iter().any(|(known, ..)| known == *name)) {
        return Err(format!("there is no stage {unknown}"));
    }
    // The crates that a later stage needs, so that the last one can do without a network. The gate installs its tools.
    command("cargo", &["fetch", "--locked"])?;
    if only.is_empty() {
        return all();
    }
    stages.into_iter().filter(|(name, ..)| only.contains(name)).try_for_each(timed)
}

/// The checks and the build of the tests side by side, each in a target folder of its own, since two programs of cargo
/// wait for one another in one. One of them alone leaves processors idle: crates wait for crates. Then the tests.
fn all() -> Result<(), Failure> {
    let build = Ahead::start()?;
    let names = CHECKS.map(|(name, ..)| name);
    let program = env::current_exe().map_err(|error| format!("this program: {error}"))?;
    let folder = ("CARGO_TARGET_DIR".to_owned(), target().join("checks").display().to_string());
    let checked = run_with(&program.display().to_string(), &[&["ci"], &names[..]].concat(), &[folder]);
    build.end(checked)?;
    timed(TEST)
}

/// Runs a stage, and says how long it took.
fn timed((name, budget, stage): Stage) -> Result<(), Failure> {
    let (started, before) = (Instant::now(), processor_seconds());
    stage()?;
    let (seconds, used) = (started.elapsed().as_secs(), processor_seconds().saturating_sub(before));
    let over = if used > budget { ", which is too much" } else { "" };
    report(&format!("stage {name}: {seconds} s, {used} of {budget} s on processors{over}"));
    Ok(())
}

/// The seconds on processors of all programs that this one has waited for, where the system tells.
fn processor_seconds() -> u64 {
    let told = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program stands in brackets and may have blanks.
    let fields = told.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(13).take(2).filter_map(|field| field.parse::<u64>().ok()).sum::<u64>() / 100
}

/// Work that goes on beside the checks: the tests are built, and the programs of others that they need are installed.
struct Ahead {
    cargo: Child,
    counterparts: JoinHandle<Result<(), Failure>>,
    log: PathBuf,
}

impl Ahead {
    fn start() -> Result<Self, Failure> {
        let log = target().join("build.log");
        let opened = fs::create_dir_all(target()).and_then(|()| File::create(&log));
        let file = opened.map_err(|error| format!("{} cannot be written: {error}", log.display()))?;
        report(&format!("the tests are built beside the checks: {}", log.display()));
        let cargo = suite::build().stdin(Stdio::null()).stderr(file).spawn();
        let cargo = cargo.map_err(|error| format!("cargo cannot be started: {error}"))?;
        Ok(Self { cargo, counterparts: thread::spawn(counterparts::install), log })
    }

    /// Waits for both, unless the checks have failed.
    fn end(mut self, checked: Result<(), Failure>) -> Result<(), Failure> {
        if checked.is_err() {
            let _ = self.cargo.kill();
            return checked;
        }
        let status = self.cargo.wait().map_err(|error| format!("cargo: {error}"))?;
        if !status.success() {
            return Err(fs::read_to_string(&self.log).unwrap_or_default() + "the tests cannot be built");
        }
        // A panic of it is its failure.
        self.counterparts.join().unwrap_or_else(|_| Err("the counterparts cannot be installed".to_owned()))
    }
}

/// The crate of fuzzing is a workspace of its own.
fn fmt() -> Result<(), Failure> {
    command("cargo", &["fmt", "--all", "--check"])?;
    command("cargo", &["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"])
}

fn lint() -> Result<(), Failure> {
    command("cargo", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
}

/// Each crate builds alone, and those of [`WITH_FEATURES`] without any.
fn crates() -> Result<(), Failure> {
    for package in alone()? {
        command("cargo", &["check", "-p", &package.name])?;
    }
    for name in WITH_FEATURES {
        command("cargo", &bare(name))?;
    }
    Ok(())
}

/// Each feature of [`WITH_FEATURES`] builds without the others.
fn features() -> Result<(), Failure> {
    for package in workspace::libraries(&WITH_FEATURES)? {
        for feature in &package.features {
            command("cargo", &[&bare(&package.name)[..], &["--features", feature]].concat())?;
        }
    }
    Ok(())
}

fn bare(package: &str) -> [&str; 4] {
    ["check", "-p", package, "--no-default-features"]
}

/// The crates that a team may pick alone.
fn alone() -> Result<Vec<Package>, Failure> {
    let mut packages = workspace::libraries(&[])?;
    packages.retain(|package| package.name != FACADE);
    Ok(packages)
}

/// The most bytes of the command as it is given to others.
const LARGEST_COMMAND: u64 = 43_500_000;

/// Each feature builds alone; each crate's tests build without the workspace's, whose features may hide that one is
/// missing; tools register themselves in a program that is optimised as a whole, too; the size of the command; the
/// documentation of programs, which nobody but us reads; and our dependencies.
fn nightly() -> Result<(), Failure> {
    features()?;
    command("cargo", &["test", "-p", "attache-linked-stock", "--test", "discovery", "--profile", "whole"])?;
    for package in alone()? {
        command("cargo", &["check", "-p", &package.name, "--tests"])?;
    }
    command("cargo", &["build", "--profile", "dist", "-p", "attache-cli"])?;
    let built = target().join("dist/attache");
    let size = fs::metadata(&built).map_err(|error| format!("{}: {error}", built.display()))?.len();
    if size > LARGEST_COMMAND {
        return Err(format!("the command has {size} bytes, more than {LARGEST_COMMAND}"));
    }
    let strict = [("RUSTDOCFLAGS".to_owned(), "-D warnings".to_owned())];
    run_with("cargo", &["doc", "--workspace", "--no-deps"], &strict)?;
    deny::run_all(false)
}

/// The whole suite, once, on a machine that does everything to disturb it.
fn test() -> Result<(), Failure> {
    suite::test(&environment::hostile()?)
}

//! Tasks of the workspace: `cargo xtask TASK`.

mod bench;
mod ci;
mod tidy;

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const USAGE: &str = "\
cargo xtask TASK

  test                  every test of the workspace, doc tests included
  snapshots [--accept]  the snapshots: check them, or write what the code does now
  viability [--json]    which document reaches which model how; --json: a line for each cell
  cassettes             replay the recorded traffic of real providers
  tidy                  what no compiler checks: file lengths, names, generated files
  bench [NAME]          criterion benches; each figure is a ratio to a floor in the same run
  ci                    everything that CI runs
";

/// Why a task failed, in one line.
type Failure = String;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["test", rest @ ..] => test(rest, &[]),
        ["snapshots"] => snapshots(false),
        ["snapshots", "--accept"] => snapshots(true),
        ["cassettes"] => {
            run("cargo", &["test", "-p", "attache-tests", "--test", "cassettes", "--", "--nocapture"])
        }
        ["viability", rest @ ..] => {
            let head = ["run", "--quiet", "-p", "attache-tests", "--bin", "viability", "--"];
            quietly("cargo", &[&head[..], rest].concat())
        }
        ["tidy"] => tidy::run(&root()),
        ["bench", rest @ ..] => bench::run(rest),
        ["ci"] => ci::run(),
        _ => Err(format!("there is no such task\n\n{USAGE}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            report(&format!("xtask: {failure}"));
            ExitCode::FAILURE
        }
    }
}

/// Every test. The workspace's own settings never write snapshots.
fn test(rest: &[&str], variables: &[(&str, &str)]) -> Result<(), Failure> {
    let mut arguments = vec!["test", "--workspace"];
    arguments.extend(rest);
    run_with("cargo", &arguments, &[&[("INSTA_UPDATE", "no")], variables].concat())
}

fn snapshots(accept: bool) -> Result<(), Failure> {
    let update = if accept { "always" } else { "no" };
    run_with("cargo", &["test", "--workspace", "--tests"], &[("INSTA_UPDATE", update)])
}

/// The folder of the workspace.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Runs a program whose output is all that is wanted.
fn quietly(program: &str, arguments: &[&str]) -> Result<(), Failure> {
    let status = Command::new(program).args(arguments).current_dir(root()).status();
    let status = status.map_err(|error| format!("{program} cannot be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{} failed", arguments.join(" "))) }
}

fn run(program: &str, arguments: &[&str]) -> Result<(), Failure> {
    run_with(program, arguments, &[])
}

fn run_with(program: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Result<(), Failure> {
    report(&format!("$ {program} {}", arguments.join(" ")));
    let mut command = Command::new(program);
    command.args(arguments).envs(variables.iter().copied()).current_dir(root());
    let status = command.status().map_err(|error| format!("{program} cannot be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{program} {} failed", arguments.join(" "))) }
}

#[expect(clippy::print_stderr, reason = "a task runner talks to its terminal")]
fn report(line: &str) {
    eprintln!("{line}");
}

//! Programs that tasks run, and the folders that they run in.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Why a task failed, in one line.
pub(crate) type Failure = String;

/// The folder of the workspace.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// The folder that cargo writes to.
pub(crate) fn target() -> PathBuf {
    env::var("CARGO_TARGET_DIR").map_or_else(|_| root().join("target"), |folder| root().join(folder))
}

/// A program at the root of the workspace. Cargo tells this program of itself in variables; were they handed on, build
/// scripts that look at them would run anew each time.
pub(crate) fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    for (name, _) in env::vars_os() {
        let of_this = name.to_str().is_some_and(|name| {
            name.starts_with("CARGO_PKG_")
                || name.starts_with("CARGO_MANIFEST_")
                || name == "CARGO_CRATE_NAME"
        });
        if of_this {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a program whose output is all that is wanted.
pub(crate) fn quietly(program: &str, arguments: &[&str]) -> Result<(), Failure> {
    let status = command(program, arguments).status();
    let status = status.map_err(|error| format!("{program} cannot be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{} failed", arguments.join(" "))) }
}

pub(crate) fn run(program: &str, arguments: &[&str]) -> Result<(), Failure> {
    run_with(program, arguments, &[])
}

pub(crate) fn run_with(
    program: &str,
    arguments: &[&str],
    variables: &[(String, String)],
) -> Result<(), Failure> {
    report(&format!("$ {program} {}", arguments.join(" ")));
    let variables = variables.iter().map(|(name, value)| (name, value));
    let status = command(program, arguments).envs(variables).status();
    let status = status.map_err(|error| format!("{program} cannot be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{program} {} failed", arguments.join(" "))) }
}

/// The output of a program; its errors go to the terminal.
pub(crate) fn output(program: &str, arguments: &[&str]) -> Result<String, Failure> {
    let mut command = command(program, arguments);
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("{program} cannot be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("{program} {} failed", arguments.join(" ")));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("{program} writes no text"))
}

#[expect(clippy::print_stderr, reason = "a task runner talks to its terminal")]
pub(crate) fn report(line: &str) {
    eprintln!("{line}");
}

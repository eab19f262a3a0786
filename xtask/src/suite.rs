//! The tests of the workspace, and what they need beside cargo.

use std::process::Command;

use serde_json::Value;

use crate::shell::{Failure, command, output, report, run_with};
use crate::{counterparts, programs, snapshots};

/// The arguments by which cargo runs the tests, doc tests apart. The whole workspace, so that nothing is built with other features later.
const PROGRAMS: [&str; 5] = ["test", "--workspace", "--lib", "--bins", "--tests"];

/// Builds them, and the examples, which tests start. Where examples are named, cargo makes tests of them.
pub(crate) fn build() -> Command {
    command("cargo", &["test", "--workspace", "--no-run"])
}

/// Tests against what is not ours: servers and SDKs in Python and JavaScript. They are ignored unless they are asked for.
const COUNTERPARTS: [&str; 9] = [
    "a2a",
    "a2a_conformance",
    "http_tools",
    "llamacpp",
    "mcp",
    "mcp_conformance",
    "official_types",
    "s3",
    "telemetry",
];

/// Every test of the workspace, with `variables` set. Snapshots are compared, and each is one that a test compares.
pub(crate) fn test(variables: &[(String, String)]) -> Result<(), Failure> {
    // Not in the hostile environment: this is the one thing that needs a network.
    counterparts::install()?;
    let referenced = snapshots::references()?;
    let mut variables = variables.to_vec();
    let settings = [("INSTA_UPDATE", "no"), ("INSTA_SNAPSHOT_REFERENCES_FILE", referenced.as_str())];
    variables.extend(settings.map(|(name, value)| (name.to_owned(), value.to_owned())));
    run_with("cargo", &["test", "--workspace", "--no-run"], &variables)?;
    programs::run(&PROGRAMS, &variables)?;
    run_with("cargo", &["test", "--workspace", "--doc"], &variables)?;
    // The whole workspace again, as above.
    let mut real = vec!["test", "--workspace"];
    real.extend(COUNTERPARTS.iter().flat_map(|name| ["--test", name]));
    real.extend(["--", "--ignored"]);
    run_with("cargo", &real, &variables)?;
    snapshots::refuse_orphans(&referenced)?;
    refuse_empty_targets()
}

/// A file of tests that holds none, say by a feature that is off, passes; nobody notices that it proves nothing.
fn refuse_empty_targets() -> Result<(), Failure> {
    let built = output("cargo", &["test", "--workspace", "--quiet", "--no-run", "--message-format", "json"])?;
    let mut empty = Vec::new();
    let mut targets = 0;
    for line in built.lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        let is_test = message.pointer("/target/kind/0").is_some_and(|kind| kind == "test");
        let (Some(program), Some(name)) =
            (message.get("executable").and_then(Value::as_str), message.pointer("/target/src_path"))
        else {
            continue;
        };
        if !is_test {
            continue;
        }
        targets += 1;
        let listed = Command::new(program).args(["--list", "--format", "terse"]).output();
        let listed = listed.map_err(|error| format!("{program} cannot be started: {error}"))?;
        if !String::from_utf8_lossy(&listed.stdout).lines().any(|line| line.ends_with(": test")) {
            empty.push(name.as_str().unwrap_or_default().to_owned());
        }
    }
    report(&format!("{targets} files of integration tests, {} of them empty", empty.len()));
    match (targets, empty.as_slice()) {
        (0, _) => Err("cargo names no test target: has its output changed?".to_owned()),
        (_, []) => Ok(()),
        _ => Err(format!("no test in\n  {}", empty.join("\n  "))),
    }
}

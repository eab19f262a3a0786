//! Mutation testing with cargo-mutants: code is changed in one place, and a test should fail. Hours; for the night.

use std::fs;

use serde_json::Value;

use crate::shell::{Failure, output, report, root, run, target};

/// Code whose decisions are the promise: a package, and its files.
const DECISIVE: &[(&str, &[&str])] = &[
    ("attache-documents", &["crates/documents/src/**/*.rs"]),
    (
        "attache-agent",
        &[
            "crates/agent/src/run/**/*.rs",
            "crates/agent/src/memory/message_window.rs",
            "crates/agent/src/memory/message_window/**/*.rs",
        ],
    ),
];

/// Makes mutants of the decisive code of these packages, or of all, and prints those that no test noticed.
pub(crate) fn run_all(packages: &[&str]) -> Result<(), Failure> {
    if output("cargo", &["mutants", "--version"]).is_err() {
        run("cargo", &["install", "--locked", "cargo-mutants"])?;
    }
    let chosen = |package: &str| packages.is_empty() || packages.contains(&package);
    let decisive: Vec<_> = DECISIVE.iter().filter(|(package, _)| chosen(package)).collect();
    if decisive.is_empty() {
        let known: Vec<&str> = DECISIVE.iter().map(|(package, _)| *package).collect();
        return Err(format!("mutants are made of {}", known.join(", ")));
    }
    for (package, files) in decisive {
        let folder = target().join("mutants").join(package);
        fs::create_dir_all(&folder)
            .map_err(|error| format!("{} cannot be made: {error}", folder.display()))?;
        let shown = folder.display().to_string();
        let mut arguments = vec!["mutants", "--package", package, "--output", &shown, "--jobs", "1"];
        arguments.extend(files.iter().flat_map(|file| ["--file", file]));
        arguments.extend(["--", "--tests"]);
        // It fails if a mutant survives; how many did is told below. A failure of its own leaves no outcome.
        let ended = run("cargo", &arguments);
        let outcomes = folder.join("mutants.out/outcomes.json");
        let told = fs::read_to_string(&outcomes).map_err(|_| ended.err().unwrap_or_default())?;
        tell(package, &told)?;
    }
    Ok(())
}

/// Prints the share of mutants that a test noticed, and the others.
fn tell(package: &str, outcomes: &str) -> Result<(), Failure> {
    let outcomes: Value =
        serde_json::from_str(outcomes).map_err(|error| format!("outcomes.json is broken: {error}"))?;
    let count = |name: &str| outcomes.get(name).and_then(Value::as_u64).unwrap_or_default();
    let (caught, late, missed) = (count("caught"), count("timeout"), count("missed"));
    let viable = caught + late + missed;
    let share = (caught + late) * 1_000 / viable.max(1);
    report(&format!(
        "\n{package}: {}.{} % of {viable} mutants noticed ({missed} survive, {} do not compile)",
        share / 10,
        share % 10,
        count("unviable")
    ));
    let root = root().display().to_string();
    for outcome in outcomes.get("outcomes").and_then(Value::as_array).into_iter().flatten() {
        if outcome.get("summary").is_some_and(|summary| summary == "MissedMutant") {
            let name = outcome.pointer("/scenario/Mutant/name").and_then(Value::as_str).unwrap_or_default();
            report(&format!("  {}", name.trim_start_matches(&root)));
        }
    }
    Ok(())
}

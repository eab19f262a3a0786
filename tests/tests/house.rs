//! The rules of the house: who may know whom. Each rule is a sentence of docs/ARCHITECTURE.md.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// The packages that a package reaches by normal dependencies with all its features, itself left out.
fn reach(package: &str) -> BTreeSet<String> {
    reach_with(package, &["--all-features"])
}

/// The same with some features.
fn reach_with(package: &str, features: &[&str]) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "-p", package, "-e", "normal", "--prefix", "none", "--format", "{p}"])
        .args(features)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("cargo writes UTF-8");
    text.lines()
        .filter_map(|line| line.split(' ').next())
        .filter(|name| *name != package)
        .map(str::to_owned)
        .collect()
}

const PROVIDERS: [&str; 6] = [
    "attache-openai",
    "attache-anthropic",
    "attache-gemini",
    "attache-bedrock",
    "attache-cohere",
    "attache-offline",
];
const RUNTIMES_AND_CLIENTS: [&str; 6] = ["tokio", "reqwest", "hyper", "rustls", "async-std", "ureq"];

#[test]
fn core_and_documents_reach_no_runtime_and_no_client() {
    for package in ["attache-core", "attache-documents", "attache-macros"] {
        let reached = reach(package);
        for forbidden in RUNTIMES_AND_CLIENTS {
            assert!(!reached.contains(forbidden), "{package} reaches {forbidden}");
        }
    }
}

#[test]
fn core_knows_none_of_us() {
    let ours: Vec<_> = reach("attache-core").into_iter().filter(|name| name.starts_with("attache")).collect();
    assert_eq!(ours, Vec::<String>::new());
}

#[test]
fn the_agent_names_no_provider_and_no_client() {
    let reached = reach("attache-agent");
    for forbidden in PROVIDERS.iter().chain(&[
        "attache-transport",
        "attache-models",
        "attache-convert",
        "attache-stores",
        "reqwest",
        "hyper",
    ]) {
        assert!(!reached.contains(*forbidden), "attache-agent reaches {forbidden}");
    }
}

#[test]
fn the_stores_name_no_provider_and_no_client() {
    let reached = reach("attache-stores");
    for forbidden in PROVIDERS.iter().chain(&["attache-transport", "attache-models", "reqwest", "hyper"]) {
        assert!(!reached.contains(*forbidden), "attache-stores reaches {forbidden}");
    }
}

#[test]
fn no_provider_reaches_another_or_the_agent() {
    for provider in PROVIDERS {
        let reached = reach(provider);
        for forbidden in PROVIDERS.iter().chain(&["attache-agent", "attache-models", "attache-convert"]) {
            assert!(!reached.contains(*forbidden), "{provider} reaches {forbidden}");
        }
        // The offline model reads labels and fences, so it must know how they are written; a codec emits what it is
        // given.
        if provider != "attache-offline" {
            assert!(!reached.contains("attache-documents"), "{provider} reaches attache-documents");
        }
    }
    assert!(!reach("attache-offline").contains("attache-transport"), "the offline model has no network");
}

#[test]
fn nobody_must_depend_on_the_converters_or_the_testkit() {
    for package in [
        "attache-core",
        "attache-documents",
        "attache-agent",
        "attache-openai",
        "attache-anthropic",
        "attache-gemini",
        "attache-bedrock",
        "attache-cohere",
        "attache-models",
        "attache-offline",
        "attache-stores",
    ] {
        let reached = reach(package);
        assert!(!reached.contains("attache-testkit") && !reached.contains("attache-convert"), "{package}");
    }
}

// Design 8, issue "The house stands": what a team pays for picking one crate
#[test]
fn the_trees_stay_lean() {
    let limits = [
        ("attache-core", 45),
        ("attache-openai", 120),
        ("attache-anthropic", 120),
        ("attache-gemini", 120),
        ("attache-cohere", 120),
        ("attache-agent", 75),
        ("attache-stores", 80),
    ];
    for (package, limit) in limits {
        let crates = reach(package).len() + 1;
        assert!(crates <= limit, "{package} has {crates} crates, more than {limit}");
    }
    // With `aws-config` comes the whole chain of AWS credentials, which nobody has to take.
    let bedrock = reach_with("attache-bedrock", &[]).len() + 1;
    assert!(bedrock <= 120, "attache-bedrock has {bedrock} crates without features, more than 120");
}

#[test]
fn tls_is_chosen_in_the_transport_crate_alone() {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    let mut users: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in metadata["packages"].as_array().expect("a list of packages") {
        for dependency in package["dependencies"].as_array().expect("a list of dependencies") {
            if dependency["kind"].is_null() {
                let (name, user) = (dependency["name"].as_str(), package["name"].as_str());
                users.entry(name.unwrap_or_default()).or_default().push(user.unwrap_or_default());
            }
        }
    }
    for library in
        ["reqwest", "rustls", "hyper-rustls", "tokio-rustls", "rustls-platform-verifier", "native-tls"]
    {
        let users = users.get(library).cloned().unwrap_or_default();
        assert!(users.iter().all(|user| *user == "attache-transport"), "{library}: {users:?}");
    }
    assert_eq!(users.get("hyper-rustls").map(Vec::as_slice), Some(&["attache-transport"][..]));
}

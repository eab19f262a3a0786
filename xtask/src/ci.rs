//! Everything that CI runs, in the order in which it fails soonest.

use std::time::Instant;

use crate::docs as pages;
use crate::shell::{Failure, report, root, run as command, run_with};
use crate::{api, environment, gate, suite, tidy};

/// The crates that a team may pick alone.
const ALONE: &[&str] = &[
    "attache-schema",
    "attache-core",
    "attache-documents",
    "attache-citations",
    "attache-convert",
    "attache-transport",
    "attache-openai",
    "attache-anthropic",
    "attache-gemini",
    "attache-bedrock",
    "attache-cohere",
    "attache-offline",
    "attache-models",
    "attache-agent",
    "attache-stores",
    "attache-tools",
    "attache-mcp",
    "attache-http-tools",
    "attache-otel",
    "attache-testkit",
];

/// The features of the registry, each of which builds without the others.
const PROVIDERS: &[&str] = &["openai", "anthropic", "gemini", "bedrock", "offline"];

/// The features of the converters, each of which builds without the others.
const CONVERTERS: &[&str] = &["pdf", "office", "html", "epub", "email", "legacy"];

/// The features of the facade, each of which builds without the others.
const FEATURES: &[&str] = &[
    "agent",
    "citations",
    "stores",
    "sqlite",
    "postgres",
    "object",
    "s3",
    "tools",
    "http-tools",
    "yaml",
    "mcp",
    "otel",
    "macros",
    "openai",
    "anthropic",
    "gemini",
    "bedrock",
    "offline",
    "models",
    "convert",
];

/// A stage's name, and what it does.
type Stage = (&'static str, fn() -> Result<(), Failure>);

const STAGES: [Stage; 8] = [
    ("tidy", || tidy::run(&root())),
    ("fmt", fmt),
    ("lint", lint),
    ("crates", crates),
    ("docs", docs),
    ("api", || api::run(false, &[])),
    ("gate", || gate::gate(None)),
    ("test", test),
];

/// Runs these stages in their order, or all of them.
pub(crate) fn run(only: &[&str]) -> Result<(), Failure> {
    if let Some(unknown) = only.iter().find(|name| !STAGES.iter().any(|(known, _)| known == *name)) {
        return Err(format!("there is no stage {unknown}"));
    }
    // The crates that a later stage needs, so that the last one can do without a network. The gate installs its tools.
    command("cargo", &["fetch", "--locked"])?;
    for (name, stage) in STAGES.iter().filter(|(name, _)| only.is_empty() || only.contains(name)) {
        let started = Instant::now();
        stage()?;
        report(&format!("stage {name}: {} s", started.elapsed().as_secs()));
    }
    Ok(())
}

/// The crate of fuzzing is a workspace of its own.
fn fmt() -> Result<(), Failure> {
    command("cargo", &["fmt", "--all", "--check"])?;
    command("cargo", &["fmt", "--manifest-path", "fuzz/Cargo.toml", "--check"])
}

fn lint() -> Result<(), Failure> {
    command("cargo", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
}

/// Each crate and each feature builds without the others, and each crate's tests do without the workspace's.
fn crates() -> Result<(), Failure> {
    for package in ALONE {
        command("cargo", &["check", "-p", package])?;
        command("cargo", &["check", "-p", package, "--tests"])?;
    }
    for provider in PROVIDERS {
        command("cargo", &["check", "-p", "attache-models", "--features", provider])?;
    }
    command("cargo", &["check", "-p", "attache-testkit", "--features", "cassettes"])?;
    command("cargo", &["check", "-p", "attache-otel", "--features", "http"])?;
    command("cargo", &["check", "-p", "attache-convert", "--no-default-features"])?;
    for feature in CONVERTERS {
        command(
            "cargo",
            &["check", "-p", "attache-convert", "--no-default-features", "--features", feature],
        )?;
    }
    // Tools that register themselves do so as well in a program that is optimised as a whole.
    command("cargo", &["test", "-p", "attache-macros", "--test", "discovery", "--profile", "whole"])?;
    command("cargo", &["check", "-p", "attache", "--no-default-features"])?;
    for feature in FEATURES {
        command("cargo", &["check", "-p", "attache", "--no-default-features", "--features", feature])?;
    }
    Ok(())
}

fn docs() -> Result<(), Failure> {
    pages::check()?;
    let strict = [("RUSTDOCFLAGS".to_owned(), "-D warnings".to_owned())];
    run_with("cargo", &["doc", "--workspace", "--no-deps"], &strict)
}

/// The whole suite, once, on a machine that does everything to disturb it.
fn test() -> Result<(), Failure> {
    suite::test(&environment::hostile()?)
}

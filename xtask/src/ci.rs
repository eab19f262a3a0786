//! Everything that CI runs, in the order in which it fails soonest.

use crate::{Failure, root, run as command, run_with, test, tidy};

/// The crates that a team may pick alone.
const ALONE: &[&str] = &[
    "attache-core",
    "attache-documents",
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
];

/// The features of the registry, each of which builds without the others.
const PROVIDERS: &[&str] = &["openai", "anthropic", "gemini", "bedrock", "offline"];

/// The features of the converters, each of which builds without the others.
const CONVERTERS: &[&str] = &["pdf", "office", "html", "epub", "email"];

/// The features of the facade, each of which builds without the others.
const FEATURES: &[&str] = &[
    "agent",
    "stores",
    "macros",
    "openai",
    "anthropic",
    "gemini",
    "bedrock",
    "offline",
    "models",
    "convert",
];

pub(crate) fn run() -> Result<(), Failure> {
    tidy::run(&root())?;
    command("cargo", &["fmt", "--all", "--check"])?;
    command("cargo", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    for package in ALONE {
        command("cargo", &["check", "-p", package])?;
    }
    for provider in PROVIDERS {
        command("cargo", &["check", "-p", "attache-models", "--features", provider])?;
    }
    command("cargo", &["check", "-p", "attache-convert", "--no-default-features"])?;
    for feature in CONVERTERS {
        command(
            "cargo",
            &["check", "-p", "attache-convert", "--no-default-features", "--features", feature],
        )?;
    }
    command("cargo", &["check", "-p", "attache", "--no-default-features"])?;
    for feature in FEATURES {
        command("cargo", &["check", "-p", "attache", "--no-default-features", "--features", feature])?;
    }
    run_with("cargo", &["doc", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "-D warnings")])?;
    // Nothing may be skipped for want of a counterpart.
    test(&[], &[("CI", "true")])
}

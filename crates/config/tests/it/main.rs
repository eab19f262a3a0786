//! The reading of `attache.toml`, and the words on its mistakes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

mod edit;
mod hints;
mod mistakes;
mod reading;
mod trust;
mod warnings;

use attache_config::{Config, ConfigFile, Problems};

/// The variables of these tests.
fn variable(name: &str) -> Option<String> {
    match name {
        "TOKEN" => Some("canary-token".to_owned()),
        "STEPS" => Some("7".to_owned()),
        "HOME" => Some("/home/ann".to_owned()),
        "EMPTY" => Some(String::new()),
        _ => None,
    }
}

fn config(text: &str) -> Result<Config, Problems> {
    Config::of([ConfigFile::parse("/project/attache.toml", text)?], &variable)
}

/// The mistakes, one a line, without the folder.
fn mistakes(text: &str) -> Vec<String> {
    let problems = config(text).expect_err(text);
    problems.iter().map(|problem| problem.to_string().replace("/project/", "")).collect()
}

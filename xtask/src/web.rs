//! The chat of the server: `crates/server/web`, built into files that are committed and embedded.

use std::process::Command;

use crate::shell::{Failure, root};

/// Installs the packages of the lock file where they are not there, checks the types, builds.
pub(crate) fn build(arguments: &[&str]) -> Result<(), Failure> {
    let folder = root().join("crates/server/web");
    let run = |program: &str, arguments: &[&str]| {
        let done = Command::new(program)
            .args(arguments)
            .current_dir(&folder)
            .status()
            .map_err(|error| format!("{program} does not run: {error}"))?;
        if done.success() { Ok(()) } else { Err(format!("{program} {} failed", arguments.join(" "))) }
    };
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    if !folder.join("node_modules").is_dir() {
        run(npm, &["ci", "--no-audit", "--no-fund", "--loglevel", "error"])?;
    }
    run("node", &["node_modules/typescript/bin/tsc", "--noEmit"])?;
    run("node", &["test.mjs"])?;
    run("node", &[&["build.mjs"], arguments].concat())
}

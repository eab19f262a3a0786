//! The chat in a real browser: Debian's Chromium, driven by playwright-core. Each scenario is a function of a
//! program under `tests/real/web`, with a server of its own; the scenarios of a program are run by the module of its name.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a broken expectation is a failed test"
)]

mod chat;
mod details;
mod embedding;
mod kept;
mod looks;
mod stage;
mod states;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tokio::net::TcpListener;

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/real/web").join(name)
}

/// The packages of `tests/real/web/package-lock.json`, which `cargo xtask counterparts` installs.
fn packages() -> PathBuf {
    let base = Path::new(env!("CARGO_TARGET_TMPDIR")).join("node");
    let wanted = fs::read_to_string(script("package-lock.json")).unwrap();
    let is_there = fs::read_to_string(base.join("web.ready")).is_ok_and(|packages| packages == wanted);
    assert!(is_there, "the packages of tests/real/web are not installed: cargo xtask counterparts");
    base.join("web")
}

/// Runs a scenario against a server.
async fn scenario(name: &str) {
    let packages = packages();
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let served = tokio::spawn(stage::server(name).serve(listener, std::future::pending::<()>()));
    let pictures = Path::new(env!("CARGO_TARGET_TMPDIR")).join("web-pictures");
    fs::create_dir_all(&pictures).unwrap();
    let mut command = Command::new("node");
    command
        .arg(script("chat.mjs"))
        .args([name, &address])
        .env("PACKAGES", &packages)
        .env("PICTURES", &pictures)
        .stdin(Stdio::null());
    // It ends by itself after a while.
    let done = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    served.abort();
    let said = [done.stdout, done.stderr].concat();
    assert!(done.status.success(), "{name}:\n{}", String::from_utf8_lossy(&said));
}

/// A scenario that nobody runs proves nothing.
#[test]
fn every_scenario_is_run() {
    for (program, module) in [
        ("chat.mjs", include_str!("chat.rs")),
        ("details.mjs", include_str!("details.rs")),
        ("embedding.mjs", include_str!("embedding.rs")),
        ("kept.mjs", include_str!("kept.rs")),
        ("looks.mjs", include_str!("looks.rs")),
        ("states.mjs", include_str!("states.rs")),
    ] {
        let program = fs::read_to_string(script(program)).unwrap();
        let written = program.lines().filter_map(|line| line.strip_prefix("scenarios."));
        let written: Vec<_> = written.filter_map(|line| line.split(' ').next()).collect();
        let run = module.lines().filter_map(|line| line.trim().strip_prefix("scenario(\""));
        let run: Vec<_> = run.filter_map(|line| line.split('"').next()).collect();
        assert_eq!(written, run);
    }
}

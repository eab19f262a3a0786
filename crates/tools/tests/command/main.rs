//! The tool with which a model runs commands.
#![cfg(unix)]
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a broken expectation is a failed test"
)]

mod confined;

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use attache_agent::{Agent, Disposition, EventKind, MemoryJournal};
use attache_core::{Arguments, Effect, Tool, ToolContext};
use attache_testkit::{ScriptedModel, Turn};
use attache_tools::{Argument, Command, CommandError, CommandTool};
use serde_json::{Value, json};

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("attache-command-{name}-{}", std::process::id()));
        _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

fn shell(script: &str) -> Command {
    Command::new("sh").exact("-c").exact(script)
}

/// The result of a call: true and the JSON of a success, or false and the text of a failure.
async fn call(tool: &CommandTool, program: &str, arguments: &[&str]) -> (bool, Value) {
    let written = json!({"program": program, "arguments": arguments}).to_string();
    match tool.call(&Arguments::new(written), ToolContext::new()).await {
        Ok(output) => (
            output.status == attache_core::ResultStatus::Ok,
            serde_json::from_str(output.tree.json()).unwrap(),
        ),
        Err(error) => (false, error.for_model().into()),
    }
}

fn listing(folder: &Path) -> CommandTool {
    let listing = Command::new("ls")
        .argument(Argument::OneOf(vec!["-l".into(), "-1".into()]).optional())
        .exact("--")
        .argument(Argument::File.repeated());
    CommandTool::new(folder, [listing, Command::new("echo").argument(Argument::Text.repeated())]).unwrap()
}

// A85
#[tokio::test]
async fn a_command_runs_if_the_list_allows_it() {
    let folder = Folder::new("allowed");
    std::fs::write(folder.0.join("a b.txt"), "text").unwrap();
    let tool = listing(&folder.0);
    assert_eq!(
        call(&tool, "ls", &["-1", "--", "a b.txt"]).await,
        (true, json!({"exitCode": 0, "output": "a b.txt\n"}))
    );
    // No shell stands between.
    let said = call(&tool, "echo", &["$HOME;", "`id`", "a b", "*"]).await;
    assert_eq!(said.1["output"], "$HOME; `id` a b *\n");
    let (ok, failed) = call(&tool, "ls", &["--", "not-there"]).await;
    assert!(
        !ok && failed["exitCode"] != 0 && failed["errors"].as_str().unwrap().contains("not-there"),
        "{failed}"
    );
}

// A85: before anything runs, and no path leads out
#[tokio::test]
async fn a_command_that_the_list_does_not_allow_is_not_run() {
    let (folder, outside) = (Folder::new("denied"), Folder::new("outside"));
    std::fs::write(outside.0.join("secret"), "canary").unwrap();
    symlink(&outside.0, folder.0.join("link")).unwrap();
    std::fs::create_dir(folder.0.join("in")).unwrap();
    let tool = listing(&folder.0);
    let denied: [&[&str]; 9] = [
        &["-R", "--"],
        &["-l"],
        &["-l", "-1", "--"],
        &["--", "/etc"],
        &["--", ".."],
        &["--", "in/../../x"],
        &["--", "link/secret"],
        &["--", "-l"],
        &["--", ""],
    ];
    for arguments in denied {
        let (ok, text) = call(&tool, "ls", arguments).await;
        assert!(!ok, "{arguments:?}");
        assert_eq!(text, "not allowed, and not run; allowed is: ls [(-l|-1)] -- [<file> …]", "{arguments:?}");
    }
    assert!(
        call(&tool, "ls", &["--", "in", "in/new", "./in"]).await.1["errors"]
            .as_str()
            .unwrap()
            .contains("in/new")
    );
    let (_, text) = call(&tool, "rm", &[]).await;
    assert!(text.as_str().unwrap().contains("`program`"), "{text}");
    let nothing = CommandTool::new(&folder.0, []).unwrap_err();
    assert!(matches!(nothing, CommandError::Nothing));
    let missing = CommandTool::new(&folder.0, [Command::new("no-such-program")]).unwrap_err();
    assert_eq!(missing.to_string(), r#"there is no program "no-such-program""#);
}

#[tokio::test]
async fn a_denied_command_is_an_observation_and_no_effect() {
    let folder = Folder::new("observed");
    let touch = Command::new("touch").argument(Argument::File);
    let call = |path: &str| Turn::call("run_command", json!({"program": "touch", "arguments": [path]}));
    let model = ScriptedModel::new([call("/tmp/x"), call("made"), Turn::text("done")]);
    let agent = Agent::builder(model).tool(CommandTool::new(&folder.0, [touch]).unwrap()).build().unwrap();
    let journal = std::sync::Arc::new(MemoryJournal::new());
    let mut run = agent.run_in(journal.clone(), "x");
    let mut dispositions = Vec::new();
    while let Some(event) = run.next().await {
        if let EventKind::ToolFinished { disposition, .. } = event.kind {
            dispositions.push(disposition);
        }
    }
    assert_eq!(dispositions, [Disposition::Refused, Disposition::Executed]);
    assert!(folder.0.join("made").exists());
    let begun = journal.entries().iter().filter(|entry| entry.key.as_str().starts_with("begun/")).count();
    assert_eq!(begun, 1);
}

#[tokio::test]
async fn a_command_has_the_environment_and_the_folder_that_it_is_given() {
    let folder = Folder::new("environment");
    let tool = CommandTool::new(&folder.0, [shell("env | sort; pwd; cat")]).unwrap();
    let tool =
        tool.with_variable("GIVEN", "yes").with_passed(["PATH", "NOT_THERE"]).with_effect(Effect::Read);
    let (ok, said) = call(&tool, "sh", &["-c", "env | sort; pwd; cat"]).await;
    let output = said["output"].as_str().unwrap();
    assert!(ok && output.contains("GIVEN=yes\n") && output.contains("PATH="), "{output}");
    assert!(!output.contains("HOME=") && !output.contains("CARGO"), "{output}");
    let real = folder.0.canonicalize().unwrap();
    assert!(output.lines().any(|line| Path::new(line) == real), "{output}");
}

#[tokio::test]
async fn the_output_of_a_command_is_bounded() {
    let folder = Folder::new("output");
    let script = "printf 'begin'; head -c 5000000 /dev/zero | tr '\\0' x; printf 'end'";
    let tool =
        CommandTool::new(&folder.0, [shell(script)]).unwrap().with_max_output(1_000).with_passed(["PATH"]);
    let (ok, said) = call(&tool, "sh", &["-c", script]).await;
    let output = said["output"].as_str().unwrap();
    assert!(ok && output.len() < 1_100, "{} bytes", output.len());
    assert!(output.starts_with("begin") && output.ends_with("end"));
    assert!(output.contains("[… 4999008 bytes left out …]"), "{output}");
}

/// True if a process writes into a file that is to stay as it is.
fn is_alive(beat: &Path) -> bool {
    let before = std::fs::read(beat).unwrap_or_default().len();
    std::thread::sleep(Duration::from_millis(400));
    std::fs::read(beat).unwrap_or_default().len() != before
}

/// A program that starts another one, both of which write until they are ended.
const BEATS: &str =
    "(while :; do printf x >> beat; sleep 0.05; done) & while :; do printf x >> beat; sleep 0.05; done";

#[tokio::test]
async fn a_command_and_what_it_started_end_when_its_time_is_up() {
    let folder = Folder::new("limit");
    let tool = CommandTool::new(&folder.0, [shell(BEATS)]).unwrap().with_limit(Duration::from_millis(300));
    let tool = tool.with_passed(["PATH"]);
    let start = Instant::now();
    let (ok, said) = call(&tool, "sh", &["-c", BEATS]).await;
    assert!(!ok && said["end"] == "stopped after 0.3 s", "{said}");
    assert!(start.elapsed() < Duration::from_secs(10));
    assert!(folder.0.join("beat").exists() && !is_alive(&folder.0.join("beat")));
}

#[tokio::test]
async fn a_command_and_what_it_started_end_when_the_call_is_dropped() {
    let folder = Folder::new("dropped");
    let tool = CommandTool::new(&folder.0, [shell(BEATS)]).unwrap().with_passed(["PATH"]);
    let beat = folder.0.join("beat");
    let mut running = Box::pin(call(&tool, "sh", &["-c", BEATS]));
    while !beat.exists() {
        let moment = tokio::time::sleep(Duration::from_millis(10));
        tokio::select! {
            _ = &mut running => panic!("it ended"),
            () = moment => {}
        }
    }
    drop(running);
    assert!(!is_alive(&beat));
}

// A process that a program leaves behind ends with it, so that its output has an end.
#[tokio::test]
async fn what_a_command_leaves_behind_ends_with_it() {
    let folder = Folder::new("behind");
    let script = "(while :; do printf x >> beat; sleep 0.05; done) & sleep 0.2; echo done";
    let tool = CommandTool::new(&folder.0, [shell(script)]).unwrap().with_passed(["PATH"]);
    let (ok, said) = call(&tool, "sh", &["-c", script]).await;
    assert!(ok && said["output"] == "done\n", "{said}");
    assert!(!is_alive(&folder.0.join("beat")));
}

#[test]
fn the_values_of_variables_are_not_shown() {
    let folder = Folder::new("debug");
    let tool = CommandTool::new(&folder.0, [shell("true")]).unwrap().with_variable("TOKEN", "canary-1234");
    let shown = format!("{tool:?}");
    assert!(shown.contains("TOKEN") && !shown.contains("canary"), "{shown}");
}

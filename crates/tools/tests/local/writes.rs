//! Files are changed whole or not at all, and after somebody approved it.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::sync::Arc;

use attache_agent::{Agent, Ask, EndReason, Proposal, Verdict};
use attache_core::{Approval, Tool};
use attache_testkit::{ScriptedModel, Turn};
use attache_tools::{FileFilter, Folders, write_tools};
use serde_json::json;

use super::{call, json};

fn folder() -> (tempfile::TempDir, PathBuf, Vec<Arc<dyn Tool>>) {
    let kept = tempfile::tempdir().unwrap();
    let inbox = kept.path().join("inbox");
    fs::create_dir(&inbox).unwrap();
    fs::write(kept.path().join("secret.txt"), "canary").unwrap();
    fs::write(inbox.join("a.txt"), "one\ntwo\nthree\n").unwrap();
    let tools = write_tools(Folders::open([&inbox], FileFilter::new()).unwrap());
    (kept, inbox, tools)
}

#[tokio::test]
async fn every_change_waits_for_approval() {
    let (_kept, inbox, tools) = folder();
    assert!(tools.iter().all(|tool| tool.spec().metadata.approval == Approval::Always));
    let model = ScriptedModel::new([Turn::call("write_file", json!({"path": "b.txt", "content": "x"}))]);
    let agent = Agent::builder(model).tools(tools).build().unwrap();
    let outcome = agent.run("Write it").outcome().await.unwrap();
    assert_eq!(outcome.reason, EndReason::PendingApproval);
    assert!(!inbox.join("b.txt").exists());
}

#[tokio::test]
async fn an_approval_says_which_lines_change() {
    let (_kept, inbox, _) = folder();
    let folders = Arc::new(Folders::open([&inbox], FileFilter::new()).unwrap());
    let shown = Arc::clone(&folders);
    let model =
        ScriptedModel::new([Turn::call("edit_file", json!({"path": "a.txt", "old": "two", "new": "2"}))]);
    let agent =
        Agent::builder(model).tools(write_tools(folders)).approval_policy(move |call: &Proposal<'_>| {
            match shown.preview(call.tool.definition.name(), call.arguments) {
                Some(lines) => Verdict::Ask(Ask::because(lines)),
                None => Verdict::Run,
            }
        });
    let outcome = agent.build().unwrap().run("Change it").outcome().await.unwrap();
    assert_eq!(outcome.approvals[0].reason.as_deref(), Some("a.txt\n@@ line 2 @@\n-two\n+2\n"));
}

#[tokio::test]
async fn texts_are_replaced_exactly_and_lines_keep_their_ends() {
    let (_kept, inbox, tools) = folder();
    let edit = |old: &str, new: &str| json!({"path": "a.txt", "old": old, "new": new});
    let changed = json(&tools, "edit_file", edit("two\nthree", "2\n3")).await;
    assert_eq!(changed, json!({"path": "a.txt", "diff": "@@ line 2 @@\n-two\n-three\n+2\n+3\n"}));
    assert_eq!(fs::read_to_string(inbox.join("a.txt")).unwrap(), "one\n2\n3\n");
    let absent = call(&tools, "edit_file", edit("four", "4")).await.unwrap_err();
    assert!(absent.contains("does not occur"), "{absent}");
    fs::write(inbox.join("a.txt"), "x\r\ny\r\nx\r\n").unwrap();
    let twice = call(&tools, "edit_file", edit("x", "z")).await.unwrap_err();
    assert!(twice.contains("occurs 2 times"), "{twice}");
    json(&tools, "edit_file", edit("x\ny", "a\nb")).await;
    assert_eq!(fs::read(inbox.join("a.txt")).unwrap(), b"a\r\nb\r\nx\r\n");
    fs::write(inbox.join("a.txt"), b"gr\xf6\xdfe").unwrap();
    let latin = call(&tools, "edit_file", edit("gr", "x")).await.unwrap_err();
    assert!(latin.contains("UTF-8"), "{latin}");
}

#[tokio::test]
async fn files_are_created_appended_to_and_replaced() {
    let (_kept, inbox, tools) = folder();
    let write = |path: &str, mode: &str| json!({"path": path, "content": "new\n", "mode": mode});
    let there = call(&tools, "write_file", write("a.txt", "create")).await.unwrap_err();
    assert!(there.contains("there already"), "{there}");
    json(&tools, "write_file", write("b.txt", "create")).await;
    json(&tools, "write_file", write("b.txt", "append")).await;
    assert_eq!(fs::read_to_string(inbox.join("b.txt")).unwrap(), "new\nnew\n");
    fs::set_permissions(inbox.join("a.txt"), fs::Permissions::from_mode(0o640)).unwrap();
    json(&tools, "write_file", write("a.txt", "overwrite")).await;
    assert_eq!(fs::read_to_string(inbox.join("a.txt")).unwrap(), "new\n");
    assert_eq!(fs::metadata(inbox.join("a.txt")).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(fs::read_dir(&inbox).unwrap().count(), 2, "nothing is left behind");
}

#[tokio::test]
async fn what_is_appended_is_written_as_the_file_is() {
    let (_kept, inbox, tools) = folder();
    let append = json!({"path": "a.txt", "content": "new\nlast\n", "mode": "append"});
    for other in [b"\xff\xfea\0\n\0".as_slice(), b"gr\xf6\xdfe\n", b"%PDF-1.7 \xe2\xe3"] {
        fs::write(inbox.join("a.txt"), other).unwrap();
        let refused = call(&tools, "write_file", append.clone()).await.unwrap_err();
        assert!(refused.contains("UTF-8"), "{refused}");
        assert_eq!(fs::read(inbox.join("a.txt")).unwrap(), other);
    }
    for (before, after) in
        [("a\r\n", "a\r\nnew\r\nlast\r\n"), ("a\n", "a\nnew\nlast\n"), ("a\r\nb\n", "a\r\nb\nnew\nlast\n")]
    {
        fs::write(inbox.join("a.txt"), before).unwrap();
        json(&tools, "write_file", append.clone()).await;
        assert_eq!(fs::read_to_string(inbox.join("a.txt")).unwrap(), after);
    }
}

// A84
#[tokio::test]
async fn nothing_outside_and_nothing_left_out_is_written() {
    let (kept, inbox, tools) = folder();
    symlink("../secret.txt", inbox.join("link.txt")).unwrap();
    symlink("..", inbox.join("up")).unwrap();
    fs::write(inbox.join(".env"), "KEY=1").unwrap();
    assert!(std::process::Command::new("mkfifo").arg(inbox.join("pipe")).status().unwrap().success());
    let absolute = kept.path().join("secret.txt").display().to_string();
    for path in [
        "../secret.txt",
        "link.txt",
        "up/secret.txt",
        "up/new.txt",
        ".env",
        "pipe",
        "none/a.txt",
        "",
        "up",
        &absolute,
    ] {
        for mode in ["create", "append", "overwrite"] {
            let asked = json!({"path": path, "content": "x", "mode": mode});
            let error = call(&tools, "write_file", asked).await.unwrap_err();
            assert!(!error.contains("canary"), "{path}: {error}");
        }
    }
    assert_eq!(fs::read_to_string(kept.path().join("secret.txt")).unwrap(), "canary");
    assert_eq!(fs::read_to_string(inbox.join(".env")).unwrap(), "KEY=1");
    assert_eq!(fs::read_dir(kept.path()).unwrap().count(), 2);
}

#[tokio::test]
async fn two_changes_at_once_are_both_there() {
    let (_kept, inbox, tools) = folder();
    let append = |number: usize| {
        let asked = json!({"path": "a.txt", "content": format!("{number}\n"), "mode": "append"});
        let tools = tools.clone();
        tokio::spawn(async move { call(&tools, "write_file", asked).await.unwrap() })
    };
    let all: Vec<_> = (0..20).map(append).collect();
    for one in all {
        one.await.unwrap();
    }
    assert_eq!(fs::read_to_string(inbox.join("a.txt")).unwrap().lines().count(), 23);
}

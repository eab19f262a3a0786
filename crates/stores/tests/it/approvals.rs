//! A payment that somebody must approve, over a log in a file: cut at each line, it is made once.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use attache_agent::{Agent, Decision, EndReason, NoArguments, Outcome, decide, tool_fn};
use attache_core::{Approval, Message, ToolError};
use attache_testkit::{ScriptedModel, Turn};
use tempfile::tempdir;

use crate::common::open;

/// The agent of one process, which has this left to say, and how often it paid.
fn agent(turns: Vec<Turn>, paid: &Arc<Mutex<usize>>) -> Agent {
    let paid = Arc::clone(paid);
    let pay = tool_fn("pay", "Pays", move |_: NoArguments| {
        *paid.lock().unwrap() += 1;
        async { Ok::<_, ToolError>("paid") }
    });
    let pay = pay.with_approval(Approval::Always);
    Agent::builder(ScriptedModel::new(turns).unverified()).tool(pay).build().unwrap()
}

fn result_of(outcome: &Outcome) -> String {
    let results = outcome.messages.iter().find_map(|message| match &**message {
        Message::ToolResults(results) => Some(results.results[0].tree.model_text().into_owned()),
        _ => None,
    });
    results.unwrap()
}

/// Goes on with the run in the file, approving what waits for it from another process.
async fn to_the_end(path: &Path, paid: &Arc<Mutex<usize>>) -> Outcome {
    loop {
        let text = fs::read_to_string(path).unwrap();
        let asked = usize::from(text.contains("model/1")) + usize::from(text.contains("model/2"));
        let turns = [Turn::call("pay", "{}"), Turn::text("done")].into_iter().skip(asked).collect();
        let outcome = agent(turns, paid).resume(Arc::new(open(path))).outcome().await.unwrap();
        if outcome.reason != EndReason::PendingApproval {
            return outcome;
        }
        decide(&open(path), &outcome.approvals[0].id, "ann", Decision::Approve).await.unwrap();
    }
}

// R34, microsoft/agent-framework#3938
#[tokio::test]
async fn an_approved_payment_cut_at_each_line_is_made_once() {
    let folder = tempdir().unwrap();
    let (path, paid) = (folder.path().join("run.jsonl"), Arc::default());
    let turns = vec![Turn::call("pay", "{}")];
    let pending = agent(turns, &paid).run_in(Arc::new(open(&path)), "go").outcome().await.unwrap();
    assert_eq!((pending.reason, *paid.lock().unwrap()), (EndReason::PendingApproval, 0));
    let uncut = to_the_end(&path, &paid).await;
    assert_eq!(
        (uncut.reason.clone(), *paid.lock().unwrap(), result_of(&uncut)),
        (EndReason::Answer, 1, "paid".into())
    );
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let begins = |line: &&str, key: &str| line.contains(&format!("\"key\":\"{key}"));
    let mut unknown = 0;
    for cut in 1..lines.len() {
        let kept = &lines[..cut];
        if !kept.iter().any(|line| line.contains("\"started\"")) {
            continue;
        }
        fs::write(&path, kept.concat()).unwrap();
        let paid_again = Arc::default();
        let outcome = to_the_end(&path, &paid_again).await;
        let has = |key: &str| kept.iter().any(|line| begins(line, key));
        assert_eq!(outcome.reason, EndReason::Answer, "cut at line {cut}");
        let times = *paid_again.lock().unwrap();
        if has("begun/") && !has("tool/") {
            // It may have been paid before the process died.
            unknown += 1;
            assert_eq!((times, outcome.unknown.len()), (0, 1), "cut at line {cut}");
            assert!(result_of(&outcome).contains("its outcome is unknown"), "cut at line {cut}");
        } else {
            assert_eq!(
                (times, result_of(&outcome)),
                (usize::from(!has("begun/")), "paid".to_owned()),
                "cut at line {cut}"
            );
        }
    }
    assert!(unknown > 0, "a cut falls between the intent and the result");
}

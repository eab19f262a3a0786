//! How far calls have come.

use std::sync::Arc;
use std::time::Duration;

use attache_agent::{Agent, EventKind, tool_fn};
use attache_core::tool::Progress;
use attache_core::{ToolContext, ToolError};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::json;
use tokio::time::sleep;

// The people who look on hear how far a call has come, about ten times a second, and nothing once it is over.
#[tokio::test(start_paused = true)]
async fn a_tool_tells_how_far_its_call_has_come() {
    let left_behind = Arc::new(tokio::sync::Notify::new());
    let behind = Arc::clone(&left_behind);
    let index = tool_fn("index", "", move |context: ToolContext| {
        let behind = Arc::clone(&behind);
        async move {
            for page in 0..100_u8 {
                let progress =
                    Progress::new(page.into()).with_total(100.0).with_message(format!("page {page}"));
                context.progress(progress);
                sleep(Duration::from_millis(10)).await;
            }
            tokio::spawn(async move {
                behind.notified().await;
                context.progress(Progress::new(101.0));
            });
            Ok::<_, ToolError>("indexed")
        }
    });
    let other = tool_fn("slow", "", || async {
        sleep(Duration::from_secs(3)).await;
        Ok::<_, ToolError>("slow")
    });
    let turns = [Turn::call("index", json!({})).and_call("slow", json!({})), Turn::text("Done.")];
    let agent =
        Agent::builder(ScriptedModel::new(turns).unverified()).tool(index).tool(other).build().unwrap();
    let mut run = agent.run("Index it");
    let (mut told, mut index, mut is_over) = (Vec::new(), None, false);
    while let Some(event) = run.next().await {
        match event.kind {
            EventKind::ToolStarted { call } if call.name == "index" => index = Some(call.id),
            EventKind::ToolProgress { id, progress } => {
                assert!(!is_over, "{progress:?}");
                assert_eq!(Some(id), index);
                told.push(*progress);
            }
            EventKind::ToolFinished { result, .. } if Some(&result.call_id) == index.as_ref() => {
                is_over = true;
                left_behind.notify_one();
            }
            _ => {}
        }
    }
    assert!(is_over);
    // A second of work, with a word at its beginning and each tenth of a second.
    let done: Vec<_> = told.iter().map(|progress| progress.done).collect();
    assert!((9..=12).contains(&done.len()) && done.is_sorted(), "{done:?}");
    assert_eq!((told[0].share(), told[0].message.as_deref()), (Some(0.0), Some("page 0")));
    // The clock of the tests counts whole milliseconds.
    assert!(
        (9.0..=10.0).contains(&told[1].done) && told[1].share() == Some(told[1].done / 100.0),
        "{told:?}"
    );
}

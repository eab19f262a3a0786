//! Documents that no longer fit the budget of a run: documents.md 9.2 D16, and invariant 4.

use std::sync::Arc;

use crate::common::Number;
use crate::common::kit::all;
use attache_agent::{Agent, Entry, EntryKind, Event, EventKind, LogEvents, MemoryJournal, tool_fn};
use attache_core::{Document, ToolError, UserMessage, UserPart};
use attache_documents::{DocumentBudget, RouteOptions};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::json;

// Documents that the model saw before are left out in blocks, and each time an event names it.
#[tokio::test]
async fn what_is_left_out_is_announced() {
    let read = tool_fn("read", "Reads a page", |_: Number| async {
        Ok::<_, ToolError>(Document::inline("four".repeat(1_000)))
    });
    let calls = (0..6).map(|n| Turn::call("read", json!({ "n": n })));
    let model = ScriptedModel::new(calls.chain([Turn::text("done")]));
    let routing = RouteOptions::new().with_budget(DocumentBudget::Tokens(4_200));
    let agent = Agent::builder(model.clone()).tool(read).routing(routing).build().unwrap();
    let mut run = agent.run("go");
    let (mut told, mut step) = (Vec::new(), 0);
    while let Some(event) = run.next().await {
        match event.kind {
            EventKind::StepStarted { .. } => step += 1,
            EventKind::DocumentsLeftOut { documents } => told.push((step, documents.len())),
            EventKind::Finished(result) => assert_eq!(result.unwrap().text, "done"),
            _ => {}
        }
    }
    // Four documents fit; the fifth and the sixth each put out one, and nothing is told twice.
    assert_eq!(told, [(5, 1), (6, 1)]);
    let requests = model.requests();
    let notes = |request: usize| {
        let results = requests[request].messages.iter().filter_map(|message| match &**message {
            attache_core::Message::ToolResults(results) => Some(results),
            _ => None,
        });
        let shown = results.flat_map(|results| &results.results).flat_map(|result| result.attached());
        let text = |content: &attache_core::UserPart| match content {
            attache_core::UserPart::Text(text) => text.text().contains("status=\"left-out\""),
            _ => false,
        };
        shown.filter(|content| text(content)).count()
    };
    assert_eq!([4, 5, 6].map(notes), [0, 1, 2]);
}

/// The steps whose documents were routed in another way than before, with a line for each document.
fn routed(events: &[Event]) -> Vec<(u32, String)> {
    let routed = events.iter().filter_map(|event| match &event.kind {
        EventKind::DocumentsRouted(report) => Some((event.step, report.to_string())),
        _ => None,
    });
    routed.collect()
}

// Whoever reads the log knows as much as somebody who looked on.
#[tokio::test]
async fn the_log_tells_how_documents_were_routed() {
    let read = tool_fn("read", "Reads a page", |_: Number| async {
        Ok::<_, ToolError>(Document::inline("four".repeat(1_000)))
    });
    let calls = (0..6).map(|n| Turn::call("read", json!({ "n": n })));
    let model = ScriptedModel::new(calls.chain([Turn::text("done")]));
    let routing = RouteOptions::new().with_budget(DocumentBudget::Tokens(4_200));
    let agent = Agent::builder(model).tool(read).routing(routing).build().unwrap();
    let journal = Arc::new(MemoryJournal::new());
    let live = routed(&all(&mut agent.run_in(journal.clone(), "go")).await);
    assert_eq!(live.len(), 6, "{live:?}");
    let kept = serde_json::to_string(&journal.entries()).unwrap();
    let entries: Vec<Entry> = serde_json::from_str(&kept).unwrap();
    let mut log = LogEvents::new();
    let told: Vec<Event> = entries.iter().flat_map(|entry| log.take(entry).unwrap()).collect();
    assert_eq!(routed(&told), live);
    // Four documents come, one by one. The fifth puts out the first one, and the sixth the second one: all decisions from
    // there on are written again.
    let written = entries.iter().filter_map(|entry| match &entry.kind {
        EntryKind::Routed(routed) => Some(routed.decisions.len()),
        _ => None,
    });
    assert_eq!(written.collect::<Vec<_>>(), [1, 1, 1, 1, 5, 5]);
}

// Logs of this form are in stores: a name or a word that changes makes them unreadable.
#[tokio::test]
async fn the_stored_form_of_a_routing_stays() {
    let agent = Agent::builder(ScriptedModel::new([Turn::text("done")])).build().unwrap();
    let journal = Arc::new(MemoryJournal::new());
    let lease = Document::inline("The rent is 900.").with_file_name("lease.txt");
    let question = UserMessage::new([UserPart::text("What is the rent?"), lease.clone().into()]);
    agent.run_in(journal.clone(), question).outcome().await.unwrap();
    let entries = journal.entries();
    let routed = entries.iter().find(|entry| matches!(entry.kind, EntryKind::Routed(_))).unwrap();
    let stored = json!({
        "schemaVersion": 1,
        "key": "routed/1",
        "at": routed.at,
        "kind": {"routed": {"kept": 0, "decisions": [{
            "document_id": lease.id().as_str(),
            "tool_name": null,
            "tool_call_id": null,
            "media_type": "text/plain",
            "file_name": "lease.txt",
            "place": "user",
            "inside": null,
            "outcome": "text",
            "reason": "shown as text",
            "bytes": 16,
            "tokens": 31,
        }]}},
    });
    assert_eq!(serde_json::to_value(routed).unwrap(), stored);
    let read: Entry = serde_json::from_value(stored.clone()).unwrap();
    assert_eq!(serde_json::to_value(read).unwrap(), stored);
}

//! A conversation that one agent hands over to another behind a different API: calls and documents of the first are in a
//! form that the second takes, and a run that is resumed there sends the same.

use std::sync::Arc;

use attache_agent::{
    Agent, Entry, EventKind, MemoryDocumentStore, MemoryJournal, NoArguments, RunInput, tool_fn,
};
use attache_conformance::{MockProvider, Reply, seen_documents, sha256_hex};
use attache_core::{Document, ModelSettings, ToolError};
use attache_documents::DocumentOutcome;
use attache_tests::Party;
use serde_json::{Value, json};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0";

/// The agents of one process: a desk that fetches a picture, and one that answers.
fn desk(
    from: (Party, &MockProvider),
    to: (Party, &MockProvider),
    store: &Arc<MemoryDocumentStore>,
    streaming: bool,
) -> Agent {
    let [first, second] =
        [from, to].map(|(party, mock)| party.connected(mock, ModelSettings::new()).unwrap());
    let fetch = tool_fn("fetch.picture", "Fetches a picture", |_: NoArguments| async {
        Ok::<_, ToolError>(json!({"picture": Document::from_bytes(PNG, "image/png").with_file_name("a.png")}))
    });
    let fetch =
        attache_core::Tool::with_metadata(fetch, |metadata| metadata.effect = attache_core::Effect::Read);
    // The second has no tools at all: what the first called is in the conversation all the same.
    let billing = Agent::builder(second).system("You do bills.").streaming(streaming).build().unwrap();
    Agent::builder(first)
        .system("You are at the door.")
        .streaming(streaming)
        .tool(fetch)
        .handoff(billing.as_handoff("billing", "Questions about bills"))
        .store(store.clone())
        .build()
        .unwrap()
}

async fn hand_over(from: Party, to: Party, streaming: bool) {
    let pair = format!("{} to {}", from.name(), to.name());
    let (first, second) = (from.mock().await.unwrap(), to.mock().await.unwrap());
    let calls = Reply::new().text("I look.").call("call00001", "fetch_picture", json!({}));
    first.enqueue(calls.call("call00002", "transfer_to_billing", json!({})));
    second.enqueue(Reply::new().text("You owe nothing."));
    let (journal, store) = (Arc::new(MemoryJournal::new()), Arc::new(MemoryDocumentStore::default()));
    let agent = desk((from, &first), (to, &second), &store, streaming);
    let mut run = agent.run_in(journal.clone(), RunInput::from("my bill?"));
    let mut report = None;
    let outcome = loop {
        match run.next().await.unwrap().kind {
            EventKind::DocumentsRouted(routed) => report = Some(routed),
            EventKind::Finished(result) => break result,
            _ => {}
        }
    };
    let outcome = outcome.unwrap_or_else(|error| panic!("{pair}: {error:?}"));
    assert_eq!((&*outcome.text, outcome.agent.as_deref()), ("You owe nothing.", Some("billing")), "{pair}");
    assert!(second.violations().is_empty(), "{pair}: {:?}", second.violations());
    let body: Value = second.requests()[0].json().clone();
    let said = body.to_string();
    assert!(said.contains("You do bills.") && !said.contains("You are at the door."), "{pair}: {said}");
    let report = report.unwrap_or_else(|| panic!("{pair}: the picture was not routed"));
    let [decision] = &report.decisions[..] else { panic!("{pair}: {report:?}") };
    if matches!(decision.outcome, DocumentOutcome::Native | DocumentOutcome::Synthetic) {
        let seen = seen_documents(to.api.conformance(), &body);
        assert!(seen.iter().any(|seen| seen.sha256.as_deref() == Some(&*sha256_hex(PNG))), "{pair}");
    } else {
        assert_eq!(decision.outcome, DocumentOutcome::Note, "{pair}");
        assert!(said.contains(decision.document_id.short()), "{pair}: {said}");
    }

    // The process dies before or behind the hand-off, and another one goes on.
    let entries = journal.entries();
    let at = entries.iter().position(|entry| entry.key.as_str() == "handoff/0").unwrap();
    for cut in [at, at + 1] {
        let text = serde_json::to_string(&entries[..cut]).unwrap();
        let kept: Vec<Entry> = serde_json::from_str(&text).unwrap();
        let (first, second) = (from.mock().await.unwrap(), to.mock().await.unwrap());
        second.enqueue(Reply::new().text("You owe nothing."));
        let agent = desk((from, &first), (to, &second), &store, streaming);
        let resumed = agent.resume(Arc::new(MemoryJournal::from_entries(kept))).outcome().await.unwrap();
        assert_eq!((&resumed.text, &resumed.agent), (&outcome.text, &outcome.agent), "{pair}");
        assert_eq!((first.requests().len(), second.requests()[0].json()), (0, &body), "{pair}");
    }
}

#[tokio::test]
async fn a_hand_off_goes_from_each_api_to_others_with_documents_and_calls() {
    let parties = Party::all();
    for (at, from) in parties.iter().enumerate() {
        for step in [1, 3, 4] {
            let to = parties[(at + step) % parties.len()];
            for streaming in [true, false] {
                hand_over(*from, to, streaming).await;
            }
        }
    }
}

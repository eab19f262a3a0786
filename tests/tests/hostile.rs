//! Every hostile document as what a tool returns: the run goes on, the request is one that the API takes, the model reads
//! something about the document, and the process stays small.
//!
//! The one test here is a process of its own, so that its peak of memory is that of one run, mock provider included.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken expectation is a failed test"
)]

use std::fs;

use attache::convert::DocumentConverter;
use attache_agent::{Agent, EventKind, NoArguments, tool_fn};
use attache_conformance::{Reply, hostile};
use attache_core::{Document, ModelSettings, ToolError};
use attache_documents::DocumentOutcome;
use attache_tests::Party;
use serde_json::json;

/// The most memory that the process may take.
const MEMORY: u64 = 300_000_000;

// documents.md 9.2 D18, invariant 1
#[tokio::test]
async fn every_run_over_a_hostile_document_lives() {
    let corpus = hostile::corpus();
    assert!(corpus.len() >= 60);
    // One API that takes documents natively, and one that takes text alone.
    let parties: Vec<Party> =
        Party::all().into_iter().filter(|party| ["anthropic", "deepseek"].contains(&party.name())).collect();
    assert_eq!(parties.len(), 2);
    let mut peaks = Vec::new();
    for file in corpus {
        // The file is large and the first reader of its bytes may be slow: they are made once for both.
        let bytes = file.bytes();
        for party in &parties {
            forget_peak();
            let mock = party.mock().await.unwrap();
            mock.enqueue(Reply::new().text("I look.").call("call00001", "look", json!({})));
            mock.enqueue(Reply::new().text("done"));
            let model = party.connected(&mock, ModelSettings::new()).unwrap();
            let document = Document::from_bytes(bytes.clone(), file.media_type).with_file_name(file.name);
            let look = tool_fn("look", "Looks", move |_: NoArguments| {
                let document = document.clone();
                async move { Ok::<_, ToolError>(json!({ "found": document })) }
            });
            let agent = Agent::builder(model).tool(look).converter(DocumentConverter::default());
            let mut run = agent.build().unwrap().run("Look.");
            let mut report = None;
            let outcome = loop {
                match run.next().await.unwrap().kind {
                    EventKind::DocumentsRouted(routed) => report = Some(routed),
                    EventKind::Finished(result) => break result,
                    _ => {}
                }
            };
            let context = format!("{} {}", party.name(), file.name);
            assert!(mock.violations().is_empty(), "{context}: {:?}", mock.violations());
            assert_eq!(
                outcome.unwrap_or_else(|error| panic!("{context}: {error:?}")).text,
                "done",
                "{context}"
            );
            let report = report.unwrap();
            let of_file = report.decisions.iter().filter(|decision| decision.inside.is_none()).count();
            assert_eq!(of_file, 1, "{context}");
            let decision = &report.decisions[0];
            assert!(
                decision.outcome != DocumentOutcome::Withheld && decision.outcome != DocumentOutcome::Error,
                "{context}"
            );
            assert_eq!(
                decision.bytes == 0,
                decision.outcome == DocumentOutcome::Note,
                "{context} {decision:?}"
            );
            peaks.push((peak(), context));
        }
    }
    peaks.sort();
    for (peak, context) in peaks.iter().rev().take(5) {
        println!("{} MB {context}", peak / 1_000_000);
    }
    let (highest, context) = peaks.last().unwrap();
    assert!(*highest < MEMORY, "{highest} bytes in {context}");
}

/// The most memory that the process has held since the last time that it was forgotten, where the system tells.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or_default() * 1024
}

fn forget_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

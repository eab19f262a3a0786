//! Documents that a model names, over HTTP against the strict mock provider, on every API: passed from one tool to
//! another, and read further on demand.

use attache::tools::ReadDocument;
use attache::{Agent, Document, DocumentRef, Outcome, ToolContext, ToolError, tool};
use attache_conformance::{MockProvider, Reply, seen_documents, sha256_hex};
use attache_core::{DocumentId, Message, ModelSettings};
use attache_tests::PDF_APIS;
use serde_json::json;

const LEASE: &[u8] = b"%PDF-1.4\n% the lease\n";
const LEASE_ID: &str = "7d41c0b2-93e5-4f6a-8b1d-2a6e5f0c9d34";
const RENTS_ID: &str = "b20f6e91-0c57-4e0b-9d5a-6f1f3a2b7c88";

fn with_id(document: Document, id: &str) -> Document {
    document.with_id(DocumentId::parse(id).unwrap())
}

/// Finds the papers of a tenant.
#[tool(name = "papers.find", effect = "read")]
async fn find_papers() -> Vec<Document> {
    let rents: String = (1..=12).map(|month| format!("month {month}, rent {}\n", 1_000 + month)).collect();
    vec![
        with_id(Document::from_bytes(LEASE, "application/pdf"), LEASE_ID).with_file_name("lease.pdf"),
        with_id(Document::from_bytes(rents, "text/plain"), RENTS_ID).with_file_name("rents.txt"),
    ]
}

/// Stamps a document.
#[tool(name = "papers.stamp", effect = "read")]
async fn stamp(
    /// The document to stamp.
    document: DocumentRef,
    context: ToolContext,
) -> Result<Document, ToolError> {
    let document = context.load(&document).await?;
    let mut bytes = document.bytes().unwrap_or_default().to_vec();
    bytes.extend_from_slice(b"% stamped\n");
    Ok(Document::from_bytes(bytes, "application/pdf").with_file_name("stamped.pdf"))
}

fn texts(outcome: &Outcome) -> Vec<String> {
    let each = outcome.messages.iter().filter_map(|message| match &**message {
        Message::ToolResults(results) => Some(&results.results),
        _ => None,
    });
    each.flatten().map(|result| result.tree.model_text().into_owned()).collect()
}

#[tokio::test]
async fn documents_that_a_model_names() {
    for api in PDF_APIS {
        let mut told = Vec::new();
        for whole in [false, true] {
            let mock = MockProvider::start().await.unwrap();
            mock.enqueue(Reply::new().call("call_1", "papers_find", json!({})));
            let reference =
                json!({"attache.document": "stored", "documentId": LEASE_ID, "storeId": "memory"});
            mock.enqueue(
                Reply::new()
                    .call("call_2", "papers_stamp", json!({"document": reference}))
                    .call("call_3", "papers_stamp", json!({"document": "00000000"}))
                    .call("call_4", "read_document", json!({"id": "b20f6e91", "range": "3-4"})),
            );
            mock.enqueue(Reply::new().text("Stamped."));
            let agent = Agent::builder(api.connected(mock.url(), ModelSettings::new()).unwrap())
                .tool(find_papers_tool())
                .tool(stamp_tool())
                .tool(ReadDocument::new())
                .streaming(!whole)
                .build()
                .unwrap();
            let outcome = agent.run("Stamp the lease").outcome().await.unwrap();
            assert!(mock.violations().is_empty(), "{}: {:?}", api.name(), mock.violations());
            assert_eq!(outcome.text, "Stamped.", "{}", api.name());

            let texts = texts(&outcome);
            assert!(texts[1].contains("stamped.pdf"), "{}: {}", api.name(), texts[1]);
            assert_eq!(
                texts[2],
                format!(
                    "there is no document \"00000000\" in this conversation; its documents, newest first: {RENTS_ID} \
                     (rents.txt), {LEASE_ID} (lease.pdf)"
                )
            );
            assert!(texts[3].starts_with("Lines 3-4 of 12. Next: range \"5-12\".\n"), "{}", texts[3]);
            // The model is shown the document that the tool made of the one that the model named.
            let bodies: Vec<_> = mock.requests().iter().map(|request| request.json().clone()).collect();
            let stamped = sha256_hex(&[LEASE, b"% stamped\n"].concat());
            let seen = seen_documents(api.conformance(), &bodies[2]);
            assert!(
                seen.iter().any(|document| document.sha256.as_deref() == Some(&*stamped)),
                "{}: {seen:?}",
                api.name()
            );
            assert!(bodies[2].to_string().contains("month 4, rent 1004"), "{}", api.name());
            // Invariant 4: tools are the same in each request.
            assert!(bodies.windows(2).all(|pair| pair[0]["tools"] == pair[1]["tools"]), "{}", api.name());
            told.push((texts[2..].to_vec(), outcome.usage.input_tokens, outcome.usage.output_tokens));
        }
        // Invariant 6
        assert_eq!(told[0], told[1], "{}", api.name());
    }
}

//! Documents in object storage, and their collection: page `storing-documents.md` of the guide.
//!
//! `cargo run -p attache --features offline,object --example storing`.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use attache::agent::Sessions;
use attache::offline::OfflineModel;
use attache::stores::{FileJournals, ObjectDocumentStore, SqliteStore};
use attache::{Agent, Document, ToolError, tool};

/// Fetches an invoice by its number.
#[tool(effect = "read")]
async fn fetch_invoice(number: String) -> Result<Document, ToolError> {
    let text = format!("Invoice {number}\nTotal due: EUR 4,812.36\n");
    Ok(Document::from_bytes(text, "text/plain").with_file_name("invoice.txt"))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runs = FileJournals::open("runs")?;
    let documents = Arc::new(ObjectDocumentStore::local("documents")?);
    let agent =
        Agent::builder(OfflineModel::new()).tool(fetch_invoice_tool()).store(documents.clone()).build()?;
    let store = Arc::new(SqliteStore::open("sessions.db").await?);
    let sessions = Sessions::new(agent.clone(), store.clone()).with_documents(documents.clone());
    let session = sessions.open("ann@example.org", None).await?;
    session.run("What is the total of invoice 2026-0416?").outcome().await?;
    let journal = Arc::new(runs.journal("march")?);
    let outcome = agent.run_in(journal, "What is the total of invoice 2026-0417?").outcome().await?;
    println!("{}", outcome.text);

    // Nightly: what no run and no session mentions any more goes. Documents of a place that is left out go, too.
    let collected = documents.collect(&[&runs, &*store]).await?;
    println!("{} bytes removed, {} kept", collected.bytes, collected.kept_bytes);
    Ok(())
}

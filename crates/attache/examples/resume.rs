//! A run that outlives its process: page `running.md` of the guide.
//!
//! `cargo run -p attache --features anthropic,stores --example resume`, again if it failed.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use attache::agent::Journal;
use attache::anthropic::Anthropic;
use attache::stores::{FileDocumentStore, FileJournal};
use attache::{Agent, Document, ToolError, tool};

/// Pays an invoice, and returns the receipt.
#[tool]
async fn pay(number: String) -> Result<Document, ToolError> {
    println!("paying {number}");
    Ok(Document::new(format!("Receipt for {number}")).with_file_name("receipt.txt"))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agent = Agent::builder(Anthropic::from_env("claude-sonnet-4-5")?)
        .tool(pay_tool())
        .store(Arc::new(FileDocumentStore::open("runs/documents")?))
        .build()?;
    let journal = Arc::new(FileJournal::open("runs/march.jsonl")?);
    let is_begun = !journal.load().await?.is_empty();
    let run = if is_begun { agent.resume(journal) } else { agent.run_in(journal, "Pay invoice 2026-0417.") };
    println!("{}", run.outcome().await?.text);
    Ok(())
}

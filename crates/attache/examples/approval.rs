//! A payment that somebody must approve, in another process: page `approvals.md` of the guide.
//!
//! `cargo run -p attache --features anthropic,stores --example approval`, and again with the id that it prints.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use attache::anthropic::Anthropic;
use attache::stores::FileJournal;
use attache::{Agent, tool};

/// Pays an invoice.
#[tool(approval)]
async fn pay(number: String, amount: f64) -> String {
    println!("paying {amount:.2} for {number}");
    "paid".to_owned()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agent = Agent::builder(Anthropic::from_env("claude-sonnet-4-5")?).tool(pay_tool()).build()?;
    let journal = Arc::new(FileJournal::open("runs/invoice.jsonl")?);
    let run = match std::env::args().nth(1) {
        None => agent.run_in(journal, "Pay invoice 2026-0417."),
        Some(id) => agent.resume(journal).approve(&id),
    };
    let outcome = run.outcome().await?;
    for request in &outcome.approvals {
        println!("{} {}: approve it with {}", request.call.name, request.call.arguments.raw(), request.id);
    }
    println!("{}", outcome.text);
    Ok(())
}

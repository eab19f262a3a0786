//! A conversation that may grow long, and facts that outlive it: page `memory.md` of the guide.
//!
//! `cargo run -p attache --features offline,tools --example memory`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use attache::Agent;
use attache::agent::{Compaction, RECALLED, Recall, RunInput};
use attache::core::facts::LongTermMemory as _;
use attache::offline::OfflineModel;
use attache::tools::{MemoryFacts, fact_tools};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ann = "ann@example.org";
    let facts = Arc::new(MemoryFacts::new());
    facts.remember(ann, "Invoices of Ann go to the office in Berlin.").await?;

    let agent = Agent::builder(OfflineModel::new())
        .system("You keep the books.")
        .memory(Compaction::new())
        .tools(fact_tools(Arc::clone(&facts)))
        .hook(Recall::new(facts))
        .principal(ann)
        .build()?;

    let mut history = Vec::new();
    for question in ["Where do my invoices go?", "Is that in Germany?"] {
        let input = RunInput::from(question).with_history(history);
        let outcome = agent.run(input).outcome().await?;
        let known =
            outcome.messages.iter().filter(|message| message.metadata().get(RECALLED).is_some()).count();
        println!("{question} {known} of {} messages tells what is remembered", outcome.messages.len());
        history = outcome.messages;
    }
    Ok(())
}

//! A conversation that may grow long, and facts that outlive it: page `memory.md` of the guide.
//!
//! `cargo run -p attache --features offline,tools --example memory`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;

use attache::agent::{Compaction, RunInput};
use attache::core::LongTermMemory as _;
use attache::offline::OfflineModel;
use attache::tools::{MemoryFacts, fact_tools, recalled};
use attache::{Agent, Message, UserMessage};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ann = "ann@example.org";
    let facts = Arc::new(MemoryFacts::new());
    facts.remember(ann, "Invoices of Ann go to the office in Berlin.").await?;

    let agent = Agent::builder(OfflineModel::new())
        .system("You keep the books.")
        .memory(Compaction::new())
        .tools(fact_tools(Arc::clone(&facts)))
        .principal(ann)
        .build()?;

    let mut history = Vec::new();
    for question in ["Where do my invoices go?", "Is that in Germany?"] {
        let known = recalled(&*facts, ann, question, 5).await?;
        println!("{question} {}", if known.is_some() { "Something is remembered." } else { "" });
        let messages = known.into_iter().chain([UserMessage::text(question)]);
        let input = RunInput::new(messages.map(|message| Message::User(message).shared()));
        let outcome = agent.run(input.with_history(history)).outcome().await?;
        history = outcome.messages;
        println!("{} messages", history.len());
    }
    Ok(())
}

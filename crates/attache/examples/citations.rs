//! An answer whose passages and figures are held against the document: page `citations.md` of the guide.
//!
//! `cd docs/examples && cargo run -p attache --features citations,convert,offline --example citations`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use attache::convert::DocumentConverter;
use attache::offline::OfflineModel;
use attache::{Agent, Document, ToolError, tool};

/// Fetches the newest invoice.
#[tool(effect = "read")]
async fn newest_invoice() -> Result<Document, ToolError> {
    Ok(Document::read("inbox/invoice-2026-0417.pdf").await?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agent = Agent::builder(OfflineModel::new())
        .tool(newest_invoice_tool())
        .converter(DocumentConverter::default())
        .citations(true)
        .build()?;
    let outcome = agent.run("What is the total of the newest invoice?").outcome().await?;
    println!("{}", outcome.text);
    for citation in &outcome.citations {
        println!("quoted from {:?}, {:?}: {:?}", citation.source, citation.place, citation.quote);
    }
    for figure in &outcome.figures {
        println!("{}: {:?}", figure.text, figure.state);
    }
    for figure in outcome.unsupported() {
        println!("nothing that was shown explains {}", figure.text);
    }
    Ok(())
}

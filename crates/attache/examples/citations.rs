//! An answer whose passages and figures are held against the document: page `citations.md` of the guide.
//!
//! `cd docs/examples && cargo run -p attache --features citations,convert,offline --example citations`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use attache::convert::DocumentConverter;
use attache::offline::OfflineModel;
use attache::{Agent, Document, ToolError, tool};

/// Fetches an invoice by its number.
#[tool(effect = "read")]
async fn fetch_invoice(
    /// As printed on the invoice, such as 2026-0417.
    number: String,
) -> Result<Document, ToolError> {
    // The model writes the number: it must not name another place.
    if !number.chars().all(|c| c.is_ascii_digit() || c == '-') {
        return Err(ToolError::new("there is no such invoice"));
    }
    Ok(Document::read(format!("inbox/invoice-{number}.pdf")).await?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agent = Agent::builder(OfflineModel::new())
        .tool(fetch_invoice_tool())
        .converter(DocumentConverter::default())
        .citations(true)
        .build()?;
    let outcome = agent.run("What is the total of invoice 2026-0417?").outcome().await?;
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

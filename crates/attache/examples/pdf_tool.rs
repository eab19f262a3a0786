//! An agent whose tool returns a PDF, with the model that needs no key: page `start.md` of the guide.
//!
//! `cd docs/examples && cargo run -p attache --features offline,convert --example pdf_tool`

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
        .system("You keep the books.")
        .tool(fetch_invoice_tool())
        .converter(DocumentConverter::default())
        .build()?;
    let outcome = agent.run("What is the total of invoice 2026-0417?").outcome().await?;
    println!("{}", outcome.text);
    Ok(())
}

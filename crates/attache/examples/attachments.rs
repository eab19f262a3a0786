//! A question with a file attached to it: page `attachments.md` of the guide.
//!
//! `cd docs/examples && cargo run -p attache --features offline,convert --example attachments`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use attache::convert::DocumentConverter;
use attache::documents::RouteOptions;
use attache::offline::OfflineModel;
use attache::{Agent, Document, UserMessage};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // This model reads text. Where it gets a PDF, a converter makes text of it, since the author allows that.
    let agent = Agent::builder(OfflineModel::new())
        .converter(DocumentConverter::default())
        .routing(RouteOptions::new().with_convert_author_documents(true))
        .build()?;
    let invoice = Document::read("inbox/invoice-2026-0417.pdf").await?;
    let question = UserMessage::text("What is the total of this invoice?").attach(invoice);
    let outcome = agent.run(question).outcome().await?;
    println!("{}", outcome.text);
    Ok(())
}

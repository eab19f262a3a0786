//! An answer as a value of a Rust type: page `structured.md` of the guide.
//!
//! `cd docs/examples && cargo run -p attache --features openai --example structured`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use attache::openai::OpenAi;
use attache::schemars::{self, JsonSchema};
use attache::{Agent, Document, UserMessage};
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
struct Invoice {
    /// As printed on the invoice.
    number: String,
    /// The sum to pay, in euros.
    total: f64,
    /// The day when it is due, such as 2026-05-18; absent if the invoice names none.
    due: Option<String>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agent = Agent::builder(OpenAi::from_env("gpt-5.6")?).build()?;
    let pdf = Document::read("inbox/invoice-2026-0417.pdf").await?;
    let question = UserMessage::text("Read this invoice.").attach(pdf);
    let Invoice { number, total, due } = agent.run(question).typed().await?.value;
    println!("{number}: EUR {total:.2}, due {}", due.as_deref().unwrap_or("some day"));
    Ok(())
}

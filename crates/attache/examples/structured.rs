//! An answer as a value of a Rust type: page `structured.md` of the guide.
//!
//! `cd docs/examples && cargo run -p attache --features openai --example structured`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use attache::core::{OutputSchema, ResponseFormat};
use attache::openai::OpenAi;
use attache::schemars::{self, JsonSchema, schema_for};
use attache::{Agent, Document, ModelSettings, UserMessage};
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
    let schema = OutputSchema::from(schema_for!(Invoice));
    let format =
        ResponseFormat::JsonSchema { name: "invoice".to_owned(), schema: schema.clone(), strict: true };
    let agent = Agent::builder(OpenAi::from_env("gpt-5.6")?)
        .settings(ModelSettings::new().with_response_format(format))
        .build()?;
    let pdf = Document::read("inbox/invoice-2026-0417.pdf").await?;
    let outcome = agent.run(UserMessage::text("Read this invoice.").attach(pdf)).outcome().await?;
    let Invoice { number, total, due } = serde_json::from_value(schema.read(&outcome.text)?)?;
    println!("{number}: EUR {total:.2}, due {}", due.as_deref().unwrap_or("some day"));
    Ok(())
}

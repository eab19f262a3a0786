//! One agent, one tool, two APIs: Chat Completions gets the synthetic message, Messages the native blocks.
//!
//! `cargo run -p attache --features openai,anthropic --example two_apis` needs no key and no network: both models are
//! played by the mock provider of attache's own tests, which refuses requests that the real APIs would refuse.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use attache::anthropic::Anthropic;
use attache::core::DocumentId;
use attache::openai::OpenAiChat;
use attache::{Agent, Document, ModelHandle, ToolError, tool};
use attache_conformance::{MockProvider, Reply};

#[derive(serde::Serialize)]
struct Contract {
    tenant: String,
    lease: Document,
    plans: Vec<Document>,
}

/// Finds a contract by its tenant.
#[tool(effect = "read")]
async fn find_contract(
    /// The tenant's name.
    tenant: String,
) -> Result<Contract, ToolError> {
    let id = |id| DocumentId::parse(id).ok_or_else(|| ToolError::new("the document has no id"));
    let lease = Document::from_bytes(&b"%PDF-1.4\n% the lease\n"[..], "application/pdf")
        .with_file_name("lease.pdf")
        .with_id(id("7d41c0b2-93e5-4f6a-8b1d-2a6e5f0c9d34")?);
    let plan = Document::from_bytes(&b"\x89PNG\r\n\x1a\n..."[..], "image/png")
        .with_file_name("plan.png")
        .with_id(id("b20f6e91-0c57-4e0b-9d5a-6f1f3a2b7c88")?);
    Ok(Contract { tenant, lease, plans: vec![plan] })
}

/// The same code for every model.
async fn ask(model: ModelHandle) -> Result<String, Box<dyn std::error::Error>> {
    let agent = Agent::builder(model).system("You manage leases.").tool(find_contract_tool()).build()?;
    Ok(agent.run("Until when does the lease of the Harbour Bakery run?").outcome().await?.text)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mock = MockProvider::start().await?;
    let url = format!("{}/v1", mock.url());
    let models: [ModelHandle; 2] = [
        OpenAiChat::new("gpt-4o", "no key")?.with_base_url(&url).into(),
        Anthropic::new("claude-sonnet-4-5", "no key")?.with_base_url(&url).into(),
    ];
    for model in models {
        mock.enqueue(Reply::new().call(
            "call_7",
            "find_contract",
            serde_json::json!({"tenant": "Harbour Bakery"}),
        ));
        mock.enqueue(Reply::new().text("Until 30 June 2031."));
        let name = model.id().to_owned();
        let answer = ask(model).await?;
        let requests = mock.requests();
        let body = requests.last().map(|request| request.json().clone()).unwrap_or_default();
        println!("{name} was sent {:#}\nand answered: {answer}\n", body.get("messages").unwrap_or(&body));
    }
    Ok(())
}

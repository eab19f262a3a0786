//! One tool, one agent, two APIs: Chat Completions gets the synthetic message, Messages the native blocks.
//!
//! `cargo run -p attache --features openai,anthropic --example two_apis` needs no key and no network: it runs the tool
//! and prints the request that would follow.

use std::sync::Arc;

use attache::anthropic::MessagesCodec;
use attache::core::{Arguments, AssistantMessage, Matrix, Message, ProviderCallId, ToolCall, ToolResult, ToolSet};
use attache::documents::{Materials, RouteOptions, route};
use attache::openai::{ChatCodec, Profile};
use attache::{ChatRequest, Document, ProviderConfig, Tool, ToolContext, ToolError, tool};

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
    let lease = Document::from_bytes(&b"%PDF-1.4 ..."[..], "application/pdf").with_file_name("lease.pdf");
    let plan = Document::from_bytes(&b"\x89PNG\r\n\x1a\n..."[..], "image/png").with_file_name("plan.png");
    Ok(Contract { tenant, lease, plans: vec![plan] })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // What an agent does for you: call the tool, and put its result into the conversation.
    let tool = find_contract_tool();
    let call = ToolCall::new("find_contract", Arguments::new(r#"{"tenant":"Harbour Bakery"}"#))
        .with_provider_id(ProviderCallId::parse("call_7"));
    let output = tool.call(&call.arguments, ToolContext::new()).await.map_err(|error| error.to_string())?;
    let result = ToolResult::new(&call, output.status, output.tree);
    let messages = [
        Message::user("Until when does the lease run?").shared(),
        Message::Assistant(AssistantMessage::new([call.into()])).shared(),
        Message::ToolResults(attache::core::ToolResultsMessage::new([result])).shared(),
    ];

    let tools = Arc::new(ToolSet::new([tool.spec().definition.clone()])?);
    for (family, model) in [("openai-chat", "gpt-4o"), ("anthropic", "claude-sonnet-4-5")] {
        let capabilities = Matrix::bundled().resolve(family, model);
        let routing = route(&messages, &capabilities, &tools, &Materials::new(), &RouteOptions::new())?;
        println!("\n{family}/{model}");
        for decision in &routing.report.decisions {
            let name = decision.file_name.as_deref().unwrap_or("a document");
            println!("  {name}: {} ({})", decision.outcome, decision.reason);
        }
        let request = ChatRequest::new(routing.messages).with_tools(Arc::clone(&tools)).answered_whole();
        let config = ProviderConfig::new();
        let parts = match family {
            "anthropic" => MessagesCodec::new(model).encode(&request, &config, None)?.parts,
            _ => ChatCodec::new(Profile::openai_chat(), model).encode(&request, &config, None)?.parts,
        };
        let body: serde_json::Value = serde_json::from_slice(&parts.body.to_vec())?;
        println!("{:#}", body["messages"]);
    }
    Ok(())
}

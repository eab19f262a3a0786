//! Eleven programs as people wish to write them, each whole: the length of what they need to say. A test is a program's
//! body with a scripted model where a real one would stand.
#![cfg(test)]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a broken expectation is a failed test")]

use std::sync::Arc;

use attache::agent::{FunctionTool, MessageWindow, RunInput};
use attache::core::ToolDefinition;
use attache::stores::{FileDocumentStore, FileJournal};
use attache::{Agent, ChatRequest, Document, EndReason, EventKind, Message, ToolError, schemars, tool};
use attache_conformance::{MockProvider, Reply, sha256_hex};
use attache_testkit::{Fixed, ScriptedModel, Turn};
use futures_util::StreamExt as _;
use serde_json::{Map, Value, json};

type Whatever = Result<(), Box<dyn std::error::Error>>;

/// Finds an invoice.
#[tool(effect = "read")]
async fn find_invoice(number: String) -> Result<Document, ToolError> {
    Ok(Document::read(format!("../../docs/examples/inbox/invoice-{number}.pdf")).await?)
}

/// Converts euros to dollars.
#[tool(effect = "read")]
fn to_dollars(euros: f64) -> f64 {
    euros * 1.1
}

/// Pays an amount, and returns the receipt.
#[tool(approval)]
async fn pay(amount: f64) -> Document {
    Document::inline(format!("paid {amount}")).with_file_name("receipt.txt")
}

fn invoice_call() -> Turn {
    Turn::call("find_invoice", json!({"number": "2026-0417"}))
}

// 1
#[tokio::test]
async fn two_tools() -> Whatever {
    let model = ScriptedModel::new([
        invoice_call(),
        Turn::call("to_dollars", json!({"euros": 20_904.97})),
        Turn::text("USD 22,995.47"),
    ]);
    let agent = Agent::builder(model.clone()).tool(find_invoice_tool()).tool(to_dollars_tool()).build()?;
    assert_eq!(agent.run("What do I owe in dollars?").outcome().await?.text, "USD 22,995.47");
    assert_eq!(model.asked().called("to_dollars"), [json!({"euros": 20_904.97})]);
    Ok(())
}

// 2
#[tokio::test]
async fn streaming() -> Whatever {
    let agent = Agent::builder(ScriptedModel::new([Turn::text("EUR 20,904.97")])).build()?;
    let mut text = agent.run("How much?").text_stream();
    let mut said = String::new();
    while let Some(piece) = text.next().await {
        said += &piece?;
    }
    assert_eq!(said, "EUR 20,904.97");
    Ok(())
}

// 3
#[tokio::test]
async fn two_apis() -> Whatever {
    let mock = MockProvider::start().await?;
    let url = format!("{}/v1", mock.url());
    let chat = attache::openai::OpenAiChat::new("gpt-4o", "no key")?.with_base_url(&url);
    let messages = attache::anthropic::Anthropic::new("claude-sonnet-4-5", "no key")?.with_base_url(&url);
    let mut hashes = Vec::new();
    for model in [attache::ModelHandle::from(chat), messages.into()] {
        mock.enqueue(Reply::new().call("call_1", "find_invoice", json!({"number": "2026-0417"})));
        mock.enqueue(Reply::new().text("EUR 20,904.97"));
        let agent = Agent::builder(model).tool(find_invoice_tool()).build()?;
        agent.run("How much?").outcome().await?;
        let requests = mock.requests();
        hashes
            .extend(mock.seen_documents(requests.last().unwrap()).into_iter().filter_map(|seen| seen.sha256));
    }
    let file = std::fs::read("../../docs/examples/inbox/invoice-2026-0417.pdf")?;
    assert_eq!(hashes, [sha256_hex(&file), sha256_hex(&file)]);
    Ok(())
}

// 4: a person approves in another process
#[tokio::test]
async fn approval_exit_and_resume() -> Whatever {
    let folder = tempfile::tempdir()?;
    let agent = |turns: Vec<Turn>| {
        let store = FileDocumentStore::open(folder.path().join("documents"))?;
        let builder = Agent::builder(ScriptedModel::new(turns)).tool(find_invoice_tool()).tool(pay_tool());
        Ok::<_, Box<dyn std::error::Error>>(builder.store(Arc::new(store)).build()?)
    };
    let journal =
        || Ok::<_, Box<dyn std::error::Error>>(Arc::new(FileJournal::open(folder.path().join("run.jsonl"))?));

    // One process asks and ends.
    let asks = invoice_call().and_call("pay", json!({"amount": 20_904.97}));
    let outcome = agent(vec![asks])?.run_in(journal()?, "Pay invoice 2026-0417").outcome().await?;
    assert_eq!(outcome.reason, EndReason::PendingApproval);
    let id = outcome.approvals[0].id.clone();

    // Another one is told the decision, and goes on.
    let outcome = agent(vec![Turn::text("Paid.")])?.resume(journal()?).approve(&id).outcome().await?;
    assert_eq!(outcome.text, "Paid.");
    Ok(())
}

// 5: the process dies behind the first tool
#[tokio::test]
async fn crash_and_resume() -> Whatever {
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("run.jsonl");
    let agent = |turns: Vec<Turn>| {
        Agent::builder(ScriptedModel::new(turns).unverified()).tool(find_invoice_tool()).build()
    };

    let mut run = agent(vec![invoice_call()])?.run_in(Arc::new(FileJournal::open(&log)?), "How much?");
    while let Some(event) = run.next().await {
        if let EventKind::ToolFinished { .. } = event.kind {
            break;
        }
    }
    drop(run);

    let model = agent(vec![Turn::text("EUR 20,904.97")])?;
    let outcome = model.resume(Arc::new(FileJournal::open(&log)?)).outcome().await?;
    assert_eq!((outcome.text.as_str(), outcome.calls.len()), ("EUR 20,904.97", 1));
    Ok(())
}

#[derive(Debug, PartialEq, serde::Deserialize, schemars::JsonSchema)]
struct Invoice {
    /// As printed on it.
    number: String,
    total: f64,
    due: Option<String>,
}

// 6
#[tokio::test]
async fn a_typed_answer() -> Whatever {
    let model = ScriptedModel::new([
        Turn::text(r#"{"number": "17"}"#),
        Turn::text(r#"{"number": "17", "total": 12.5, "due": null}"#),
    ]);
    let agent = Agent::builder(model).build()?;
    let invoice = agent.run("Read invoice 17").typed::<Invoice>().await?.value;
    assert_eq!(invoice, Invoice { number: "17".to_owned(), total: 12.5, due: None });
    Ok(())
}

// 7
#[tokio::test]
async fn a_history_and_a_window() -> Whatever {
    let model = ScriptedModel::new(["one", "two", "three", "four"].map(Turn::text));
    let agent = Agent::builder(model.clone()).window(MessageWindow::turns(3)).build()?;
    let mut history = Vec::new();
    for question in ["1?", "2?", "3?", "4?"] {
        history = agent.run(RunInput::from(question).with_history(history)).outcome().await?.messages;
    }
    assert_eq!(model.asked().requests().last().unwrap().messages.len(), 5, "three questions and two answers");
    Ok(())
}

// 8
#[tokio::test]
async fn an_agent_as_a_tool() -> Whatever {
    let inner = ScriptedModel::new([invoice_call(), Turn::text("EUR 20,904.97")]);
    let outer = ScriptedModel::new([
        Turn::call("research", json!({"task": "the total?"})),
        Turn::text("EUR 20,904.97."),
    ])
    .with_capabilities_of("anthropic", "claude-sonnet-4-5");
    let research =
        Agent::builder(inner).tool(find_invoice_tool()).build()?.as_tool("research", "Looks things up");
    let agent = Agent::builder(outer.clone()).tool(research).build()?;
    let outcome = agent.run("How much is invoice 2026-0417?").outcome().await?;
    assert_eq!(outcome.text, "EUR 20,904.97.");
    outer.asked().assert_saw(&Document::read("../../docs/examples/inbox/invoice-2026-0417.pdf").await?);
    Ok(())
}

// 9
#[tokio::test]
async fn tools_from_schemas_at_run_time() -> Whatever {
    let from_gateway = json!({"name": "crm.customers.search", "description": "Searches customers", "schema": {
        "type": "object", "properties": {"query": {"type": "string", "minLength": 2}}, "required": ["query"]}});
    let text = |key: &str| from_gateway[key].as_str().unwrap().to_owned();
    let definition = ToolDefinition::new(text("name"), text("description"), from_gateway["schema"].clone());
    let search = FunctionTool::from_schema(definition, |arguments: Map<String, Value>| async move {
        Ok::<_, ToolError>(format!("no customer is named {}", arguments["query"]))
    });
    let model = ScriptedModel::new([
        Turn::call("crm.customers.search", json!({"query": "A"})),
        Turn::call("crm.customers.search", json!({"query": "Ann"})),
        Turn::text("Nobody."),
    ]);
    let outcome = Agent::builder(model).tool(search).build()?.run("Who is Ann?").outcome().await?;
    assert_eq!(outcome.calls.len(), 2, "the first one does not fit the schema, and the model is told so");
    Ok(())
}

// 10
#[tokio::test]
async fn a_snapshot_of_ones_own_agent() -> Whatever {
    let _fixed = Fixed::new();
    let model = ScriptedModel::new([Turn::call("to_dollars", json!({"euros": 10})), Turn::text("USD 11")]);
    Agent::builder(model.clone())
        .tool(to_dollars_tool())
        .build()?
        .run("EUR 10 in dollars?")
        .outcome()
        .await?;
    insta::assert_snapshot!(model.asked().transcript(), @r#"
    tools: to_dollars
    user: EUR 10 in dollars?
    assistant: to_dollars({"euros":10})
    tool to_dollars: 11.0
    assistant: USD 11
    "#);
    Ok(())
}

// 11: core and a provider, without the agent
#[tokio::test]
async fn one_provider_alone() -> Whatever {
    let mock = MockProvider::start().await?;
    mock.enqueue(Reply::new().text("Berlin."));
    let url = format!("{}/v1", mock.url());
    let model =
        attache::ModelHandle::from(attache::openai::OpenAi::new("gpt-5.6", "no key")?.with_base_url(url));
    let question = Message::user("What is the capital of Germany?").shared();
    let reply = model.complete(ChatRequest::new([question])).await?;
    assert_eq!(reply.message.text(), "Berlin.");
    Ok(())
}

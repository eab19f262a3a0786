use attache::{Agent, Document, tool_fn, tools::ReadDocument};
use attache_testkit::{FunctionModel, Turn, documents};
use serde_json::json;

#[tokio::test]
async fn the_lease_is_searched() -> Result<(), Box<dyn std::error::Error>> {
    let fetch = tool_fn("fetch", "Fetches the lease.", || Ok(Document::inline("rent: 900")));
    let model = FunctionModel::new(|request, call| match call {
        0 => Turn::call("fetch", json!({})),
        1 => Turn::call("read_document", json!({ "id": documents(request)[0].id(), "query": "rent" })),
        _ => Turn::text("EUR 900."),
    });
    let agent = Agent::builder(model.clone()).tool(fetch).tool(ReadDocument::new()).build()?;
    assert_eq!(agent.run("What is the rent?").outcome().await?.text, "EUR 900.");
    Ok(())
}

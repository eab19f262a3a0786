use attache::{Agent, Document, tool_fn};
use attache_testkit::{ScriptedModel, Turn};
use serde_json::json;

#[tokio::test]
async fn the_invoice_is_found_and_read() -> Result<(), Box<dyn std::error::Error>> {
    let invoice = || Document::new("%PDF-1.7 EUR 4,812.36").with_file_name("invoice.pdf");
    let find = tool_fn("find_invoice", "Finds an invoice.", move || Ok(invoice()));
    let model = ScriptedModel::new([Turn::call("find_invoice", json!({})), Turn::text("EUR 4,812.36")])
        .with_capabilities_of("anthropic", "claude-sonnet-4-5");
    let agent = Agent::builder(model.clone()).tool(find).build()?;
    assert_eq!(agent.run("How much?").outcome().await?.text, "EUR 4,812.36");
    model.asked().assert_saw(&invoice());
    Ok(())
}

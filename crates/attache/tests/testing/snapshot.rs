use attache::{Agent, Document, tool};
use attache_testkit::{Fixed, TestModel};

/// Finds the lease.
#[tool(effect = "read")]
async fn find_lease() -> Document {
    Document::new("%PDF-1.7 rent: 900").with_file_name("lease.pdf")
}

#[tokio::test]
async fn the_conversation_is_the_same_as_before() -> Result<(), Box<dyn std::error::Error>> {
    let _fixed = Fixed::new();
    let model = TestModel::new().answering("EUR 900.").with_capabilities_of("anthropic", "claude-sonnet-4-5");
    let agent = Agent::builder(model.clone()).tool(find_lease_tool()).build()?;
    agent.run("What is the rent?").outcome().await?;
    insta::assert_snapshot!(model.asked().transcript(), @r#"
    tools: find_lease
    user: What is the rent?
    assistant: find_lease({})
    tool find_lease: {"attache.document":"stored","documentId":"00000001-0000-4000-8000-000000000000","storeId":"memory","metadata":{"contentType":"application/pdf","fileName":"lease.pdf","size":18}}
    tool find_lease: [lease.pdf, application/pdf, 18 bytes]
    assistant: EUR 900.
    "#);
    Ok(())
}

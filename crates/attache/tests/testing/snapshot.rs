use attache::{Agent, Document, tool_fn};
use attache_testkit::{Fixed, TestModel};

#[tokio::test]
async fn the_conversation_is_the_same_as_before() -> Result<(), Box<dyn std::error::Error>> {
    let _fixed = Fixed::new();
    let lease = || Document::new("%PDF-1.7 rent: 900").with_file_name("lease.pdf");
    let find = tool_fn("find_lease", "Finds the lease.", move || Ok(lease()));
    let model = TestModel::new().answering("EUR 900.").with_capabilities_of("anthropic", "claude-sonnet-4-5");
    let agent = Agent::builder(model.clone()).tool(find).build()?;
    agent.run("What is the rent?").outcome().await?;
    insta::assert_snapshot!(model.asked().transcript());
    Ok(())
}

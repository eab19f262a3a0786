use attache::{Agent, ToolError, tool};
use attache_testkit::TestModel;

/// Books a room.
#[tool]
async fn book(guest: String, nights: u8) -> Result<String, ToolError> {
    Ok(format!("{guest} stays {nights}"))
}

#[tokio::test]
async fn each_tool_can_be_called() -> Result<(), Box<dyn std::error::Error>> {
    let agent = Agent::builder(TestModel::new()).tool(book_tool()).build()?;
    assert_eq!(agent.run("Book me a room.").outcome().await?.text, "book: a stays 1");
    Ok(())
}

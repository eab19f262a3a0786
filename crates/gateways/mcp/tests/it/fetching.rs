//! The resources that servers link to.

use attache_core::fetcher::{FetchError, FetchErrorKind, Fetched, Fetcher};
use attache_core::{BoxFuture, DocumentSource};
use attache_mcp::McpFetcher;
use serde_json::json;

use super::common::{Answer, Scripted, call, complete, greeting};

struct Web;

impl Fetcher for Web {
    fn fetch<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Fetched, FetchError>> {
        Box::pin(async move { Ok(Fetched::new(url.to_owned())) })
    }
}

// C14: a link is labelled without asking, and read through the session where it is needed
#[tokio::test]
async fn links_are_read_through_the_session_of_their_server() {
    let scripted = Scripted::raw(|asked| match asked.asks() {
        "tools/call" => Answer::Result(complete(json!({"content": [
            {"type": "resource_link", "uri": "demo://a b/1?x=ü", "name": "report.pdf", "mimeType": "text/plain"},
            {"type": "resource_link", "uri": "https://host.example/b.csv", "name": "b"},
        ]}))),
        "resources/read" if asked.body["params"]["uri"] == "demo://a b/1?x=ü" => {
            Answer::Result(complete(json!({"contents": [{"uri": "demo://1", "blob": "JVBERi0xLjc="}]})))
        }
        "resources/read" => Answer::Error(-32602, "no such resource"),
        other => greeting(other),
    })
    .await;
    let server = scripted.server();
    let output = call(&server, "mcp_test___a").await.unwrap();
    assert!(scripted.asked().iter().all(|asked| asked.asks() != "resources/read"));
    let urls: Vec<&str> = output
        .documents
        .iter()
        .map(|document| match document.source() {
            DocumentSource::External { url } => &**url,
            other => panic!("{other:?}"),
        })
        .collect();
    let fetcher = McpFetcher::new([server]).or(Web);
    assert_eq!(&fetcher.fetch(urls[0]).await.unwrap().bytes[..], b"%PDF-1.7");
    assert_eq!(&fetcher.fetch(urls[1]).await.unwrap().bytes[..], b"https://host.example/b.csv");
    assert_eq!(output.documents[0].file_name(), Some("report.pdf"));
    let kind = |url| {
        let fetcher = fetcher.clone().max_bytes(3);
        async move { fetcher.fetch(url).await.unwrap_err().kind() }
    };
    assert_eq!(kind("mcp://test/demo%3A%2F%2Fother").await, FetchErrorKind::NotFound);
    assert_eq!(kind("mcp://another/x").await, FetchErrorKind::Refused);
    assert_eq!(kind("mcp://test/demo%3A%2F%2Fa%20b%2F1%3Fx%3D%C3%BC").await, FetchErrorKind::TooLarge);
}

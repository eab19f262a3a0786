//! The resources that servers link to.

use attache_core::fetcher::{FetchError, FetchErrorKind, Fetched, Fetcher};
use attache_core::{BoxFuture, DocumentSource};
use attache_mcp::{McpEndpoint, McpEra, McpFetcher, McpServer};
use serde_json::json;

use super::common::{Answer, Scripted, call, complete, greeting};

/// A key and a token in the examples of their inventors.
const KEY: &str = "AKIAIOSFODNN7EXAMPLE";
const TOKEN: &str = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N";

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

// A link with a key in it is fetched as the server gave it; the secrets that the server was given are told to nobody else.
#[tokio::test]
async fn links_are_fetched_as_they_were_given() {
    let signed = format!("https://b.example/lease.pdf?X-Amz-Credential={KEY}%2F20260101&token={TOKEN}");
    let own = format!("demo://sk-2026-budget-final.pdf/{TOKEN}/token-canary-1234");
    let (signed_link, own_link) = (signed.clone(), own.clone());
    let scripted = Scripted::raw(move |asked| match asked.asks() {
        "tools/call" => {
            Answer::Result(complete(json!({"structuredContent": {"at": signed_link}, "content": [
                {"type": "resource_link", "uri": signed_link, "name": "sk-2026-budget-final.pdf"},
                {"type": "resource_link", "uri": own_link, "name": "b.pdf"},
                {"type": "resource_link", "uri": "https://c.example/?key=token-canary-1234", "name": "c.pdf"},
            ]})))
        }
        "resources/read" if asked.body["params"]["uri"] == own_link => {
            let blob = attache_core::base64::encode(b"caf\xe9 token-canary-1234");
            Answer::Result(complete(
                json!({"contents": [{"uri": "demo://1", "mimeType": "text/csv", "blob": blob}]}),
            ))
        }
        other => greeting(other),
    })
    .await;
    let endpoint = McpEndpoint::new(scripted.url()).bearer("token-canary-1234");
    let server = McpServer::http("test", endpoint).era(McpEra::Stateless);
    let output = call(&server, "mcp_test___a").await.unwrap();
    assert_eq!(output.documents[0].file_name(), Some("sk-2026-budget-final.pdf"));
    let shown = output.tree.json();
    assert_eq!(shown.matches(&signed).count(), 2, "the model may hand the address on: {shown}");
    assert!(!shown.contains("canary") && !format!("{output:?}").contains("canary"), "{shown}");
    let fetcher = McpFetcher::new([server]).or(Web);
    let mut fetched = Vec::new();
    for document in &output.documents {
        let DocumentSource::External { url } = document.source() else { panic!("{document:?}") };
        let bytes = fetcher.fetch(url).await.unwrap().bytes;
        fetched.push(bytes.iter().map(|byte| char::from(*byte)).collect::<String>());
    }
    assert_eq!(fetched, [signed.as_str(), "café ***", "https://c.example/?key=***"]);
}

// A server may answer with more than the one content that was asked for.
#[tokio::test]
async fn the_content_at_the_address_is_taken_or_all_texts() {
    let scripted = Scripted::raw(|asked| match asked.asks() {
        "resources/read" => {
            let text = |uri: &str| json!({"uri": uri, "text": format!("of {uri}")});
            let blob = json!({"uri": "f://c", "blob": "JVBERi0xLjc="});
            let contents = match asked.body["params"]["uri"].as_str().unwrap() {
                "f://b" => json!([text("f://a"), text("f://b"), blob]),
                "f://texts" => json!([text("f://a"), text("f://b")]),
                "f://mixed" => json!([text("f://a"), blob]),
                _ => json!([text("f://elsewhere")]),
            };
            Answer::Result(complete(json!({"contents": contents})))
        }
        other => greeting(other),
    })
    .await;
    let fetcher = McpFetcher::new([scripted.server()]);
    let fetched = async |at: &str| match fetcher.fetch(&format!("mcp://test/f%3A%2F%2F{at}")).await {
        Ok(fetched) => String::from_utf8(fetched.bytes.to_vec()).unwrap(),
        Err(error) => error.to_string(),
    };
    assert_eq!(fetched("b").await, "of f://b");
    assert_eq!(fetched("texts").await, "f://a\n\nof f://a\n\nf://b\n\nof f://b");
    assert!(fetched("mixed").await.contains("several contents"));
    assert_eq!(fetched("moved").await, "of f://elsewhere");
}

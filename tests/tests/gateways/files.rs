//! The same question about a PDF, an image and a spreadsheet, wherever they come from.

use std::sync::Arc;

use attache::convert::DocumentConverter;
use attache::tools::FetchTool;
use attache::transport::GuardedFetcher;
use attache::{Agent, EndReason};
use attache_agent::MemoryDocumentStore;
use attache_conformance::{MockProvider, Reply, seen_documents, sha256_hex};
use attache_core::ModelSettings;
use attache_tests::PDF_APIS;
use attache_tests::files::{PDF, assert_delivered};
use serde_json::json;

use crate::Gateway;
use crate::served::{FILES, Served};

async fn files_reach_every_api(gateway: Gateway) {
    let server = Served::new(&FILES.map(|(name, ..)| name)).await;
    for api in PDF_APIS {
        let mock = MockProvider::start().await.unwrap();
        let reply = FILES.iter().enumerate().fold(Reply::new(), |reply, (at, (name, ..))| {
            let (tool, arguments) = gateway.call("files", name);
            reply.call(format!("call_{at}"), &tool, arguments)
        });
        mock.enqueue(reply);
        mock.enqueue(Reply::new().text("The rent is in the lease."));
        let store = Arc::new(MemoryDocumentStore::default());
        let builder = Agent::builder(api.connected(mock.url(), ModelSettings::new()).unwrap())
            .converter(DocumentConverter::default())
            .store(Arc::<MemoryDocumentStore>::clone(&store));
        let agent = gateway.attached("files", &server, builder).await.build().unwrap();
        let outcome = agent.run("What do the files say?").outcome().await.unwrap();
        assert_eq!(outcome.reason, EndReason::Answer, "{gateway:?} {}", api.name());
        assert_eq!(outcome.text, "The rent is in the lease.");
        assert_delivered(api, &mock, &outcome, &*store).await;
    }
}

// C14, C33
#[tokio::test]
async fn files_of_an_mcp_server_reach_every_api() {
    files_reach_every_api(Gateway::Mcp).await;
}

// C24, C33
#[tokio::test]
async fn files_of_an_endpoint_reach_every_api() {
    files_reach_every_api(Gateway::Http).await;
}

// C16, C33
#[tokio::test]
async fn files_of_an_a2a_agent_reach_every_api() {
    files_reach_every_api(Gateway::A2a).await;
}

// C33
#[tokio::test]
async fn files_of_a_folder_reach_every_api() {
    files_reach_every_api(Gateway::Local).await;
}

#[tokio::test]
async fn a_page_that_is_fetched_is_text_and_a_pdf_is_a_document() {
    let server = Served::new(&[]).await;
    for api in PDF_APIS {
        let mock = MockProvider::start().await.unwrap();
        let url = |name: &str| json!({"url": server.url(&format!("/calls/{name}"))});
        let private = json!({"url": "http://10.1.2.3/canary"});
        mock.enqueue(
            Reply::new()
                .call("a", "fetch", url("page"))
                .call("b", "fetch", url("lease"))
                .call("c", "fetch", private),
        );
        mock.enqueue(Reply::new().text("done"));
        let fetcher =
            GuardedFetcher::new().with_private_addresses(true).with_any_port().with_hosts(["127.0.0.1"]);
        let agent = Agent::builder(api.connected(mock.url(), ModelSettings::new()).unwrap())
            .converter(DocumentConverter::default())
            .tool(FetchTool::new(fetcher));
        let outcome = agent.build().unwrap().run("Look.").outcome().await.unwrap();
        assert_eq!(outcome.reason, EndReason::Answer, "{}", api.name());
        assert!(mock.violations().is_empty(), "{}: {:?}", api.name(), mock.violations());
        let body = mock.requests()[1].json().clone();
        let seen = seen_documents(api.conformance(), &body);
        let hash = Some(sha256_hex(PDF));
        assert!(seen.iter().any(|document| document.sha256 == hash), "{}: {seen:?}", api.name());
        let text = body.to_string();
        assert!(text.contains("shillings") && !text.contains("<h1>") && !text.contains("track()"), "{text}");
        assert!(text.contains("its host is not one that documents may be fetched from"), "{}", api.name());
    }
}

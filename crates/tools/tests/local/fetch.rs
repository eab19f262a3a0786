//! A fetched page is a document with its name, and a refusal names nothing.

use std::sync::Arc;

use attache_core::fetcher::{FetchError, FetchErrorKind, Fetched, Fetcher};
use attache_core::{BoxFuture, MediaType, Tool};
use attache_tools::FetchTool;
use serde_json::{Value, json};

use super::call;

/// A place with two files.
struct Place;

impl Fetcher for Place {
    fn fetch<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Fetched, FetchError>> {
        let fetched = match url {
            "https://x.test/a" => Ok(Fetched::new(b"%PDF-1.7 x".as_slice())
                .with_media_type(MediaType::parse("application/octet-stream"))
                .with_file_name(Some("lease.pdf".to_owned()))),
            "https://x.test/" => Ok(Fetched::new(b"<p>Hello".as_slice())
                .with_media_type(MediaType::parse("text/html; charset=utf-8"))),
            _ => Err(FetchError::new(FetchErrorKind::Refused, "its host is private")),
        };
        Box::pin(std::future::ready(fetched))
    }
}

#[tokio::test]
async fn what_is_fetched_is_a_document_with_its_name() {
    let tools: Vec<Arc<dyn Tool>> = vec![Arc::new(FetchTool::new(Place))];
    for (url, name, media) in
        [("https://x.test/a", Some("lease.pdf"), "application/pdf"), ("https://x.test/", None, "text/html")]
    {
        let output = call(&tools, "fetch", json!({"url": url})).await.unwrap();
        let [document] = output.documents.as_slice() else { panic!("{output:?}") };
        assert_eq!((document.file_name(), document.media_type().essence()), (name, media));
        let told: Value = serde_json::from_str(output.tree.json()).unwrap();
        assert_eq!(told["url"], url);
    }
    let refused = call(&tools, "fetch", json!({"url": "http://10.0.0.1/"})).await.unwrap_err();
    assert_eq!(refused, "it was not fetched: its host is private");
}

//! The tool with which a model fetches web pages and files.

use std::sync::Arc;

use attache_core::fetcher::{FetchError, FetchErrorKind, Fetcher};
use attache_core::tool::ToolSpec;
use attache_core::{
    BoxFuture, Capture, Document, Effect, Tool, ToolContext, ToolDefinition, ToolError, ToolErrorKind,
    ToolOutput,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Lets a model fetch web pages and files by URL, with the given fetcher: the transport's `GuardedFetcher` only reaches
/// public addresses and limits hosts, ports and sizes.
///
/// The model reads the result as a document with its name: a web page as text if the agent has a converter for HTML, a
/// PDF or an image natively if the model accepts it. `read_document` reads more of it.
///
/// A person or document that makes the model fetch a URL can leak to its host what the model knows: restrict the hosts
/// or require approval if that matters.
///
/// ```
/// use attache_tools::FetchTool;
/// # fn example(fetcher: impl attache_core::fetcher::Fetcher + 'static) {
/// let tool = FetchTool::new(fetcher); // GuardedFetcher::new().with_hosts(["*.example.org"])
/// # let _ = tool; }
/// ```
#[derive(Clone)]
pub struct FetchTool {
    spec: ToolSpec,
    fetcher: Arc<dyn Fetcher>,
}

impl FetchTool {
    /// Creates the tool `fetch`.
    pub fn new(fetcher: impl Fetcher + 'static) -> Self {
        let schema = json!({
            "type": "object",
            "properties": {"url": {"type": "string", "description": "An address that begins with https:// or http://"}},
            "required": ["url"],
            "additionalProperties": false,
        });
        let text = "Fetches the page or file at an address and returns it as a document";
        let spec = ToolSpec::new(ToolDefinition::new("fetch", text, schema));
        let spec = spec.with_effect(Effect::Read).with_origin("attache-tools");
        Self { spec, fetcher: Arc::new(fetcher) }
    }

    async fn fetch(&self, url: &str, context: &ToolContext) -> Result<ToolOutput, ToolError> {
        let fetched = self.fetcher.fetch(url).await.map_err(failed)?;
        let media_type = fetched.media_type.map(|media| media.to_string()).unwrap_or_default();
        let mut document = Document::from_bytes(fetched.bytes, &media_type);
        if let Some(name) = fetched.file_name {
            document = document.with_file_name(name);
        }
        let mut capture = Capture::new();
        if let Some(store) = &context.store_id {
            capture = capture.with_store_id(store.clone());
        }
        Ok(ToolOutput::captured(capture, &Page { url: url.to_owned(), document })?)
    }
}

#[derive(Serialize)]
struct Page {
    url: String,
    document: Document,
}

/// The texts of fetchers name no address.
fn failed(error: FetchError) -> ToolError {
    let kind = match error.kind() {
        FetchErrorKind::Timeout => ToolErrorKind::Timeout,
        FetchErrorKind::Unavailable => ToolErrorKind::Unavailable,
        _ => ToolErrorKind::Failed,
    };
    ToolError::new(format!("it was not fetched: {error}")).with_kind(kind).with_source(error)
}

impl std::fmt::Debug for FetchTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FetchTool").finish_non_exhaustive()
    }
}

impl Tool for FetchTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(
        &self,
        arguments: Map<String, Value>,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let url = arguments.get("url").and_then(Value::as_str).unwrap_or_default();
            self.fetch(url, &context).await
        })
    }
}

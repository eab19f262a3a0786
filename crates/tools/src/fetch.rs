//! The tool with which a model fetches what stands at an address.

use std::sync::Arc;

use attache_core::fetcher::{FetchError, FetchErrorKind, Fetcher};
use attache_core::tool::ToolSpec;
use attache_core::{
    BoxFuture, Capture, Document, Effect, Tool, ToolContext, ToolDefinition, ToolError, ToolErrorKind,
    ToolOutput,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Lets a model fetch pages and files by their addresses, by the fetcher that it is given: the transport's
/// `GuardedFetcher` reaches public addresses alone, and says which hosts, ports and sizes are allowed.
///
/// The model reads what comes as a document with its name: a page as text where the agent has a converter for HTML, a
/// PDF or an image as it is where the model takes it. `read_document` reads more of it.
///
/// A person or document that makes the model ask for an address can tell its host what the model knows: name the hosts, or ask for
/// approval, where that matters.
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
    /// The tool `fetch`.
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

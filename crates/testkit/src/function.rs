//! A model whose replies come from a closure.

use std::fmt;
use std::sync::{Arc, Mutex};

use attache_core::{ChatRequest, ChunkStream, LlmProvider};

use crate::double::{Double, lock, methods, provider};
use crate::turn::Turn;

/// A model that calls a closure for each reply. The closure gets the request and its number, from 0, so it can use data
/// of the request, such as the id of a document that a tool has just returned. Clones share the closure and the
/// requests.
///
/// ```
/// use attache_agent::{Agent, tool_fn};
/// use attache_core::Document;
/// use attache_testkit::{FunctionModel, Turn, documents};
/// use serde_json::json;
///
/// use attache_tools::ReadDocument;
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let fetch = tool_fn("fetch", "Fetches the lease.", || {
///     Ok(Document::inline("rent: 900").with_file_name("lease.txt"))
/// });
/// let model = FunctionModel::new(|request, call| match call {
///     0 => Turn::call("fetch", json!({})),
///     1 => {
///         let lease = documents(request).pop().expect("the tool's document");
///         Turn::call("read_document", json!({ "id": lease.id(), "query": "rent" }))
///     }
///     _ => Turn::text("EUR 900."),
/// });
/// let agent = Agent::builder(model.clone()).tool(fetch).tool(ReadDocument::new()).build()?;
/// assert_eq!(agent.run("What is the rent?").outcome().await?.text, "EUR 900.");
/// model.asked().assert_called("read_document");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct FunctionModel {
    double: Double,
    function: Arc<Mutex<Function>>,
}

type Function = dyn FnMut(&ChatRequest, usize) -> Turn + Send;

impl fmt::Debug for FunctionModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionModel").field("double", &self.double).finish_non_exhaustive()
    }
}

impl FunctionModel {
    /// Creates a model that gives the replies of `function`. A panic in it, such as a failed assertion, fails the test.
    pub fn new(function: impl FnMut(&ChatRequest, usize) -> Turn + Send + 'static) -> Self {
        let double = Double::new("FunctionModel", "function", Default::default());
        Self { double, function: Arc::new(Mutex::new(function)) }
    }

    methods!();
}

impl LlmProvider for FunctionModel {
    provider!();

    fn stream(&self, request: ChatRequest) -> ChunkStream {
        let function = Arc::clone(&self.function);
        self.double.stream(request, move |_, request, number| Some(lock(&function)(request, number)))
    }
}

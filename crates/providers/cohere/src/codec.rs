//! The codec: requests and replies of the API without I/O.

use std::fmt;
use std::sync::Arc;

use attache_core::{ModelCapabilities, ProviderError};
use attache_transport::{HttpModel, join_url, shown_url};

use crate::capabilities;

/// One model behind Cohere's chat API. Gateways that want no key get [`Auth::None`](attache_transport::Auth::None).
///
/// ```
/// use attache_cohere::Cohere;
/// use attache_core::ModelHandle;
///
/// let model = Cohere::new("command-a-03-2025", "a-key")?;
/// assert_eq!(ModelHandle::new(model).id(), "cohere/command-a-03-2025");
/// # Ok::<(), attache_core::ProviderError>(())
/// ```
pub type Cohere = HttpModel<CohereCodec>;

/// One call that the codec writes.
pub(crate) type Ask<'a> = attache_transport::Ask<'a, CohereCodec>;

/// Makes the HTTP requests of Cohere's chat API, version 2, and reads its replies, without sending anything.
///
/// * Results of tools are text blocks. A failed one is the JSON object `{"error": …}`, since the API has no flag.
/// * The plan that a model makes before it calls tools is no text of the answer: it is kept as a part of kind
///   `tool_plan` and goes back as such. So are `citations`, to the model that made them.
/// * Thinking goes back to models that reason. It is not signed, so that it may come from another of Cohere's.
/// * A tool can be forced by name only where it is the only one.
///
/// Of a reply, unknown events and finish reasons are no errors. A reply without text and calls ends in
/// [`StreamChunk::Done`](attache_core::StreamChunk::Done) with an empty message: whether that is an error is the
/// caller's policy. One whose end says that it failed is an error, which may be retried before anything was said.
///
/// ```
/// use attache_cohere::CohereCodec;
/// use attache_core::{ChatRequest, Message, ModelSettings};
/// use attache_transport::{Ask, Codec};
///
/// let codec = CohereCodec::new("command-a-03-2025");
/// let request = ChatRequest::new([Message::user("Hello").shared()]).streaming(false);
/// let encoded = codec.encode(Ask::new(&request, &ModelSettings::new(), None))?;
/// assert_eq!(encoded.parts.url, "https://api.cohere.com/v2/chat");
/// assert_eq!(
///     encoded.parts.body.to_vec(),
///     br#"{"model":"command-a-03-2025","messages":[{"role":"user","content":"Hello"}]}"#,
/// );
/// # Ok::<(), attache_core::ProviderError>(())
/// ```
#[derive(Clone)]
pub struct CohereCodec {
    pub(crate) model: Arc<str>,
    pub(crate) base_url: String,
    pub(crate) strict_tools: bool,
    pub(crate) capabilities: Arc<ModelCapabilities>,
}

impl CohereCodec {
    /// A model at the public API, with what this crate knows of it.
    pub fn new(model: &str) -> Self {
        let model = model.trim();
        Self {
            model: Arc::from(model),
            base_url: "https://api.cohere.com".to_owned(),
            strict_tools: false,
            capabilities: Arc::new(capabilities::of(model)),
        }
    }

    /// Has the API hold the model to the schemas of the tools.
    #[must_use]
    pub fn with_strict_tools(mut self, strict: bool) -> Self {
        self.strict_tools = strict;
        self
    }

    /// The model's id at the API.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The address of the endpoint. A base URL may name the version already.
    pub(crate) fn url(&self) -> Result<String, ProviderError> {
        let path = self.base_url.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
        join_url(&self.base_url, if path.ends_with("/v2") { "chat" } else { "v2/chat" })
    }
}

impl From<&str> for CohereCodec {
    fn from(model: &str) -> Self {
        Self::new(model)
    }
}

impl fmt::Debug for CohereCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CohereCodec")
            .field("model", &self.model)
            .field("base_url", &shown_url(&self.base_url))
            .field("strict_tools", &self.strict_tools)
            .finish_non_exhaustive()
    }
}

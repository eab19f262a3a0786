//! The codec: requests and replies of the Messages API without I/O.

use std::fmt;
use std::sync::Arc;

use attache_core::{Degradation, ErrorKind, ModelCapabilities, ProviderError, ToolSet};
use attache_transport::{Replay, join_url, replay, shown_url};
use http::{HeaderMap, StatusCode};

use crate::stream::{Events, MessagesDecoder, Reading};
use crate::{capabilities, error};

/// Makes the HTTP requests of the Messages API and reads its replies, without sending anything.
///
/// It knows the model and how the API is addressed: everything about a request that is not the conversation and
/// its options.
///
/// ```
/// use attache_anthropic::MessagesCodec;
/// use attache_core::{ChatRequest, Message, ProviderConfig};
///
/// let codec = MessagesCodec::new("claude-sonnet-4-5");
/// let request = ChatRequest::new([Message::user("Hello").shared()]).answered_whole();
/// let encoded = codec.encode(&request, &ProviderConfig::new(), None)?;
/// assert_eq!(encoded.parts.url, "https://api.anthropic.com/v1/messages");
/// assert_eq!(
///     String::from_utf8_lossy(&encoded.parts.body.to_vec()),
///     r#"{"model":"claude-sonnet-4-5","max_tokens":32000,"messages":[{"role":"user","content":[{"type":"text","text":"Hello"}]}]}"#,
/// );
/// # Ok::<(), attache_core::ProviderError>(())
/// ```
#[derive(Clone)]
pub struct MessagesCodec {
    model: Arc<str>,
    base_url: String,
    version: String,
    betas: Vec<String>,
    capabilities: Arc<ModelCapabilities>,
}

impl MessagesCodec {
    /// A model at the public API, version `2023-06-01`, with what the bundled matrix knows of it.
    pub fn new(model: &str) -> Self {
        let model = model.trim();
        Self {
            model: Arc::from(model),
            base_url: "https://api.anthropic.com".to_owned(),
            version: "2023-06-01".to_owned(),
            betas: Vec::new(),
            capabilities: Arc::new(capabilities::of(model)),
        }
    }

    /// Sends requests elsewhere. `/v1/messages` is added, or `/messages` if the URL ends in `/v1`.
    #[must_use]
    pub fn with_base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = url.into();
        self
    }

    /// Sets the `anthropic-version`. From `2026-10-21` on the API takes no sampling options.
    #[must_use]
    pub fn with_version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// Adds a flag to `anthropic-beta`. Those of a request's own headers are added to it.
    #[must_use]
    pub fn with_beta(mut self, flag: impl Into<String>) -> Self {
        self.betas.push(flag.into());
        self
    }

    /// Sets what the model takes and can do, as a configured matrix says.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: impl Into<Arc<ModelCapabilities>>) -> Self {
        self.capabilities = capabilities.into();
        self
    }

    /// The model's id at the API.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// What the model takes and can do.
    pub fn capabilities(&self) -> &ModelCapabilities {
        &self.capabilities
    }

    /// A decoder for one reply. `tools` are those of the request: they map names back. `degradations` become part
    /// of the reply.
    pub fn decoder(&self, tools: Arc<ToolSet>, degradations: Vec<Degradation>) -> MessagesDecoder {
        MessagesDecoder::new(self.reading(tools, degradations))
    }

    /// Decodes a recorded reply, its body cut anywhere, with the decoder that a live one goes through.
    pub fn replay<B: AsRef<[u8]>>(
        &self,
        status: StatusCode,
        headers: &HeaderMap,
        body: impl IntoIterator<Item = B>,
    ) -> Replay {
        let events = Events::new(self.reading(Arc::default(), Vec::new()));
        replay(events, status, headers, body, error::read)
    }

    fn reading(&self, tools: Arc<ToolSet>, degradations: Vec<Degradation>) -> Reading {
        Reading { tools, model: Arc::clone(&self.model), degradations }
    }

    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    pub(crate) fn betas(&self) -> &[String] {
        &self.betas
    }

    /// The address of the endpoint.
    pub(crate) fn url(&self) -> Result<String, ProviderError> {
        if self.model.is_empty() {
            return Err(ProviderError::new(ErrorKind::Configuration, "the model has no name"));
        }
        let path = self.base_url.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
        join_url(&self.base_url, if path.ends_with("/v1") { "messages" } else { "v1/messages" })
    }
}

impl fmt::Debug for MessagesCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessagesCodec")
            .field("model", &self.model)
            .field("base_url", &shown_url(&self.base_url))
            .field("version", &self.version)
            .field("betas", &self.betas)
            .finish_non_exhaustive()
    }
}

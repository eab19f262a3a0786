//! Chat Completions, without I/O (openai.md A).

mod assistant;
mod content;
mod history;
mod messages;
mod options;
mod reasoning;
mod request;
mod response;
mod stream;
mod think;
mod turn;
mod usage;
mod wire;

use std::sync::Arc;

use attache_core::{Degradation, ModelCapabilities, ProviderConfig, ProviderError, Secret, ToolSet};
use attache_transport::{EncodedBody, RequestParts, join_url, replay};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, StatusCode};

pub use attache_transport::{EncodedRequest, Replay};
pub use stream::ChatDecoder;

use crate::capabilities::capabilities;
use crate::error;
use crate::profile::Profile;

/// Chat Completions for one model of one profile: requests to HTTP, answers to chunks. It does no I/O.
///
/// ```
/// use attache_core::{ChatRequest, Message, ProviderConfig};
/// use attache_openai::{ChatCodec, Profile};
/// let codec = ChatCodec::new(Profile::openai_chat(), "gpt-4o");
/// let request = ChatRequest::new([Message::user("Hi").shared()]).answered_whole();
/// let encoded = codec.encode(&request, &ProviderConfig::new(), None)?;
/// assert_eq!(encoded.parts.url, "https://api.openai.com/v1/chat/completions");
/// assert_eq!(encoded.parts.body.to_vec(), br#"{"model":"gpt-4o","messages":[{"role":"user","content":"Hi"}]}"#);
/// # Ok::<(), attache_core::ProviderError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ChatCodec {
    profile: Arc<Profile>,
    model: Arc<str>,
    family: Arc<str>,
    capabilities: Arc<ModelCapabilities>,
}

impl ChatCodec {
    /// The codec for a model, with what the bundled matrix knows of it.
    pub fn new(profile: impl Into<Arc<Profile>>, model: &str) -> Self {
        let profile = profile.into();
        let capabilities = Arc::new(capabilities(&profile, model));
        Self { family: Arc::from(profile.name.as_str()), model: Arc::from(model), profile, capabilities }
    }

    /// Sets what the model can do, as a configured matrix says.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: impl Into<Arc<ModelCapabilities>>) -> Self {
        self.capabilities = capabilities.into();
        self
    }

    /// Sets the profile; what the model can do stays.
    pub(crate) fn set_profile(&mut self, profile: Profile) {
        self.profile = Arc::new(profile);
    }

    /// The profile.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The model's id at the server.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// What the model takes and can do.
    pub fn capabilities(&self) -> &ModelCapabilities {
        &self.capabilities
    }

    /// A decoder for one answer. `tools` are those of the request: they map names back. `degradations` become part
    /// of the reply.
    pub fn decoder(&self, tools: Arc<ToolSet>, degradations: Vec<Degradation>) -> ChatDecoder {
        ChatDecoder::new(self.reading(tools, degradations))
    }

    /// Decodes a recorded answer, its body cut anywhere, with the decoder that a live one goes through.
    pub fn replay<B: AsRef<[u8]>>(
        &self,
        status: StatusCode,
        headers: &HeaderMap,
        body: impl IntoIterator<Item = B>,
    ) -> Replay {
        let events = stream::Events::new(self.reading(Arc::default(), Vec::new()));
        replay(events, status, headers, body, error::read)
    }

    fn reading(&self, tools: Arc<ToolSet>, degradations: Vec<Degradation>) -> turn::Reading {
        turn::Reading {
            family: Arc::clone(&self.family),
            model: Arc::clone(&self.model),
            think_tags: self.profile.think_tags,
            tools,
            degradations,
        }
    }

    /// The key under which a conversation keeps what this codec rendered of it.
    fn wire_key(&self) -> String {
        format!("chat/{}/{}", self.profile.name, self.model)
    }

    /// The request without its body.
    fn envelope(&self, config: &ProviderConfig, key: Option<&Secret>) -> Result<RequestParts, ProviderError> {
        let url = join_url(&self.profile.base_url, "chat/completions")?;
        let mut parts = RequestParts::post_json(url, EncodedBody::from(Bytes::new()));
        if let Some(key) = key.filter(|key| !key.is_empty()) {
            let rules = &self.profile.key;
            let header = HeaderName::try_from(rules.header.as_str())
                .map_err(|_| error::configuration(format!("{:?} is no header name", rules.header)))?;
            parts = parts.with_secret_header(header, &rules.prefix, key);
        }
        parts.with_extra_headers(&config.extra_headers)
    }
}

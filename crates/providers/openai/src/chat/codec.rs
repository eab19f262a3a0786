//! The codec: requests and replies of Chat Completions without I/O.

use std::sync::Arc;

use attache_core::ModelCapabilities;
use attache_transport::HttpModel;

use crate::profile::Profile;
use crate::server::Server;

/// A model behind Chat Completions: OpenAI's own, or a server that imitates it. Made of a model's name it is OpenAI's.
///
/// ```
/// use attache_core::{ModelHandle, ModelSettings};
/// use attache_openai::OpenAiChat;
/// let model = OpenAiChat::new("gpt-4o", "sk-…")?.with_settings(ModelSettings::new().with_temperature(0.0));
/// assert_eq!(ModelHandle::new(model).id(), "openai-chat/gpt-4o");
/// # Ok::<(), attache_core::ProviderError>(())
/// ```
pub type OpenAiChat = HttpModel<ChatCodec>;

/// Chat Completions for one model of one profile: requests to HTTP, answers to chunks. It does no I/O.
///
/// An answer without text and calls ends in [`StreamChunk::Done`](attache_core::StreamChunk::Done) with an empty
/// message: whether that is an error is the caller's policy. One that failed on the server's side before it said
/// anything, and said so only as its finish reason, is an error that may be retried.
///
/// ```
/// use attache_core::{ChatRequest, Message, ModelSettings};
/// use attache_openai::{ChatCodec, Profile};
/// use attache_transport::Codec;
/// let codec = ChatCodec::new(Profile::openai_chat(), "gpt-4o");
/// let request = ChatRequest::new([Message::user("Hi").shared()]).streaming(false);
/// let encoded = codec.encode(&request, &ModelSettings::new(), None)?;
/// assert_eq!(encoded.parts.url, "https://api.openai.com/v1/chat/completions");
/// assert_eq!(encoded.parts.body.to_vec(), br#"{"model":"gpt-4o","messages":[{"role":"user","content":"Hi"}]}"#);
/// # Ok::<(), attache_core::ProviderError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ChatCodec {
    pub(super) server: Server,
}

impl ChatCodec {
    /// The codec for a model, with what the bundled matrix knows of it.
    pub fn new(profile: impl Into<Arc<Profile>>, model: &str) -> Self {
        Self { server: Server::new(&profile.into(), model) }
    }

    /// Sets what the model can do, as a configured matrix says.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: impl Into<Arc<ModelCapabilities>>) -> Self {
        self.server.set_capabilities(capabilities.into());
        self
    }

    /// The profile as it is for the model.
    pub fn profile(&self) -> &Profile {
        &self.server.profile
    }

    /// The model's id at the server.
    pub fn model(&self) -> &str {
        &self.server.model
    }

    /// The key under which a conversation keeps what this codec rendered of it.
    pub(super) fn wire_key(&self) -> String {
        format!("chat/{}", self.server.model_id())
    }
}

impl From<&str> for ChatCodec {
    /// A model at OpenAI.
    fn from(model: &str) -> Self {
        Self::new(Profile::openai_chat(), model)
    }
}

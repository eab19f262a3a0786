//! The codec: requests and replies of Responses without I/O.

use std::sync::Arc;

use attache_core::ModelCapabilities;
use attache_transport::HttpModel;

use crate::profile::Profile;
use crate::server::Server;

/// A model behind the Responses API: OpenAI's own, or a server that imitates it. Made of a model's name it is OpenAI's.
///
/// ```
/// use attache_core::{ModelHandle, ModelSettings};
/// use attache_openai::OpenAi;
/// let model = OpenAi::new("gpt-5.6", "sk-…")?.with_settings(ModelSettings::new().with_max_tokens(2000));
/// assert_eq!(ModelHandle::new(model).id(), "openai/gpt-5.6");
/// # Ok::<(), attache_core::ProviderError>(())
/// ```
pub type OpenAi = HttpModel<ResponsesCodec>;

/// The Responses API for one model of one profile: requests to HTTP, answers to chunks. It does no I/O.
///
/// Conversations are sent whole, nothing is stored at the server, and reasoning goes back encrypted beside what it led
/// to. Of an answer, unknown events and items are no errors: items are kept verbatim, in place, and go back to where
/// they came from; unknown events are skipped. An answer without text and calls ends in
/// [`StreamChunk::Done`](attache_core::StreamChunk::Done) with an empty message: whether that is an error is the
/// caller's policy.
#[derive(Clone, Debug)]
pub struct ResponsesCodec {
    pub(super) server: Server,
}

impl ResponsesCodec {
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
}

impl From<&str> for ResponsesCodec {
    /// A model at OpenAI.
    fn from(model: &str) -> Self {
        Self::new(Profile::openai(), model)
    }
}

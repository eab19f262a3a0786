//! The codec: requests and replies of Ollama's own API without I/O.

use std::sync::Arc;

use attache_core::ModelCapabilities;
use attache_transport::HttpModel;

use crate::profile::Profile;
use crate::server::Server;

/// The name of the provider, and its section of the matrix.
pub(super) const NAME: &str = "ollama";

/// A model of an Ollama server, spoken to in Ollama's own API.
///
/// ```
/// use attache_core::ModelHandle;
/// use attache_openai::Ollama;
/// use attache_transport::Auth;
/// let model = Ollama::new("qwen3:4b", Auth::None)?;
/// assert_eq!(ModelHandle::new(model).id(), "ollama/qwen3:4b");
/// # Ok::<(), attache_core::ProviderError>(())
/// ```
pub type Ollama = HttpModel<OllamaCodec>;

/// One call that the codec writes.
pub(super) type Ask<'a> = attache_transport::Ask<'a, OllamaCodec>;

/// Ollama's own API (`/api/chat`) for one model: requests to HTTP, answers to chunks. It does no I/O.
///
/// Unlike its dialect of Chat Completions, `ollama-chat/`, the API sets the window: the context window that the
/// matrix gives for the model is sent as `num_ctx`. Without one the server cuts long prompts in silence at its own
/// default; other options of the server go into the body's `options` by
/// [`extra_body`](attache_core::ModelSettings::extra_body), whose objects are merged.
///
/// ```
/// use attache_core::{ChatRequest, Message, ModelSettings};
/// use attache_openai::OllamaCodec;
/// use attache_transport::{Ask, Codec};
/// let options = ModelSettings::new()
///     .with_temperature(0.0)
///     .with_extra_body("options", serde_json::json!({"num_ctx": 8192}));
/// let request = ChatRequest::new([Message::user("Hi").shared()]).streaming(false);
/// let encoded = OllamaCodec::new("qwen3").encode(Ask::new(&request, &options, None))?;
/// assert_eq!(encoded.parts.url, "http://localhost:11434/api/chat");
/// assert_eq!(
///     encoded.parts.body.to_vec(),
///     br#"{"model":"qwen3","messages":[{"role":"user","content":"Hi"}],"stream":false,"options":{"temperature":0.0,"num_ctx":8192}}"#,
/// );
/// # Ok::<(), attache_core::ProviderError>(())
/// ```
#[derive(Clone, Debug)]
pub struct OllamaCodec {
    pub(super) server: Server,
}

impl OllamaCodec {
    /// The codec for a model, with what the bundled matrix knows of it.
    pub fn new(model: &str) -> Self {
        let mut profile = Profile::compatible(NAME, "http://localhost:11434");
        profile.family = NAME.to_owned();
        profile.addresses = ["{OLLAMA_BASE_URL}", "{OLLAMA_HOST}"].map(str::to_owned).to_vec();
        profile.key.variables = vec!["OLLAMA_API_KEY".to_owned()];
        Self { server: Server::new(&Arc::new(profile), model) }
    }

    /// Sets what the model can do, as a configured matrix says.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: impl Into<Arc<ModelCapabilities>>) -> Self {
        self.server.set_capabilities(capabilities.into());
        self
    }

    /// The model's id at the server.
    pub fn model(&self) -> &str {
        &self.server.model
    }
}

impl From<&str> for OllamaCodec {
    fn from(model: &str) -> Self {
        Self::new(model)
    }
}

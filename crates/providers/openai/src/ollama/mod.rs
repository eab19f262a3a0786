//! Ollama's own API, without I/O (openai.md C.13).

mod messages;
mod models;
mod options;
mod request;
mod stream;
mod wire;

use std::sync::Arc;

use attache_core::{
    ChatRequest, Degradation, Matrix, ModelCapabilities, ModelSettings, ProviderError, SchemaReport, Secret,
    ToolSet,
};
use attache_transport::{
    Auth, Codec, Decoder, EncodedRequest, Environment, ErrorReader, ErrorResponse, HttpModel, ModelApi,
    Reading,
};

use crate::error;
use crate::profile::{Profile, from_environment};

/// The name of the provider, and its section of the matrix.
const NAME: &str = "ollama";
/// Where a server is, unless variables say otherwise.
const BASE_URL: &str = "http://localhost:11434";
const KEY_VARIABLES: [&str; 1] = ["OLLAMA_API_KEY"];

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
/// use attache_transport::Codec;
/// let options = ModelSettings::new()
///     .with_temperature(0.0)
///     .with_extra_body("options", serde_json::json!({"num_ctx": 8192}));
/// let request = ChatRequest::new([Message::user("Hi").shared()]).streaming(false);
/// let encoded = OllamaCodec::new("qwen3").encode(&request, &options, None)?;
/// assert_eq!(encoded.parts.url, "http://localhost:11434/api/chat");
/// assert_eq!(
///     encoded.parts.body.to_vec(),
///     br#"{"model":"qwen3","messages":[{"role":"user","content":"Hi"}],"stream":false,"options":{"temperature":0.0,"num_ctx":8192}}"#,
/// );
/// # Ok::<(), attache_core::ProviderError>(())
/// ```
#[derive(Clone, Debug)]
pub struct OllamaCodec {
    base_url: Arc<str>,
    model: Arc<str>,
    capabilities: Arc<ModelCapabilities>,
}

impl OllamaCodec {
    /// The codec for a model, with what the bundled matrix knows of it.
    pub fn new(model: &str) -> Self {
        let capabilities = Arc::new(Matrix::bundled().resolve(NAME, model));
        Self { base_url: Arc::from(BASE_URL), model: Arc::from(model), capabilities }
    }

    /// Sets what the model can do, as a configured matrix says.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: impl Into<Arc<ModelCapabilities>>) -> Self {
        self.capabilities = capabilities.into();
        self
    }

    /// The model's id at the server.
    pub fn model(&self) -> &str {
        &self.model
    }
}

impl From<&str> for OllamaCodec {
    fn from(model: &str) -> Self {
        Self::new(model)
    }
}

impl Codec for OllamaCodec {
    fn model_id(&self) -> String {
        format!("{NAME}/{}", self.model)
    }

    fn capabilities(&self) -> &ModelCapabilities {
        &self.capabilities
    }

    fn set_matrix(&mut self, matrix: &Matrix) {
        self.capabilities = Arc::new(matrix.resolve(NAME, &self.model));
    }

    fn set_base_url(&mut self, url: String) {
        self.base_url = Arc::from(url);
    }

    fn configure(&mut self, environment: &Environment) -> Result<Auth, ProviderError> {
        let mut place = Profile::compatible(NAME, BASE_URL);
        place.addresses = vec!["{OLLAMA_BASE_URL}".to_owned(), "{OLLAMA_HOST}".to_owned()];
        if let Some(url) = from_environment(&place, &self.model, environment) {
            // The variable may hold the address of the other dialect.
            self.set_base_url(url.strip_suffix("/v1").unwrap_or(&url).to_owned());
        }
        Ok(environment.first(KEY_VARIABLES).map_or(Auth::None, Auth::from))
    }

    fn check(&self, _: &Auth) -> Result<(), ProviderError> {
        if self.model.trim().is_empty() {
            return Err(error::configuration("no model is named"));
        }
        Ok(())
    }

    fn encode(
        &self,
        request: &ChatRequest,
        settings: &ModelSettings,
        key: Option<&Secret>,
    ) -> Result<EncodedRequest, ProviderError> {
        self.request(&attache_transport::note_made_documents(request, |_| false), settings, key)
    }

    fn check_tools(&self, tools: &ToolSet, settings: &ModelSettings) -> SchemaReport {
        request::check(self, tools, settings)
    }

    fn decoder(&self, tools: Arc<ToolSet>, degradations: Vec<Degradation>) -> Box<dyn Decoder> {
        let reading = Reading::new(NAME, Arc::clone(&self.model), tools, degradations);
        Box::new(stream::Lines::new(stream::Reply::new(reading)))
    }

    fn error_reader(&self) -> ErrorReader {
        read_error
    }

    fn models(&self) -> Option<&dyn ModelApi> {
        Some(self)
    }
}

/// Ollama says in words what a model cannot do.
fn read_error(response: &ErrorResponse) -> ProviderError {
    let common = error::read(response);
    if common.message().contains("does not support") {
        return response.error(attache_core::ErrorKind::Unsupported, common.message());
    }
    common
}

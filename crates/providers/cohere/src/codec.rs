//! The codec: requests and replies of the API without I/O.

use std::fmt;
use std::sync::Arc;

use attache_core::{
    ChatRequest, Degradation, Matrix, ModelCapabilities, ModelSettings, ProviderError, SchemaReport, Secret,
    ToolSet,
};
use attache_transport::{
    Auth, Codec, Decoder, EncodedRequest, Environment, ErrorReader, HttpModel, Reading, ReplyDecoder,
    join_url, shown_url,
};

use crate::capabilities::{self, FAMILY};
use crate::error;
use crate::stream::Events;

/// The variables that may hold the key, the preferred one first.
const KEY_VARIABLES: [&str; 2] = ["CO_API_KEY", "COHERE_API_KEY"];
/// The variable that may hold another base URL.
const URL_VARIABLE: &str = "CO_API_URL";

/// One model behind Cohere's chat API. Gateways that want no key get [`Auth::None`].
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
/// caller's policy. One that failed before it said anything is an error that may be retried.
///
/// ```
/// use attache_cohere::CohereCodec;
/// use attache_core::{ChatRequest, Message, ModelSettings};
/// use attache_transport::Codec;
///
/// let codec = CohereCodec::new("command-a-03-2025");
/// let request = ChatRequest::new([Message::user("Hello").shared()]).streaming(false);
/// let encoded = codec.encode(&request, &ModelSettings::new(), None)?;
/// assert_eq!(encoded.parts.url, "https://api.cohere.com/v2/chat");
/// assert_eq!(
///     encoded.parts.body.to_vec(),
///     br#"{"model":"command-a-03-2025","messages":[{"role":"user","content":"Hello"}]}"#,
/// );
/// # Ok::<(), attache_core::ProviderError>(())
/// ```
#[derive(Clone)]
pub struct CohereCodec {
    model: Arc<str>,
    base_url: String,
    strict_tools: bool,
    capabilities: Arc<ModelCapabilities>,
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

    pub(crate) fn strict_tools(&self) -> bool {
        self.strict_tools
    }

    pub(crate) fn shared_capabilities(&self) -> &Arc<ModelCapabilities> {
        &self.capabilities
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

impl Codec for CohereCodec {
    fn model_id(&self) -> String {
        format!("{FAMILY}/{}", self.model)
    }

    fn capabilities(&self) -> &ModelCapabilities {
        &self.capabilities
    }

    fn set_matrix(&mut self, matrix: &Matrix) {
        self.capabilities = Arc::new(capabilities::under(matrix, &self.model));
    }

    fn set_base_url(&mut self, url: String) {
        self.base_url = url;
    }

    fn configure(&mut self, environment: &Environment) -> Result<Auth, ProviderError> {
        if let Some(url) = environment.get(URL_VARIABLE) {
            self.base_url = url;
        }
        environment.key(FAMILY, &KEY_VARIABLES)
    }

    fn check(&self, _: &Auth) -> Result<(), ProviderError> {
        if self.model.is_empty() {
            return Err(error::configuration("the model has no name"));
        }
        Ok(())
    }

    fn encode(
        &self,
        request: &ChatRequest,
        config: &ModelSettings,
        key: Option<&Secret>,
    ) -> Result<EncodedRequest, ProviderError> {
        self.request(&attache_transport::note_made_documents(request, |_| false), config, key)
    }

    fn check_tools(&self, tools: &ToolSet, config: &ModelSettings) -> SchemaReport {
        crate::request::check_tools(self, tools, config)
    }

    fn decoder(&self, tools: Arc<ToolSet>, degradations: Vec<Degradation>) -> Box<dyn Decoder> {
        let reading = Reading::new(FAMILY, Arc::clone(&self.model), tools, degradations);
        Box::new(ReplyDecoder::new(Events::new(reading)))
    }

    fn error_reader(&self) -> ErrorReader {
        error::read
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

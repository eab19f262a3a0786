//! A model behind the Messages API.

use std::sync::Arc;

use attache_core::{
    ChatRequest, ChunkStream, LlmProvider, Matrix, ModelCapabilities, ProviderConfig, ProviderError,
    ProviderState, Secret, StateCell,
};
use attache_transport::{Exchange, HttpClient, RetryPolicy, Timeouts};

use crate::capabilities::FAMILY;
use crate::codec::MessagesCodec;
use crate::error;

/// The environment variable that holds the key.
const KEY_VARIABLE: &str = "ANTHROPIC_API_KEY";
/// The environment variable that may hold another base URL.
const URL_VARIABLE: &str = "ANTHROPIC_BASE_URL";

/// One model behind the Messages API.
///
/// ```
/// use attache_anthropic::Anthropic;
/// use attache_core::{ModelHandle, ProviderConfig};
///
/// let model = Anthropic::new("claude-sonnet-4-5", "sk-ant-…")?
///     .with_config(ProviderConfig::new().with_system("Answer in one sentence."));
/// assert_eq!(ModelHandle::new(model).id(), "anthropic/claude-sonnet-4-5");
/// # Ok::<(), attache_core::ProviderError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Anthropic {
    id: String,
    codec: Arc<MessagesCodec>,
    key: Option<Secret>,
    http: HttpClient,
    retry: RetryPolicy,
    state: Arc<StateCell>,
}

impl Anthropic {
    /// A model at the public API. Nothing is sent.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](attache_core::ErrorKind::Configuration) if the model's name or the key is
    /// blank.
    pub fn new(model: &str, key: impl Into<Secret>) -> Result<Self, ProviderError> {
        let key = key.into();
        if key.is_empty() {
            return Err(error::configuration("the key of the Anthropic API is blank"));
        }
        Self::with_codec(MessagesCodec::new(model), key)
    }

    /// The same with the key from `ANTHROPIC_API_KEY` and, if it is set, the address from `ANTHROPIC_BASE_URL`.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](attache_core::ErrorKind::Configuration) names the variable that is missing.
    pub fn from_env(model: &str) -> Result<Self, ProviderError> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
        let Some(key) = variable(KEY_VARIABLE) else {
            return Err(error::configuration(format!("no key for anthropic: set {KEY_VARIABLE}")));
        };
        let provider = Self::new(model, key)?;
        Ok(match variable(URL_VARIABLE) {
            Some(url) => provider.with_base_url(url.trim()),
            None => provider,
        })
    }

    /// A model addressed as the codec says, for other versions, beta flags, and gateways that want no key.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](attache_core::ErrorKind::Configuration) if the model's name is blank.
    pub fn with_codec(codec: MessagesCodec, key: impl Into<Option<Secret>>) -> Result<Self, ProviderError> {
        if codec.model().is_empty() {
            return Err(error::configuration("the model has no name"));
        }
        Ok(Self {
            id: format!("{FAMILY}/{}", codec.model()),
            codec: Arc::new(codec),
            key: key.into().filter(|key| !key.is_empty()),
            http: HttpClient::shared(),
            retry: RetryPolicy::default(),
            state: Arc::default(),
        })
    }

    /// Sends requests elsewhere, see [`MessagesCodec::with_base_url`].
    #[must_use]
    pub fn with_base_url(self, url: impl Into<String>) -> Self {
        self.map_codec(|codec| codec.with_base_url(url))
    }

    /// Sets the options that apply where a request sets none.
    #[must_use]
    pub fn with_config(self, config: ProviderConfig) -> Self {
        self.state.set_config(config);
        self
    }

    /// Takes what the model can do from another matrix than the bundled one.
    #[must_use]
    pub fn with_matrix(self, matrix: &Matrix) -> Self {
        self.map_codec(|codec| {
            let capabilities = matrix.resolve(FAMILY, codec.model());
            codec.with_capabilities(capabilities)
        })
    }

    /// Sets the connections to use; by default all providers share the process's.
    #[must_use]
    pub fn with_http(mut self, http: HttpClient) -> Self {
        self.http = http;
        self
    }

    /// Sets the time limits.
    #[must_use]
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.http = self.http.with_timeouts(timeouts);
        self
    }

    /// Sets when to ask again.
    #[must_use]
    pub fn with_retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// The codec, which makes the same requests without sending them.
    pub fn codec(&self) -> &MessagesCodec {
        &self.codec
    }

    fn map_codec(mut self, change: impl FnOnce(MessagesCodec) -> MessagesCodec) -> Self {
        self.codec = Arc::new(change(Arc::unwrap_or_clone(self.codec)));
        self
    }
}

impl LlmProvider for Anthropic {
    fn model_id(&self) -> &str {
        &self.id
    }

    fn capabilities(&self) -> &ModelCapabilities {
        self.codec.capabilities()
    }

    fn config(&self) -> Arc<ProviderConfig> {
        self.state.config()
    }

    fn set_config(&self, config: ProviderConfig) {
        self.state.set_config(config);
    }

    fn state(&self) -> ProviderState {
        self.state.state()
    }

    fn stream(&self, request: ChatRequest) -> ChunkStream {
        let (codec, key, retry) = (Arc::clone(&self.codec), self.key.clone(), self.retry.clone());
        let config = self.state.config();
        attache_transport::stream(self.http.clone(), Arc::clone(&self.state), async move {
            let config = config.merged(&request.options);
            let encoded = codec.encode(&request, &config, key.as_ref())?;
            let (tools, degradations) = (request.tools, encoded.degradations);
            let decoder = move || codec.decoder(Arc::clone(&tools), degradations.clone());
            Ok(Exchange::new(encoded.parts, decoder).with_error_reader(error::read).with_retry(retry))
        })
    }
}

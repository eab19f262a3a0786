//! The provider: the codec with a connection.

use std::sync::Arc;

use attache_core::{
    ChatRequest, ChunkStream, LlmProvider, Matrix, ModelCapabilities, ProviderConfig, ProviderError,
    ProviderState, Secret, StateCell,
};
use attache_transport::{Exchange, HttpClient, RetryPolicy, Timeouts};

use crate::chat::ChatCodec;
use crate::error;
use crate::profile::Profile;

/// A model behind Chat Completions: OpenAI's own, or a server that imitates it.
///
/// ```
/// use attache_core::{ModelHandle, ProviderConfig};
/// use attache_openai::OpenAiChat;
/// let model = OpenAiChat::new("gpt-4o", "sk-…")?.with_config(ProviderConfig::new().with_temperature(0.0));
/// assert_eq!(ModelHandle::new(model).id(), "openai-chat/gpt-4o");
/// # Ok::<(), attache_core::ProviderError>(())
/// ```
#[derive(Clone, Debug)]
pub struct OpenAiChat {
    id: String,
    codec: Arc<ChatCodec>,
    key: Option<Secret>,
    http: HttpClient,
    retry: RetryPolicy,
    state: Arc<StateCell>,
}

impl OpenAiChat {
    /// A model at OpenAI.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](attache_core::ErrorKind::Configuration) if the model's name or the key is
    /// blank. Nothing is sent.
    pub fn new(model: &str, key: impl Into<Secret>) -> Result<Self, ProviderError> {
        Self::with_profile(Profile::openai_chat(), model, key.into())
    }

    /// A model at the server of `profile`. No key is needed where the profile does not demand one.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](attache_core::ErrorKind::Configuration) if the model's name, or a key that is
    /// demanded, is missing or blank. Nothing is sent.
    pub fn with_profile(
        profile: impl Into<Arc<Profile>>,
        model: &str,
        key: impl Into<Option<Secret>>,
    ) -> Result<Self, ProviderError> {
        let profile: Arc<Profile> = profile.into();
        let key = key.into().filter(|key| !key.is_empty());
        if model.trim().is_empty() {
            return Err(error::configuration("no model is named"));
        }
        if profile.key.required && key.is_none() {
            return Err(missing_key(&profile));
        }
        Ok(Self {
            id: format!("{}/{model}", profile.name),
            codec: Arc::new(ChatCodec::new(profile, model)),
            key,
            http: HttpClient::shared(),
            retry: RetryPolicy::default(),
            state: Arc::default(),
        })
    }

    /// A model at the server of `profile`, with the key of the first of the profile's environment variables that
    /// holds one, and the base URL of its variable, if that is set.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](attache_core::ErrorKind::Configuration) names the variable that is missing.
    pub fn from_env(profile: impl Into<Arc<Profile>>, model: &str) -> Result<Self, ProviderError> {
        let profile: Arc<Profile> = profile.into();
        let key = profile.key.variables.iter().find_map(|name| variable(name)).map(Secret::new);
        let base_url = variable(&profile.base_url_variable);
        let provider = Self::with_profile(profile, model, key)?;
        Ok(match base_url {
            Some(url) => provider.with_base_url(url),
            None => provider,
        })
    }

    /// Sends requests to another URL, to which `/chat/completions` is appended.
    #[must_use]
    pub fn with_base_url(mut self, url: impl Into<String>) -> Self {
        let profile = Profile { base_url: url.into(), ..self.codec.profile().clone() };
        Arc::make_mut(&mut self.codec).set_profile(profile);
        self
    }

    /// Sets the options that apply where a request sets none.
    #[must_use]
    pub fn with_config(self, config: ProviderConfig) -> Self {
        self.state.set_config(config);
        self
    }

    /// Takes what the model can do from another matrix than the bundled one.
    #[must_use]
    pub fn with_matrix(mut self, matrix: &Matrix) -> Self {
        let capabilities = matrix.resolve(&self.codec.profile().family, self.codec.model());
        let codec = Arc::unwrap_or_clone(self.codec).with_capabilities(capabilities);
        self.codec = Arc::new(codec);
        self
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
    pub fn codec(&self) -> &ChatCodec {
        &self.codec
    }
}

impl LlmProvider for OpenAiChat {
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

/// A variable that holds something.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

fn missing_key(profile: &Profile) -> ProviderError {
    error::configuration(match profile.key.variables.first() {
        Some(variable) => format!("no key for {}: set {variable}", profile.name),
        None => format!("no key for {}", profile.name),
    })
}

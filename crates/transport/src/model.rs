//! A codec with a connection: a provider.

use std::sync::{Arc, Mutex, PoisonError};

use attache_core::capability::Matrix;
use attache_core::provider::{ProviderState, StateCell};
use attache_core::settings::CachePolicy;
use attache_core::tool::SchemaReport;
use attache_core::{
    BoxFuture, ChatRequest, ChunkStream, Degradation, ErrorKind, LlmProvider, ModelCapabilities,
    ModelSettings, ProviderError, ResponseFormat, Secret, ToolSet,
};

use crate::ask::Ask;
use crate::auth::{Auth, Environment};
use crate::client::{HttpClient, Timeouts};
use crate::codec::Codec;
use crate::count::ANSWER_LIMIT;
use crate::drive::{Exchange, stream};
use crate::files::{Owner, Prepared, Uploading, Uploads};
use crate::network::Network;
use crate::retry::RetryPolicy;
use crate::strict::Restoring;

/// One model behind an HTTP API: what speaks it, what authorizes, and the connection.
///
/// Provider crates name it for their codec, as in `pub type Anthropic = HttpModel<MessagesCodec>`.
#[derive(Debug)]
pub struct HttpModel<C> {
    id: String,
    codec: Arc<C>,
    network: Network,
    /// The options of this handle: a clone has a copy of its own.
    settings: Mutex<Arc<ModelSettings>>,
    /// The counters of all clones.
    state: Arc<StateCell>,
    /// The options that the caller wants, which the capabilities may forbid.
    wanted: Option<Uploads>,
    uploads: Option<Switched>,
}

/// That documents are uploaded.
#[derive(Clone, Debug)]
struct Switched {
    uploads: Uploads,
    /// The capabilities of the model, and that it uploads.
    capabilities: Arc<ModelCapabilities>,
}

impl Switched {
    /// Nothing where the API or the model takes no references.
    fn on(codec: &dyn Codec, uploads: Uploads) -> Option<Self> {
        let mut capabilities = codec.capabilities().clone();
        if codec.files().is_none() || capabilities.files.upload != Some(true) {
            return None;
        }
        capabilities.files.upload_from = Some(uploads.from_bytes());
        Some(Self { uploads, capabilities: Arc::new(capabilities) })
    }
}

impl<C: Codec> HttpModel<C> {
    /// A model behind `codec`, or behind the codec that is made of it: for most codecs a model's name is enough. Nothing is
    /// sent. Where no key is needed, `auth` is [`Auth::None`].
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](attache_core::ErrorKind::Configuration) if the model's name, or a key that is
    /// demanded, is missing or blank.
    pub fn new(codec: impl Into<C>, auth: impl Into<Auth>) -> Result<Self, ProviderError> {
        let (codec, auth) = (codec.into(), auth.into());
        if auth.key().is_some_and(Secret::is_empty) {
            let message = format!("the key for {} is blank", codec.model_id());
            return Err(ProviderError::new(ErrorKind::Configuration, message));
        }
        codec.check(&auth)?;
        Ok(Self {
            id: codec.model_id(),
            codec: Arc::new(codec),
            network: Network::new(HttpClient::shared(), auth, RetryPolicy::default()),
            settings: Mutex::default(),
            state: Arc::default(),
            wanted: None,
            uploads: None,
        })
    }

    /// A model with the credentials and the address that the variables of the process say.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](attache_core::ErrorKind::Configuration) names the variable that is missing.
    pub fn from_env(codec: impl Into<C>) -> Result<Self, ProviderError> {
        Self::from_environment(codec, &Environment::process())
    }

    /// A model with the credentials and the address that `environment` says, such as variables from elsewhere.
    ///
    /// # Errors
    /// As for [`from_env`](Self::from_env).
    pub fn from_environment(codec: impl Into<C>, environment: &Environment) -> Result<Self, ProviderError> {
        let mut codec = codec.into();
        let auth = codec.configure(environment)?;
        Self::new(codec, auth)
    }

    /// Sets the options that apply where a request sets none. Clones that were made before keep theirs.
    #[must_use]
    pub fn with_settings(mut self, settings: ModelSettings) -> Self {
        self.settings = Mutex::new(Arc::new(settings));
        self
    }

    fn options(&self) -> Arc<ModelSettings> {
        Arc::clone(&self.settings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sets the connections to use; by default all providers share the process's.
    #[must_use]
    pub fn with_http(mut self, http: HttpClient) -> Self {
        self.network.set_http(http);
        self
    }

    /// Sets the time limits.
    #[must_use]
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        let http = self.network.http().with_timeouts(timeouts);
        self.network.set_http(http);
        self
    }

    /// Uploads large documents once, through the provider's file API, and names them in requests; or no longer does.
    /// A model whose API has no files is left as it is. Without this call nothing is uploaded.
    #[must_use]
    pub fn with_uploads(mut self, uploads: impl Into<Option<Uploads>>) -> Self {
        self.wanted = uploads.into();
        self.switch();
        self
    }

    /// Decides about uploads by what the codec knows of the model now.
    fn switch(&mut self) {
        self.uploads = self.wanted.clone().and_then(|uploads| Switched::on(&*self.codec, uploads));
    }

    /// Sets when to ask again.
    #[must_use]
    pub fn with_retry(mut self, retry: RetryPolicy) -> Self {
        self.network.set_retry(retry);
        self
    }

    /// The codec, which makes the same requests without sending them.
    pub fn codec(&self) -> &C {
        &self.codec
    }

    /// The number of tokens that the model would read of `request`, as its API counts them; `None` where it counts
    /// none. The number is an estimate. Nothing is kept at the provider, and no document is uploaded.
    ///
    /// # Errors
    /// The faults of the request, as for [`Codec::encode`], and the provider's errors.
    ///
    /// # Cancellation
    /// Dropping the future aborts the request.
    pub async fn count_tokens(&self, request: &ChatRequest) -> Result<Option<u64>, ProviderError> {
        match self.counting(request.clone()) {
            Some(counting) => counting.await.map(Some),
            None => Ok(None),
        }
    }

    fn counting(&self, mut request: ChatRequest) -> Option<BoxFuture<'static, Result<u64, ProviderError>>> {
        let mut settings = self.options().merged(&request.settings);
        settings.cache = Some(CachePolicy::Off);
        // The transcript is for calls.
        request.transcript = None;
        request.narrow(self.codec.capabilities());
        let count = self.codec.count(Ask::new(&request, &settings, self.network.auth().key()))?;
        let (network, read_error) = (self.network.clone(), self.codec.error_reader());
        Some(Box::pin(async move {
            let count = count?;
            network.read(&count.parts, read_error, ANSWER_LIMIT, |_, body| count.read(&body)).await
        }))
    }

    /// The network that calls reach the world through, for requests that are no model calls.
    pub fn network(&self) -> &Network {
        &self.network
    }
}

impl<C: Codec + Clone> HttpModel<C> {
    /// Sends requests to another base URL: the one to which the API's paths are added. For most APIs it ends in `/v1`; the
    /// codec's own method says more. A URL that is none fails the first request.
    #[must_use]
    pub fn with_base_url(mut self, url: impl Into<String>) -> Self {
        Arc::make_mut(&mut self.codec).set_base_url(url.into());
        self
    }

    /// Takes what the model can do from another matrix than the bundled one.
    #[must_use]
    pub fn with_matrix(mut self, matrix: &Matrix) -> Self {
        Arc::make_mut(&mut self.codec).set_matrix(matrix);
        self.switch();
        self
    }
}

impl<C> Clone for HttpModel<C> {
    fn clone(&self) -> Self {
        Self {
            id: self.id.clone(),
            codec: Arc::clone(&self.codec),
            network: self.network.clone(),
            settings: Mutex::new(Arc::clone(&self.settings.lock().unwrap_or_else(PoisonError::into_inner))),
            state: Arc::clone(&self.state),
            wanted: self.wanted.clone(),
            uploads: self.uploads.clone(),
        }
    }
}

impl<C: Codec> LlmProvider for HttpModel<C> {
    fn model_id(&self) -> &str {
        &self.id
    }

    fn capabilities(&self) -> &ModelCapabilities {
        self.uploads.as_ref().map_or_else(|| self.codec.capabilities(), |switched| &switched.capabilities)
    }

    fn settings(&self) -> Arc<ModelSettings> {
        self.options()
    }

    fn set_settings(&self, settings: ModelSettings) {
        *self.settings.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
    }

    fn state(&self) -> ProviderState {
        self.state.state()
    }

    fn check_tools(&self, tools: &ToolSet, options: &ModelSettings) -> SchemaReport {
        self.codec.check_tools(tools, &self.options().merged(options))
    }

    fn count_tokens(&self, request: ChatRequest) -> Option<BoxFuture<'static, Result<u64, ProviderError>>> {
        self.counting(request)
    }

    fn stream(&self, mut request: ChatRequest) -> ChunkStream {
        request.narrow(self.codec.capabilities());
        let settings = self.options().merged(&request.settings);
        let (codec, network) = (Arc::clone(&self.codec), self.network.clone());
        let uploading = self.uploads.as_ref().map(|switched| {
            // Of the options headers count, and nothing else is kept for as long as the files are.
            let mut headers = ModelSettings::new();
            headers.extra_headers = settings.extra_headers.clone();
            let codec = Arc::clone(&codec) as Arc<dyn Codec>;
            let owner = Owner { codec, network: network.clone(), settings: headers };
            let capabilities = Arc::clone(&switched.capabilities);
            Uploading::new(switched.uploads.clone(), capabilities, owner, request.files.clone())
        });
        let call = Call { codec, network, request, settings, uploading };
        let (http, state) = (self.network.http().clone(), Arc::clone(&self.state));
        // Apart, since the call would carry the room for what makes the request until its reply is there.
        stream(http, state, Box::pin(call.exchange()))
    }
}

/// One call, which can be made anew.
struct Call<C> {
    codec: Arc<C>,
    network: Network,
    request: ChatRequest,
    settings: ModelSettings,
    uploading: Option<Uploading>,
}

impl<C: Codec> Call<C> {
    async fn exchange(mut self) -> Result<Exchange, ProviderError> {
        let notes = self.upload().await;
        let Self { codec, network, request, settings, uploading } = &self;
        let is_prepared = match codec.prepare(Ask::new(request, settings, network.auth().key()), network) {
            Some(preparing) => preparing.await.map(|()| true)?,
            None => uploading.is_some(),
        };
        let mut encoded = codec.encode(Ask::new(request, settings, network.auth().key()))?;
        encoded.degradations.extend(notes);
        encoded.parts.whole |= !request.streaming;
        let (tools, degradations) = (Arc::clone(&request.tools), encoded.degradations);
        let decoding = Arc::clone(codec);
        let (forms, answer) =
            (encoded.strict, settings.response_format.as_ref().and_then(ResponseFormat::schema).cloned());
        let decoder = move || {
            let decoder = decoding.decoder(Arc::clone(&tools), degradations.clone());
            if forms.is_none() && answer.is_none() {
                return decoder;
            }
            Box::new(Restoring::new(decoder, forms.clone(), answer.clone()))
        };
        let exchange = Exchange::new(encoded.parts, decoder)
            .with_error_reader(codec.error_reader())
            .with_retry(network.retry().clone())
            .with_authorizer(network.auth().signer().cloned());
        Ok(if is_prepared { exchange.with_recovery(move |error| self.again(error)) } else { exchange })
    }

    /// Uploads what is to be uploaded; yields what was not.
    async fn upload(&mut self) -> Vec<Degradation> {
        let Some(uploading) = &mut self.uploading else { return Vec::new() };
        let Prepared { files, notes } = uploading.prepare(&self.request).await;
        self.request.files = files;
        notes
    }

    /// The same call from its preparation on, if that may mend the error.
    fn again(self, error: &ProviderError) -> Option<BoxFuture<'static, Result<Exchange, ProviderError>>> {
        // Both are told, since an error may cast doubt on a file and on a kept prefix.
        let lost = self.uploading.as_ref().is_some_and(|uploading| uploading.recovers(error));
        let mends = self.codec.recovers(error) || lost;
        mends.then(|| Box::pin(self.exchange()) as BoxFuture<'static, _>)
    }
}

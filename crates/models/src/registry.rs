//! Resolves `provider/model` to a model.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use attache_core::capability::Matrix;
use attache_core::near::near;
use attache_core::{ModelCapabilities, ModelHandle, ProviderError};
use attache_transport::{
    Codec, Environment, HttpClient, HttpModel, ListedModel, Network, Uploads, shown_url,
};

use crate::error::{RegistryError, Unresolved};
use crate::http::HttpSettings;

/// The maximum number of names that are offered for another.
const OFFERED: usize = 3;
/// The longest chain of names that stand for each other.
const MAX_NAMES: usize = 8;
/// Stands for a model where none is meant.
const ANY: &str = "any";

/// Providers by name, and aliases of models. Cheap to clone.
///
/// A registry is a value: each `with_` method adds an entry or replaces the one with the same name.
#[derive(Clone)]
pub struct Registry {
    providers: BTreeMap<String, Entry>,
    names: BTreeMap<String, String>,
    matrix: Arc<Matrix>,
    environment: Environment,
    base_url: Option<String>,
    uploads: Option<Uploads>,
    http: HttpSettings,
    /// By provider, in the place of those of all.
    http_of: BTreeMap<String, HttpSettings>,
    /// The clients as these settings tune them, by provider, so that its models share their connections.
    clients: Arc<Mutex<BTreeMap<String, HttpClient>>>,
    #[cfg(feature = "openai")]
    pub(crate) profiles: Arc<attache_openai::Profiles>,
}

/// The settings from which a provider is created.
#[derive(Clone)]
#[non_exhaustive]
pub struct Settings {
    /// The capabilities of models.
    pub matrix: Arc<Matrix>,
    /// The environment from which keys and addresses are read.
    pub environment: Environment,
    /// The base URL of the API, instead of the default.
    pub base_url: Option<String>,
    /// The uploader of large documents, if enabled.
    pub uploads: Option<Uploads>,
    /// The HTTP settings for its servers. A custom provider may ignore them.
    pub http: HttpSettings,
}

type MakeModel = dyn Fn(&str, &Settings) -> Result<ModelHandle, ProviderError> + Send + Sync;
type MakeCodec = dyn Fn(&str, &Matrix) -> Box<dyn Codec> + Send + Sync;

#[derive(Clone)]
struct Entry {
    family: String,
    model: Arc<MakeModel>,
    codec: Option<Arc<MakeCodec>>,
}

impl Entry {
    fn of_codec<C: Codec + Clone>(family: String, make: impl Fn(&str) -> C + Send + Sync + 'static) -> Self {
        let make = Arc::new(make);
        let codec = Arc::clone(&make);
        Self {
            family,
            model: Arc::new(move |model, settings| {
                let (mut codec, http) = (make(model), &settings.http);
                // It says that a key is missing after it has read the address.
                let auth = http.credentials(codec.configure(&settings.environment))?;
                // Before it is checked: an address that is given may need no region.
                if let Some(url) = &settings.base_url {
                    codec.set_base_url(url.clone());
                }
                let model = HttpModel::<C>::new(codec, auth)?.with_http(http.connection());
                let model = match &http.retry {
                    Some(retry) => model.with_retry(retry.clone()),
                    None => model,
                };
                Ok(model.with_matrix(&settings.matrix).with_uploads(settings.uploads.clone()).into())
            }),
            codec: Some(Arc::new(move |model, _: &Matrix| Box::new(codec(model)))),
        }
    }

    /// This one for the models that `speaks` says so of, and `others` for the rest.
    fn or(self, others: Self, speaks: impl Fn(&ModelCapabilities) -> bool + Send + Sync + 'static) -> Self {
        let family = others.family.clone();
        let speaks = Arc::new(move |matrix: &Matrix, model: &str| speaks(&matrix.resolve(&family, model)));
        let (own, other, is_own) = (self.model, others.model, Arc::clone(&speaks));
        let codec =
            match (self.codec, others.codec) {
                (Some(own), Some(other)) => Some(Arc::new(move |model: &str, matrix: &Matrix| {
                    if speaks(matrix, model) { own(model, matrix) } else { other(model, matrix) }
                }) as Arc<MakeCodec>),
                _ => None,
            };
        Self {
            family: others.family,
            model: Arc::new(move |model, settings| {
                if is_own(&settings.matrix, model) { own(model, settings) } else { other(model, settings) }
            }),
            codec,
        }
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("family", &self.family).finish_non_exhaustive()
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.base_url.as_deref().map(shown_url);
        let mut out = f.debug_struct("Settings");
        out.field("base_url", &url).field("http", &self.http).finish_non_exhaustive()
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("providers", &self.providers)
            .field("names", &self.names)
            .field("base_url", &self.base_url.as_deref().map(shown_url))
            .field("http", &self.http)
            .field("http_of", &self.http_of)
            .finish_non_exhaustive()
    }
}

impl Registry {
    /// Creates a registry without providers, with the bundled matrix and the environment variables of the process.
    pub fn empty() -> Self {
        Self {
            providers: BTreeMap::new(),
            names: BTreeMap::new(),
            matrix: Arc::new(Matrix::bundled().clone()),
            environment: Environment::process(),
            base_url: None,
            uploads: None,
            http: HttpSettings::default(),
            http_of: BTreeMap::new(),
            clients: Arc::default(),
            #[cfg(feature = "openai")]
            profiles: Arc::new(attache_openai::Profiles::bundled().clone()),
        }
    }

    /// Adds an HTTP provider: a function that creates the codec for a model name. `family` is its section of the
    /// matrix.
    #[must_use]
    pub fn with_codec<C: Codec + Clone>(
        mut self,
        name: impl Into<String>,
        family: impl Into<String>,
        make: impl Fn(&str) -> C + Send + Sync + 'static,
    ) -> Self {
        self.providers.insert(name.into(), Entry::of_codec(family.into(), make));
        self
    }

    /// Adds another codec to a provider, for the models for which `speaks` returns true given their capabilities: a
    /// platform may have models with different APIs. If the provider does not exist, it is added.
    #[must_use]
    pub fn with_codec_for<C: Codec + Clone>(
        mut self,
        name: impl Into<String>,
        family: impl Into<String>,
        speaks: impl Fn(&ModelCapabilities) -> bool + Send + Sync + 'static,
        make: impl Fn(&str) -> C + Send + Sync + 'static,
    ) -> Self {
        let (name, entry) = (name.into(), Entry::of_codec(family.into(), make));
        let entry = match self.providers.remove(&name) {
            Some(others) => entry.or(others, speaks),
            None => entry,
        };
        self.providers.insert(name, entry);
        self
    }

    /// Adds any other provider: a function that creates the handle for a model name. `family` is its section of the
    /// matrix.
    #[must_use]
    pub fn with_provider(
        mut self,
        name: impl Into<String>,
        family: impl Into<String>,
        make: impl Fn(&str, &Settings) -> Result<ModelHandle, ProviderError> + Send + Sync + 'static,
    ) -> Self {
        let entry = Entry { family: family.into(), model: Arc::new(make), codec: None };
        self.providers.insert(name.into(), entry);
        self
    }

    /// Adds `name` as an alias of a model, given as `provider/model` or as another alias.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>, model: impl Into<String>) -> Self {
        self.names.insert(name.into(), model.into());
        self
    }

    /// Sets the capability matrix.
    #[must_use]
    pub fn with_matrix(mut self, matrix: impl Into<Arc<Matrix>>) -> Self {
        self.matrix = matrix.into();
        self
    }

    /// Sets the environment from which keys and addresses are read.
    #[must_use]
    pub fn with_environment(mut self, environment: Environment) -> Self {
        self.environment = environment;
        self
    }

    /// Sets the base URL of the APIs, instead of the defaults.
    #[must_use]
    pub fn with_base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Enables or disables the upload of large documents, which are uploaded once if the API supports files. Models of
    /// the registry with the same address and credentials share uploaded files.
    #[must_use]
    pub fn with_uploads(mut self, uploads: impl Into<Option<Uploads>>) -> Self {
        self.uploads = uploads.into();
        self
    }

    /// Sets the HTTP settings of all models: client, timeouts, retries, credentials.
    #[must_use]
    pub fn with_http(mut self, http: HttpSettings) -> Self {
        self.http = http;
        self.clients = Arc::default();
        self
    }

    /// Sets the HTTP settings of one provider, by name. Options that are not set here are taken from
    /// [`with_http`](Self::with_http).
    #[must_use]
    pub fn with_http_of(mut self, provider: impl Into<String>, http: HttpSettings) -> Self {
        self.http_of.insert(provider.into(), http);
        self.clients = Arc::default();
        self
    }

    fn http_settings(&self, provider: &str) -> HttpSettings {
        let mut http =
            self.http_of.get(provider).map_or_else(|| self.http.clone(), |http| http.or(&self.http));
        if http.timeouts.is_some() {
            let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
            let client = clients.entry(provider.to_owned()).or_insert_with(|| http.connection());
            (http.client, http.timeouts) = (Some(client.clone()), None);
        }
        http
    }

    /// The uploader of large documents, if enabled.
    pub fn uploads(&self) -> Option<&Uploads> {
        self.uploads.as_ref()
    }

    /// The capabilities of models.
    pub fn matrix(&self) -> &Matrix {
        &self.matrix
    }

    /// The provider names in order, each with its family in the matrix.
    pub fn providers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.providers.iter().map(|(name, entry)| (name.as_str(), entry.family.as_str()))
    }

    /// The aliases in order, each with its model.
    pub fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.names.iter().map(|(name, model)| (name.as_str(), model.as_str()))
    }

    /// Returns the model of that name, with its key from the environment.
    ///
    /// # Errors
    /// [`RegistryError`] with the problem of the name, suggestions, or the missing setup.
    pub fn model(&self, name: &str) -> Result<ModelHandle, RegistryError> {
        let (whole, entry, model) = self.resolve(name)?;
        if self.base_url.is_some() && entry.codec.is_none() {
            return Err(self.error(whole, Unresolved::NoWire));
        }
        let settings = Settings {
            matrix: Arc::clone(&self.matrix),
            environment: self.environment.clone(),
            base_url: self.base_url.clone(),
            uploads: self.uploads.clone(),
            http: self.http_settings(provider_of(whole)),
        };
        (entry.model)(model, &settings).map_err(|error| self.error(whole, Unresolved::Setup(error)))
    }

    /// Returns the codec of that model, which writes requests and reads responses like the model's own connection. No
    /// key is needed; address variables are used if they can be read without one.
    ///
    /// # Errors
    /// As for [`model`](Self::model); [`Unresolved::NoWire`] for a provider without a wire.
    pub fn codec(&self, name: &str) -> Result<Box<dyn Codec>, RegistryError> {
        let (whole, entry, model) = self.resolve(name)?;
        let Some(make) = &entry.codec else { return Err(self.error(whole, Unresolved::NoWire)) };
        let mut codec = make(model, &self.matrix);
        codec.set_matrix(&self.matrix);
        // It says that a key is missing, after it has read the address.
        let _no_key = codec.configure(&self.environment);
        if let Some(url) = &self.base_url {
            codec.set_base_url(url.clone());
        }
        Ok(codec)
    }

    /// Lists the models of a provider's server with its information about them; `None` if its API has no such list.
    /// Keys and address come from the environment, as for [`model`](Self::model).
    ///
    /// # Errors
    /// [`Unresolved::NoProvider`] and [`Unresolved::NoWire`]; [`Unresolved::Setup`] with the missing setup, or with the
    /// provider's error.
    ///
    /// # Cancellation
    /// Dropping the future aborts the request.
    pub async fn list_models(&self, provider: &str) -> Result<Option<Vec<ListedModel>>, RegistryError> {
        let provider = provider.trim().trim_end_matches('/');
        let Some(entry) = self.providers.get(provider) else {
            return Err(self.error(provider, Unresolved::NoProvider(self.near(provider, ANY))));
        };
        let Some(make) = &entry.codec else { return Err(self.error(provider, Unresolved::NoWire)) };
        let setup = |error| self.error(provider, Unresolved::Setup(error));
        let mut codec = make(ANY, &self.matrix);
        let http = self.http_settings(provider);
        let auth = http.credentials(codec.configure(&self.environment)).map_err(setup)?;
        if let Some(url) = &self.base_url {
            codec.set_base_url(url.clone());
        }
        codec.check(&auth).map_err(setup)?;
        let network = Network::new(http.connection(), auth, http.retry.unwrap_or_default());
        let Some(api) = codec.models() else { return Ok(None) };
        network.list_models(api, codec.error_reader()).await.map(Some).map_err(setup)
    }

    /// Returns the capabilities of that model. No key is needed.
    ///
    /// # Errors
    /// As for [`model`](Self::model), except that no setup is required.
    pub fn capabilities(&self, name: &str) -> Result<ModelCapabilities, RegistryError> {
        let (_, entry, model) = self.resolve(name)?;
        Ok(match &entry.codec {
            Some(make) => {
                let mut codec = make(model, &self.matrix);
                codec.set_matrix(&self.matrix);
                codec.capabilities().clone()
            }
            None => self.matrix.resolve(&entry.family, model),
        })
    }

    /// The whole name, its provider, and the model's id there.
    fn resolve<'a>(&'a self, name: &'a str) -> Result<(&'a str, &'a Entry, &'a str), RegistryError> {
        let whole = self.whole(name.trim());
        let Some((provider, model)) = whole.split_once('/') else {
            return Err(self.error(whole, Unresolved::NotAModel(self.meant(whole))));
        };
        let Some(entry) = self.providers.get(provider) else {
            return Err(self.error(whole, Unresolved::NoProvider(self.near(provider, model))));
        };
        if model.trim().is_empty() {
            return Err(self.error(whole, Unresolved::NoModel));
        }
        Ok((whole, entry, model))
    }

    /// The name that a name stands for in the end.
    fn whole<'a>(&'a self, name: &'a str) -> &'a str {
        let mut whole = name;
        for _ in 0..MAX_NAMES {
            match self.names.get(whole) {
                Some(model) => whole = model,
                None => break,
            }
        }
        whole
    }

    fn near(&self, provider: &str, model: &str) -> Vec<String> {
        let names = self.providers.keys().map(String::as_str);
        near(provider, names).into_iter().map(|name| format!("{name}/{model}")).collect()
    }

    /// The models that a name without a provider may stand for: names like it, then providers of whom the table knows a
    /// model of that name, those first whose family is called like them.
    fn meant(&self, name: &str) -> Vec<String> {
        let is_known = |(_, family): &(&str, &str)| {
            !matches!(self.matrix.resolve(family, name).row.as_str(), "default" | "unknown" | "*")
        };
        let mut known: Vec<_> = self.providers().filter(is_known).collect();
        known.sort_by_key(|(provider, family)| (!family.starts_with(provider), provider.len()));
        let models = known.into_iter().map(|(provider, _)| format!("{provider}/{name}"));
        // One that stands for itself leads nowhere.
        let names = self.names.keys().filter(|known| self.whole(known).contains('/'));
        let near = near(name, names.map(String::as_str)).into_iter();
        near.map(str::to_owned).chain(models).take(OFFERED).collect()
    }

    fn error(&self, name: &str, reason: Unresolved) -> RegistryError {
        RegistryError { name: name.to_owned(), reason, providers: self.providers.keys().cloned().collect() }
    }
}

/// The provider's name in `provider/model`.
fn provider_of(name: &str) -> &str {
    name.split('/').next().unwrap_or_default()
}

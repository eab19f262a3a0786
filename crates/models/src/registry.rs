//! From `provider/model` to a model.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use attache_core::capability::Matrix;
use attache_core::{ModelCapabilities, ModelHandle, ProviderError};
use attache_transport::{Codec, Environment, HttpClient, HttpModel, ListedModel, Network, Uploads};

use crate::error::{RegistryError, Unresolved};
use crate::http::HttpSettings;

/// The likeness, of 1, from which on a name is offered for another.
const LIKENESS: f64 = 0.75;
/// The most such names that are offered.
const OFFERED: usize = 3;
/// The longest chain of names that stand for each other.
const MAX_NAMES: usize = 8;
/// Stands for a model where none is meant.
const ANY: &str = "any";

/// Providers by name, and names for models. Cheap to clone.
///
/// A registry is a value: each `with_` adds to it or replaces what has the same name.
#[derive(Clone, Debug)]
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

/// The parts that a provider is made with.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// The capabilities of models.
    pub matrix: Arc<Matrix>,
    /// Where keys and addresses are read from.
    pub environment: Environment,
    /// Where the API is, instead of its usual address.
    pub base_url: Option<String>,
    /// The uploader of large documents, if that is wanted.
    pub uploads: Option<Uploads>,
    /// How its servers are reached. A provider of one's own may leave it alone.
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

impl Registry {
    /// No providers, the bundled matrix, the variables of the process.
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

    /// Adds a provider over HTTP: what makes a codec for a model of that name. `family` is its section of the matrix.
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

    /// Adds another codec to a provider, for its models of which `speaks` says so by what the table of capabilities knows
    /// of them: a platform may have models that speak different APIs. Without that provider it is one by itself.
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

    /// Adds any other provider: what makes a handle for a model of that name. `family` is its section of the matrix.
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

    /// Lets `name` stand for a model, given as `provider/model` or as another such name.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>, model: impl Into<String>) -> Self {
        self.names.insert(name.into(), model.into());
        self
    }

    /// Sets what is known of models.
    #[must_use]
    pub fn with_matrix(mut self, matrix: impl Into<Arc<Matrix>>) -> Self {
        self.matrix = matrix.into();
        self
    }

    /// Sets where keys and addresses are read from.
    #[must_use]
    pub fn with_environment(mut self, environment: Environment) -> Self {
        self.environment = environment;
        self
    }

    /// Sets where the APIs are, instead of their usual addresses.
    #[must_use]
    pub fn with_base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Lets models upload large documents once, where their API has files, or no longer does. All models of the
    /// registry share what was uploaded, as far as their address and credentials are the same.
    #[must_use]
    pub fn with_uploads(mut self, uploads: impl Into<Option<Uploads>>) -> Self {
        self.uploads = uploads.into();
        self
    }

    /// Sets how models reach their servers: client, time limits, retries, credentials.
    #[must_use]
    pub fn with_http(mut self, http: HttpSettings) -> Self {
        self.http = http;
        self.clients = Arc::default();
        self
    }

    /// Sets how models of one provider, by its name, reach their servers. An option that is not set here is the one of
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

    /// The uploader of large documents, if that is wanted.
    pub fn uploads(&self) -> Option<&Uploads> {
        self.uploads.as_ref()
    }

    /// The capabilities of models.
    pub fn matrix(&self) -> &Matrix {
        &self.matrix
    }

    /// The providers' names in order, each with its family in the matrix.
    pub fn providers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.providers.iter().map(|(name, entry)| (name.as_str(), entry.family.as_str()))
    }

    /// The names that stand for models, in order, each with the model.
    pub fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.names.iter().map(|(name, model)| (name.as_str(), model.as_str()))
    }

    /// The model of that name, with its key from the environment.
    ///
    /// # Errors
    /// [`RegistryError`] says what is wrong with the name, what was perhaps meant, or what must be set up.
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

    /// The codec of that model, which makes and reads what the model's own connection would. No key is needed; address
    /// variables count where they can be read without one.
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

    /// The models that a provider's server has, with what it says of them; `None` if its API lists none. Keys and
    /// address come from the environment, as for [`model`](Self::model).
    ///
    /// # Errors
    /// [`Unresolved::NoProvider`] and [`Unresolved::NoWire`]; [`Unresolved::Setup`] with what must be set up, or with
    /// the provider's error.
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

    /// The capabilities of that model. No key is needed.
    ///
    /// # Errors
    /// As for [`model`](Self::model), but nothing needs to be set up.
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
        alike(self.providers.keys(), provider).map(|name| format!("{name}/{model}")).collect()
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
        alike(names, name).map(str::to_owned).chain(models).take(OFFERED).collect()
    }

    fn error(&self, name: &str, reason: Unresolved) -> RegistryError {
        RegistryError { name: name.to_owned(), reason, providers: self.providers.keys().cloned().collect() }
    }
}

/// The names most like the one that was asked for.
fn alike<'n>(names: impl Iterator<Item = &'n String>, asked: &str) -> impl Iterator<Item = &'n str> {
    let asked = asked.to_lowercase();
    let mut near: Vec<(f64, &str)> = names
        .map(|name| (strsim::jaro_winkler(&name.to_lowercase(), &asked), name.as_str()))
        .filter(|(score, _)| *score >= LIKENESS)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    near.into_iter().take(OFFERED).map(|(_, name)| name)
}

/// The provider's name in `provider/model`.
fn provider_of(name: &str) -> &str {
    name.split('/').next().unwrap_or_default()
}

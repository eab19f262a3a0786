//! Models by name: `PROVIDER/MODEL`.

use std::path::Path;

use attache_cohere::CohereCodec;
use attache_core::{ErrorKind, ProviderError};
use attache_models::{HttpSettings, Registry, RegistryError, Unresolved};
use attache_transport::HttpClient;
use attache_transport::cassette::Recorder;

use crate::args::Args;
use crate::config_files::Config;
use crate::show::watch::Watch;

/// The name in the configuration for the model that is asked where none is named.
const DEFAULT: &str = "default";
/// The model where not even that is named.
pub(crate) const OFFLINE: &str = "offline/extractive";

/// Something must be set up before a model can be asked.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct SetupError(String);

impl SetupError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl From<RegistryError> for SetupError {
    fn from(error: RegistryError) -> Self {
        match error.reason {
            Unresolved::NoWire => Self(format!("{error}; leave out --base-url, or choose another model")),
            _ => Self(error.to_string()),
        }
    }
}

/// The bundled providers.
pub(crate) fn bundled() -> Registry {
    // A provider crate that the registry does not know is added like one of a stranger's.
    Registry::bundled().with_codec("cohere", "cohere", CohereCodec::new)
}

/// The bundled providers, with what the user's files say on top.
pub(crate) fn registry(args: &Args, config: &Config) -> Result<Registry, SetupError> {
    let registry = config.said.registry(bundled());
    let mut registry = registry.map_err(|problems| SetupError(crate::config_files::told(&problems)))?;
    if let Some(file) = args.capabilities.as_deref() {
        let matrix = registry.matrix().merged_with(&read(file)?);
        let matrix = matrix.map_err(|error| SetupError(format!("{}: {error}", file.display())))?;
        registry = registry.with_matrix(matrix);
    }
    Ok(registry)
}

fn read(file: &Path) -> Result<String, SetupError> {
    std::fs::read_to_string(file).map_err(|error| SetupError(format!("{}: {error}", file.display())))
}

/// The model that is asked: the one that was named, else the configuration's, else the one without a network.
pub(crate) fn chosen<'a>(registry: &Registry, named: Option<&'a str>) -> &'a str {
    let has_default = || registry.names().any(|(name, _)| name == DEFAULT);
    // A variable that is empty is none.
    let named = named.filter(|name| !name.is_empty());
    named.unwrap_or_else(|| if has_default() { DEFAULT } else { OFFLINE })
}

/// The registry with a client that tells what happens to requests, and records them where that is asked for.
pub(crate) fn watched(registry: &Registry, watch: Watch, recorder: Option<&Recorder>) -> Registry {
    let mut client = told(HttpClient::shared()).with_hook(watch);
    if let Some(recorder) = recorder {
        client = recorder.over(&client);
    }
    registry.clone().with_http(HttpSettings::new().with_client(client))
}

/// The registry with a client whose attempts are exported, where they are.
#[cfg(feature = "server")]
pub(crate) fn served(registry: &Registry) -> Registry {
    registry.clone().with_http(HttpSettings::new().with_client(told(HttpClient::shared())))
}

fn told(client: HttpClient) -> HttpClient {
    #[cfg(feature = "otlp")]
    let client = crate::otlp::hooked(client);
    client
}

/// The registry with the API at another address, if one was given.
pub(crate) fn at(registry: &Registry, base_url: Option<&str>) -> Registry {
    match base_url {
        Some(url) => registry.clone().with_base_url(url),
        None => registry.clone(),
    }
}

/// The warning that comes before a model is asked.
pub(crate) fn notice(id: &str) -> Option<String> {
    id.starts_with("offline/").then(|| {
        format!("{id} is not a language model: it quotes the best matching passages of your files. Use a real model with -m PROVIDER/MODEL")
    })
}

/// Advice about a failure.
pub(crate) fn advice(error: &ProviderError) -> Option<&'static str> {
    match error.kind() {
        ErrorKind::Authentication => Some("the key in the environment was rejected: check it"),
        ErrorKind::Permission => Some("the key may not use this model"),
        // A provider says what it does not find; a server that is none says nothing of the kind.
        ErrorKind::NotFound if error.code().is_none() => {
            Some("the API or the model may not exist at this address: check --base-url and the model's name")
        }
        ErrorKind::NotFound => Some("check the model's name; `attache models` lists the known models"),
        ErrorKind::QuotaExceeded => Some("the account has no balance or quota left"),
        ErrorKind::RateLimited | ErrorKind::Overloaded => Some("try again later"),
        ErrorKind::Network | ErrorKind::Timeout => Some("check the network, the proxy, and --base-url"),
        ErrorKind::ContextTooLong => Some("use fewer files, or a model with a larger context window"),
        _ => None,
    }
}

//! Models by name: `PROVIDER/MODEL`.

use std::borrow::Cow;
use std::path::Path;

use attache_anthropic::{Anthropic, MessagesCodec};
use attache_core::{ErrorKind, Matrix, ModelCapabilities, ModelHandle, ProviderError};
use attache_offline::OfflineModel;
use attache_openai::{ChatCodec, OpenAiChat};
use attache_transport::Codec;

/// Something must be set up before a model can be asked.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct SetupError(String);

impl SetupError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// A provider that the command knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Provider {
    Offline,
    Anthropic,
    OpenAiChat,
}

impl Provider {
    pub(crate) const ALL: [Self; 3] = [Self::Anthropic, Self::OpenAiChat, Self::Offline];

    /// The name before the slash. It is the family in the matrix too.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Offline => "offline",
            Self::Anthropic => "anthropic",
            Self::OpenAiChat => "openai-chat",
        }
    }

    pub(crate) fn capabilities(self, matrix: &Matrix, model: &str) -> ModelCapabilities {
        matrix.resolve(self.name(), model)
    }
}

/// The bundled table, with what the user's file says on top.
pub(crate) fn matrix(file: Option<&Path>) -> Result<Cow<'static, Matrix>, SetupError> {
    let Some(file) = file else { return Ok(Cow::Borrowed(Matrix::bundled())) };
    let shown = file.display();
    let text = std::fs::read_to_string(file).map_err(|error| SetupError(format!("{shown}: {error}")))?;
    let matrix =
        Matrix::bundled().overlaid(&text).map_err(|error| SetupError(format!("{shown}: {error}")))?;
    Ok(Cow::Owned(matrix))
}

/// The provider and the model's id there.
pub(crate) fn parse(name: &str) -> Result<(Provider, &str), SetupError> {
    let known = || Provider::ALL.map(|provider| format!("{}/…", provider.name())).join(", ");
    let Some((provider, model)) = name.split_once('/') else {
        return Err(SetupError(format!(
            "a model is named PROVIDER/MODEL, not {name:?}; the providers are {}",
            known()
        )));
    };
    if model.trim().is_empty() {
        return Err(SetupError(format!("{name:?} names no model of {provider}")));
    }
    if let Some(found) = Provider::ALL.into_iter().find(|candidate| candidate.name() == provider) {
        return Ok((found, model));
    }
    let near = Provider::ALL.map(|candidate| (strsim::jaro_winkler(candidate.name(), provider), candidate));
    let near = near.into_iter().filter(|(score, _)| *score > 0.7).max_by(|a, b| a.0.total_cmp(&b.0));
    let hint = near.map(|(_, near)| format!("; did you mean {}/{model}?", near.name())).unwrap_or_default();
    Err(SetupError(format!("there is no provider {provider:?}{hint} The providers are {}", known())))
}

/// A model to ask, with its key from the environment.
pub(crate) fn handle(name: &str, base_url: Option<&str>, matrix: &Matrix) -> Result<ModelHandle, SetupError> {
    let (provider, model) = parse(name)?;
    let setup = |error: ProviderError| SetupError(error.to_string());
    match provider {
        Provider::Offline if base_url.is_some() => {
            Err(SetupError::new("the offline model has no address: leave --base-url out"))
        }
        Provider::Offline => Ok(OfflineModel::named(model).with_matrix(matrix).into()),
        Provider::Anthropic => {
            let provider = Anthropic::from_env(model).map_err(setup)?.with_matrix(matrix);
            Ok(match base_url {
                Some(url) => provider.with_base_url(url).into(),
                None => provider.into(),
            })
        }
        Provider::OpenAiChat => {
            let provider = OpenAiChat::from_env(model).map_err(setup)?.with_matrix(matrix);
            Ok(match base_url {
                Some(url) => provider.with_base_url(url).into(),
                None => provider.into(),
            })
        }
    }
}

/// The codec of a model; the offline model has none.
pub(crate) fn codec(
    name: &str,
    base_url: Option<&str>,
    matrix: &Matrix,
) -> Result<Box<dyn Codec>, SetupError> {
    let (provider, model) = parse(name)?;
    let mut codec: Box<dyn Codec> = match provider {
        Provider::Offline => return Err(SetupError::new("the offline model sends nothing over a wire")),
        Provider::Anthropic => Box::new(MessagesCodec::from(model)),
        Provider::OpenAiChat => Box::new(ChatCodec::from(model)),
    };
    codec.set_matrix(matrix);
    if let Some(url) = base_url {
        codec.set_base_url(url.to_owned());
    }
    Ok(codec)
}

/// What must be said before a model is asked.
pub(crate) fn notice(name: &str) -> Option<String> {
    let (provider, _) = parse(name).ok()?;
    (provider == Provider::Offline).then(|| {
        format!("{name} is no language model: it quotes the passages of your files that fit best. --model PROVIDER/MODEL asks a real one")
    })
}

/// What to do about a failure.
pub(crate) fn advice(error: &ProviderError) -> Option<&'static str> {
    match error.kind() {
        ErrorKind::Authentication => Some("the key in the environment is not accepted: check it"),
        ErrorKind::Permission => Some("the key may not use this model"),
        ErrorKind::NotFound => Some("check the model's name; `attache models` lists what is known"),
        ErrorKind::QuotaExceeded => Some("the account has no balance or quota left"),
        ErrorKind::RateLimited | ErrorKind::Overloaded => Some("try again in a while"),
        ErrorKind::Network | ErrorKind::Timeout => Some("check the network, the proxy, and --base-url"),
        ErrorKind::ContextTooLong => Some("name fewer files, or a model with a larger window"),
        _ => None,
    }
}

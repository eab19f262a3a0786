//! The reason why a name cannot be resolved to a model.

use std::fmt;

use attache_core::ProviderError;

/// The reason why a name cannot be resolved to a model.
#[non_exhaustive]
pub struct RegistryError {
    /// The name as given.
    pub name: String,
    /// The problem.
    pub reason: Unresolved,
    /// The names of all providers, in order.
    pub providers: Vec<String>,
}

/// The problem of a name.
#[derive(Debug)]
#[non_exhaustive]
pub enum Unresolved {
    /// It is neither `provider/model` nor an alias of the configuration. Contains similar names, best first.
    NotAModel(Vec<String>),
    /// The provider has no such model.
    NoModel,
    /// There is no such provider. Contains similar full names, best first.
    NoProvider(Vec<String>),
    /// The provider does not use a wire protocol, so it has no codec and no address.
    NoWire,
    /// Required setup is missing, such as a key.
    Setup(ProviderError),
}

/// The words for people: a `main` that returns an error prints this.
impl fmt::Debug for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, reason, providers } = self;
        let known = |f: &mut fmt::Formatter<'_>| write!(f, "; the providers are {}", providers.join(", "));
        match reason {
            Unresolved::NotAModel(near) => {
                write!(f, "a model is named PROVIDER/MODEL, not {name:?}")?;
                match near.as_slice() {
                    [] => known(f),
                    near => write!(f, "; did you mean {}?", near.join(" or ")),
                }
            }
            Unresolved::NoModel => write!(f, "{name:?} names no model of its provider"),
            Unresolved::NoProvider(near) => {
                let provider = name.split('/').next().unwrap_or_default();
                write!(f, "there is no provider {provider:?}")?;
                if !near.is_empty() {
                    write!(f, "; did you mean {}?", near.join(" or "))?;
                }
                known(f)
            }
            Unresolved::NoWire => write!(f, "{name} has no wire and no address: it sends nothing"),
            Unresolved::Setup(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for RegistryError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.reason {
            Unresolved::Setup(error) => std::error::Error::source(error),
            _ => None,
        }
    }
}

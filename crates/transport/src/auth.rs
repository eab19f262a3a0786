//! The authorization of a request, and where a codec finds it.

use std::fmt;
use std::sync::Arc;

use attache_core::{BoxFuture, ErrorKind, ProviderError, Secret};

use http::header::AUTHORIZATION;

use crate::request::RequestParts;

/// The authorization of a request.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Auth {
    /// Nothing: a local server, or a gateway that has its own way.
    #[default]
    None,
    /// A key, which the codec puts where its API wants it.
    Key(Secret),
    /// A source that signs each attempt or fetches a token for it.
    Signer(Arc<dyn Authorizer>),
}

impl Auth {
    /// The key, if that is what it is.
    pub fn key(&self) -> Option<&Secret> {
        match self {
            Self::Key(key) => Some(key),
            _ => None,
        }
    }

    /// The source that authorizes attempts, if it is one.
    pub fn signer(&self) -> Option<&Arc<dyn Authorizer>> {
        match self {
            Self::Signer(signer) => Some(signer),
            _ => None,
        }
    }

    /// True if there is nothing to authorize with. A blank key is nothing.
    pub fn is_none(&self) -> bool {
        match self {
            Self::None => true,
            Self::Key(key) => key.is_empty(),
            Self::Signer(_) => false,
        }
    }
}

impl Auth {
    /// A token that stands in `authorization`, whatever the header of the API's keys is.
    pub fn bearer(token: impl Into<Secret>) -> Self {
        Self::Signer(Arc::new(Bearer(token.into())))
    }
}

/// A token that does not end.
#[derive(Debug)]
struct Bearer(Secret);

impl Authorizer for Bearer {
    fn authorize<'a>(&'a self, request: &'a mut RequestParts) -> BoxFuture<'a, Result<(), ProviderError>> {
        Box::pin(async move {
            *request = request.clone().with_secret_header(AUTHORIZATION, "Bearer ", &self.0);
            Ok(())
        })
    }
}

impl From<Secret> for Auth {
    fn from(key: Secret) -> Self {
        Self::Key(key)
    }
}

impl From<Option<Secret>> for Auth {
    fn from(key: Option<Secret>) -> Self {
        key.map_or(Self::None, Self::Key)
    }
}

impl From<&str> for Auth {
    fn from(key: &str) -> Self {
        Self::Key(Secret::from(key))
    }
}

impl From<String> for Auth {
    fn from(key: String) -> Self {
        Self::Key(Secret::from(key))
    }
}

impl From<Arc<dyn Authorizer>> for Auth {
    fn from(signer: Arc<dyn Authorizer>) -> Self {
        Self::Signer(signer)
    }
}

/// Authorizes requests by more than a fixed key: signatures, tokens that expire.
pub trait Authorizer: fmt::Debug + Send + Sync + 'static {
    /// Adds what the server wants to see. Called for every attempt, since signatures and tokens grow old; the request
    /// is sent as it is afterwards.
    ///
    /// # Errors
    /// [`ErrorKind::Authentication`] or [`ErrorKind::Network`] if there are no credentials to be had.
    ///
    /// # Cancellation
    /// Dropping the future must leave the credentials usable.
    fn authorize<'a>(&'a self, request: &'a mut RequestParts) -> BoxFuture<'a, Result<(), ProviderError>>;

    /// Told what the server said to `request`, as it was authorized. True if other credentials are worth one more
    /// attempt: those that were fetched since, or those that the next [`authorize`](Self::authorize) fetches.
    /// [`RequestParts::holds_secret`] tells which it is.
    fn refused(&self, request: &RequestParts, error: &ProviderError) -> bool {
        let _ = (request, error);
        false
    }
}

/// Where settings are read from: the variables of the process, or what a test or a configuration puts in their place.
#[derive(Clone)]
pub struct Environment(Arc<Lookup>);

type Lookup = dyn Fn(&str) -> Option<String> + Send + Sync;

impl Environment {
    /// The variables of the process.
    pub fn process() -> Self {
        Self::new(|name| std::env::var(name).ok())
    }

    /// Variables as `lookup` knows them.
    pub fn new(lookup: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(lookup))
    }

    /// The variable's text without white space around it; `None` if there is none or it is blank.
    pub fn get(&self, name: &str) -> Option<String> {
        let text = (self.0)(name)?;
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// The first of several variables that holds something.
    pub fn first<S: AsRef<str>>(&self, names: impl IntoIterator<Item = S>) -> Option<String> {
        names.into_iter().find_map(|name| self.get(name.as_ref()))
    }

    /// The key in the first of `names` that holds one.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] names the preferred variable if none does.
    pub fn key<S: AsRef<str>>(&self, provider: &str, names: &[S]) -> Result<Auth, ProviderError> {
        match self.first(names) {
            Some(key) => Ok(Auth::from(key)),
            None => Err(missing_key(provider, names)),
        }
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment").finish_non_exhaustive()
    }
}

/// That a key is demanded and there is none; `names` are the variables that may hold it.
pub fn missing_key<S: AsRef<str>>(provider: &str, names: &[S]) -> ProviderError {
    ProviderError::new(
        ErrorKind::Configuration,
        match names.first() {
            Some(variable) => format!("no key for {provider}: set {}", variable.as_ref()),
            None => format!("no key for {provider}"),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    // P02
    #[test]
    fn keys_are_found_in_order_and_shown_to_nobody() {
        let environment = Environment::new(|name| match name {
            "A" => Some(" \n".to_owned()),
            "B" => Some(" canary ".to_owned()),
            _ => None,
        });
        let auth = environment.key("mine", &["A", "B"]).unwrap();
        assert_eq!(auth.key().map(Secret::expose), Some("canary"));
        assert!(!format!("{auth:?} {environment:?}").contains("canary"));
        let error = environment.key("mine", &["C", "A"]).unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::Configuration, "no key for mine: set C"));
        assert!(Auth::from(" ").is_none() && Auth::default().is_none() && !auth.is_none());
    }
}

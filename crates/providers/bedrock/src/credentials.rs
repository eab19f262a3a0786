//! Credentials of AWS and where they are found (bedrock.md 1).

#[cfg(feature = "aws-config")]
mod chain;
mod profile;

use std::fmt;
use std::time::{Duration, SystemTime};

use attache_core::{BoxFuture, ProviderError, Secret};
use attache_transport::{Auth, Environment};

pub(crate) use self::profile::Profiles;

use crate::error;
use crate::sigv4::SigV4;

/// The variable that holds an API key of Bedrock. It wins over all other credentials.
const BEARER: &str = "AWS_BEARER_TOKEN_BEDROCK";

/// An access key of AWS, with the token of a session where it belongs to one. Its `Debug` shows nothing of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    access_key_id: Secret,
    secret_access_key: Secret,
    session_token: Option<Secret>,
    expires: Option<SystemTime>,
}

impl Credentials {
    /// An access key that does not expire.
    pub fn new(access_key_id: impl Into<Secret>, secret_access_key: impl Into<Secret>) -> Self {
        Self {
            access_key_id: access_key_id.into(),
            secret_access_key: secret_access_key.into(),
            session_token: None,
            expires: None,
        }
    }

    /// Adds the token of the session that the key belongs to.
    #[must_use]
    pub fn with_session_token(mut self, token: impl Into<Secret>) -> Self {
        self.session_token = Some(token.into()).filter(|token| !token.is_empty());
        self
    }

    /// Says when the key ends.
    #[must_use]
    pub fn with_expiry(mut self, expires: SystemTime) -> Self {
        self.expires = Some(expires);
        self
    }

    pub(crate) fn access_key_id(&self) -> &Secret {
        &self.access_key_id
    }

    pub(crate) fn secret_access_key(&self) -> &Secret {
        &self.secret_access_key
    }

    pub(crate) fn session_token(&self) -> Option<&Secret> {
        self.session_token.as_ref()
    }

    pub(crate) fn ends_within(&self, lead: Duration) -> bool {
        self.expires.is_some_and(|expires| expires <= SystemTime::now() + lead)
    }
}

/// Where credentials come from.
pub trait CredentialSource: fmt::Debug + Send + Sync + 'static {
    /// Fetches them. What is fetched is kept until shortly before it expires, or until the API refuses it.
    ///
    /// # Errors
    /// [`ErrorKind::Authentication`](attache_core::ErrorKind::Authentication),
    /// [`ErrorKind::Configuration`](attache_core::ErrorKind::Configuration) or
    /// [`ErrorKind::Network`](attache_core::ErrorKind::Network) if there are none to be had.
    ///
    /// # Cancellation
    /// Dropping the future must leave the source usable.
    fn fetch(&self) -> BoxFuture<'_, Result<Credentials, ProviderError>>;

    /// Whether fetching again may yield others.
    fn may_change(&self) -> bool {
        true
    }
}

impl CredentialSource for Credentials {
    fn fetch(&self) -> BoxFuture<'_, Result<Credentials, ProviderError>> {
        Box::pin(std::future::ready(Ok(self.clone())))
    }

    fn may_change(&self) -> bool {
        false
    }
}

/// What authorizes requests in `region`, by the first of: an API key of Bedrock, the keys of the environment, the
/// profile's, and, with the feature `aws-config`, the rest of the usual chain.
pub(crate) fn find(
    environment: &Environment,
    profiles: &Profiles,
    region: &str,
) -> Result<Auth, ProviderError> {
    if let Some(key) = environment.get(BEARER) {
        return Ok(Auth::from(key));
    }
    if let Some(credentials) = of_environment(environment)? {
        return Ok(SigV4::new(region, credentials).into());
    }
    if let Some(source) = profiles.keys()? {
        return Ok(SigV4::new(region, source).into());
    }
    rest(environment, profiles, region)
}

fn of_environment(environment: &Environment) -> Result<Option<Credentials>, ProviderError> {
    let (id, secret) = (environment.get("AWS_ACCESS_KEY_ID"), environment.get("AWS_SECRET_ACCESS_KEY"));
    match (id, secret) {
        (Some(id), Some(secret)) => {
            let credentials = Credentials::new(id, secret);
            Ok(Some(match environment.get("AWS_SESSION_TOKEN") {
                Some(token) => credentials.with_session_token(token),
                None => credentials,
            }))
        }
        (Some(_), None) => {
            Err(error::configuration("AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not"))
        }
        (None, _) => Ok(None),
    }
}

/// The sources that need the network: single sign-on, roles, tokens of containers and machines.
#[cfg(feature = "aws-config")]
fn rest(environment: &Environment, profiles: &Profiles, region: &str) -> Result<Auth, ProviderError> {
    let _ = environment;
    Ok(SigV4::new(region, chain::Chain::new(profiles.chosen(), region)).into())
}

#[cfg(not(feature = "aws-config"))]
fn rest(environment: &Environment, profiles: &Profiles, _: &str) -> Result<Auth, ProviderError> {
    const ELSEWHERE: [&str; 3] = [
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    ];
    let needed = profiles.needs_more().or_else(|| {
        let name = ELSEWHERE.into_iter().find(|name| environment.get(name).is_some())?;
        Some(format!("{name} is set"))
    });
    Err(error::configuration(match needed {
        Some(what) => format!("{what}, which needs the feature aws-config of attache-bedrock"),
        None => format!(
            "no credentials for bedrock: set {BEARER}, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
        ),
    }))
}

#[cfg(test)]
mod tests;

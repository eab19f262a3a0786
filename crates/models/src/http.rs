//! The ways in which models of a registry reach their servers.

use attache_transport::{Auth, HttpClient, RetryPolicy, Timeouts};

/// The way of models to their servers: the client, time limits, retries, credentials. An option that is not set is as it
/// would be without: the client of the process, the defaults, and credentials from the environment.
///
/// ```
/// use std::time::Duration;
/// use attache_models::{HttpSettings, Registry};
/// use attache_transport::{Auth, RetryPolicy, Timeouts};
///
/// let patient = Timeouts::new().with_first_byte(Duration::from_secs(900));
/// let registry = Registry::bundled()
///     .with_http(HttpSettings::new().with_retry(RetryPolicy::never()))
///     .with_http_of("openai-chat", HttpSettings::new().with_timeouts(patient).with_auth(Auth::from("sk-mine")));
/// # #[cfg(feature = "openai")]
/// assert!(registry.model("openai-chat/gpt-4o").is_ok());
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct HttpSettings {
    /// The client: the built-in one with a pool of its own or hooks, or a `reqwest::Client`.
    pub client: Option<HttpClient>,
    /// The time limits; those of the client otherwise.
    pub timeouts: Option<Timeouts>,
    /// When to ask again.
    pub retry: Option<RetryPolicy>,
    /// The credentials, in the place of those in the environment.
    pub auth: Option<Auth>,
}

impl HttpSettings {
    /// Nothing is set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the client.
    #[must_use]
    pub fn with_client(mut self, client: HttpClient) -> Self {
        self.client = Some(client);
        self
    }

    /// Sets the time limits.
    #[must_use]
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = Some(timeouts);
        self
    }

    /// Sets when to ask again.
    #[must_use]
    pub fn with_retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = Some(retry);
        self
    }

    /// Sets the credentials.
    #[must_use]
    pub fn with_auth(mut self, auth: impl Into<Auth>) -> Self {
        self.auth = Some(auth.into());
        self
    }

    /// These, and `others` where these say nothing.
    pub(crate) fn or(&self, others: &Self) -> Self {
        Self {
            client: self.client.clone().or_else(|| others.client.clone()),
            // A client of its own comes with its time limits.
            timeouts: self.timeouts.or(if self.client.is_some() { None } else { others.timeouts }),
            retry: self.retry.clone().or_else(|| others.retry.clone()),
            auth: self.auth.clone().or_else(|| others.auth.clone()),
        }
    }

    /// The client, with the time limits.
    pub(crate) fn connection(&self) -> HttpClient {
        let client = self.client.clone().unwrap_or_else(HttpClient::shared);
        match self.timeouts {
            Some(timeouts) => client.with_timeouts(timeouts),
            None => client,
        }
    }

    /// Credentials: these, or what was found in the environment.
    pub(crate) fn credentials<E>(&self, found: Result<Auth, E>) -> Result<Auth, E> {
        self.auth.clone().map_or(found, Ok)
    }
}

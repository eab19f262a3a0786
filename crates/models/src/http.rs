//! HTTP settings of the models of a registry.

use attache_transport::{Auth, HttpClient, RetryPolicy, Timeouts};

/// HTTP settings of models: client, timeouts, retries, credentials. Options that are not set have their defaults: the
/// client of the process, default timeouts and retries, and credentials from the environment.
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
    /// The client: the built-in one with its own pool or hooks, or a `reqwest::Client`.
    pub client: Option<HttpClient>,
    /// The timeouts; otherwise those of the client.
    pub timeouts: Option<Timeouts>,
    /// The retry policy.
    pub retry: Option<RetryPolicy>,
    /// The credentials, instead of those in the environment.
    pub auth: Option<Auth>,
}

impl HttpSettings {
    /// Creates settings with nothing set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the client.
    #[must_use]
    pub fn with_client(mut self, client: HttpClient) -> Self {
        self.client = Some(client);
        self
    }

    /// Sets the timeouts.
    #[must_use]
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = Some(timeouts);
        self
    }

    /// Sets the retry policy.
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

//! Servers over streamable HTTP.

mod answer;
mod client;

use std::fmt;
use std::sync::Arc;

use attache_core::Secret;
use attache_transport::{AddressGuard, HttpClient, RequestParts, Timeouts, shown_url};
use http::HeaderName;
use http::header::AUTHORIZATION;

pub(crate) use client::{SessionId, Wire};

use super::oauth::{McpOAuth, Shared};
use super::secrets::{of_given, of_url};

/// The address of a server, with what is sent to it.
///
/// Headers and the token go to this address alone: redirects are followed on the same origin only.
///
/// ```
/// use attache_mcp::McpEndpoint;
/// let search = McpEndpoint::new("https://search.example/mcp").bearer("sk-…").header("x-team", "leases");
/// # let _ = search;
/// ```
#[derive(Clone)]
pub struct McpEndpoint {
    url: String,
    headers: Vec<(String, Secret)>,
    bearer: Option<Secret>,
    client: Option<HttpClient>,
    public: bool,
    oauth: Option<Arc<Shared>>,
}

impl McpEndpoint {
    /// The server at an `http` or `https` address. A password and keys in it are secrets.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), headers: Vec::new(), bearer: None, client: None, public: false, oauth: None }
    }

    /// Sends a bearer token with each request.
    #[must_use]
    pub fn bearer(mut self, token: impl Into<String>) -> Self {
        self.bearer = Some(Secret::new(token));
        self
    }

    /// Sends a header with each request. Its value is a secret, as one of a variable
    /// [`env`](crate::McpCommand::env) is.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), Secret::new(value)));
        self
    }

    /// Logs in to the server: its token is sent with each request, in the place of [`bearer`](Self::bearer). All clones of
    /// the endpoint share the login.
    #[must_use]
    pub fn oauth(mut self, oauth: McpOAuth) -> Self {
        let login = oauth.at(&self.url);
        self.oauth = Some(Arc::new(login.over(self.connections(), self.client.is_some())));
        self
    }

    /// Uses another client, such as one over a `reqwest::Client` or with hooks.
    #[must_use]
    pub fn client(mut self, client: HttpClient) -> Self {
        self.client = Some(client);
        self.reconnected()
    }

    /// Connects to public addresses only, whatever the address resolves to: for addresses that users bring. Proxies of
    /// the environment are not used then. [`client`](Self::client) takes precedence.
    #[must_use]
    pub fn public_only(mut self) -> Self {
        self.public = true;
        self.reconnected()
    }

    /// The login goes the way that requests go.
    fn reconnected(mut self) -> Self {
        self.oauth =
            self.oauth.as_ref().map(|login| Arc::new(login.over(self.connections(), self.client.is_some())));
        self
    }

    /// The login, where there is one.
    pub(crate) fn login(&self) -> Option<&Arc<Shared>> {
        self.oauth.as_ref()
    }

    pub(crate) fn secrets(&self) -> Vec<String> {
        let given = self.headers.iter().flat_map(|(name, value)| of_given(name, value.expose()));
        let bearer = self.bearer.iter().map(|token| token.expose().to_owned());
        let tokens = self.oauth.iter().flat_map(|login| login.secrets());
        given.chain(bearer).chain(of_url(&self.url)).chain(tokens).collect()
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The client to use. Sessions live as long as their servers let them.
    fn connections(&self) -> HttpClient {
        let timeouts = Timeouts::default();
        match &self.client {
            Some(client) => client.clone(),
            None if self.public => HttpClient::guarded(timeouts, AddressGuard::new(), false),
            None => HttpClient::shared(),
        }
    }

    /// Adds what is sent with each request.
    fn dress(&self, mut request: RequestParts) -> Result<RequestParts, attache_core::ProviderError> {
        for (name, value) in &self.headers {
            let Ok(name) = HeaderName::try_from(name) else {
                let message = format!("{name:?} is no header name");
                return Err(attache_core::ProviderError::new(
                    attache_core::ErrorKind::Configuration,
                    message,
                ));
            };
            request = request.with_secret_header(name, "", value);
        }
        Ok(match &self.bearer {
            Some(token) => request.with_secret_header(AUTHORIZATION, "Bearer ", token),
            None => request,
        })
    }
}

impl fmt::Debug for McpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpEndpoint")
            .field("url", &shown_url(&self.url))
            .field("headers", &self.headers.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

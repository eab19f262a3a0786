//! Requests to authorization servers: bounded, without redirects, and only where they may go.

use std::time::Duration;

use attache_core::Secret;
use attache_transport::{AddressGuard, HttpClient, RequestParts, Timeouts, percent_encoded};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{Method as Verb, Uri};

use super::address::{is_local, parts};
use super::error::McpLoginError;
use super::tokens::{Client, Method};

/// A larger answer is none.
const LARGEST: usize = 1 << 20;
/// The time of one request.
const PATIENCE: Duration = Duration::from_secs(30);

/// The way to authorization servers.
pub(crate) struct Web<'a> {
    /// The client of the server's own connections.
    pub(crate) client: HttpClient,
    /// The server's address.
    pub(crate) server: &'a str,
    /// The authorization server that the user named.
    pub(crate) named: Option<&'a str>,
    /// True if the user brought the client, whose rules count then.
    pub(crate) brought: bool,
}

/// An answer.
pub(crate) struct Asked {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

impl Web<'_> {
    /// The origin of an address that may be asked, or shown to a person. Secrets go over TLS, except to a server that is
    /// asked without it.
    pub(crate) fn origin(&self, url: &str) -> Result<String, McpLoginError> {
        let (origin, _) = parts(url).ok_or(McpLoginError::Address)?;
        let is_secret = origin.starts_with("https://") || is_local(url) || self.server.starts_with("http://");
        // `https://bank.example@elsewhere.example/` deceives those who read it.
        let names_user = url
            .parse::<Uri>()
            .is_ok_and(|uri| uri.authority().is_some_and(|authority| authority.as_str().contains('@')));
        (is_secret && !names_user).then_some(origin).ok_or(McpLoginError::Address)
    }

    /// True for an address at the server's own origin or that of the authorization server that the user named. For a
    /// server on this machine every address is.
    pub(crate) fn is_meant(&self, url: &str) -> bool {
        let Some((origin, _)) = parts(url) else { return false };
        let is_of = |known: &str| parts(known).is_some_and(|(known, _)| known == origin);
        is_local(self.server) || is_of(self.server) || self.named.is_some_and(is_of)
    }

    /// The client for an address. A server may name any address; only public ones are asked then, unless it is on this
    /// machine itself.
    fn client(&self, url: &str) -> Result<HttpClient, McpLoginError> {
        self.origin(url)?;
        Ok(match self.brought || self.is_meant(url) {
            true => self.client.clone(),
            false => HttpClient::guarded(Timeouts::default(), AddressGuard::new(), false),
        })
    }

    async fn ask(&self, request: RequestParts) -> Result<Asked, McpLoginError> {
        let client = self.client(&request.url)?;
        let unreachable = |_| McpLoginError::Unreachable;
        let asking = async {
            let reply = client.answer(&request).await.map_err(unreachable)?;
            let status = reply.status().as_u16();
            let body = reply.bytes(LARGEST).await.map_err(unreachable)?;
            Ok(Asked { status, body: body.to_vec() })
        };
        tokio::time::timeout(PATIENCE, asking).await.unwrap_or(Err(McpLoginError::Unreachable))
    }

    pub(crate) async fn get(&self, url: &str) -> Result<Asked, McpLoginError> {
        self.ask(RequestParts::get(url).with_header(ACCEPT, "application/json")).await
    }

    pub(crate) async fn post_json(
        &self,
        url: &str,
        body: &serde_json::Value,
    ) -> Result<Asked, McpLoginError> {
        let body = serde_json::to_vec(body).map_err(|_| McpLoginError::Address)?;
        self.ask(RequestParts::post_json(url, body).with_header(ACCEPT, "application/json")).await
    }

    /// Sends a form to a token endpoint in the name of a client.
    pub(crate) async fn post_form(
        &self,
        url: &str,
        client: &Client,
        form: &[(&str, &str)],
    ) -> Result<Asked, McpLoginError> {
        let secret = client.secret.as_deref().unwrap_or_default();
        let mut form: Vec<(&str, &str)> = form.to_vec();
        let mut authorization = None;
        match client.method {
            Method::ClientSecretBasic => {
                let pair =
                    [client.id.as_str(), secret].map(|part| percent_encoded(part.as_bytes())).join(":");
                authorization = Some(Secret::new(attache_core::base64::encode(pair)));
            }
            Method::ClientSecretPost => form.extend([("client_id", &*client.id), ("client_secret", secret)]),
            Method::None => form.push(("client_id", &*client.id)),
        }
        let mut request = RequestParts::post_json(url, encoded(&form).into_bytes())
            .with_header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .with_header(ACCEPT, "application/json");
        request.method = Verb::POST;
        if let Some(pair) = &authorization {
            request = request.with_secret_header(AUTHORIZATION, "Basic ", pair);
        }
        self.ask(request).await
    }
}

/// Pairs as forms and queries have them.
pub(crate) fn encoded(pairs: &[(&str, &str)]) -> String {
    let pair = |(name, value): &(&str, &str)| format!("{name}={}", percent_encoded(value.as_bytes()));
    pairs.iter().map(pair).collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    // The secret of a client goes where the user means it to go.
    #[test]
    fn an_authorization_server_that_the_server_chose_is_not_meant() {
        let web = |server, named| Web { client: HttpClient::shared(), server, named, brought: true };
        let own = web("https://leases.example/mcp", None);
        assert!(own.is_meant("https://leases.example/token") && !own.is_meant("https://a.example/token"));
        let named = web("https://leases.example/mcp", Some("https://login.example/t"));
        assert!(named.is_meant("https://login.example/token") && !named.is_meant("https://a.example/token"));
    }

    // A server of the web names a place that only we can reach.
    #[tokio::test]
    async fn a_server_of_the_web_leads_to_no_private_address() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let web = |server, named| Web { client: HttpClient::shared(), server, named, brought: false };
        for private in [format!("https://127.0.0.1:{port}/x"), format!("https://localhost:{port}/x")] {
            let refused = web("https://leases.example/mcp", None).get(&private).await;
            assert!(matches!(refused, Err(McpLoginError::Unreachable)));
        }
        // Nor to one without TLS.
        let plain = web("https://leases.example/mcp", None).get("http://auth.example/x").await;
        assert!(matches!(plain, Err(McpLoginError::Address)));
        let came = tokio::time::timeout(Duration::from_millis(50), listener.accept()).await;
        assert!(came.is_err(), "somebody was asked");
    }
}

//! A login: an address for a person, and what comes back from there.

use std::fmt;
use std::sync::Arc;

use attache_core::BoxFuture;
use attache_transport::percent_decoded;
use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::discovery::{Found, discover};
use super::exchange::{client, plain, redeem};
use super::tokens::{Client, McpGrant};
use super::wire::encoded;
use crate::client::connection::Link;
use crate::client::oauth::{McpLoginError, Shared};

/// A login under way: show a person its [address](Self::address), and [finish](Self::finish) with where the browser was
/// led then.
#[must_use]
pub struct McpLogin {
    shared: Arc<Shared>,
    link: Arc<Link>,
    found: Found,
    client: Client,
    redirect: String,
    address: String,
    state: String,
    verifier: String,
    scope: Option<String>,
}

/// A text that nobody guesses.
fn unguessable() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

impl McpLogin {
    /// A border: see ADR 0053.
    pub(crate) fn begin(
        shared: &Arc<Shared>,
        link: Arc<Link>,
        redirect: String,
    ) -> BoxFuture<'_, Result<Self, McpLoginError>> {
        Box::pin(async move {
            let challenge = shared.challenge().await?;
            let web = shared.web();
            let named = shared.settings.issuer.as_deref();
            let found = discover(&web, &shared.url, &challenge, named).await?.for_a_person()?;
            web.origin(&found.issuer.authorization_endpoint)?;
            let client = client(&web, &shared.settings, &found.issuer, &redirect).await?;
            let scope = shared.scope(&challenge, &found).await?;
            let (state, verifier) = (unguessable(), unguessable());
            let hash = Sha256::digest(verifier.as_bytes());
            let proof = BASE64_URL_SAFE_NO_PAD.encode(hash);
            let mut query = vec![
                ("response_type", "code"),
                ("client_id", &*client.id),
                ("redirect_uri", &*redirect),
                ("state", &*state),
                ("code_challenge", &*proof),
                ("code_challenge_method", "S256"),
                ("resource", &*found.resource),
            ];
            query.extend(scope.as_deref().map(|scope| ("scope", scope)));
            if scope.as_deref().is_some_and(|scope| scope.split(' ').any(|scope| scope == super::OFFLINE)) {
                query.push(("prompt", "consent"));
            }
            let endpoint = &found.issuer.authorization_endpoint;
            let join = if endpoint.contains('?') { '&' } else { '?' };
            let address = format!("{endpoint}{join}{}", encoded(&query));
            let shared = Arc::clone(shared);
            Ok(Self { shared, link, found, client, redirect, address, state, verifier, scope })
        })
    }

    /// The address at which a person allows it.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The text by which its answer is known.
    pub(crate) fn state(&self) -> &str {
        &self.state
    }

    /// Ends the login with the address to which the browser was led, or its query. Connections are made with the new token
    /// from then on.
    ///
    /// # Errors
    /// [`McpLoginError::State`] and [`McpLoginError::Issuer`] if it is an answer to another login;
    /// [`McpLoginError::Refused`] if the person or the server refuses.
    pub async fn finish(self, led: &str) -> Result<McpGrant, McpLoginError> {
        self.finish_boxed(led).await
    }

    /// A border: see ADR 0053.
    fn finish_boxed(self, led: &str) -> BoxFuture<'_, Result<McpGrant, McpLoginError>> {
        Box::pin(async move {
            let query = led.split_once('?').map_or(led, |(_, query)| query);
            let query = query.split('#').next().unwrap_or_default();
            let value = |name: &str| {
                let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
                let found = pairs.find(|(known, _)| *known == name)?.1.replace('+', " ");
                Some(String::from_utf8_lossy(&percent_decoded(&found)).into_owned())
            };
            if value("state").as_deref() != Some(&*self.state) {
                return Err(McpLoginError::State);
            }
            let issuer = &self.found.issuer;
            match value("iss") {
                Some(said) if said == issuer.issuer => {}
                None if !issuer.authorization_response_iss_parameter_supported => {}
                _ => return Err(McpLoginError::Issuer),
            }
            if let Some(error) = value("error") {
                return Err(McpLoginError::Refused { error: plain(&error) });
            }
            let code = value("code").ok_or(McpLoginError::Malformed)?;
            let code = (&*code, &*self.verifier, &*self.redirect);
            let web = self.shared.web();
            let grant = redeem(&web, &self.found, &self.client, code, self.scope.as_deref()).await?;
            self.shared.keep(Some(grant.clone())).await?;
            self.link.begin_anew().await;
            Ok(grant)
        })
    }
}

impl fmt::Debug for McpLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpLogin").field("issuer", &self.found.issuer.issuer).finish_non_exhaustive()
    }
}

//! Tokens in the place of others: asked for once, and kept whether or not somebody still waits for them.

use std::sync::Arc;

use super::challenge::Challenge;
use super::discovery::discover;
use super::error::McpLoginError;
use super::exchange::{self, own_grant, renew};
use super::tokens::McpGrant;
use super::{Shared, secrets};

/// The refusals after which a token that renews, or its client, is good for nothing any more.
const ENDED: [&str; 3] = ["invalid_grant", "invalid_client", "unauthorized_client"];

impl Shared {
    /// The grant in the place of one whose token is `old`; nothing if there is none to be had. `challenge` says why the
    /// server refused that token, if it did.
    pub(super) async fn renewed(
        self: &Arc<Self>,
        old: Option<String>,
        challenge: Option<Challenge>,
    ) -> Result<Option<McpGrant>, McpLoginError> {
        let turn = Arc::clone(&self.turn).lock_owned().await;
        let known = self.load().await?;
        let is_another = |grant: &&McpGrant| grant.is_fresh() && Some(&grant.access_token) != old.as_ref();
        if let Some(grant) = known.as_ref().filter(is_another) {
            // Somebody else was faster.
            self.has_token();
            return Ok(Some(grant.clone()));
        }
        let challenge = challenge.or_else(|| self.lock().challenge.clone());
        let renews = known.as_ref().is_some_and(|grant| grant.refresh_token.is_some());
        let asks = self.settings.is_own && (known.is_some() || challenge.is_some());
        if !renews && !asks {
            return Ok(None);
        }
        // A token that renews is used up when it is sent. If the call that waits were dropped, and this with it, the login
        // would be gone. Each request has a time limit, so that this ends.
        let shared = Arc::clone(self);
        let renewing = tokio::spawn(async move {
            let _turn = turn;
            shared.brought(known, asks.then(|| challenge.unwrap_or_default())).await
        });
        renewing.await.unwrap_or(Err(McpLoginError::Unreachable))
    }

    /// The grant that a token which renews brings, or else the program's own rights, to which it answers `challenge`.
    async fn brought(
        &self,
        known: Option<McpGrant>,
        challenge: Option<Challenge>,
    ) -> Result<Option<McpGrant>, McpLoginError> {
        let mut stands = known;
        if let Some(grant) = stands.clone().filter(|grant| grant.refresh_token.is_some()) {
            let stored = match renew(&self.web(), &grant).await {
                Ok(new) => {
                    let new = self.replace(Some(&grant), Some(new)).await?;
                    self.has_token();
                    return Ok(new);
                }
                Err(McpLoginError::Refused { error }) if ENDED.contains(&&*error) => {
                    self.replace(Some(&grant), None).await?
                }
                Err(McpLoginError::Refused { .. }) => self.load().await?,
                Err(error) => return Err(error),
            };
            match stored {
                // Another process was faster.
                Some(other) if other != grant && other.is_fresh() => {
                    self.has_token();
                    return Ok(Some(other));
                }
                stored => stands = stored,
            }
        }
        let Some(challenge) = challenge else { return Ok(None) };
        let web = self.web();
        let found = discover(&web, &self.url, &challenge, self.settings.issuer.as_deref()).await?;
        let client = exchange::client(&web, &self.settings, &found.issuer, "").await?;
        let scope = self.scope(&challenge, &found).await?;
        let new = own_grant(&web, &found, &client, scope.as_deref()).await?;
        let new = self.replace(stands.as_ref(), Some(new)).await?;
        self.lock().challenge = None;
        Ok(new)
    }

    /// Keeps a grant in the place of the one before. One that came meanwhile, or a logout, stays. Whatever is there then.
    async fn replace(
        &self,
        before: Option<&McpGrant>,
        new: Option<McpGrant>,
    ) -> Result<Option<McpGrant>, McpLoginError> {
        let _keeping = self.keeping.lock().await;
        let stored = self.load().await?;
        if stored.as_ref() != before {
            return Ok(stored);
        }
        self.save(new.clone()).await?;
        Ok(new)
    }

    /// Keeps what a login has brought, or forgets it for a logout. Nobody need log in for what was asked before.
    pub(crate) async fn keep(&self, grant: Option<McpGrant>) -> Result<(), McpLoginError> {
        // It does not wait for its turn, since an authorization server may take long.
        let _keeping = self.keeping.lock().await;
        self.lock().challenge = None;
        self.save(grant).await
    }

    async fn save(&self, grant: Option<McpGrant>) -> Result<(), McpLoginError> {
        self.lock().secrets = grant.iter().flat_map(secrets).collect();
        self.tokens.save(&self.key()?, grant).await.map_err(McpLoginError::Store)
    }

    /// Notes that there is a token. One like that before has no more rights.
    fn has_token(&self) {
        self.lock().challenge.take_if(|challenge| !challenge.lacks_rights());
    }
}

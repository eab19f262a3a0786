//! The principals who ask, and their rights.

#[cfg(feature = "jwt")]
mod jwt;
mod key_ring;
mod keys;
mod local;
mod principal;

use std::sync::Arc;

use attache_core::BoxFuture;
use http::{HeaderMap, header};

#[cfg(feature = "jwt")]
use jwt::Refusal;
#[cfg(feature = "jwt")]
pub use jwt::{Jwt, JwtAlgorithm};
pub use key_ring::KeyRing;
pub use keys::{ApiKey, ApiKeys, KeysError};
pub(crate) use local::{host, is_local, is_of_own_page};
pub use principal::{Principal, Scope};

use crate::fault::Fault;

/// The ways in which a server learns who asks.
#[derive(Clone, Default)]
pub(crate) struct Auth {
    /// By keys. Before there are any, and without the other ways, whoever reaches it from this machine is one and the same.
    pub(crate) keys: KeyRing,
    #[cfg(feature = "jwt")]
    pub(crate) jwt: Option<Arc<Jwt>>,
    pub(crate) hook: Option<Hook>,
}

pub(crate) type Hook = Arc<dyn Fn(HeaderMap) -> BoxFuture<'static, Option<Principal>> + Send + Sync>;

/// One who may ask.
pub(crate) struct Admitted {
    pub(crate) principal: Principal,
    /// True unless a key said who it is: a browser adds cookies, and names with passwords, to requests of pages of strangers,
    /// too, and a proxy adds the name of whoever logged in there.
    pub(crate) by_browser: bool,
}

/// The principal where nobody has a key. It is the one of the `attache` command, whose sessions are the same.
const LOCAL: &str = "local";

impl Auth {
    /// True if it asks nobody for anything, so that this machine alone may ask.
    pub(crate) fn is_local(&self) -> bool {
        self.hook.is_none() && self.asks_for_nothing()
    }

    /// True if there are neither keys nor an issuer.
    fn asks_for_nothing(&self) -> bool {
        #[cfg(feature = "jwt")]
        let has_issuer = self.jwt.is_some();
        #[cfg(not(feature = "jwt"))]
        let has_issuer = false;
        !self.keys.asks() && !has_issuer
    }

    /// The one who asks: by a key, by a token, or as the program around the server knows.
    pub(crate) async fn admit(&self, headers: &HeaderMap) -> Result<Admitted, Fault> {
        let by_key = |principal| Admitted { principal, by_browser: false };
        if self.is_local() {
            return Ok(by_key(Principal::new(LOCAL)));
        }
        let given = given(headers);
        if let (Some(keys), Some(key)) = (self.keys.keys(), given)
            && let Some(principal) = keys.principal(key)
        {
            return Ok(by_key(principal));
        }
        #[cfg(feature = "jwt")]
        let refused = match (&self.jwt, given) {
            (Some(jwt), Some(token)) if jwt::is_token(token) => match jwt.principal(token).await {
                Ok(principal) => return Ok(by_key(principal)),
                Err(refusal) => refused(refusal),
            },
            _ => Fault::unauthenticated(given.is_some()),
        };
        #[cfg(not(feature = "jwt"))]
        let refused = Fault::unauthenticated(given.is_some());
        match &self.hook {
            Some(hook) => {
                let refused = if self.asks_for_nothing() { Fault::unknown_caller() } else { refused };
                let principal = hook(headers.clone()).await.ok_or(refused)?;
                Ok(Admitted { principal, by_browser: given.is_none() })
            }
            None => Err(refused),
        }
    }
}

#[cfg(feature = "jwt")]
fn refused(refusal: Refusal) -> Fault {
    match refusal {
        Refusal::Unavailable => Fault::unavailable(refusal.message()).after(5),
        refusal => Fault::bad_token(refusal.message()),
    }
}

/// The key of a request.
fn given(headers: &HeaderMap) -> Option<&str> {
    if let Some(value) = headers.get(header::AUTHORIZATION) {
        let (scheme, key) = value.to_str().ok()?.split_once(' ')?;
        return scheme.eq_ignore_ascii_case("bearer").then(|| key.trim());
    }
    headers.get("x-api-key")?.to_str().ok()
}

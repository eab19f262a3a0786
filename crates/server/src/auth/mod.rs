//! The principals who ask, and their rights.

mod keys;
mod local;
mod principal;
mod ring;

use std::sync::Arc;

use attache_core::BoxFuture;
use http::{HeaderMap, header};

pub use keys::{ApiKey, ApiKeys, KeysError};
pub(crate) use local::is_local;
pub use principal::{Principal, Scope};
pub use ring::KeyRing;

use crate::fault::Fault;

/// The way in which a server learns who asks.
#[derive(Clone)]
pub(crate) enum Auth {
    /// By keys; before there are any, whoever reaches it from this machine is one and the same.
    Keys(KeyRing),
    Hook(Hook),
}

pub(crate) type Hook = Arc<dyn Fn(HeaderMap) -> BoxFuture<'static, Option<Principal>> + Send + Sync>;

/// The principal where nobody has a key. It is the one of the `attache` command, whose sessions are the same.
const LOCAL: &str = "local";

impl Auth {
    /// True if it asks nobody for anything, so that this machine alone may ask.
    pub(crate) fn is_local(&self) -> bool {
        matches!(self, Self::Keys(ring) if ring.keys().is_none())
    }

    /// The one who asks.
    pub(crate) async fn principal(&self, headers: &HeaderMap) -> Result<Principal, Fault> {
        match self {
            Self::Keys(ring) => {
                let Some(keys) = ring.keys() else { return Ok(Principal::new(LOCAL)) };
                let key = given(headers).ok_or_else(Fault::unauthenticated)?;
                keys.principal(key).ok_or_else(Fault::unauthenticated)
            }
            Self::Hook(hook) => hook(headers.clone()).await.ok_or_else(Fault::unauthenticated),
        }
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

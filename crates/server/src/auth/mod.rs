//! The principals who ask, and their rights.

mod keys;
mod local;
mod principal;

use std::sync::Arc;

use attache_core::BoxFuture;
use http::{HeaderMap, header};

pub use keys::{ApiKey, ApiKeys, KeysError};
pub(crate) use local::is_local;
pub use principal::{Principal, Scope};

use crate::fault::Fault;

/// The way in which a server learns who asks.
#[derive(Clone)]
pub(crate) enum Auth {
    /// It does not: whoever reaches it from this machine is one and the same.
    Local,
    Keys(Arc<ApiKeys>),
    Hook(Hook),
}

pub(crate) type Hook = Arc<dyn Fn(HeaderMap) -> BoxFuture<'static, Option<Principal>> + Send + Sync>;

/// The principal where nobody has a key. It is the one of the `attache` command, whose sessions are the same.
const LOCAL: &str = "local";

impl Auth {
    /// The one who asks.
    pub(crate) async fn principal(&self, headers: &HeaderMap) -> Result<Principal, Fault> {
        match self {
            Self::Local => Ok(Principal::new(LOCAL)),
            Self::Keys(keys) => {
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

//! Keys that change while a server runs.

use std::sync::{Arc, PoisonError, RwLock};

use super::keys::ApiKeys;

/// The keys of a server, for a program that changes them while it serves. Cloning shares them.
///
/// As long as there never were any, the server asks nobody for a key and answers its own machine alone. From the first
/// key on it asks everybody, also once the last one is taken out: then nobody may ask.
///
/// ```
/// use attache_server::{ApiKey, ApiKeys, KeyRing};
///
/// let ring = KeyRing::new();
/// // Given to `Server::keys`; later, as the server runs:
/// let (key, secret) = ApiKey::fresh("ann@example.org");
/// ring.replace(ApiKeys::new().with_key(key));
/// assert!(ring.asks());
/// ring.replace(ApiKeys::new());
/// assert!(ring.asks());
/// # let _ = secret;
/// ```
#[derive(Clone, Debug, Default)]
pub struct KeyRing {
    keys: Arc<RwLock<Option<Arc<ApiKeys>>>>,
}

impl KeyRing {
    /// No keys yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts these keys in the place of those before.
    pub fn replace(&self, keys: ApiKeys) {
        let mut held = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        if held.is_some() || !keys.is_empty() {
            *held = Some(Arc::new(keys));
        }
    }

    /// True if clients are asked for a key.
    pub fn asks(&self) -> bool {
        self.keys().is_some()
    }

    pub(crate) fn keys(&self) -> Option<Arc<ApiKeys>> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// These keys, also where there are none: then nobody may ask.
impl From<ApiKeys> for KeyRing {
    fn from(keys: ApiKeys) -> Self {
        Self { keys: Arc::new(RwLock::new(Some(Arc::new(keys)))) }
    }
}

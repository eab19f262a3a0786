//! API keys, of which a server knows the hashes alone.

use std::time::{Duration, SystemTime};

use attache_core::hash::hex;
use attache_core::{Secret, fresh};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::principal::{Principal, Scope};

/// The keys that a server takes.
///
/// ```
/// use attache_server::{ApiKey, ApiKeys, Scope};
///
/// let (key, secret) = ApiKey::fresh("ann@example.org");
/// let keys = ApiKeys::new().with_key(key.with_scopes([Scope::Run, Scope::Read]));
/// // A file keeps this, and the client the secret.
/// let kept = keys.to_json();
/// assert!(!kept.contains(secret.expose()));
/// assert_eq!(ApiKeys::from_json(&kept)?.len(), 1);
/// # Ok::<(), attache_server::KeysError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ApiKeys {
    keys: Vec<ApiKey>,
}

/// A key as a server knows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApiKey {
    id: String,
    principal: String,
    #[serde(with = "digits")]
    sha256: [u8; 32],
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scopes: Option<Vec<Scope>>,
    /// In milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<u64>,
}

/// A text that is no list of keys.
#[derive(Debug, thiserror::Error)]
#[error("the keys cannot be read: {0}")]
pub struct KeysError(#[from] serde_json::Error);

impl ApiKeys {
    /// No keys.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a key.
    #[must_use]
    pub fn with_key(mut self, key: ApiKey) -> Self {
        self.keys.push(key);
        self
    }

    /// Takes the key of that id out; false if there is none.
    pub fn remove(&mut self, id: &str) -> bool {
        let before = self.keys.len();
        self.keys.retain(|key| key.id != id);
        self.keys.len() < before
    }

    /// The keys.
    pub fn iter(&self) -> impl Iterator<Item = &ApiKey> {
        self.keys.iter()
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// True if there is none: nobody may ask then.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Reads what [`to_json`](Self::to_json) wrote.
    ///
    /// # Errors
    /// [`KeysError`] if it is no list of keys.
    pub fn from_json(text: &str) -> Result<Self, KeysError> {
        Ok(Self { keys: serde_json::from_str(text)? })
    }

    /// The keys as JSON. It holds no key, but their hashes.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(&self.keys).unwrap_or_default()
    }

    /// The principal whose key that is. Each key is looked at, however early one fits, and each hash to its end.
    pub(crate) fn principal(&self, given: &str) -> Option<Principal> {
        let given: [u8; 32] = Sha256::digest(given.as_bytes()).into();
        let mut found = None;
        for key in &self.keys {
            let differs = key.sha256.iter().zip(&given).fold(0, |differs, (a, b)| differs | (a ^ b));
            if differs == 0 {
                found = Some(key);
            }
        }
        let key = found.filter(|key| !key.is_expired())?;
        let principal = Principal::new(key.principal.as_str());
        Some(match &key.scopes {
            Some(scopes) => principal.with_scopes(scopes.iter().copied()),
            None => principal,
        })
    }
}

impl ApiKey {
    /// A new random key of a principal, and the key itself, which nobody can have from the server again.
    pub fn fresh(principal: impl Into<String>) -> (Self, Secret) {
        let random = || fresh::uuid().replace('-', "");
        let secret = format!("atk_{}{}", random(), random());
        (Self::of(principal, &secret), Secret::from(secret))
    }

    /// A key that somebody else drew. It must be long and random: a guess is all that it takes.
    pub fn of(principal: impl Into<String>, key: &str) -> Self {
        let sha256: [u8; 32] = Sha256::digest(key.as_bytes()).into();
        let id = hex(sha256.iter().take(4));
        Self { id, principal: principal.into(), sha256, scopes: None, expires_at: None }
    }

    /// Lets it do this alone; everything by default.
    #[must_use]
    pub fn with_scopes(mut self, scopes: impl IntoIterator<Item = Scope>) -> Self {
        self.scopes = Some(scopes.into_iter().collect());
        self
    }

    /// Lets it hold for that long, from now on; for ever by default.
    #[must_use]
    pub fn with_lifetime(mut self, lifetime: Duration) -> Self {
        self.expires_at = millis(fresh::now().checked_add(lifetime));
        self
    }

    /// A name for it, which is no secret.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The principal whose key it is.
    pub fn principal(&self) -> &str {
        &self.principal
    }

    /// The things that it may do; `None` for everything.
    pub fn scopes(&self) -> Option<&[Scope]> {
        self.scopes.as_deref()
    }

    /// The time from which on it does not hold any more, in milliseconds since 1970.
    pub fn expires_at(&self) -> Option<u64> {
        self.expires_at
    }

    /// True if its time is over.
    pub fn is_expired(&self) -> bool {
        self.expires_at.is_some_and(|at| millis(Some(fresh::now())).is_none_or(|now| at <= now))
    }
}

fn millis(time: Option<SystemTime>) -> Option<u64> {
    let since = time?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    u64::try_from(since.as_millis()).ok()
}

/// A hash as hexadecimal digits.
mod digits {
    use attache_core::hash::hex;
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(hash: &[u8; 32], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex(hash))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u8; 32], D::Error> {
        let text = String::deserialize(deserializer)?;
        let wrong = || de::Error::custom("a SHA-256 has 64 hexadecimal digits");
        if text.len() != 64 || !text.is_ascii() {
            return Err(wrong());
        }
        let mut hash = [0; 32];
        for (at, byte) in hash.iter_mut().enumerate() {
            let pair = text.get(at * 2..at * 2 + 2).ok_or_else(wrong)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| wrong())?;
        }
        Ok(hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_known_by_its_hash_until_it_expires() {
        let (key, secret) = ApiKey::fresh("ann");
        let keys = ApiKeys::new().with_key(key.with_scopes([Scope::Read]));
        let keys = ApiKeys::from_json(&keys.to_json()).unwrap();
        let ann = keys.principal(secret.expose()).unwrap();
        assert!(ann.name() == "ann" && ann.may(Scope::Read) && !ann.may(Scope::Run));
        assert_eq!(keys.principal("atk_"), None);
        assert_eq!(keys.principal(""), None);
        let over = ApiKeys::new().with_key(ApiKey::of("ann", "k").with_lifetime(Duration::ZERO));
        assert_eq!(over.principal("k"), None);
        assert!(!format!("{keys:?}").contains(secret.expose()));
    }

    #[test]
    fn a_list_with_a_member_that_nobody_knows_is_refused() {
        for text in ["{}", "[{}]", r#"[{"id":"a","principal":"p","sha256":"00"}]"#] {
            assert!(ApiKeys::from_json(text).is_err(), "{text}");
        }
    }
}

//! The assertion that a service account signs to get a token (RFC 7519, RFC 7523; `google.aip.dev/auth/4112`).

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use attache_core::ProviderError;
use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use ring::rand::SystemRandom;
use ring::rsa::KeyPair;
use ring::signature::RSA_PKCS1_SHA256;
use serde_json::json;

use crate::error::configuration;

/// Where refresh tokens and assertions are exchanged. A file may not name another place: it would get the secrets.
pub(super) const TOKEN_URL: &str = "https://oauth2.googleapis.com/token";
/// The scope of tokens.
pub(super) const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
/// The life of an assertion in seconds: the maximum that Google accepts.
const LIFETIME: u64 = 3_600;

/// The key of a service account. Its `Debug` shows nothing of it.
pub(super) struct Signer {
    email: String,
    key_id: String,
    key: KeyPair,
}

impl Signer {
    /// The signer of a key in PEM.
    pub(super) fn new(email: String, key_id: String, pem: &str) -> Result<Self, ProviderError> {
        let unreadable = || configuration("the private key of the service account cannot be read");
        let is_key = |line: &&str| !line.starts_with("-----") && !line.trim().is_empty();
        let text: String = pem.lines().filter(is_key).map(str::trim).collect();
        let der = attache_core::base64::decode(text).ok_or_else(unreadable)?;
        let key = KeyPair::from_pkcs8(&der).or_else(|_| KeyPair::from_der(&der)).map_err(|_| unreadable())?;
        Ok(Self { email, key_id, key })
    }

    /// An assertion that is good from `now` on.
    pub(super) fn assertion(&self, now: SystemTime) -> Result<String, ProviderError> {
        let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let head = json!({"alg": "RS256", "typ": "JWT", "kid": self.key_id});
        let claims =
            json!({"iss": self.email, "scope": SCOPE, "aud": TOKEN_URL, "iat": now, "exp": now + LIFETIME});
        let encode = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        let mut token =
            format!("{}.{}", encode(head.to_string().as_bytes()), encode(claims.to_string().as_bytes()));
        let mut signature = vec![0; self.key.public().modulus_len()];
        self.key
            .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), token.as_bytes(), &mut signature)
            .map_err(|_| configuration("the private key of the service account cannot sign"))?;
        token.push('.');
        token.push_str(&encode(&signature));
        Ok(token)
    }

    pub(super) fn email(&self) -> &str {
        &self.email
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer").field("email", &self.email).finish_non_exhaustive()
    }
}

//! Keys that agent cards are verified with.

use std::fmt;

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde_json::Value;

/// A public key whose signatures on agent cards are believed.
#[derive(Clone, PartialEq, Eq)]
pub struct A2aKey {
    id: Option<String>,
    key: Key,
}

#[derive(Clone, PartialEq, Eq)]
enum Key {
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
    Rsa { n: Vec<u8>, e: Vec<u8> },
}

/// A JSON Web Key that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key cannot be used: {0}")]
pub struct A2aKeyError(&'static str);

impl A2aKey {
    /// The key of a JSON Web Key: on P-256, P-384 or Ed25519, or of RSA with 2048 bits or more. (RFC 7517)
    ///
    /// # Errors
    /// For other keys, and for what is no key.
    pub fn from_jwk(jwk: &Value) -> Result<Self, A2aKeyError> {
        let text = |name: &str| jwk.get(name).and_then(Value::as_str);
        let bytes = |name: &'static str| {
            let found = text(name).and_then(from_base64url);
            found.ok_or(A2aKeyError("a member of it is missing or no base64"))
        };
        let point = |length: usize| {
            let (x, y) = (bytes("x")?, bytes("y")?);
            match x.len() == length && y.len() == length {
                true => Ok([&[4], &*x, &*y].concat()),
                false => Err(A2aKeyError("its coordinates have another length")),
            }
        };
        let key = match (text("kty"), text("crv")) {
            (Some("EC"), Some("P-256")) => Key::P256(point(32)?),
            (Some("EC"), Some("P-384")) => Key::P384(point(48)?),
            (Some("OKP"), Some("Ed25519")) => Key::Ed25519(bytes("x")?),
            (Some("RSA"), _) => Key::Rsa { n: bytes("n")?, e: bytes("e")? },
            _ => return Err(A2aKeyError("it is of a kind that is not known here")),
        };
        Ok(Self { id: text("kid").map(str::to_owned), key })
    }

    /// True if this key may have made a signature that names its key.
    pub(crate) fn is_named(&self, id: Option<&str>) -> bool {
        match (&self.id, id) {
            (Some(own), Some(id)) => own == id,
            _ => true,
        }
    }

    /// True if `signature` is one of this key under that algorithm. (RFC 7518 section 3.1)
    pub(crate) fn verifies(&self, algorithm: &str, message: &[u8], signature: &[u8]) -> bool {
        let verified = match (&self.key, algorithm) {
            (Key::P256(point), "ES256") => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            (Key::P384(point), "ES384") => {
                UnparsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, point).verify(message, signature)
            }
            (Key::Ed25519(point), "EdDSA" | "Ed25519") => {
                UnparsedPublicKey::new(&ED25519, point).verify(message, signature)
            }
            (Key::Rsa { n, e }, "RS256" | "RS512" | "PS256") => {
                let parameters = match algorithm {
                    "RS256" => &RSA_PKCS1_2048_8192_SHA256,
                    "RS512" => &RSA_PKCS1_2048_8192_SHA512,
                    _ => &RSA_PSS_2048_8192_SHA256,
                };
                RsaPublicKeyComponents { n, e }.verify(parameters, message, signature)
            }
            _ => return false,
        };
        verified.is_ok()
    }
}

impl fmt::Debug for A2aKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("A2aKey").field("id", &self.id).finish_non_exhaustive()
    }
}

/// The bytes of base64 in the alphabet for addresses, without padding.
pub(crate) fn from_base64url(text: &str) -> Option<Vec<u8>> {
    BASE64_URL_SAFE_NO_PAD.decode(text.trim_end_matches('=').as_bytes()).ok()
}

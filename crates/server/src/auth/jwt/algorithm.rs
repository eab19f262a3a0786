//! The ways to sign tokens.

use serde::{Deserialize, Serialize};

/// A way to sign tokens (RFC 7518, RFC 8037). All of them have a key that is public: a secret that server and issuer
/// share is not taken, and neither is a token that nobody signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum JwtAlgorithm {
    /// RSA by PKCS #1 v1.5 with SHA-256.
    #[serde(rename = "RS256")]
    Rs256,
    /// RSA by PKCS #1 v1.5 with SHA-384.
    #[serde(rename = "RS384")]
    Rs384,
    /// RSA by PKCS #1 v1.5 with SHA-512.
    #[serde(rename = "RS512")]
    Rs512,
    /// RSA by PSS with SHA-256.
    #[serde(rename = "PS256")]
    Ps256,
    /// RSA by PSS with SHA-384.
    #[serde(rename = "PS384")]
    Ps384,
    /// RSA by PSS with SHA-512.
    #[serde(rename = "PS512")]
    Ps512,
    /// ECDSA over P-256 with SHA-256.
    #[serde(rename = "ES256")]
    Es256,
    /// ECDSA over P-384 with SHA-384.
    #[serde(rename = "ES384")]
    Es384,
    /// Ed25519.
    #[serde(rename = "EdDSA", alias = "Ed25519")]
    EdDsa,
}

impl JwtAlgorithm {
    pub(super) const ALL: [Self; 9] = [
        Self::Rs256,
        Self::Rs384,
        Self::Rs512,
        Self::Ps256,
        Self::Ps384,
        Self::Ps512,
        Self::Es256,
        Self::Es384,
        Self::EdDsa,
    ];
}

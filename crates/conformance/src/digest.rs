//! The digest by which contents are compared.

use attache_core::hash::hex;
use sha2::{Digest as _, Sha256};

/// The SHA-256 of bytes in lower-case hexadecimal, as [`SeenDocument::sha256`](crate::SeenDocument::sha256) holds it.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

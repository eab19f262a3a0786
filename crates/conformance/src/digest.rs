//! The digest by which contents are compared.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// The SHA-256 of bytes in lower-case hexadecimal, as [`SeenDocument::sha256`](crate::SeenDocument::sha256) holds it.
pub fn sha256_hex(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

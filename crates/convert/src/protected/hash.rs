//! The hashes that keys are made of.

use md5::Md5;
use sha2::{Digest, Sha256, Sha384, Sha512};

use super::sha1::sha1;
use crate::ConvertError;
use crate::guarded::Clock;

/// [MS-XLS] 2.2.10
const PASSWORD: &str = "VelvetSweatshop";

/// Hashes between two looks at the clock.
const BETWEEN_CHECKS: u32 = 1 << 12;

#[derive(Clone, Copy)]
pub(super) enum Hash {
    Md5,
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

impl Hash {
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "SHA1" | "SHA-1" => Self::Sha1,
            "SHA256" | "SHA-256" => Self::Sha256,
            "SHA384" | "SHA-384" => Self::Sha384,
            "SHA512" | "SHA-512" => Self::Sha512,
            _ => return None,
        })
    }

    /// The hash of these parts, one behind the other.
    pub(super) fn of(self, parts: &[&[u8]]) -> Vec<u8> {
        match self {
            Self::Md5 => digest::<Md5>(parts),
            Self::Sha1 => sha1(parts),
            Self::Sha256 => digest::<Sha256>(parts),
            Self::Sha384 => digest::<Sha384>(parts),
            Self::Sha512 => digest::<Sha512>(parts),
        }
    }

    /// The hash of a text with a key that is no longer than a block of it (HMAC, RFC 2104).
    pub(super) fn keyed(self, key: &[u8], text: &[u8]) -> Vec<u8> {
        let block = if matches!(self, Self::Sha384 | Self::Sha512) { 128 } else { 64 };
        let padded = |pad: u8| {
            let mut bytes = vec![pad; block];
            bytes.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
            bytes
        };
        self.of(&[&padded(0x5c), &self.of(&[&padded(0x36), text])])
    }

    /// The hash of the password, hashed again so many times, which makes guessing slow.
    ///
    /// # Errors
    /// The time is over.
    pub(super) fn spun(self, salt: &[u8], times: u32, clock: Clock) -> Result<Vec<u8>, ConvertError> {
        let mut hash = self.of(&[salt, &password()]);
        for count in 0..times {
            if count.is_multiple_of(BETWEEN_CHECKS) {
                clock.check()?;
            }
            hash = self.of(&[&count.to_le_bytes(), &hash]);
        }
        Ok(hash)
    }
}

/// The password in the two bytes a character in which it is hashed.
pub(super) fn password() -> Vec<u8> {
    PASSWORD.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn digest<D: Digest>(parts: &[&[u8]]) -> Vec<u8> {
    let mut hash = D::new();
    for part in parts {
        hash.update(part);
    }
    hash.finalize().to_vec()
}

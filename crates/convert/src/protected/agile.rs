//! Agile encryption, which Office has written since 2010 ([MS-OFFCRYPTO] 2.3.4.10 to 2.3.4.15).

use super::aes::{Aes, BLOCK};
use super::hash::Hash;
use super::refusal::{LOCKED, UNSUPPORTED};
use crate::ConvertError;
use crate::base64::base64;
use crate::guarded::Clock;
use crate::xml::{Tag, Xml};

/// The bytes that are encrypted together.
const SEGMENT: usize = 4096;

/// Bytes that are hashed with the salt of the content, for the key of its integrity value, and for the value itself.
const OF_HMAC_KEY: [u8; 8] = [0x5f, 0xb2, 0xad, 0x01, 0x0c, 0xb9, 0xe1, 0xf6];
const OF_HMAC: [u8; 8] = [0xa0, 0x67, 0x7f, 0x02, 0xb2, 0x2c, 0x84, 0x33];

/// Bytes that are hashed with the password for the key of each of three texts.
const OF_INPUT: [u8; 8] = [0xfe, 0xa7, 0xd2, 0x76, 0x3b, 0x4b, 0x9e, 0x79];
const OF_ITS_HASH: [u8; 8] = [0xd7, 0xaa, 0x0f, 0x6d, 0x30, 0x61, 0x34, 0x4e];
const OF_KEY: [u8; 8] = [0x14, 0x6e, 0x0b, 0xe7, 0xab, 0xac, 0xd0, 0xd6];

/// The key of a file.
pub(super) struct Agile {
    aes: Aes,
    hash: Hash,
    salt: Vec<u8>,
    /// The integrity value, encrypted, behind its key.
    integrity: Option<(Vec<u8>, Vec<u8>)>,
}

/// The cipher that an element describes.
struct Cipher {
    hash: Hash,
    salt: Vec<u8>,
    key_len: usize,
}

/// A key that is encrypted with the password.
struct Sealed {
    cipher: Cipher,
    spins: u32,
    input: Vec<u8>,
    its_hash: Vec<u8>,
    key: Vec<u8>,
}

impl Cipher {
    /// `None` if it is another one than what programs write.
    fn of(tag: &Tag<'_>) -> Option<Self> {
        let is = |name: &str, wanted: &str| tag.attr(name).is_some_and(|value| value == wanted);
        let is_known = is("cipherAlgorithm", "AES") && is("cipherChaining", "ChainingModeCBC");
        if !is_known || tag.number("blockSize") != Some(BLOCK) {
            return None;
        }
        let hash = Hash::named(&tag.attr("hashAlgorithm")?)?;
        let bits: usize = tag.number("keyBits")?;
        Some(Self { hash, salt: bytes(tag, "saltValue")?, key_len: bits / 8 })
    }

    /// A text, decrypted with a key that is made of these parts.
    fn decrypted(&self, parts: &[&[u8]], sealed: &[u8]) -> Option<Vec<u8>> {
        // Lengths are made even with this byte.
        let fitted = |mut bytes: Vec<u8>, len: usize| {
            bytes.resize(len, 0x36);
            bytes
        };
        let aes = Aes::new(&fitted(self.hash.of(parts), self.key_len.min(64)))?;
        let mut text = sealed.to_vec();
        aes.chained(&fitted(self.salt.clone(), BLOCK), &mut text);
        Some(text)
    }
}

impl Sealed {
    fn of(tag: &Tag<'_>) -> Option<Self> {
        Some(Self {
            cipher: Cipher::of(tag)?,
            spins: tag.number("spinCount")?,
            input: bytes(tag, "encryptedVerifierHashInput")?,
            its_hash: bytes(tag, "encryptedVerifierHashValue")?,
            key: bytes(tag, "encryptedKeyValue")?,
        })
    }

    /// The key, if the password fits.
    fn open(&self, clock: Clock) -> Result<Vec<u8>, ConvertError> {
        let Cipher { hash, salt, .. } = &self.cipher;
        let spun = hash.spun(salt, self.spins, clock)?;
        let opened = |purpose: [u8; 8], sealed: &[u8]| {
            self.cipher.decrypted(&[&spun, &purpose], sealed).ok_or(UNSUPPORTED)
        };
        let input = opened(OF_INPUT, &self.input)?;
        let expected = hash.of(&[input.get(..salt.len()).unwrap_or(&input)]);
        if !opened(OF_ITS_HASH, &self.its_hash)?.starts_with(&expected) {
            return Err(LOCKED);
        }
        opened(OF_KEY, &self.key)
    }
}

impl Agile {
    /// The key of a file, from its description.
    ///
    /// # Errors
    /// It needs another password, is encrypted in another way, or the time is over.
    pub(super) fn of(description: &[u8], clock: Clock) -> Result<Self, ConvertError> {
        let mut xml = Xml::new(description, clock);
        let (mut content, mut sealed, mut integrity) = (None, None, None);
        xml.find(|tag| {
            match tag.name() {
                "keyData" => content = Cipher::of(tag),
                "dataIntegrity" => {
                    integrity = bytes(tag, "encryptedHmacKey").zip(bytes(tag, "encryptedHmacValue"));
                }
                "encryptedKey" => sealed = sealed.take().or_else(|| Sealed::of(tag)),
                _ => {}
            }
            None::<()>
        })?;
        let (Some(Cipher { hash, salt, key_len }), Some(sealed)) = (content, sealed) else {
            return Err(UNSUPPORTED);
        };
        let mut key = sealed.open(clock)?;
        key.truncate(key_len);
        Ok(Self { aes: Aes::new(&key).ok_or(UNSUPPORTED)?, hash, salt, integrity })
    }

    /// True if encrypted content, with its head, is that of the integrity value, or if there is no such value.
    pub(super) fn is_intact(&self, content: &[u8]) -> bool {
        let Some((key, value)) = &self.integrity else { return true };
        let opened = |purpose: [u8; 8], sealed: &[u8]| {
            let mut text = sealed.to_vec();
            self.aes.chained(&self.hash.of(&[&self.salt, &purpose]), &mut text);
            // Behind the text stands what fills its last block.
            text.truncate(self.hash.of(&[]).len());
            text
        };
        self.hash.keyed(&opened(OF_HMAC_KEY, key), content) == opened(OF_HMAC, value)
    }

    /// # Errors
    /// The time is over.
    pub(super) fn decrypt(&self, content: &mut [u8], clock: Clock) -> Result<(), ConvertError> {
        for (number, segment) in (0_u32..).zip(content.chunks_mut(SEGMENT)) {
            clock.check()?;
            self.aes.chained(&self.hash.of(&[&self.salt, &number.to_le_bytes()]), segment);
        }
        Ok(())
    }
}

fn bytes(tag: &Tag<'_>, name: &str) -> Option<Vec<u8>> {
    Some(base64(tag.attr(name)?.as_bytes()).into())
}

//! Standard encryption, which Office 2007 writes ([MS-OFFCRYPTO] 2.3.4.5 to 2.3.4.9).

use super::aes::Aes;
use super::hash::Hash;
use super::refusal::{LOCKED, UNSUPPORTED};
use crate::ConvertError;
use crate::fields::{place_at, u32_at};
use crate::guarded::Clock;

/// The bytes between two looks at the clock.
const PIECE: usize = 1 << 16;

/// The number of times that the password is hashed.
const SPINS: u32 = 50_000;

/// The numbers of SHA-1 and of AES with keys of 128, 192 and 256 bits.
const SHA_1: u32 = 0x8004;
const AES: std::ops::RangeInclusive<u32> = 0x660e..=0x6610;

/// The key of a file.
pub(super) struct Standard(Aes);

impl Standard {
    /// The key of a file, from its description.
    ///
    /// # Errors
    /// It needs another password, is encrypted in another way, or the time is over.
    pub(super) fn of(info: &[u8], clock: Clock) -> Result<Self, ConvertError> {
        let header = place_at(info, 8).and_then(|len| info.get(12..)?.split_at_checked(len));
        let (header, verifier) = header.ok_or(UNSUPPORTED)?;
        let is_known = u32_at(header, 8).is_some_and(|cipher| AES.contains(&cipher))
            && matches!(u32_at(header, 12), Some(0 | SHA_1));
        let bits = place_at(header, 16).filter(|_| is_known).ok_or(UNSUPPORTED)?;
        let (Some(salt), Some(input), Some(its_hash)) =
            (verifier.get(4..20), verifier.get(20..36), verifier.get(40..72))
        else {
            return Err(UNSUPPORTED);
        };
        let spun = Hash::Sha1.spun(salt, SPINS, clock)?;
        let hash = Hash::Sha1.of(&[&spun, &[0; 4]]);
        let half = |mark: u8| {
            let mut block = [mark; 64];
            block.iter_mut().zip(&hash).for_each(|(byte, other)| *byte ^= other);
            Hash::Sha1.of(&[&block])
        };
        let mut key = [half(0x36), half(0x5c)].concat();
        key.truncate(bits / 8);
        let aes = Aes::new(&key).ok_or(UNSUPPORTED)?;
        let (mut input, mut its_hash) = (input.to_vec(), its_hash.to_vec());
        aes.each(&mut input);
        aes.each(&mut its_hash);
        if its_hash.starts_with(&Hash::Sha1.of(&[&input])) { Ok(Self(aes)) } else { Err(LOCKED) }
    }

    pub(super) fn decrypt(&self, content: &mut [u8], clock: Clock) -> Result<(), ConvertError> {
        for piece in content.chunks_mut(PIECE) {
            clock.check()?;
            self.0.each(piece);
        }
        Ok(())
    }
}

//! Office files that are encrypted with the password that Excel tries by itself.
//!
//! Excel encrypts a workbook whose structure alone is protected, or that is only to be read, with a password that it
//! never asks for: nobody who opens such a file knows that it is encrypted. The algorithms are those of [MS-OFFCRYPTO].

mod aes;
mod agile;
mod hash;
mod rc4;
mod refusal;
mod sha1;
mod standard;
mod workbook;

use bytes::Bytes;

use self::agile::Agile;
use self::refusal::{DAMAGED, UNSUPPORTED};
use self::standard::Standard;
use crate::compound::Compound;
use crate::fields::{place_at, u16_at};
use crate::guarded::Clock;
use crate::{ConvertError, Limits};

pub(crate) use self::refusal::LOCKED;
pub(crate) use self::workbook::open as open_workbook;

/// The bytes of the length of the file before the encrypted ones.
const HEAD: usize = 8;

/// The file of Office 2007 or later inside of an encrypted one, and whether it is the one that was encrypted, as far as
/// its integrity value tells.
///
/// # Errors
/// It needs another password, its content is damaged or too large, or the time is over.
pub(crate) fn open_package(
    bytes: &Bytes,
    limits: &Limits,
    clock: Clock,
) -> Result<(Bytes, bool), ConvertError> {
    let mut file = Compound::open(bytes, limits)?;
    let Some(info) = file.stream("/EncryptionInfo") else {
        // Rights are managed by a server that gives the key to those who log on.
        return Err(ConvertError::Encrypted {
            reason: "only those can open it whom its owner has permitted",
        });
    };
    let mut content = move || match file.stream("/EncryptedPackage") {
        Some(content) if content.len() >= HEAD => Ok(content),
        None if file.has("/EncryptedPackage") => {
            Err(ConvertError::TooLarge { what: "decoded bytes", limit: limits.max_decoded_bytes })
        }
        _ => Err(DAMAGED),
    };
    let mut is_intact = true;
    let mut content = match (u16_at(&info, 0), u16_at(&info, 2)) {
        (Some(4), Some(4)) => {
            let key = Agile::of(info.get(HEAD..).unwrap_or_default(), clock)?;
            let mut content = content()?;
            is_intact = key.is_intact(&content);
            key.decrypt(content.get_mut(HEAD..).unwrap_or_default(), clock)?;
            content
        }
        (Some(2..=4), Some(2)) => {
            let key = Standard::of(&info, clock)?;
            let mut content = content()?;
            key.decrypt(content.get_mut(HEAD..).unwrap_or_default(), clock)?;
            content
        }
        _ => return Err(UNSUPPORTED),
    };
    let len = place_at(&content, 0).unwrap_or(usize::MAX);
    content.drain(..HEAD.min(content.len()));
    content.truncate(len);
    Ok((content.into(), is_intact))
}

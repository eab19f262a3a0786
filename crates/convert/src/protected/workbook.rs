//! Encrypted workbooks of Excel 5 to 2003 ([MS-XLS] 2.2.10, [MS-OFFCRYPTO] 2.3.5 to 2.3.7).

use super::hash::{Hash, password};
use super::rc4::Rc4;
use super::refusal::{LOCKED, UNSUPPORTED};
use crate::ConvertError;
use crate::fields::{place_at, u16_at, u32_at};

/// The bytes that one key of RC4 is for.
const BLOCK: usize = 1024;

/// Numbers of records: the begin of a part, its end, and what says how the file is encrypted.
const BEGIN: u16 = 0x0809;
const END: u16 = 0x000a;
const FILE_PASS: u16 = 0x002f;
/// A sheet in the list of sheets.
const SHEET: u16 = 0x0085;

/// The key and the verifier that the password has under XOR, and the bytes that it makes ([MS-OFFCRYPTO] 2.3.7.2).
const XOR: (u16, u16) = (0xb359, 0x9a0a);
const XOR_BYTES: [u8; 16] =
    [0x87, 0x6b, 0x9a, 0xe2, 0x1e, 0xe3, 0x05, 0x62, 0x1e, 0x69, 0x96, 0x60, 0x98, 0x6e, 0x94, 0x04];

/// Decrypts a workbook in its place, if it is encrypted.
///
/// # Errors
/// It needs another password, or is encrypted in another way.
pub(crate) fn open(stream: &mut [u8]) -> Result<(), ConvertError> {
    let Some(pass) = pass(stream) else { return Ok(()) };
    // Excel 5 and 95 know one way only, and do not name it.
    let xor = match (pass.len(), u16_at(&pass, 0)) {
        (4, _) => Some(0),
        (_, Some(0)) => Some(2),
        _ => None,
    };
    if let Some(at) = xor {
        if u16_at(&pass, at).zip(u16_at(&pass, at + 2)) != Some(XOR) {
            return Err(LOCKED);
        }
        each_record(stream, |start, open, record| {
            // The first byte is that of the place behind the record.
            let first = start + record.len() - HEAD;
            for (at, byte) in record.iter_mut().enumerate().skip(open) {
                let key = XOR_BYTES.get((first + at) % XOR_BYTES.len()).copied().unwrap_or_default();
                *byte = (*byte ^ key).rotate_right(5);
            }
        });
        return Ok(());
    }
    let keys = Keys::of(&pass)?;
    let mut stream_of_keys = (0..).flat_map(|block| keys.rc4(block).take(BLOCK));
    each_record(stream, |_, open, record| {
        for (at, (byte, key)) in record.iter_mut().zip(stream_of_keys.by_ref()).enumerate() {
            if at >= open {
                *byte ^= key;
            }
        }
    });
    Ok(())
}

/// The head of a record: its number and its length.
const HEAD: usize = 4;

/// The record that says how the file is encrypted; `None` if it is not.
fn pass(stream: &[u8]) -> Option<Vec<u8>> {
    let mut at = 0;
    loop {
        let (id, len) = (u16_at(stream, at)?, usize::from(u16_at(stream, at + 2)?));
        at += HEAD;
        match id {
            FILE_PASS => return stream.get(at..at + len).map(<[u8]>::to_vec),
            END => return None,
            _ => at += len,
        }
    }
}

/// Calls `decrypt` for each record, with its place, the number of its bytes that are not encrypted, and itself.
fn each_record(stream: &mut [u8], mut decrypt: impl FnMut(usize, usize, &mut [u8])) {
    let mut start = 0;
    while let (Some(id), Some(len)) = (u16_at(stream, start), u16_at(stream, start + 2)) {
        let len = HEAD + usize::from(len);
        let end = (start + len).min(stream.len());
        let open = match id {
            // The names of those who have the file open, and the places of changes.
            BEGIN | FILE_PASS | 0x00e1 | 0x0138 | 0x0194..=0x0196 => len,
            // The place of the sheet.
            SHEET => HEAD + 4,
            _ => HEAD,
        };
        let Some(record) = stream.get_mut(start..end) else { break };
        decrypt(start, open, record);
        start = end;
    }
}

/// The keys of the blocks of a file.
struct Keys {
    hash: Hash,
    base: Vec<u8>,
    len: usize,
}

impl Keys {
    fn of(pass: &[u8]) -> Result<Self, ConvertError> {
        let (keys, verifier) = match (u16_at(pass, 2), u16_at(pass, 4)) {
            (Some(1), Some(1)) => Self::of_97(pass),
            (Some(2..=4), Some(2)) => Self::of_2002(pass),
            _ => None,
        }
        .ok_or(UNSUPPORTED)?;
        let mut verifier = verifier.to_vec();
        keys.rc4(0).apply(&mut verifier);
        let is_it =
            verifier.split_at_checked(16).is_some_and(|(input, its_hash)| keys.hash.of(&[input]) == its_hash);
        if is_it { Ok(keys) } else { Err(LOCKED) }
    }

    fn of_97(pass: &[u8]) -> Option<(Self, Vec<u8>)> {
        let salt = pass.get(6..22)?;
        let first = |bytes: Vec<u8>| bytes.get(..5).map(<[u8]>::to_vec);
        let short = first(Hash::Md5.of(&[&password()]))?;
        let base = first(Hash::Md5.of(&[[short.as_slice(), salt].concat().repeat(16).as_slice()]))?;
        Some((Self { hash: Hash::Md5, base, len: 16 }, pass.get(22..54)?.to_vec()))
    }

    fn of_2002(pass: &[u8]) -> Option<(Self, Vec<u8>)> {
        let (header, verifier) = pass.get(14..)?.split_at_checked(place_at(pass, 10)?)?;
        // RC4 and SHA-1.
        if u32_at(header, 8)? != 0x6801 || u32_at(header, 12)? != 0x8004 {
            return None;
        }
        let bits = match place_at(header, 16)? {
            0 => 40,
            bits => bits,
        };
        let base = Hash::Sha1.of(&[verifier.get(4..20)?, &password()]);
        let verifier = [verifier.get(20..36)?, verifier.get(40..60)?].concat();
        (40..=128).contains(&bits).then_some((Self { hash: Hash::Sha1, base, len: bits / 8 }, verifier))
    }

    fn rc4(&self, block: u32) -> Rc4 {
        let mut key = self.hash.of(&[&self.base, &block.to_le_bytes()]);
        key.truncate(self.len);
        // A key of 40 bits has zeros behind it.
        if self.len == 5 {
            key.resize(16, 0);
        }
        Rc4::new(&key)
    }
}

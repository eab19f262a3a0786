//! Archives whose directory is missing or damaged: their files, by the heads that stand before each.

use memchr::memmem::{self, Finder};
use rawzip::CompressionMethod;
use rawzip::extra_fields::ExtraFields;

use super::entry::{At, Entry, Found, MAX_ENTRIES};
use super::name;

const HEAD: &[u8] = b"PK\x03\x04";
const HEAD_LEN: usize = 30;

/// The record behind a file whose length was not known before it was written.
const DESCRIPTOR: &[u8] = b"PK\x07\x08";

/// The directory, which comes behind all files.
const DIRECTORY: &[u8] = b"PK\x01\x02";

/// The flag of names in UTF-8.
const UTF_8: u16 = 1 << 11;

/// Longest name of a file.
const MAX_NAME: usize = 1_000;

/// The files that are there, whole or not.
pub(super) fn files(bytes: &[u8]) -> Found {
    let heads = Finder::new(HEAD);
    let mut found = Found { entries: Vec::new(), whole: true, guessed: false };
    // The rest of the directory. Data that looks like it is passed once only.
    let mut directory = memmem::find(bytes, DIRECTORY).unwrap_or(bytes.len());
    let mut at = 0;
    while let Some(offset) = bytes.get(at..).and_then(|rest| heads.find(rest)) {
        if found.entries.len() >= MAX_ENTRIES {
            return Found { whole: false, ..found };
        }
        at += offset;
        if directory < at {
            let rest = bytes.get(at..).unwrap_or_default();
            directory = memmem::find(rest, DIRECTORY).map_or(bytes.len(), |found| at + found);
        }
        match file(bytes, at, directory, &heads) {
            Some((entry, is_guess, end)) => {
                found.entries.push(entry);
                found.guessed |= is_guess;
                at = end;
            }
            None => at += HEAD.len(),
        }
    }
    found
}

/// The file whose head stands here, whether the charset of its name is a guess, and where to look for the next.
fn file(bytes: &[u8], at: usize, directory: usize, heads: &Finder<'_>) -> Option<(Entry, bool, usize)> {
    let head = bytes.get(at..)?.first_chunk::<HEAD_LEN>()?;
    let two = |at: usize| Some(u16::from_le_bytes(*head.get(at..)?.first_chunk()?));
    let four = |at: usize| usize::try_from(u32::from_le_bytes(*head.get(at..)?.first_chunk()?)).ok();
    let (flags, method) = (two(6)?, two(8)?);
    let (packed, len) = (four(18)?, four(22)?);
    let (name_len, extra) = (usize::from(two(26)?), usize::from(two(28)?));
    let name =
        bytes.get(at + HEAD_LEN..)?.get(..name_len).filter(|name| (1..=MAX_NAME).contains(&name.len()))?;
    if name.iter().any(u8::is_ascii_control) {
        return None;
    }
    let start = (at + HEAD_LEN + name_len + extra).min(bytes.len());
    let said = (flags & 8 == 0 || packed > 0) && packed != 0xffff_ffff;
    let end = start.checked_add(packed).filter(|end| said && *end <= bytes.len());
    let next = end.unwrap_or(start);
    let end = end.unwrap_or_else(|| {
        let rest = bytes.get(start..directory.max(start)).unwrap_or_default();
        let len = heads.find(rest).unwrap_or(rest.len());
        let data = rest.get(..len).unwrap_or_default();
        // Deflated data ends by itself.
        let data = if method == 0 { memmem::rfind(data, DESCRIPTOR).unwrap_or(len) } else { len };
        start + data
    });
    let method = match method {
        0 => CompressionMethod::STORE,
        8 => CompressionMethod::DEFLATE,
        _ => CompressionMethod::DEFLATE64,
    };
    let extra = bytes.get(at + HEAD_LEN + name_len..start).unwrap_or_default();
    let (name, is_guess) = name::read(name, flags & UTF_8 != 0, ExtraFields::new(extra));
    let len = u64::try_from(if said { len } else { end - start }).unwrap_or_default();
    Some((
        Entry { name, len, encrypted: flags & 1 != 0, method, at: At::Found { start, end } },
        is_guess,
        next.max(at + HEAD_LEN),
    ))
}

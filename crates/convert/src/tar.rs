//! TAR archives to the list of what they hold, with the long names of GNU and of POSIX (pax).

use crate::guarded::Clock;
use crate::listing::list;
use crate::output::Output;
use crate::{ConvertError, Converted, Limits, Note, Unit};

/// The length of a head, and of the pieces in which a file is stored.
const BLOCK: usize = 512;

/// Most files that are listed.
const MAX_FILES: usize = 50_000;

/// A file: its name, its length, and what is to be said about it.
type File = (String, u64, &'static str);

pub(crate) fn convert(bytes: &[u8], limits: &Limits, clock: Clock) -> Result<Converted, ConvertError> {
    let (files, whole) = files(bytes, clock)?;
    if files.is_empty() && !whole {
        return Err(ConvertError::Malformed { reason: "it cannot be read as a tar archive" });
    }
    let mut output = Output::new(Unit::Whole, limits);
    output.begin("");
    list(files.iter().map(|(name, len, more)| (name.as_str(), *len, *more)), clock, &mut output)?;
    let count = files.iter().map(|(name, ..)| name.matches(char::REPLACEMENT_CHARACTER).count()).sum();
    if count > 0 {
        output.note(Note::UnreadableCharacters { count });
    }
    if !whole {
        output.note(Note::EntriesLeftOut);
        output.truncated();
    }
    output.finish()
}

/// True if bytes begin with a head as all programs write it since 1988.
pub(crate) fn is_tar(bytes: &[u8]) -> bool {
    bytes.get(257..262) == Some(b"ustar")
}

/// The files, and whether these are all.
fn files(bytes: &[u8], clock: Clock) -> Result<(Vec<File>, bool), ConvertError> {
    let (mut files, mut long, mut at) = (Vec::new(), None, 0_usize);
    while let Some(head) = bytes.get(at..).and_then(|rest| rest.first_chunk::<BLOCK>()) {
        clock.check()?;
        if head.iter().all(|byte| *byte == 0) {
            return Ok((files, true));
        }
        let len = number(head.get(124..136).unwrap_or_default()).filter(|_| is_head(head));
        let (Some(len), true) = (len, files.len() < MAX_FILES) else { return Ok((files, false)) };
        at += BLOCK;
        let data = bytes.get(at..).map(|rest| rest.get(..len).unwrap_or(rest)).unwrap_or_default();
        let mut file = |more| {
            let name = long.take().unwrap_or_else(|| name(head));
            files.push((name, u64::try_from(len).unwrap_or(u64::MAX), more));
        };
        match head.get(156) {
            Some(b'L') => long = Some(text(data)),
            Some(b'x') => long = path(data).or(long.take()),
            // Names of targets of links, and what holds for all files.
            Some(b'K' | b'g') => {}
            // A folder has its own long name.
            Some(b'5') => long = None,
            Some(b'1' | b'2') => file(", link"),
            _ => file(""),
        }
        at = at.saturating_add(len.checked_next_multiple_of(BLOCK).unwrap_or(len));
    }
    // Some programs leave the mark of the end out.
    Ok((files, at == bytes.len() && at > 0))
}

/// True if the sum of a head is the one that stands in it, with blanks in its place.
fn is_head(head: &[u8; BLOCK]) -> bool {
    let sum = head
        .iter()
        .enumerate()
        .map(|(at, byte)| if (148..156).contains(&at) { 32 } else { usize::from(*byte) });
    number(head.get(148..156).unwrap_or_default()) == Some(sum.sum())
}

/// A number in octal digits.
fn number(field: &[u8]) -> Option<usize> {
    usize::from_str_radix(text(field).trim(), 8).ok()
}

/// The name in a head, with the folders that did not fit.
fn name(head: &[u8; BLOCK]) -> String {
    let field = |at: usize, len: usize| text(head.get(at..at + len).unwrap_or_default());
    let (name, folder) = (field(0, 100), field(345, 155));
    // Other programs have other things there.
    if head.get(257..263) == Some(b"ustar\0") && !folder.is_empty() {
        format!("{folder}/{name}")
    } else {
        name
    }
}

/// The name among the records of pax: the length of each, a blank, a key, `=` and a value.
fn path(records: &[u8]) -> Option<String> {
    let mut rest = records;
    loop {
        let blank = rest.iter().position(|byte| *byte == b' ')?;
        let len: usize = str::from_utf8(rest.get(..blank)?).ok()?.parse().ok()?;
        let record = rest.get(blank + 1..len)?;
        match record.strip_prefix(b"path=") {
            Some(path) => return Some(text(path.strip_suffix(b"\n").unwrap_or(path))),
            None => rest = rest.get(len..)?,
        }
    }
}

/// A text up to its end mark.
fn text(field: &[u8]) -> String {
    let field = field.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(field).into_owned()
}

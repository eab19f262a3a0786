//! The lines of a log file.
//!
//! ```text
//! {"crc":"2e1f0a77","line":1,"left":0,"claim":1,"at":1767225600000}
//! {"crc":"90c35b1d","line":2,"left":1,"entry":{"schemaVersion":1,"key":"start",…}}
//! {"crc":"5d0fa4e8","line":3,"left":0,"entry":{"schemaVersion":1,"key":"model/1",…}}
//! {"crc":"0b6c99d2","line":4,"left":0,"delivered":{"schemaVersion":1,"key":"tool/c-1",…}}
//! ```
//!
//! `line` counts from 1. `left` says how many lines of the same batch follow: the one with 0 makes the batch stand. A
//! line is a claim of the log, an entry of it, or an entry that somebody delivered and no driver has taken yet. An entry
//! whose JSON holds a line break between its tokens, as text that is kept verbatim may, is written as a JSON string.

use attache_agent::Entry;
use attache_core::{StoreError, StoreErrorKind};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::checksum;

/// The maximum number of bytes of a line.
pub(super) const MAX_LINE: usize = 64 << 20;

/// One line.
#[derive(Debug)]
pub(super) struct Line {
    /// Its number, from 1.
    pub(super) number: u64,
    /// The number of lines of its batch that follow.
    pub(super) left: u64,
    /// Its content.
    pub(super) says: Says,
}

/// The content of a line.
#[derive(Debug)]
pub(super) enum Says {
    /// A driver claimed the log under this number.
    Claimed(u64),
    /// The log has this entry.
    Appended(Box<Entry>),
    /// Somebody delivered this entry.
    Delivered(Box<Entry>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Members<'a> {
    #[serde(rename = "crc")]
    _crc: serde::de::IgnoredAny,
    line: u64,
    left: u64,
    claim: Option<u64>,
    #[serde(rename = "at")]
    _at: Option<u64>,
    #[serde(borrow)]
    entry: Option<&'a RawValue>,
    #[serde(borrow)]
    delivered: Option<&'a RawValue>,
}

/// The line that `text` is, without its end; `None` if its end is not there, because a crash cut it off.
pub(super) fn whole(text: &[u8]) -> Result<Option<&[u8]>, String> {
    match text.split_last() {
        None => Ok(None),
        Some((b'\n', line)) if checksum::holds(line) => Ok(Some(line)),
        Some((b'\n', _)) => Err("its checksum is wrong".to_owned()),
        Some((_, line)) if checksum::holds(line) => Err("its end is damaged".to_owned()),
        Some(_) if text.len() > MAX_LINE => Err(format!("it is longer than {MAX_LINE} bytes")),
        Some(_) => Ok(None),
    }
}

/// Reads a line whose seal holds.
pub(super) fn read(line: &[u8]) -> Result<Line, serde_json::Error> {
    let members: Members<'_> = serde_json::from_slice(line)?;
    let says = match (members.claim, members.entry, members.delivered) {
        (Some(number), None, None) => Says::Claimed(number),
        (None, Some(entry), None) => Says::Appended(Box::new(read_entry(entry)?)),
        (None, None, Some(entry)) => Says::Delivered(Box::new(read_entry(entry)?)),
        _ => {
            let problem = "it must have one of the members `claim`, `entry` and `delivered`";
            return Err(serde::de::Error::custom(problem));
        }
    };
    Ok(Line { number: members.line, left: members.left, says })
}

fn read_entry(raw: &RawValue) -> Result<Entry, serde_json::Error> {
    if raw.get().starts_with('"') {
        let json: String = serde_json::from_str(raw.get())?;
        return serde_json::from_str(&json);
    }
    serde_json::from_str(raw.get())
}

/// A batch of lines, and where each begins and ends in it.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// The lines.
    pub(super) text: Vec<u8>,
    /// The start and the length of each, without its end.
    pub(super) places: Vec<(usize, usize)>,
}

impl Batch {
    /// The claim of that number, as line `number`.
    pub(super) fn claim(number: u64, claim: u64, at: u64) -> Result<Self, StoreError> {
        let mut batch = Self::default();
        batch.add(number, 0, |text| {
            text.extend_from_slice(format!("\"claim\":{claim},\"at\":{at}").as_bytes());
            Ok(())
        })?;
        Ok(batch)
    }

    /// These entries, from line `number` on.
    pub(super) fn entries(number: u64, entries: &[Entry]) -> Result<Self, StoreError> {
        let mut batch = Self::default();
        for ((number, entry), left) in (number..).zip(entries).zip((0..entries.len()).rev()) {
            batch.add(number, left, |text| write_entry(text, "entry", entry))?;
        }
        Ok(batch)
    }

    /// A delivered entry, as line `number`.
    pub(super) fn delivered(number: u64, entry: &Entry) -> Result<Self, StoreError> {
        let mut batch = Self::default();
        batch.add(number, 0, |text| write_entry(text, "delivered", entry))?;
        Ok(batch)
    }

    fn add(
        &mut self,
        number: u64,
        left: usize,
        says: impl FnOnce(&mut Vec<u8>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let start = checksum::begin(&mut self.text);
        self.text.extend_from_slice(format!("\"line\":{number},\"left\":{left},").as_bytes());
        says(&mut self.text)?;
        self.text.push(b'}');
        let length = self.text.len() - start;
        if length > MAX_LINE {
            return Err(too_long());
        }
        checksum::finish(&mut self.text, start);
        self.places.push((start, length));
        Ok(())
    }
}

fn write_entry(text: &mut Vec<u8>, member: &str, entry: &Entry) -> Result<(), StoreError> {
    text.extend_from_slice(format!("\"{member}\":").as_bytes());
    let start = text.len();
    write_json(text, entry)?;
    let json = text.get(start..).unwrap_or_default();
    if json.contains(&b'\n') {
        let json = String::from_utf8_lossy(json).into_owned();
        text.truncate(start);
        write_json(text, &json)?;
    }
    Ok(())
}

fn write_json(text: &mut Vec<u8>, value: &impl Serialize) -> Result<(), StoreError> {
    let mut bounded = Bounded { left: MAX_LINE, text };
    serde_json::to_writer(&mut bounded, value).map_err(|error| match error.is_io() {
        true => too_long(),
        false => {
            StoreError::new(StoreErrorKind::Corrupt, "the entry cannot be written as JSON").with_source(error)
        }
    })
}

fn too_long() -> StoreError {
    let message = format!("an entry is longer than a line may be ({MAX_LINE} bytes)");
    StoreError::new(StoreErrorKind::TooLarge, message)
}

/// Takes no more bytes than a line may have.
struct Bounded<'a> {
    left: usize,
    text: &'a mut Vec<u8>,
}

impl std::io::Write for Bounded<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.left = self.left.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::FileTooLarge)?;
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

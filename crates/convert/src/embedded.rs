//! Documents inside office files, given on as documents of their own.

use std::collections::HashSet;

use attache_core::MediaType;
use bytes::Bytes;

use crate::archive::{Archive, read_some};
#[cfg(feature = "legacy")]
use crate::compound::Compound;
use crate::fields::place_at;
#[cfg(feature = "legacy")]
use crate::fields::{narrow, u16_at, wide};
use crate::guarded::Clock;
use crate::ooxml::{Package, of_kinds};
use crate::output::Output;
use crate::{Attachment, ConvertError, Limits};

/// The relations by which parts refer to documents inside. The workbook behind a chart is none of them: a chart is read itself.
const KINDS: [&str; 3] = ["oleObject", "package", "aFChunk"];

/// Things that are neither read nor seen by a model.
const UNKNOWN: &str = "application/octet-stream";

/// The names that programs give the stream of its documents, and what they are.
#[cfg(feature = "legacy")]
const PROGRAMS: [(&str, &str, &str); 5] = [
    ("WordDocument", "application/msword", "doc"),
    ("Workbook", "application/vnd.ms-excel", "xls"),
    ("Book", "application/vnd.ms-excel", "xls"),
    ("PowerPoint Document", "application/vnd.ms-powerpoint", "ppt"),
    ("__properties_version1.0", "application/vnd.ms-outlook", "msg"),
];

/// Streams that are a document as it was.
#[cfg(feature = "legacy")]
const WHOLE: [&str; 3] = ["Package", "EmbeddedOdf", "CONTENTS"];

/// The documents of one file that are given on.
pub(crate) struct Embedded {
    seen: HashSet<String>,
    /// The bytes that may still be given on.
    left: usize,
}

impl Embedded {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { seen: HashSet::new(), left: limits.max_decoded_bytes }
    }

    /// The number of bytes that may still be given on.
    pub(crate) fn room(&self) -> usize {
        self.left
    }

    /// So many bytes are given on.
    pub(crate) fn take(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
    }

    /// True if a document is met for the first time: each is given on once.
    pub(crate) fn is_new(&mut self, name: &str) -> bool {
        self.seen.insert(name.to_owned())
    }

    /// Gives on the documents that a part refers to, each once.
    ///
    /// # Errors
    /// The time is over.
    pub(crate) fn give_on(
        &mut self,
        package: &Package<'_>,
        part: &str,
        output: &mut Output,
    ) -> Result<(), ConvertError> {
        let references = package.references(part)?;
        for name in of_kinds(&references, &KINDS) {
            self.part(&package.archive, name, package.clock, output)?;
        }
        Ok(())
    }

    /// Gives on a part of an archive.
    ///
    /// # Errors
    /// The time is over.
    pub(crate) fn part(
        &mut self,
        archive: &Archive<'_>,
        name: &str,
        clock: Clock,
        output: &mut Output,
    ) -> Result<(), ConvertError> {
        clock.check()?;
        if !self.is_new(name) {
            return Ok(());
        }
        let mut bytes = Vec::new();
        let whole = match archive.part(name) {
            Some(Ok(mut part)) => read_some(&mut part, self.left, &mut bytes, clock)?,
            _ => false,
        };
        if !whole {
            output.not_shown("embedded document");
            return Ok(());
        }
        self.take(bytes.len());
        let name = name.rsplit('/').next().unwrap_or(name);
        give_on(bytes.into(), name, output);
        Ok(())
    }
}

/// Gives on a document by its bytes and a name that says little.
pub(crate) fn give_on(bytes: Bytes, name: &str, output: &mut Output) {
    #[cfg(feature = "legacy")]
    let found =
        if bytes.starts_with(crate::detection::COMPOUND) { object(&bytes, name) } else { whole(bytes, name) };
    #[cfg(not(feature = "legacy"))]
    let found = whole(bytes, name);
    match found {
        Some(attachment) => output.attach(attachment),
        None => output.not_shown("embedded document"),
    }
}

/// Gives on an object in hexadecimal digits, as RTF keeps it: what made it, and its data.
pub(crate) fn of_digits(digits: &[u8], name: &str, output: &mut Output) {
    let mut digits = digits.iter().filter_map(|digit| char::from(*digit).to_digit(16));
    let mut bytes = Vec::new();
    while let (Some(high), Some(low)) = (digits.next(), digits.next()) {
        bytes.extend(u8::try_from(high << 4 | low));
    }
    let data = || {
        // Behind two numbers: the class, two names that only links have, and the data, each behind its length.
        let mut at = 8_usize;
        let mut field = || {
            let start = at + 4;
            let end = start.checked_add(place_at(&bytes, at)?)?;
            at = end;
            bytes.get(start..end)
        };
        let class = field()?;
        field()?;
        field()?;
        Some((class.starts_with(b"Package"), field()?))
    };
    match data() {
        #[cfg(feature = "legacy")]
        Some((true, data)) => match packed(&[&[0; 4], data].concat(), name) {
            Some(attachment) => output.attach(attachment),
            None => output.not_shown("embedded document"),
        },
        Some((_, data)) => give_on(Bytes::copy_from_slice(data), name, output),
        None => output.not_shown("embedded document"),
    }
}

/// A document that is there as it was; `None` if nothing says what it is.
fn whole(bytes: Bytes, name: &str) -> Option<Attachment> {
    let named = name.rsplit_once('.').filter(|(_, extension)| *extension != "bin");
    let media_type = MediaType::resolve(None, Some(&bytes), named.map(|_| name));
    if media_type.essence() == UNKNOWN || bytes.is_empty() {
        return None;
    }
    let known = named.is_some() || media_type.extension().is_none();
    let file_name = match media_type.extension() {
        Some(extension) if !known => format!("{}.{extension}", stem(name)),
        _ => name.to_owned(),
    };
    Some(Attachment { bytes, media_type: media_type.to_string(), file_name: Some(file_name) })
}

/// A name without its extension.
fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// The document of an object that another program made: the file that was put in, or what the program keeps.
#[cfg(feature = "legacy")]
fn object(bytes: &Bytes, name: &str) -> Option<Attachment> {
    let mut file = Compound::open(bytes, &Limits::new()).ok()?;
    let entries = file.entries("/");
    let has = |name: &str| entries.iter().any(|entry| entry.name.eq_ignore_ascii_case(name));
    if let Some((_, media_type, extension)) = PROGRAMS.iter().find(|(stream, ..)| has(stream)) {
        return Some(Attachment {
            bytes: bytes.clone(),
            media_type: (*media_type).to_owned(),
            file_name: Some(format!("{}.{extension}", stem(name))),
        });
    }
    if let Some(stream) = file.stream("/\u{1}Ole10Native") {
        return packed(&stream, name);
    }
    let stream = WHOLE.iter().find_map(|name| file.stream(&format!("/{name}")))?;
    whole(stream.into(), stem(name))
}

/// A file that the packager of Windows put in, with the name that it had.
#[cfg(feature = "legacy")]
fn packed(stream: &[u8], name: &str) -> Option<Attachment> {
    let file = || {
        // Behind the length of all: a number, the name, where the file was, two numbers, where it was kept.
        let mut at = 4 + 2;
        let mut zero_ended = || {
            let text = stream.get(at..)?;
            let text = text.get(..memchr::memchr(0, text)?)?;
            at += text.len() + 1;
            Some(text)
        };
        (u16_at(stream, 4) == Some(2)).then_some(())?;
        let label = narrow(zero_ended()?);
        zero_ended()?;
        let kept = at + 4;
        let len_at = (kept + 4).checked_add(place_at(stream, kept)?)?;
        let data_at = len_at + 4;
        let end = data_at.checked_add(place_at(stream, len_at)?)?;
        let data = stream.get(data_at..end)?;
        // The same again in Unicode: where it was kept, the name, where it was.
        let text = |at: usize| {
            let end = at.checked_add(4)?.checked_add(place_at(stream, at)?.checked_mul(2)?)?;
            Some((wide(stream.get(at + 4..end)?), end))
        };
        let label = text(end).and_then(|(_, next)| Some(text(next)?.0)).unwrap_or(label);
        Some((label, data))
    };
    match file() {
        Some((label, data)) => {
            let label = label.rsplit(['/', '\\']).next().unwrap_or_default();
            let label = if label.is_empty() { name } else { label };
            let bytes = Bytes::copy_from_slice(data);
            whole(bytes.clone(), label).or_else(|| {
                Some(Attachment { bytes, media_type: UNKNOWN.to_owned(), file_name: Some(label.to_owned()) })
            })
        }
        // Other programs put their data behind its length.
        None => whole(Bytes::copy_from_slice(stream.get(4..)?), stem(name)),
    }
}

/// Gives on what a storage of an old file holds.
#[cfg(feature = "legacy")]
pub(crate) fn storage(file: &mut Compound, storage: &str, output: &mut Output) {
    match file.extract(storage) {
        Some(bytes) => give_on(bytes, storage.rsplit('/').next().unwrap_or(storage), output),
        None => output.not_shown("embedded document"),
    }
}

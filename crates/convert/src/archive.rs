//! Zip archives: their names, and their parts as streams under one budget.

mod entry;
mod heads;
mod name;
#[cfg(any(feature = "office", feature = "epub"))]
mod place;

use std::cell::Cell;
use std::collections::HashMap;
use std::io::{self, Read};
use std::rc::Rc;

use rawzip::{CompressionMethod, ZipArchive, ZipSliceArchive};

#[cfg(any(feature = "office", feature = "epub"))]
use crate::guarded::Clock;
use crate::output::Output;
use crate::{ConvertError, Limits, Note};

use self::entry::{At, Entry, Found, MAX_ENTRIES};
#[cfg(any(feature = "office", feature = "epub"))]
pub(crate) use self::place::join;

/// The number of parts that may be as large as one may be.
const PARTS: usize = 4;

/// An open archive.
pub(crate) struct Archive<'b> {
    bytes: &'b [u8],
    zip: Option<ZipSliceArchive<&'b [u8]>>,
    entries: Vec<Entry>,
    /// Their places by their names in lower case: producers are careless about case and slashes.
    by_name: HashMap<String, usize>,
    /// The number of bytes that all parts together may still decode to.
    budget: Rc<Cell<usize>>,
    /// And how many each of them.
    part_limit: usize,
    /// True if there are more entries than were looked at.
    incomplete: bool,
    /// True if the charset of names is a guess.
    guessed: bool,
    /// True if the directory is missing or damaged, so that the entries are those that were found without it.
    pub(crate) recovered: bool,
}

impl<'b> Archive<'b> {
    /// Reads the directory. Where it is missing or damaged, the entries are found by their own heads.
    ///
    /// # Errors
    /// It is no zip archive.
    pub(crate) fn open(bytes: &'b [u8], limits: &Limits) -> Result<Self, ConvertError> {
        let zip = ZipArchive::from_slice(bytes).ok();
        let listed = zip.as_ref().and_then(listed);
        let recovered = listed.is_none();
        let Found { entries, whole, guessed } = listed.unwrap_or_else(|| heads::files(bytes));
        if recovered && entries.is_empty() {
            return Err(ConvertError::Malformed { reason: "it cannot be read as a zip archive" });
        }
        let by_name = entries.iter().enumerate().rev().map(|(at, entry)| (key(&entry.name), at)).collect();
        let part_limit = limits.max_decoded_bytes;
        let budget = Rc::new(Cell::new(part_limit.saturating_mul(PARTS)));
        Ok(Self { bytes, zip, entries, by_name, budget, part_limit, incomplete: !whole, guessed, recovered })
    }

    /// True if the charset of names is a guess.
    pub(crate) fn guesses_names(&self) -> bool {
        self.guessed
    }

    /// Says what is to be said about the directory.
    pub(crate) fn tell(&self, output: &mut Output) {
        if self.recovered {
            output.note(Note::Recovered);
            output.truncated();
        }
        if self.incomplete {
            output.note(Note::EntriesLeftOut);
            output.truncated();
        }
    }

    /// The names below a folder that end like this, in the order of their numbers.
    #[cfg(feature = "office")]
    pub(crate) fn numbered(&self, folder: &str, end: &str) -> Vec<&str> {
        let names = self.entries.iter().map(|entry| entry.name.as_str());
        let mut names: Vec<_> = names
            .filter(|name| {
                name.strip_prefix(folder).is_some_and(|name| !name.contains('/')) && name.ends_with(end)
            })
            .collect();
        names.sort_by_key(|name| (name.len(), *name));
        names.dedup();
        names
    }

    /// The names of an archive, to see what it is.
    pub(crate) fn names_of(bytes: &'b [u8]) -> Option<Self> {
        Self::open(bytes, &Limits::new().with_max_decoded_bytes(1 << 10)).ok()
    }

    /// Its content.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(&key(name))
    }

    pub(crate) fn has_under(&self, folder: &str) -> bool {
        self.by_name.keys().any(|name| name.starts_with(folder))
    }

    /// The first bytes of a part that tells what the archive is.
    pub(crate) fn stored(&self, name: &str) -> Option<Vec<u8>> {
        let mut part = self.part(name)?.ok()?;
        let mut bytes = Vec::new();
        let _ = part.by_ref().take(100).read_to_end(&mut bytes);
        Some(bytes)
    }

    /// A part as a stream; `None` if there is none of this name, an error if it cannot be read.
    pub(crate) fn part(&self, name: &str) -> Option<io::Result<Part<'_>>> {
        let entry = self.entries.get(*self.by_name.get(&key(name))?)?;
        Some(self.open_part(entry))
    }

    /// A folder as an archive of its own, of a document of this type; `None` if it cannot be read or is too large.
    ///
    /// # Errors
    /// The time is over.
    #[cfg(feature = "office")]
    pub(crate) fn folder(
        &self,
        folder: &str,
        media_type: &str,
        limit: usize,
        clock: Clock,
    ) -> Result<Option<Vec<u8>>, ConvertError> {
        let folder = format!("{}/", key(folder));
        let mut files = vec![("mimetype".to_owned(), media_type.as_bytes().to_vec())];
        let mut left = limit;
        for entry in &self.entries {
            let name = key(&entry.name);
            let Some(name) = name.strip_prefix(&folder).filter(|name| !name.ends_with('/')) else { continue };
            let mut bytes = Vec::new();
            let Ok(mut part) = self.open_part(entry) else { return Ok(None) };
            if !read_some(&mut part, left, &mut bytes, clock)? {
                return Ok(None);
            }
            left -= bytes.len();
            files.push((name.to_owned(), bytes));
        }
        Ok(stored(&files).ok())
    }

    fn open_part(&self, entry: &Entry) -> io::Result<Part<'_>> {
        if entry.encrypted {
            return Err(io::Error::other("encrypted"));
        }
        let reader = match (&entry.at, &self.zip) {
            (At::Listed(at), Some(zip)) => {
                let found = zip.get_entry(*at).map_err(io::Error::other)?;
                let decoder = Decoder::new(entry.method, found.data())?;
                Reader::Verified(Box::new(found.verifying_reader(decoder)))
            }
            (At::Found { start, end }, _) => {
                let data = self.bytes.get(*start..*end).unwrap_or_default();
                Reader::Bare(Decoder::new(entry.method, data)?)
            }
            (At::Listed(_), None) => return Err(io::Error::other("no directory")),
        };
        Ok(Part { reader, budget: Rc::clone(&self.budget), left: self.part_limit })
    }
}

/// The entries of the directory; `None` if it breaks off or leads to where nothing is.
fn listed(zip: &ZipSliceArchive<&[u8]>) -> Option<Found> {
    let mut entries = Vec::new();
    let mut guessed = false;
    let mut listed = zip.entries();
    let whole = loop {
        let entry = match listed.next_entry() {
            Ok(Some(entry)) if entries.len() < MAX_ENTRIES => entry,
            Ok(Some(_)) => break false,
            Ok(None) => break true,
            Err(_) => return None,
        };
        let at = entry.wayfinder();
        zip.get_entry(at).ok()?;
        let is_utf_8 = entry.flags().is_utf8();
        let (name, is_guess) = name::read(entry.file_path().as_bytes(), is_utf_8, entry.extra_fields());
        guessed |= is_guess;
        entries.push(Entry {
            name,
            len: entry.uncompressed_size_hint(),
            encrypted: entry.flags().is_encrypted(),
            method: entry.compression_method(),
            at: At::Listed(at),
        });
    };
    Some(Found { entries, whole, guessed })
}

/// The key that a name is looked up by.
fn key(name: &str) -> String {
    name.replace('\\', "/").trim_start_matches('/').to_lowercase()
}

enum Decoder<'a> {
    Stored(&'a [u8]),
    Deflated(Box<flate2::bufread::DeflateDecoder<&'a [u8]>>),
}

impl<'a> Decoder<'a> {
    fn new(method: CompressionMethod, data: &'a [u8]) -> io::Result<Self> {
        match method {
            CompressionMethod::STORE => Ok(Self::Stored(data)),
            CompressionMethod::DEFLATE => {
                Ok(Self::Deflated(Box::new(flate2::bufread::DeflateDecoder::new(data))))
            }
            _ => Err(io::Error::other("a compression that is not supported")),
        }
    }
}

impl Read for Decoder<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Stored(data) => data.read(into),
            Self::Deflated(decoder) => decoder.read(into),
        }
    }
}

enum Reader<'a> {
    /// Length and checksum are compared with those of the directory.
    Verified(Box<rawzip::ZipSliceVerifier<Decoder<'a>>>),
    Bare(Decoder<'a>),
}

/// The decoded bytes of a part. Reading fails where its limit or the archive's ends, and at the end if size or checksum
/// are not those of the directory.
pub(crate) struct Part<'a> {
    reader: Reader<'a>,
    budget: Rc<Cell<usize>>,
    left: usize,
}

impl Read for Part<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.reader {
            Reader::Verified(reader) => reader.read(into)?,
            Reader::Bare(decoder) => decoder.read(into)?,
        };
        match (self.left.checked_sub(read), self.budget.get().checked_sub(read)) {
            (Some(left), Some(all)) => {
                self.left = left;
                self.budget.set(all);
                Ok(read)
            }
            _ => {
                self.left = 0;
                Err(io::Error::other("too large"))
            }
        }
    }
}

/// Reads a part up to a limit; whether that was all of it.
///
/// # Errors
/// The time is over.
#[cfg(any(feature = "office", feature = "epub"))]
pub(crate) fn read_some(
    part: &mut Part<'_>,
    limit: usize,
    into: &mut Vec<u8>,
    clock: Clock,
) -> Result<bool, ConvertError> {
    let mut buffer = [0; 16 << 10];
    loop {
        clock.check()?;
        let read = match part.read(&mut buffer) {
            Ok(0) => return Ok(true),
            Ok(read) if into.len() + read <= limit => read,
            _ => return Ok(false),
        };
        into.extend_from_slice(buffer.get(..read).unwrap_or_default());
    }
}

/// An archive of these files.
#[cfg(feature = "office")]
fn stored(files: &[(String, Vec<u8>)]) -> Result<Vec<u8>, rawzip::Error> {
    let mut bytes = Vec::new();
    let mut archive = rawzip::ZipArchiveWriter::new(&mut bytes);
    for (name, content) in files {
        let (mut entry, config) =
            archive.new_file(name.as_str()).compression_method(CompressionMethod::STORE).start()?;
        let mut writer = config.wrap(&mut entry);
        io::Write::write_all(&mut writer, content)?;
        let (_, descriptor) = writer.finish()?;
        entry.finish(descriptor)?;
    }
    archive.finish()?;
    Ok(bytes)
}

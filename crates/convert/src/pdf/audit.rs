//! The facts that have to be known about a file before the PDF library may open it.
//!
//! Opening a file makes the library decode cross-reference streams and object streams, keep them, and build a
//! page for every dictionary that a page tree names, all without limits. A few kilobytes can thus ask for
//! gigabytes. So the raw bytes are searched for every stream that could be used in this way, wherever it
//! stands and whatever it calls itself, and the bill is drawn up before the library sees the file. Objects
//! are read with the library's own parser, so that both see the same.

use std::borrow::Cow;
use std::collections::HashSet;

use hayro_syntax::object::{Array, Dict, FromBytes, MaybeRef, Object, Stream};
use memchr::memmem;

use super::cost::Bill;
use super::decoded::Refused;
use super::encrypted::{self, Sealed};
use super::expand::decode_like_library;
use super::object_number::object_number;
use crate::guarded::Clock;
use crate::{ConvertError, Limits};

/// Most dictionaries in a file. Each costs the library about a kilobyte if it is made a page.
const MAX_DICTS: usize = 250_000;

/// The bytes of memory that an entry of a cross-reference stream, and one of an object stream's directory, takes.
const ENTRY_BYTES: usize = 48;

/// Fails if opening the file would cost more than the limits allow.
pub(super) fn check(file: &[u8], limits: &Limits, clock: Clock) -> Result<(), ConvertError> {
    let mut audit = Audit {
        limits,
        clock,
        left: limits.max_decoded_bytes,
        dicts: 0,
        containers: HashSet::new(),
        targets: Vec::new(),
        bill: Bill::default(),
    };
    let (mut streams, mut closed) = (Vec::new(), Vec::new());
    let mut encrypted = false;
    let starts = memmem::Finder::new(b"<<");
    let mut at = 0;
    while let Some(offset) = starts.find(from(file, at)) {
        clock.check()?;
        at += offset;
        audit.count_dicts(1)?;
        if let Some(dict) = Dict::from_bytes(from(file, at)) {
            encrypted |= dict.contains_key("Encrypt");
            audit.bill.add(&dict, file, at);
            let is_references = dict.contains_key("W") && dict.contains_key("Size");
            if !may_start_stream(from(file, at + dict.data().len())) {
                // Just a dictionary.
            } else if !is_references {
                streams.push((at, Claim::of(&dict)));
            } else if let Some(stream) = Stream::from_bytes(from(file, at)) {
                audit.cross_references(&stream, from(file, at))?;
            }
        }
        at += 1;
    }
    if encrypted {
        audit.tables(file);
    }
    audit.targets.sort_unstable();
    for (at, claim) in streams {
        clock.check()?;
        let (before, rest) = file.split_at(at);
        let is_container = claim == Claim::Objects || audit.may_be_container(before, encrypted);
        if encrypted && claim == Claim::Hidden {
            return Err(encrypted::UNCLEAR);
        }
        if is_container && let Some(stream) = Stream::from_bytes(rest) {
            if encrypted {
                // A file whose encryption turns out to be damaged is read as it is.
                audit.decode(&stream, rest)?;
                closed.push(audit.sealed(&stream, before, rest)?);
            } else {
                audit.objects(&stream, rest)?;
            }
        }
    }
    if !closed.is_empty() {
        audit.charge(closed.iter().map(|stream| stream.len).sum())?;
        let opened = encrypted::unseal(file, &closed)?;
        for Sealed { number, .. } in &closed {
            clock.check()?;
            audit.objects(&encrypted::stream(&opened, *number).ok_or(encrypted::UNCLEAR)?, &[])?;
        }
    }
    audit.lists(file)?;
    audit.bill.check()
}

fn from(file: &[u8], at: usize) -> &[u8] {
    file.get(at..).unwrap_or_default()
}

/// True if the data of a stream may follow behind its dictionary. A comment may stand between them.
fn may_start_stream(behind: &[u8]) -> bool {
    let is_space = |byte: &u8| matches!(byte, b'\0' | b'\t' | b'\n' | b'\x0c' | b'\r' | b' ');
    let spaces = behind.iter().take_while(|byte| is_space(byte)).count();
    let rest = from(behind, spaces);
    rest.starts_with(b"stream") || rest.starts_with(b"%")
}

/// The type that a stream says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Claim {
    /// An object stream.
    Objects,
    /// It says so in another object, which the library reads when the file is encrypted.
    Hidden,
    Other,
}

impl Claim {
    fn of(dict: &Dict<'_>) -> Self {
        match dict.get_raw::<Object<'_>>("Type") {
            Some(MaybeRef::Ref(_)) => Self::Hidden,
            Some(MaybeRef::NotRef(Object::Name(name))) if name.as_ref() == b"ObjStm" => Self::Objects,
            _ => Self::Other,
        }
    }
}

struct Audit<'l> {
    limits: &'l Limits,
    clock: Clock,
    /// Bytes that may still be decoded or allocated.
    left: usize,
    dicts: usize,
    /// Numbers of the objects that cross-reference streams name as object streams.
    containers: HashSet<u32>,
    /// The places of the file to which cross-references point: those of its streams, and of its tables as well if it is
    /// encrypted.
    targets: Vec<u64>,
    /// The cost of the pages.
    bill: Bill,
}

impl Audit<'_> {
    fn count_dicts(&mut self, more: usize) -> Result<(), ConvertError> {
        self.dicts += more;
        if self.dicts > MAX_DICTS {
            return Err(ConvertError::TooLarge { what: "dictionaries", limit: MAX_DICTS });
        }
        Ok(())
    }

    fn charge(&mut self, bytes: usize) -> Result<(), ConvertError> {
        self.left = self.left.checked_sub(bytes).ok_or(self.too_large())?;
        Ok(())
    }

    fn too_large(&self) -> ConvertError {
        ConvertError::TooLarge { what: "bytes in its object tables", limit: self.limits.max_decoded_bytes }
    }

    /// Decodes a stream that starts where `rest` does, as the library would, and charges it.
    ///
    /// References to other objects cannot be followed before the file is open. A length need not be known.
    fn decode<'f>(&mut self, stream: &Stream<'f>, rest: &'f [u8]) -> Result<Cow<'f, [u8]>, ConvertError> {
        let refers = |key: &str| stream.dict().get_raw(key).is_some_and(|value| has_reference(&value));
        if ["Filter", "F", "DecodeParms", "DP"].into_iter().any(refers) {
            return Err(ConvertError::Malformed { reason: "the filters of an object table are hidden" });
        }
        let tail = refers("Length").then(|| {
            let start = stream.raw_data().as_ptr().addr().saturating_sub(rest.as_ptr().addr());
            from(rest, start)
        });
        match decode_like_library(stream, tail, self.left, self.clock) {
            Ok(data) => self.charge(data.len()).map(|()| data),
            Err(Refused::Image) => Ok(Cow::default()),
            Err(Refused::TooLong) => Err(self.too_large()),
            Err(Refused::TimedOut) => Err(self.clock.over()),
            Err(Refused::Rows) => {
                Err(ConvertError::Malformed { reason: "the rows of an object table are absurd" })
            }
        }
    }

    fn cross_references<'f>(&mut self, stream: &Stream<'f>, rest: &'f [u8]) -> Result<(), ConvertError> {
        let data = self.decode(stream, rest)?;
        let widths: Vec<usize> = stream
            .dict()
            .get::<Array<'_>>("W")
            .map(|widths| widths.iter::<u8>().take(3).map(usize::from).collect())
            .unwrap_or_default();
        let &[kind, target, index] = widths.as_slice() else { return Ok(()) };
        // The library reads one byte of the first field, whatever its width.
        let kind = kind.min(1);
        let width = kind + target + index;
        if width == 0 {
            return Ok(());
        }
        self.charge((data.len() / width).saturating_mul(ENTRY_BYTES))?;
        for entry in data.chunks_exact(width) {
            let (kind, fields) = entry.split_at(kind);
            let number = fields.iter().take(target).fold(0, |n: u64, byte| (n << 8) | u64::from(*byte));
            match kind {
                [2] => self.containers.extend(u32::try_from(number).ok()),
                [] | [1] => self.targets.push(number),
                _ => {}
            }
        }
        Ok(())
    }

    /// Notes the places to which classic tables point: whatever looks like an entry of one, as the library reads it.
    fn tables(&mut self, file: &[u8]) {
        let entries = memchr::memchr_iter(b'n', file).filter_map(|at| file.get(at.checked_sub(17)?..at));
        let targets = entries.filter_map(|entry| {
            let (offset, rest) = entry.split_at_checked(10)?;
            let generation = rest.get(1..6)?;
            let is_entry = offset.iter().chain(generation).all(u8::is_ascii_digit);
            is_entry.then(|| offset.iter().fold(0, |offset, digit| 10 * offset + u64::from(digit - b'0')))
        });
        self.targets.extend(targets);
    }

    /// Where the number of an object stream begins inside a number, behind its first digit: 1 for `5 0 obj` in
    /// `15 0 obj`.
    fn inner_containers(&self, number: &str) -> impl Iterator<Item = usize> {
        let is_container = |skip: &usize| {
            number.get(*skip..).and_then(|n| n.parse().ok()).is_some_and(|n| self.containers.contains(&n))
        };
        (1..number.len()).filter(is_container)
    }

    /// True if a cross-reference points to such a place.
    fn is_split(&self, number: &str, before: &[u8]) -> bool {
        let start = number.as_ptr().addr().saturating_sub(before.as_ptr().addr());
        let is_target =
            |skip| u64::try_from(start + skip).is_ok_and(|place| self.targets.binary_search(&place).is_ok());
        self.inner_containers(number).any(is_target)
    }

    fn objects<'f>(&mut self, stream: &Stream<'f>, rest: &'f [u8]) -> Result<(), ConvertError> {
        let data = self.decode(stream, rest)?;
        self.charge((data.len() / 4).min(declared(stream.dict())).saturating_mul(ENTRY_BYTES))?;
        self.count_dicts(memmem::find_iter(&data, b"<<").count())?;
        self.bill.add_objects(&data, stream.dict().get::<usize>("First").unwrap_or(0));
        Ok(())
    }

    /// An object stream that the library will decrypt under a number and with a length that are known.
    fn sealed(&self, stream: &Stream<'_>, before: &[u8], rest: &[u8]) -> Result<Sealed, ConvertError> {
        let number = object_number(before).ok_or(encrypted::UNCLEAR)?;
        let head = before.trim_ascii_end().strip_suffix(b"obj").unwrap_or_default().trim_ascii_end();
        let first = matches!(head, [.., b' ' | b'\n' | b'\r' | b'\t', b'0']);
        let length = stream.dict().get_raw::<Object<'_>>("Length");
        if self.is_split(number, before) || !first || length.is_none_or(|length| has_reference(&length)) {
            return Err(encrypted::UNCLEAR);
        }
        let data = stream.raw_data();
        let start = data.as_ptr().addr().saturating_sub(rest.as_ptr().addr());
        Ok(Sealed {
            at: before.len(),
            number: number.parse().map_err(|_| encrypted::UNCLEAR)?,
            len: start.saturating_add(data.len()),
        })
    }

    /// Adds the lists that page trees may refer to instead of holding them.
    fn lists(&mut self, file: &[u8]) -> Result<(), ConvertError> {
        for at in memmem::find_iter(file, b"obj") {
            let mut list = from(file, at + 3).trim_ascii_start();
            while list.starts_with(b"%") {
                let end = list.iter().position(|byte| matches!(byte, b'\r' | b'\n')).unwrap_or(list.len());
                list = from(list, end).trim_ascii_start();
            }
            let Some(list) = list.starts_with(b"[").then(|| Array::from_bytes(list)).flatten() else {
                continue;
            };
            self.clock.check()?;
            self.bill.add_list(&list, file.get(..at + 3).unwrap_or_default());
        }
        Ok(())
    }

    /// True if the stream behind these bytes may be one that cross-references name as an object stream.
    ///
    /// They may point into the middle of its number; and what does not look like a number here may be one for the
    /// library. Where they point to is known for encrypted files, in which every stream that is taken for one has to
    /// be clear.
    fn may_be_container(&self, before: &[u8], encrypted: bool) -> bool {
        if self.containers.is_empty() {
            return false;
        }
        let Some(number) = object_number(before) else { return true };
        let is_named = number.parse().is_ok_and(|number| self.containers.contains(&number));
        is_named
            || if encrypted {
                self.is_split(number, before)
            } else {
                self.inner_containers(number).next().is_some()
            }
    }
}

/// True if a value is, or holds, a reference to another object.
fn has_reference(value: &MaybeRef<Object<'_>>) -> bool {
    match value {
        MaybeRef::Ref(_) => true,
        MaybeRef::NotRef(Object::Array(list)) => list.raw_iter().any(|value| has_reference(&value)),
        MaybeRef::NotRef(Object::Dict(dict)) => dict.entries().any(|(_, value)| has_reference(&value)),
        MaybeRef::NotRef(_) => false,
    }
}

/// The number of objects that an object stream says it holds.
fn declared(dict: &Dict<'_>) -> usize {
    match dict.get_raw::<Object<'_>>("N") {
        Some(MaybeRef::NotRef(Object::Number(n))) => usize::try_from(n.as_i64()).unwrap_or(0),
        Some(_) => usize::MAX,
        None => 0,
    }
}

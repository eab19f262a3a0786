//! Compact JSON text with a limited depth and size.

use std::io::{self, Write};
use std::iter;

use memchr::memchr;
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter};
use serde_json::{Map, Value};

use crate::tree::error::Reason;

/// Merges the members of `over` into others: objects are merged recursively, everything else is replaced.
pub fn merge_members(into: &mut Map<String, Value>, over: &Map<String, Value>) {
    for (name, value) in over {
        match (into.get_mut(name), value) {
            (Some(Value::Object(into)), Value::Object(over)) => merge_members(into, over),
            (Some(known), value) => *known = value.clone(),
            (None, value) => {
                into.insert(name.clone(), value.clone());
            }
        }
    }
}

/// Inserts a value at a dotted path and creates missing tables on the way.
///
/// ```
/// use attache_core::json::insert_member;
/// let mut members = serde_json::Map::new();
/// insert_member(&mut members, "a.b", 1.into());
/// insert_member(&mut members, "a.c", 2.into());
/// assert_eq!(serde_json::Value::Object(members).to_string(), r#"{"a":{"b":1,"c":2}}"#);
/// ```
pub fn insert_member(into: &mut Map<String, Value>, path: &str, value: Value) {
    let Some((head, rest)) = path.split_once('.') else {
        into.insert(path.to_owned(), value);
        return;
    };
    let inner = into.entry(head).or_insert_with(|| Value::Object(Map::new()));
    if !inner.is_object() {
        *inner = Value::Object(Map::new());
    }
    if let Value::Object(inner) = inner {
        insert_member(inner, rest, value);
    }
}

/// The members of a bundled table: TOML with one member per line, `path = value`, where no path contains `=` and each
/// value is also JSON. This costs a fraction of a TOML parser at the start of every program. Other lines are ignored.
///
/// ```
/// use attache_core::json::table_lines;
/// let lines: Vec<_> = table_lines("# A table.\n[a]\nb.c = [1, 2]\n").collect();
/// assert_eq!(lines, [("b.c", serde_json::json!([1, 2]))]);
/// ```
pub fn table_lines(text: &str) -> impl Iterator<Item = (&str, Value)> {
    let mut rest = text;
    let lines = iter::from_fn(move || {
        let end = memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
        let (line, behind) = rest.split_at_checked(end).filter(|_| !rest.is_empty())?;
        rest = behind.get(1..).unwrap_or_default();
        Some(line)
    });
    lines.filter(|line| !line.starts_with('#')).filter_map(|line| {
        let (path, value) = line.split_at_checked(memchr(b'=', line.as_bytes())?)?;
        Some((path.strip_suffix(' ')?, serde_json::from_str(value.get(1..)?).ok()?))
    })
}

/// Appends `text` as a JSON string, in quotes and escaped as serde_json does it. It reads eight bytes at a time, since
/// the texts of tools and documents are long.
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    out.reserve(room(text) + 2);
    out.push(b'"');
    write_escaped(text, out);
    out.push(b'"');
}

/// Room for a text as JSON with some escapes in each line, so that it is not moved.
fn room(text: &str) -> usize {
    text.len() + text.len() / 8 + 16
}

/// Appends `text` escaped as in a JSON string, without quotes.
pub fn write_escaped(text: &str, out: &mut Vec<u8>) {
    out.reserve(room(text));
    let mut rest = text.as_bytes();
    while let Some((word, behind)) = rest.split_first_chunk::<8>() {
        // All eight are written, and those from the first escape on are taken back: both cost less than a copy of as
        // many as are wanted.
        out.extend_from_slice(word);
        let escapes = escapes(u64::from_le_bytes(*word));
        if escapes == 0 {
            rest = behind;
            continue;
        }
        let place = (escapes.trailing_zeros() / 8) as usize;
        out.truncate(out.len() - (word.len() - place));
        match word.get(place) {
            Some(b'\n') => out.extend_from_slice(b"\\n"),
            Some(b'"') => out.extend_from_slice(b"\\\""),
            other => other.into_iter().for_each(|byte| write_byte(*byte, out)),
        }
        rest = rest.get(place + 1..).unwrap_or_default();
    }
    rest.iter().for_each(|byte| write_byte(*byte, out));
}

/// The top bit of the first of eight bytes that is a quote, a backslash or below a space. Bits of later bytes
/// may be set, too.
fn escapes(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 0xff;
    const TOPS: u64 = ONES * 0x80;
    let below = |word: u64, least: u8| word.wrapping_sub(ONES * u64::from(least)) & !word & TOPS;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    below(word, b' ') | equal(b'"') | equal(b'\\')
}

fn write_byte(byte: u8, out: &mut Vec<u8>) {
    let short = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        0..=0x1f => {
            let digit = |digit: u8| if digit < 10 { b'0' + digit } else { b'a' + digit - 10 };
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
            return;
        }
        _ => {
            out.push(byte);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

/// A text as compact JSON, or the limit that it passes.
pub(crate) fn quoted(text: &str, max_bytes: usize) -> Result<String, Reason> {
    let too_large = || Reason::TooLarge { limit: max_bytes };
    let mut json = Vec::new();
    if text.len() <= max_bytes {
        write_string(text, &mut json);
    }
    // It is UTF-8, since escapes stand for whole characters.
    let json = String::from_utf8(json).map_err(|_| too_large())?;
    if (1..=max_bytes).contains(&json.len()) { Ok(json) } else { Err(too_large()) }
}

/// Serialises `value` as compact JSON text, stopping as soon as a limit is passed.
pub(crate) fn to_compact<T: Serialize + ?Sized>(
    value: &T,
    max_depth: usize,
    max_bytes: usize,
) -> Result<String, Reason> {
    let mut buffer = Limited { bytes: Vec::with_capacity(FIRST_BYTES.min(max_bytes)), max_bytes };
    let formatter = Bounded { inner: CompactFormatter, depth: 0, max_depth };
    let mut serializer = serde_json::Serializer::with_formatter(&mut buffer, formatter);
    value.serialize(&mut serializer).map_err(|error| {
        let limit = error.io_error_kind().filter(|kind| *kind == io::ErrorKind::Other);
        match (limit, error.to_string().as_str()) {
            (Some(_), TOO_DEEP) => Reason::TooDeep { limit: max_depth },
            (Some(_), TOO_LARGE) => Reason::TooLarge { limit: max_bytes },
            _ => Reason::Serialize(error),
        }
    })?;
    // serde_json writes nothing but UTF-8.
    String::from_utf8(buffer.bytes).map_err(|_| Reason::Serialize(serde::ser::Error::custom("invalid UTF-8")))
}

/// Room for the usual result, so that it is not moved while it grows.
const FIRST_BYTES: usize = 2048;
const TOO_DEEP: &str = "nested too deep";
const TOO_LARGE: &str = "too large";

struct Limited {
    bytes: Vec<u8>,
    max_bytes: usize,
}

impl Write for Limited {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.write_all(data)?;
        Ok(data.len())
    }

    // It is called for each quote and comma.
    #[inline]
    fn write_all(&mut self, data: &[u8]) -> io::Result<()> {
        if data.len() > self.max_bytes.saturating_sub(self.bytes.len()) {
            return Err(limit_passed(TOO_LARGE));
        }
        self.bytes.extend_from_slice(data);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cold]
fn limit_passed(limit: &'static str) -> io::Error {
    io::Error::other(limit)
}

struct Bounded {
    inner: CompactFormatter,
    depth: usize,
    max_depth: usize,
}

impl Bounded {
    fn down(&mut self) -> io::Result<()> {
        self.depth += 1;
        if self.depth > self.max_depth { Err(limit_passed(TOO_DEEP)) } else { Ok(()) }
    }
}

impl Formatter for Bounded {
    // Texts have an escape in each line. Those of two bytes are written without a look at how long they are.
    #[inline]
    fn write_char_escape<W: ?Sized + Write>(&mut self, writer: &mut W, escape: CharEscape) -> io::Result<()> {
        match escape {
            CharEscape::Quote => writer.write_all(b"\\\""),
            CharEscape::LineFeed => writer.write_all(b"\\n"),
            other => self.inner.write_char_escape(writer, other),
        }
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.down()?;
        self.inner.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth = self.depth.saturating_sub(1);
        self.inner.end_array(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.down()?;
        self.inner.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth = self.depth.saturating_sub(1);
        self.inner.end_object(writer)
    }

    fn write_raw_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        // Any type may claim to be raw JSON; a tree that is none could not be stored.
        serde_json::from_str::<IgnoredAny>(fragment)?;
        let (text, depth) = compact(fragment);
        if self.depth.saturating_add(depth) > self.max_depth {
            return Err(limit_passed(TOO_DEEP));
        }
        writer.write_all(text.as_bytes())
    }
}

/// Valid JSON text without insignificant white space, and its depth. Iterative, so depth costs no stack.
pub(crate) fn compact(json: &str) -> (String, usize) {
    let bytes = json.as_bytes();
    let mut out = String::with_capacity(json.len());
    let (mut depth, mut deepest) = (0_usize, 0_usize);
    // The kept bytes are copied in runs.
    let (mut at, mut run) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = end_of_string(bytes, at);
                continue;
            }
            b' ' | b'\t' | b'\n' | b'\r' => {
                out.push_str(json.get(run..at).unwrap_or_default());
                run = at + 1;
            }
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    out.push_str(json.get(run..).unwrap_or_default());
    (out, deepest)
}

/// The end of the string that begins at `start`, its closing quote included.
pub(crate) fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{compact, quoted, write_string};

    proptest! {
        #[test]
        fn strings_are_written_as_serde_json_writes_them(text in "[a-z\"\\\\\\x00-\\x1f\\x7fé\u{2028}😀]{0,80}") {
            let mut written = b"before ".to_vec();
            write_string(&text, &mut written);
            let expected = format!("before {}", serde_json::to_string(&text).unwrap());
            prop_assert_eq!(String::from_utf8(written).unwrap(), expected);
        }
    }

    #[test]
    fn each_byte_is_escaped_alike_at_each_place_of_a_word() {
        for byte in 0..=0x7f_u8 {
            for place in 0..17 {
                let text = format!("{}{}{}", "a".repeat(place), char::from(byte), "é".repeat(9));
                assert_eq!(quoted(&text, usize::MAX).unwrap(), serde_json::to_string(&text).unwrap());
            }
        }
    }

    #[test]
    fn a_text_that_grows_past_the_limit_is_refused() {
        assert_eq!(quoted("ab\n", 6).unwrap(), r#""ab\n""#);
        assert!(quoted("ab\n", 5).is_err() && quoted("abcdef", 5).is_err() && quoted("", 1).is_err());
        assert_eq!(quoted("", 2).unwrap(), "\"\"");
    }

    #[test]
    fn compaction_keeps_strings_and_numbers() {
        let (text, depth) = compact("{ \"a b\" : [ 1.0 , 1e2, \"x \\\" y\" ] }\n");
        assert_eq!((text.as_str(), depth), (r#"{"a b":[1.0,1e2,"x \" y"]}"#, 2));
    }
}

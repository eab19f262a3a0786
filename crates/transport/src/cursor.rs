//! JSON that is read in place, from left to right.
//!
//! Nearly all of a stream consists of small objects of which a few members matter. A [`JsonCursor`] reads them at a
//! fraction of what it costs to deserialize them. It takes strict JSON alone, and only what is as plain as that:
//! whatever else comes ends the reading with `None`, and is to be deserialized.
//!
//! ```
//! use attache_transport::JsonCursor;
//!
//! let (mut index, mut text) = (None, None);
//! let read = JsonCursor::read(r#"{"index":2,"delta":{"text":"a\nb","x":[1,{}]}}"#, |cursor| {
//!     cursor.object(|cursor, name| match name {
//!         b"index" => cursor.count(&mut index),
//!         b"delta" => cursor.object(|cursor, name| match name {
//!             b"text" => cursor.text(&mut text),
//!             _ => cursor.skip(),
//!         }),
//!         _ => cursor.skip(),
//!     })
//! });
//! assert!(read.is_some());
//! assert_eq!((index, text.as_deref()), (Some(2), Some("a\nb")));
//! ```

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// The depth to which values may lie in each other.
const MAX_DEPTH: u8 = 32;

/// A place in JSON. Each function but [`read`](Self::read) takes one value, and moves behind it.
#[derive(Debug)]
pub struct JsonCursor<'a> {
    json: &'a str,
    at: usize,
    depth: u8,
}

impl<'a> JsonCursor<'a> {
    /// Reads one value, behind which nothing may stand.
    pub fn read(json: &'a str, value: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let mut cursor = Self { json, at: 0, depth: 0 };
        value(&mut cursor)?;
        cursor.peek().is_none().then_some(())
    }

    /// An object. `member` takes the value of each member; names with escapes are not plain.
    #[inline]
    pub fn object(&mut self, mut member: impl FnMut(&mut Self, &'a [u8]) -> Option<()>) -> Option<()> {
        self.open(b'{')?;
        if self.peek()? == b'}' {
            return self.close();
        }
        loop {
            let (start, end) = self.quoted()?;
            let name = self.json.as_bytes().get(start..end)?;
            if self.next()? != b':' {
                return None;
            }
            member(self, name)?;
            match self.peek()? {
                b',' => self.at += 1,
                b'}' => return self.close(),
                _ => return None,
            }
        }
    }

    /// A list, each item of which `item` takes.
    #[inline]
    pub fn list(&mut self, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.open(b'[')?;
        if self.peek()? == b']' {
            return self.close();
        }
        loop {
            item(self)?;
            match self.peek()? {
                b',' => self.at += 1,
                b']' => return self.close(),
                _ => return None,
            }
        }
    }

    /// A string, or `null` for none. A place that is filled takes no second one.
    #[inline]
    pub fn text(&mut self, into: &mut Option<Cow<'a, str>>) -> Option<()> {
        if self.peek()? == b'n' {
            return self.word("null");
        }
        let begin = self.at;
        let text = match self.quoted() {
            Some((start, end)) => Cow::Borrowed(self.json.get(start..end)?),
            None => Cow::Owned(self.deserialized(begin)?),
        };
        into.replace(text).is_none().then_some(())
    }

    /// A number from 0 up without fraction and exponent, or `null` for none. A place that is filled takes no second one.
    #[inline]
    pub fn count(&mut self, into: &mut Option<u64>) -> Option<()> {
        if self.peek()? == b'n' {
            return self.word("null");
        }
        let count = self.digits()?;
        into.replace(count).is_none().then_some(())
    }

    /// `true` or `false`.
    pub fn flag(&mut self) -> Option<bool> {
        let is_true = self.peek()? == b't';
        self.word(if is_true { "true" } else { "false" })?;
        Some(is_true)
    }

    /// `null`.
    #[inline]
    pub fn null(&mut self) -> Option<()> {
        self.peek()?;
        self.word("null")
    }

    /// Something that says nothing: `null`, an empty string, an empty list.
    #[inline]
    pub fn nothing(&mut self) -> Option<()> {
        match self.peek()? {
            b'"' => self.word("\"\""),
            b'[' => self.list(|_| None),
            _ => self.word("null"),
        }
    }

    /// Any value.
    pub fn skip(&mut self) -> Option<()> {
        let first = self.peek()?;
        let begin = self.at;
        match first {
            b'"' if self.quoted().is_some() => Some(()),
            b'{' => self.object(|cursor, _| cursor.skip()),
            b'[' => self.list(Self::skip),
            b'n' => self.word("null"),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'0'..=b'9' if self.digits().is_some() && !matches!(self.peek(), Some(b'.' | b'e' | b'E')) => {
                Some(())
            }
            _ => self.deserialized::<IgnoredAny>(begin).map(drop),
        }
    }

    /// The JSON of the value that `value` takes.
    pub fn json(&mut self, value: impl FnOnce(&mut Self) -> Option<()>) -> Option<&'a str> {
        self.peek()?;
        let start = self.at;
        value(self)?;
        // Behind a number white space is looked at for what may follow its digits.
        self.json.get(start..self.at).map(str::trim_ascii_end)
    }

    /// The next byte that is no white space. It is not taken.
    #[inline]
    fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = *self.json.as_bytes().get(self.at)?;
            if byte > b' ' || !matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    #[inline]
    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    #[inline]
    fn open(&mut self, bracket: u8) -> Option<()> {
        self.depth += 1;
        (self.next()? == bracket && self.depth < MAX_DEPTH).then_some(())
    }

    #[inline]
    fn close(&mut self) -> Option<()> {
        self.at += 1;
        self.depth -= 1;
        Some(())
    }

    /// Takes `word`, which is to stand right here.
    #[inline]
    fn word(&mut self, word: &str) -> Option<()> {
        let rest = self.json.as_bytes().get(self.at..)?;
        self.at += word.len();
        rest.starts_with(word.as_bytes()).then_some(())
    }

    /// The place of what stands between the quotes of a string without escapes.
    #[inline]
    fn quoted(&mut self) -> Option<(usize, usize)> {
        if self.next()? != b'"' {
            return None;
        }
        let start = self.at;
        let end = start + plain_length(self.json.as_bytes().get(start..)?);
        self.at = end + 1;
        (*self.json.as_bytes().get(end)? == b'"').then_some((start, end))
    }

    /// Digits without a zero before them, as far as they surely fit.
    #[inline]
    fn digits(&mut self) -> Option<u64> {
        let start = self.at;
        let mut count = 0_u64;
        while let Some(byte @ b'0'..=b'9') = self.json.as_bytes().get(self.at) {
            count = count.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
            self.at += 1;
        }
        let length = self.at - start;
        let plain = length == 1 || self.json.as_bytes().get(start) != Some(&b'0');
        (plain && (1..=19).contains(&length)).then_some(count)
    }

    /// The value at a place, which takes more than a look.
    #[cold]
    fn deserialized<T: Deserialize<'a>>(&mut self, at: usize) -> Option<T> {
        let rest = self.json.get(at..)?;
        let mut values = serde_json::Deserializer::from_str(rest).into_iter();
        let value = values.next()?.ok()?;
        self.at = at + values.byte_offset();
        Some(value)
    }
}

/// The number of bytes from the first on that are neither quote nor backslash nor control character. Strings are
/// short: eight at a time are looked at together, without a call.
#[inline]
fn plain_length(bytes: &[u8]) -> usize {
    const EACH: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = EACH << 7;
    let (words, rest) = bytes.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // The high bit of a byte that is zero, and of no byte before the first such.
        let zero = |bytes: u64| bytes.wrapping_sub(EACH) & !bytes;
        let quote = zero(word ^ (EACH * u64::from(b'"')));
        let escape = zero(word ^ (EACH * u64::from(b'\\')));
        let control = word.wrapping_sub(EACH * 0x20) & !word;
        let found = (quote | escape | control) & HIGH;
        if found != 0 {
            return at * 8 + (found.trailing_zeros() / 8) as usize;
        }
    }
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    bytes.len() - rest.len() + rest.iter().position(is_special).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn takes(json: &str) -> bool {
        JsonCursor::read(json, JsonCursor::skip).is_some()
    }

    #[test]
    fn plain_json_is_taken() {
        for json in [
            "null",
            " true ",
            "false",
            "0",
            "17",
            "-1",
            "1.5e-3",
            "18446744073709551615",
            r#""""#,
            r#""ä\n\u00e4 and more than eight bytes""#,
            "[]",
            "[1 , 2]",
            "{}",
            r#"{ "a" : [ { "b" : null } ] , "c" : "d" }"#,
        ] {
            assert!(takes(json), "{json}");
        }
    }

    // Cut and changed at each byte, it takes nothing that is no JSON.
    #[test]
    fn nothing_else_is_taken() {
        let json = r#"{"a":[1,-2.5,"x\n\"y",{"b":null}],"long name":"twelve bytes","c":true,"d":10}"#;
        assert!(takes(json));
        for at in 0..json.len() {
            for with in ["", "\"", "\\", "\n", "0", ",", "}", "]", "{", "[", ":", "x", ".", " ", "-"] {
                let changed = [&json[..at], with, &json[at + 1..]].concat();
                let cut = json[..at].to_owned() + with;
                for json in [changed, cut] {
                    let known = serde_json::from_str::<Value>(&json).is_ok();
                    assert!(known || !takes(&json), "{json}");
                }
            }
        }
        for json in ["01", "1.", "+1", "nul", "\"\u{1}\"", "\"\\x\"", "[1,]", "{\"a\":1,}", "{a:1}", "1 2"] {
            assert!(!takes(json), "{json}");
        }
        assert!(!takes(&"[".repeat(1_000_000)));
    }

    #[test]
    fn members_are_read_once() {
        let read = |json: &str| {
            let (mut text, mut count) = (None, None);
            let mut counts = String::new();
            let read = JsonCursor::read(json, |cursor| {
                cursor.object(|cursor, name| match name {
                    b"text" => cursor.text(&mut text),
                    b"count" => cursor.count(&mut count),
                    b"nothing" => cursor.nothing(),
                    b"json" => cursor.json(JsonCursor::skip).map(|json| counts.push_str(json)),
                    _ => cursor.skip(),
                })
            });
            read.map(|()| (text.map(Cow::into_owned), count, counts))
        };
        let read_of =
            |text: &str, count, json: &str| Some((Some(text.to_owned()), Some(count), json.to_owned()));
        assert_eq!(read(r#"{"text":"a","count":7,"json": [1, 2] }"#), read_of("a", 7, "[1, 2]"));
        assert_eq!(read(r#"{"text":"a","count":7,"json":1 }"#), read_of("a", 7, "1"));
        assert_eq!(read(r#"{"text":"\u0061","count":0,"x":1.5}"#), read_of("a", 0, ""));
        assert_eq!(read(r#"{"text":null,"count":null,"nothing":[]}"#), Some((None, None, String::new())));
        for json in [
            r#"{"text":"a","text":"b"}"#,
            r#"{"text":1}"#,
            r#"{"count":1.0}"#,
            r#"{"count":99999999999999999999}"#,
            r#"{"nothing":[1]}"#,
            r#"{"nothing":"x"}"#,
            r#"{"te\u0078t":"a"}"#,
        ] {
            assert_eq!(read(json), None, "{json}");
        }
    }
}

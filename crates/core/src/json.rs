//! Compact JSON text with a bounded depth and size.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter};
use serde_json::{Map, Value};

use crate::tree::TreeError;

/// Lays the members of `over` over others: objects are merged at every depth, everything else is replaced.
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

/// Serialises `value` as compact JSON text, stopping as soon as a limit is passed.
pub(crate) fn to_compact<T: Serialize + ?Sized>(
    value: &T,
    max_depth: usize,
    max_bytes: usize,
) -> Result<String, TreeError> {
    let mut buffer = Limited { bytes: Vec::with_capacity(128), max_bytes };
    let formatter = Bounded { inner: CompactFormatter, depth: 0, max_depth };
    let mut serializer = serde_json::Serializer::with_formatter(&mut buffer, formatter);
    value.serialize(&mut serializer).map_err(|error| {
        let limit = error.io_error_kind().filter(|kind| *kind == io::ErrorKind::Other);
        match (limit, error.to_string().as_str()) {
            (Some(_), TOO_DEEP) => TreeError::TooDeep { limit: max_depth },
            (Some(_), TOO_LARGE) => TreeError::TooLarge { limit: max_bytes },
            _ => TreeError::Serialize(error),
        }
    })?;
    // serde_json writes nothing but UTF-8.
    String::from_utf8(buffer.bytes)
        .map_err(|_| TreeError::Serialize(serde::ser::Error::custom("invalid UTF-8")))
}

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

    fn write_all(&mut self, data: &[u8]) -> io::Result<()> {
        if self.bytes.len().saturating_add(data.len()) > self.max_bytes {
            return Err(io::Error::other(TOO_LARGE));
        }
        self.bytes.extend_from_slice(data);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Bounded {
    inner: CompactFormatter,
    depth: usize,
    max_depth: usize,
}

impl Bounded {
    fn down(&mut self) -> io::Result<()> {
        self.depth += 1;
        if self.depth > self.max_depth { Err(io::Error::other(TOO_DEEP)) } else { Ok(()) }
    }
}

impl Formatter for Bounded {
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
        let (text, depth) = compact(fragment);
        if self.depth.saturating_add(depth) > self.max_depth {
            return Err(io::Error::other(TOO_DEEP));
        }
        writer.write_all(text.as_bytes())
    }
}

/// Valid JSON text without insignificant white space, and its depth. Iterative, so depth costs no stack.
pub(crate) fn compact(json: &str) -> (String, usize) {
    let mut out = String::with_capacity(json.len());
    let (mut depth, mut deepest) = (0_usize, 0_usize);
    let (mut in_string, mut escaped) = (false, false);
    for c in json.chars() {
        if in_string {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => in_string = false,
                _ => {}
            }
        } else {
            match c {
                ' ' | '\t' | '\n' | '\r' => continue,
                '"' => in_string = true,
                '{' | '[' => {
                    depth += 1;
                    deepest = deepest.max(depth);
                }
                '}' | ']' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        out.push(c);
    }
    (out, deepest)
}

#[cfg(test)]
mod tests {
    use super::compact;

    #[test]
    fn compaction_keeps_strings_and_numbers() {
        let (text, depth) = compact("{ \"a b\" : [ 1.0 , 1e2, \"x \\\" y\" ] }\n");
        assert_eq!((text.as_str(), depth), (r#"{"a b":[1.0,1e2,"x \" y"]}"#, 2));
    }
}

//! Patterns of strings, matched in a time that is linear in the text.

use regex_lite::{Regex, RegexBuilder};

use super::words::cut;

/// Sizes of a compiled pattern that are tried, in bytes. The first one that holds it says what a match costs.
const SIZES: [usize; 4] = [1 << 10, 1 << 12, 1 << 14, 1 << 16];
/// Bytes of all patterns of a schema, compiled, and the share of one that was tried in vain.
pub(crate) const MAX_COMPILED: usize = 4 << 20;
const FAILED: usize = 4 << 10;
/// Bytes of a pattern that are read.
const MAX_BYTES: usize = 4 << 10;
/// Levels of groups.
const MAX_NESTING: u32 = 50;
/// Characters of a pattern that are shown.
const MAX_SHOWN: usize = 80;

/// A pattern, if it can be matched here.
pub(crate) struct Pattern {
    text: String,
    /// With the steps that one byte of text may cost.
    regex: Option<(Regex, u64)>,
}

impl Pattern {
    /// Reads a pattern; what cannot be matched here is kept as text, with the reason. `left` are the bytes that all
    /// patterns of the schema may still have, compiled.
    pub(crate) fn new(text: &str, left: &mut usize) -> (Self, Option<String>) {
        let read = read(text, left);
        let why = read.as_ref().err().cloned();
        (Self { text: cut(text, MAX_SHOWN), regex: read.ok() }, why)
    }

    /// The pattern as it is shown.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Steps that matching `text` may cost; some of them to begin.
    pub(crate) fn cost(&self, text: &str) -> u64 {
        let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
        4 + self.regex.as_ref().map_or(0, |(_, cost)| bytes.saturating_mul(*cost) / 64)
    }

    /// True if it matches somewhere in `text`; `None` if it cannot be matched here.
    pub(crate) fn matches(&self, text: &str) -> Option<bool> {
        self.regex.as_ref().map(|(regex, _)| regex.is_match(text))
    }
}

fn read(text: &str, left: &mut usize) -> Result<(Regex, u64), String> {
    if text.len() > MAX_BYTES {
        return Err(format!("it is longer than {MAX_BYTES} bytes"));
    }
    let mut problem = "the patterns of its schema are too large together".to_owned();
    for size in SIZES.into_iter().filter(|size| size <= left) {
        match RegexBuilder::new(text).size_limit(size).nest_limit(MAX_NESTING).build() {
            Ok(regex) => {
                *left -= size;
                // A state is some 32 bytes, and each byte of text may visit all of them.
                return Ok((regex, u64::try_from(size / 32).unwrap_or(1)));
            }
            Err(error) => problem = error.to_string(),
        }
    }
    *left = left.saturating_sub(FAILED);
    Err(format!("it cannot be matched here ({problem})"))
}

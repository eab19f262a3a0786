//! JSON to an indented outline: keys stay, numbers stay as they are written, and of a large document long lists and
//! long texts are cut where they stand, with a count.

use bytes::Bytes;
use serde::de::IgnoredAny;

use crate::guarded::Clock;
use crate::output::Output;
use crate::plain::{NOT_TEXT, as_it_is};
use crate::{ConvertError, Converted, Limits, Note, Unit, charset};

/// Longer text is shortened.
const WHOLE: usize = 256 << 10;

/// The items of a list and the characters of a text that stay, from the mildest cut to the hardest.
const CUTS: [(usize, usize); 6] =
    [(usize::MAX, usize::MAX), (100, 2000), (50, 1000), (20, 500), (5, 200), (2, 100)];

/// Lists and objects up to this length stand on one line.
const LINE: usize = 100;

/// Records of one block of JSON lines.
const BLOCK: usize = 100;

pub(crate) fn convert(
    bytes: &Bytes,
    charset: Option<&str>,
    limits: &Limits,
    clock: Clock,
) -> Result<Converted, ConvertError> {
    let decoded = charset::decode(bytes, charset).ok_or(NOT_TEXT)?;
    clock.check()?;
    if serde_json::from_str::<IgnoredAny>(&decoded.text).is_err() {
        // A stray comma or a comment does not make it unreadable for a model.
        let not = Note::ShownAsText { not: "valid JSON" };
        return as_it_is(&decoded.text, decoded.notes().chain([not]), limits);
    }
    let limit = WHOLE.min(limits.max_output_bytes);
    let mut last = Outline::default();
    for (items, characters) in CUTS {
        clock.check()?;
        last = Outline { items, characters, limit, ..Outline::default() };
        last.write(&decoded.text, clock)?;
        if last.out.len() <= limit {
            break;
        }
    }
    let mut output = Output::new(Unit::Whole, limits);
    output.begin("");
    decoded.notes().for_each(|note| output.note(note));
    if last.shortened || last.out.len() > limit {
        output.note(Note::Shortened);
        output.truncated();
    }
    let whole = last.out.len() <= limit;
    let end = if whole { last.out.len() } else { last.out.floor_char_boundary(limit) };
    output.line(last.out.get(..end).unwrap_or_default());
    if !whole {
        output.line("[the rest is left out]");
    }
    output.finish()
}

/// JSON lines: a record a line.
pub(crate) fn convert_lines(
    bytes: &Bytes,
    charset: Option<&str>,
    limits: &Limits,
    clock: Clock,
) -> Result<Converted, ConvertError> {
    let decoded = charset::decode(bytes, charset).ok_or(NOT_TEXT)?;
    clock.check()?;
    let records = || decoded.text.lines().map(str::trim).filter(|line| !line.is_empty());
    let total = records().count();
    let mut output = Output::new(Unit::RowBlock, limits);
    output.set_total(total.div_ceil(BLOCK));
    decoded.notes().for_each(|note| output.note(note));
    let (mut shown, mut valid) = (0, true);
    for (at, record) in records().enumerate() {
        let room = if at == 0 { usize::MAX } else { output.room() };
        if record.len() + 2 * LINE > room {
            break;
        }
        if at.is_multiple_of(BLOCK) {
            clock.check()?;
            let marker = format!("[records {}-{} of {total}]", at + 1, total.min(at + BLOCK));
            if !output.begin_marked(&marker) {
                break;
            }
        }
        valid &= serde_json::from_str::<IgnoredAny>(record).is_ok();
        output.line(record);
        if !output.is_full() {
            shown = at + 1;
        }
    }
    if !valid {
        output.note(Note::ShownAsText { not: "valid JSON in every line" });
    }
    if shown < total {
        output.line(&format!("[records {}-{total} are left out]", shown + 1));
        output.note(Note::RowsLeftOut { shown, total: Some(total) });
        output.truncated();
    }
    output.finish()
}

/// The text of valid JSON.
#[derive(Default)]
struct Outline {
    items: usize,
    characters: usize,
    limit: usize,
    out: String,
    shortened: bool,
}

/// A list or object that is open.
struct Level {
    list: bool,
    count: usize,
    /// True if it stands on one line.
    flat: bool,
}

impl Outline {
    /// Writes the outline of JSON that is known to be valid; stops soon after the limit.
    fn write(&mut self, text: &str, clock: Clock) -> Result<(), ConvertError> {
        let mut levels: Vec<Level> = Vec::new();
        let mut rest = text.trim_start();
        let mut tokens = 0_u32;
        let mut key = false;
        while let Some(first) = rest.bytes().next() {
            tokens = tokens.wrapping_add(1);
            if tokens.is_multiple_of(1024) {
                clock.check()?;
            }
            if self.out.len() > self.limit {
                break;
            }
            let (token, after) = rest.split_at(token(rest));
            rest = after.trim_start();
            match first {
                b']' | b'}' => self.close(token, &mut levels),
                b',' | b':' => {}
                _ => {
                    let is_value = !std::mem::take(&mut key);
                    if is_value && !self.item(&mut levels) {
                        // The rest of a long list: only counted.
                        let (more, end) = count_rest(token, rest);
                        rest = end;
                        let indent = levels.len();
                        self.shortened = true;
                        self.new_line(indent);
                        self.out.push_str(&format!("[{more} more items are left out]"));
                        continue;
                    }
                    let is_key = rest.starts_with(':');
                    key = is_key;
                    match first {
                        b'[' | b'{' => {
                            let flat = levels.last().is_some_and(|level| level.flat) || is_short(first, rest);
                            levels.push(Level { list: first == b'[', count: 0, flat });
                            self.out.push_str(token);
                        }
                        b'"' => self.string(token),
                        _ => self.out.push_str(token),
                    }
                    if is_key {
                        self.out.push_str(": ");
                    }
                }
            }
        }
        Ok(())
    }

    /// Makes room for a value or a key; `false` if its list is to be cut here.
    fn item(&mut self, levels: &mut [Level]) -> bool {
        let indent = levels.len();
        let Some(level) = levels.last_mut() else { return true };
        if level.list && !level.flat && level.count >= self.items {
            self.out.push(',');
            return false;
        }
        level.count += 1;
        let (first, flat) = (level.count == 1, level.flat);
        if !first {
            self.out.push_str(if flat { ", " } else { "," });
        }
        if !flat {
            self.new_line(indent);
        }
        true
    }

    fn close(&mut self, token: &str, levels: &mut Vec<Level>) {
        let closed = levels.pop();
        if closed.is_some_and(|level| !level.flat && level.count > 0) {
            self.new_line(levels.len());
        }
        self.out.push_str(token);
    }

    fn new_line(&mut self, indent: usize) {
        self.out.push('\n');
        for _ in 0..indent.min(40) {
            self.out.push_str("  ");
        }
    }

    /// A text with its escapes undone where it can be read without.
    fn string(&mut self, token: &str) {
        let plain = if token.contains("\\u") {
            serde_json::from_str::<String>(token).ok().and_then(|text| serde_json::to_string(&text).ok())
        } else {
            None
        };
        let token = plain.as_deref().unwrap_or(token);
        match token.char_indices().nth(self.characters.saturating_add(1)) {
            Some((end, _)) => {
                let kept = token.get(..end).unwrap_or_default();
                let kept = kept.strip_suffix('\\').unwrap_or(kept);
                let more = token.get(kept.len()..).unwrap_or_default().chars().count().saturating_sub(1);
                self.shortened = true;
                self.out.push_str(&format!("{kept}\" [{more} more characters are left out]"));
            }
            None => self.out.push_str(token),
        }
    }
}

/// The length of the first token. The text is valid JSON that does not begin with blank space.
fn token(text: &str) -> usize {
    let bytes = text.as_bytes();
    match bytes.first() {
        Some(b'"') => {
            let mut escaped = false;
            let end = bytes.iter().skip(1).position(|byte| {
                let ends = *byte == b'"' && !escaped;
                escaped = *byte == b'\\' && !escaped;
                ends
            });
            end.map_or(bytes.len(), |end| end + 2)
        }
        Some(b'[' | b']' | b'{' | b'}' | b',' | b':') => 1,
        _ => {
            let end = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r');
            bytes.iter().position(end).unwrap_or(bytes.len()).max(1)
        }
    }
    .min(bytes.len())
}

/// True if the list or object that opened is short enough for one line, and holds none that is not empty.
fn is_short(open: u8, mut rest: &str) -> bool {
    let start = rest.len();
    let mut depth = 1;
    while let Some(first) = rest.bytes().next() {
        let (_, after) = rest.split_at(token(rest));
        rest = after.trim_start();
        if start - rest.len() > LINE {
            return false;
        }
        match first {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return true;
        }
        // An object in an object is easier to read below it.
        if depth > 1 && open == b'{' && first == b'{' {
            return false;
        }
    }
    false
}

/// Counts the items from this one on to the end of their list, whose bracket the returned rest begins with.
fn count_rest<'t>(first: &str, mut rest: &'t str) -> (usize, &'t str) {
    let mut depth = usize::from(matches!(first, "[" | "{"));
    let mut count = 1;
    while let Some(byte) = rest.bytes().next() {
        if depth == 0 && matches!(byte, b']' | b'}') {
            break;
        }
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth -= 1,
            b',' if depth == 0 => count += 1,
            _ => {}
        }
        let (_, after) = rest.split_at(token(rest));
        rest = after.trim_start();
    }
    (count, rest)
}

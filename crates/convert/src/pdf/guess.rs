//! The meaning of a font's codes where the library finds no name for them: maps to Unicode that are damaged, the
//! embedded font's own table of characters, and glyphs that are named by codes.

use std::cell::OnceCell;
use std::collections::HashMap;

use hayro_font::Font;
use hayro_syntax::object::{Array, Dict, MaybeRef, Name, Object, Stream};
use skrifa::{FontRef, MetadataProvider};

use super::expand::decode;
use crate::guarded::Clock;

/// Most entries of a map that is read here.
const MAX_ENTRIES: usize = 1 << 16;

/// The number of ranges that may begin within one that goes on behind them.
const MAX_OVERLAPS: usize = 256;

/// The meanings that the codes of a font may have.
pub(super) struct Guess<'a> {
    /// Ranges of the font's map to Unicode: the first and the last code, and what the first means.
    ranges: Vec<(u32, u32, Vec<char>)>,
    /// By the glyphs of the embedded font, once they are asked for.
    glyphs: OnceCell<HashMap<u32, char>>,
    descriptor: Dict<'a>,
    limit: usize,
    clock: Clock,
    /// By the names of glyphs that are codes.
    names: HashMap<u32, char>,
    /// True if the codes are said to be Unicode themselves.
    identity: bool,
}

impl<'a> Guess<'a> {
    pub(super) fn of(dict: &Dict<'a>, descendant: Option<&Dict<'a>>, limit: usize, clock: Clock) -> Self {
        let ranges = dict.get::<Stream<'_>>("ToUnicode").map(|map| ranges(&data(&map, limit, clock)));
        let identity = dict.get::<Name<'_>>("ToUnicode").is_some();
        let descriptor = descendant.unwrap_or(dict).get::<Dict<'_>>("FontDescriptor").unwrap_or_default();
        let (ranges, names, glyphs) = (ranges.unwrap_or_default(), names(dict), OnceCell::new());
        Self { ranges, glyphs, descriptor, limit, clock, names, identity }
    }

    /// True if the font's map to Unicode has a code.
    pub(super) fn is_mapped(&self, code: u32) -> bool {
        self.range(code).is_some()
    }

    fn range(&self, code: u32) -> Option<&(u32, u32, Vec<char>)> {
        let after = self.ranges.partition_point(|(first, ..)| *first <= code);
        let before = self.ranges.get(..after).unwrap_or_default().iter().rev().take(MAX_OVERLAPS);
        before.into_iter().find(|(_, last, _)| code <= *last)
    }

    /// The character of the glyph of a code, as the embedded font says.
    pub(super) fn glyph(&self, font: &Font<'_>, code: u32) -> Option<char> {
        let glyphs = self.glyphs.get_or_init(|| {
            let program = |key: &str| self.descriptor.get::<Stream<'_>>(key);
            let program = program("FontFile2").or_else(|| program("FontFile3"));
            program.map(|program| glyphs(&data(&program, self.limit, self.clock))).unwrap_or_default()
        });
        (!glyphs.is_empty()).then(|| glyphs.get(&font.map_code(code).to_u32()).copied()).flatten()
    }

    /// The characters that a code may mean.
    pub(super) fn text(&self, font: &Font<'_>, code: u32) -> Option<Vec<char>> {
        if let Some((first, _, text)) = self.range(code) {
            let mut text = text.clone();
            if let Some(end) = text.last_mut() {
                *end = char::from_u32(u32::from(*end).saturating_add(code - first))?;
            }
            return Some(text);
        }
        let named = || self.names.get(&code).copied();
        let own = || char::from_u32(code).filter(|c| self.identity && !c.is_control());
        self.glyph(font, code).or_else(named).or_else(own).map(|c| vec![c])
    }
}

fn data(stream: &Stream<'_>, limit: usize, clock: Clock) -> Vec<u8> {
    decode(stream, limit, clock).unwrap_or_default().bytes
}

/// The character of a code in windows-1252.
pub(super) fn windows_1252(code: u32) -> Option<char> {
    let byte = [u8::try_from(code).ok()?];
    let c = encoding_rs::WINDOWS_1252.decode_without_bom_handling(&byte).0.chars().next()?;
    (!c.is_control()).then_some(c)
}

/// The characters of the glyphs of an embedded font.
fn glyphs(program: &[u8]) -> HashMap<u32, char> {
    let Ok(font) = FontRef::new(program) else { return HashMap::new() };
    let mut glyphs: HashMap<u32, char> = HashMap::new();
    for (code, glyph) in font.charmap().mappings().take(MAX_ENTRIES) {
        // Symbol fonts have their codes in a private part of Unicode, which says nothing.
        if let Some(c) = char::from_u32(code).filter(|c| !matches!(c, '\u{E000}'..='\u{F8FF}')) {
            glyphs.entry(glyph.to_u32()).or_insert(c);
        }
    }
    glyphs
}

/// The characters of codes whose glyphs are named by codes, such as `a65`, `C50` or `G43`.
///
/// Numbers of glyphs look the same: names count as codes only if they are those that they stand at, or if they are
/// of a kind that nobody numbers glyphs with.
fn names(dict: &Dict<'_>) -> HashMap<u32, char> {
    let differences =
        dict.get::<Dict<'_>>("Encoding").and_then(|encoding| encoding.get::<Array<'_>>("Differences"));
    let Some(differences) = differences else { return HashMap::new() };
    let mut named: Vec<(u32, String)> = Vec::new();
    let mut code = 0_u32;
    for item in differences.raw_iter().take(1024) {
        match item {
            MaybeRef::NotRef(Object::Number(number)) => code = u32::try_from(number.as_i64()).unwrap_or(0),
            MaybeRef::NotRef(Object::Name(name)) => {
                named.push((code, String::from_utf8_lossy(name.as_ref()).into_owned()));
                code = code.saturating_add(1);
            }
            _ => {}
        }
    }
    // A letter or two, and digits of one base.
    let parts = |name: &str| -> Option<(String, String)> {
        let letters = name.chars().take_while(|c| c.is_ascii_alphabetic()).count();
        let letters = if name.len().is_multiple_of(2) && name.chars().all(|c| c.is_ascii_hexdigit()) {
            0
        } else {
            letters.min(2)
        };
        let (prefix, digits) = name.split_at_checked(letters)?;
        let are_digits =
            !digits.is_empty() && digits.len() <= 4 && digits.bytes().all(|b| b.is_ascii_hexdigit());
        are_digits.then(|| (prefix.to_owned(), digits.to_owned()))
    };
    let coded: Vec<(u32, String, String)> = named
        .iter()
        .filter(|(_, name)| name != ".notdef" && name != "space")
        .filter_map(|(code, name)| parts(name).map(|(prefix, digits)| (*code, prefix, digits)))
        .collect();
    let Some((_, prefix, _)) = coded.first() else { return HashMap::new() };
    let own: Vec<&(u32, String, String)> = coded.iter().filter(|(_, other, _)| other == prefix).collect();
    if own.len() * 10 < named.len() * 8 {
        return HashMap::new();
    }
    let value = |digits: &str, base: u32| u32::from_str_radix(digits, base).ok();
    let same = |base: u32| own.iter().filter(|(code, _, digits)| value(digits, base) == Some(*code)).count();
    let letters = own.iter().any(|(_, _, digits)| digits.bytes().any(|b| b.is_ascii_alphabetic()));
    let base = match prefix.as_str() {
        _ if own.len() > 2 && same(10) * 10 >= own.len() * 8 => 10,
        _ if own.len() > 2 && same(16) * 10 >= own.len() * 8 => 16,
        "G" if own.iter().all(|(_, _, digits)| digits.len() == 2) => 16,
        "C" | "c" | "a" if !letters => 10,
        _ => return HashMap::new(),
    };
    own.iter().filter_map(|(code, _, digits)| Some((*code, windows_1252(value(digits, base)?)?))).collect()
}

/// The entries of a map to Unicode, whatever stands around them.
fn ranges(map: &[u8]) -> Vec<(u32, u32, Vec<char>)> {
    let mut out = Vec::new();
    let mut words = words(map).into_iter().peekable();
    while let Some(word) = words.next() {
        let ranged = match word {
            Word::Other(b"beginbfrange") => true,
            Word::Other(b"beginbfchar") => false,
            _ => continue,
        };
        while let Some(Word::Hex(first)) = words.next_if(|word| matches!(word, Word::Hex(_))) {
            let first = number(&first);
            let last = match ranged.then(|| words.next()) {
                None => first,
                Some(Some(Word::Hex(last))) => number(&last),
                Some(_) => return out,
            };
            match words.next() {
                Some(Word::Hex(text)) => out.push((first, last, characters(&text))),
                Some(Word::Other(b"[")) => {
                    let mut code = first;
                    while let Some(Word::Hex(text)) = words.next_if(|word| matches!(word, Word::Hex(_))) {
                        out.push((code, code, characters(&text)));
                        code = code.saturating_add(1);
                    }
                    words.next_if(|word| matches!(word, Word::Other(b"]")));
                }
                _ => return out,
            }
            if out.len() >= MAX_ENTRIES {
                break;
            }
        }
    }
    out.retain(|(_, _, text)| !text.is_empty() && text.as_slice() != ['\0']);
    // Of ranges that begin alike, the shorter one says more.
    out.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
    out
}

/// A word of a map: a string of hexadecimal digits, or anything else.
enum Word<'m> {
    Hex(Vec<u8>),
    Other(&'m [u8]),
}

fn words(map: &[u8]) -> Vec<Word<'_>> {
    let mut words = Vec::new();
    let mut rest = map;
    while let Some((first, behind)) = rest.split_first() {
        rest = match first {
            b'<' if !behind.starts_with(b"<") => {
                let end = behind.iter().position(|byte| *byte == b'>').unwrap_or(behind.len());
                let (digits, behind) = behind.split_at(end);
                words.push(Word::Hex(bytes(digits)));
                behind.get(1..).unwrap_or_default()
            }
            b'[' | b']' => {
                words.push(Word::Other(rest.get(..1).unwrap_or_default()));
                behind
            }
            byte if byte.is_ascii_alphabetic() => {
                let len = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
                let (word, behind) = rest.split_at(len);
                words.push(Word::Other(word));
                behind
            }
            _ => behind,
        };
        if words.len() > 4 * MAX_ENTRIES {
            break;
        }
    }
    words
}

fn bytes(digits: &[u8]) -> Vec<u8> {
    let digits: Vec<u8> = digits
        .iter()
        .filter_map(|digit| char::from(*digit).to_digit(16))
        .filter_map(|digit| u8::try_from(digit).ok())
        .collect();
    digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit)).collect()
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).fold(0, |number, byte| number << 8 | u32::from(*byte))
}

fn characters(bytes: &[u8]) -> Vec<char> {
    let units: Vec<u16> = match bytes {
        [byte] => vec![u16::from(*byte)],
        bytes => bytes.as_chunks().0.iter().map(|unit| u16::from_be_bytes(*unit)).collect(),
    };
    char::decode_utf16(units.into_iter().take(16)).filter_map(Result::ok).collect()
}

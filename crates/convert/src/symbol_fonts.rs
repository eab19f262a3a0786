//! The signs of fonts whose characters are no letters: in `Symbol`, what is stored as an `m` is shown as µ.

#[cfg(feature = "office")]
use std::borrow::Cow;

#[cfg(feature = "office")]
use crate::output::Output;

/// The signs of the font Symbol from 0x20 on, in the encoding of Adobe.
const SYMBOL_LOW: &str = " !∀#∃%&∋()∗+,−./0123456789:;<=>?\
    ≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_‾αβχδεφγηιϕκλµνοπθρστυϖωξψζ{|}∼";

/// Those from 0xA0 on, without that at 0xF0, which is none.
const SYMBOL_HIGH: &str = "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓\
    ◊⟨®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪\u{fffd}⟩∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭";

/// Fonts whose signs are not known.
const UNKNOWN: [&str; 8] = [
    "Webdings",
    "Wingdings 3",
    "Wingdings3",
    "Marlett",
    "MT Extra",
    "MT-Extra",
    "Monotype Sorts",
    "ZapfDingbats",
];

/// The private characters as which office programs store those of such fonts.
const PRIVATE: std::ops::RangeInclusive<u32> = 0xf020..=0xf0ff;

/// The sign that a font shows for a character, a replacement character where none is known. Fonts that are not known
/// show characters as what they are, and letters where private characters stand for them, as those of barcodes do.
pub(crate) fn sign(font: &str, character: u32) -> char {
    let is_private = PRIVATE.contains(&character);
    let code = if is_private { character & 0xff } else { character };
    let known = of_font(font, code).or(match code {
        // The bullets of most fonts of signs.
        0xa7 | 0xb7 if is_private => Some('•'),
        0x20..=0x7e if is_private && !font.is_empty() => char::from_u32(code),
        0xe000..=0xf8ff => Some(char::REPLACEMENT_CHARACTER),
        _ if is_private => Some(char::REPLACEMENT_CHARACTER),
        _ => char::from_u32(code),
    });
    known.unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// A character in a font, or the sign that a private one stands for.
pub(crate) fn of_private(font: &str, c: char) -> char {
    if PRIVATE.contains(&u32::from(c)) { sign(font, u32::from(c)) } else { c }
}

/// A text in a font, with the signs that private characters stand for.
#[cfg(feature = "office")]
pub(crate) fn shown<'t>(font: &str, text: &'t str, output: &mut Output) -> Cow<'t, str> {
    let is_private = |c: char| PRIVATE.contains(&u32::from(c));
    // All of them begin with this byte.
    if memchr::memchr(0xef, text.as_bytes()).is_none() || !text.contains(is_private) {
        return Cow::Borrowed(text);
    }
    // Text in a font that holds no signs is none of its letters.
    let font = if holds_signs(font) { font } else { "" };
    let text: String = text.chars().map(|c| of_private(font, c)).collect();
    output.unreadable(&text);
    Cow::Owned(text)
}

/// True for a font of signs.
pub(crate) fn holds_signs(font: &str) -> bool {
    of_font(font, 0x20).is_some()
}

/// The sign of a font of signs at a place in it; `None` for other fonts and places.
fn of_font(font: &str, code: u32) -> Option<char> {
    let is = |name: &str| font.trim().eq_ignore_ascii_case(name);
    if !(0x20..=0xff).contains(&code) {
        return None;
    }
    let found = if is("Symbol") || is("SymbolMT") || is("Symbol MT") {
        match code {
            0x20..=0x7e => SYMBOL_LOW.chars().nth(usize::try_from(code - 0x20).ok()?),
            0xa0..=0xfe => SYMBOL_HIGH.chars().nth(usize::try_from(code - 0xa0).ok()?),
            _ => None,
        }
    } else if is("Wingdings") {
        wingdings(code)
    } else if is("Wingdings 2") || is("Wingdings2") {
        wingdings_2(code)
    } else if UNKNOWN.into_iter().any(is) {
        None
    } else {
        return None;
    };
    Some(found.unwrap_or(char::REPLACEMENT_CHARACTER))
}

fn wingdings(code: u32) -> Option<char> {
    Some(match code {
        0x20 => ' ',
        0x28 => '☎',
        0x2a => '✉',
        0x4a => '☺',
        0x4c => '☹',
        0x6c | 0x6e | 0x9f | 0xa7 | 0xb7 => '•',
        0x6f | 0x71 | 0xa8 => '☐',
        0xd8 | 0xe0 => '→',
        0xdf => '←',
        0xe1 => '↑',
        0xe2 => '↓',
        0xfb => '✗',
        0xfc => '✓',
        0xfd => '☒',
        0xfe => '☑',
        _ => return None,
    })
}

fn wingdings_2(code: u32) -> Option<char> {
    Some(match code {
        0x20 => ' ',
        0x4f => '✗',
        0x50 => '✓',
        0x51 | 0x53 | 0x54 => '☒',
        0x52 => '☑',
        0xa3 => '☐',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{SYMBOL_HIGH, SYMBOL_LOW, of_private, sign};

    #[test]
    fn signs_stand_where_their_fonts_have_them() {
        assert_eq!((SYMBOL_LOW.chars().count(), SYMBOL_HIGH.chars().count()), (0x7f - 0x20, 0xff - 0xa0));
        let symbols: String = [0x6d, 0x57, 0xb1, 0xb0, 0xa3, 0x7e, 0xd6, 0xe5, 0xf0, 0xf2, 0xfe]
            .map(|code| sign("symbol", 0xf000 + code))
            .iter()
            .collect();
        assert_eq!(symbols, "µΩ±°≤∼√∑\u{fffd}∫⎭");
        assert_eq!(
            (sign("Symbol", 0x6d), sign("Arial", 0x6d), sign("Webdings", 0x6d)),
            ('µ', 'm', '\u{fffd}')
        );
        assert_eq!(
            (sign("Code 39", 0xf041), sign("", 0xf041), sign("", 0xf8ff)),
            ('A', '\u{fffd}', '\u{fffd}')
        );
        assert_eq!((sign("Wingdings", 0xfd), sign("Wingdings 2", 0x52)), ('☒', '☑'));
        assert_eq!((of_private("Symbol", '\u{f06d}'), of_private("Symbol", 'm')), ('µ', 'm'));
        assert_eq!((sign("", 0xf0b7), sign("", 0x2713), sign("", 0x0011_0000)), ('•', '✓', '\u{fffd}'));
    }
}

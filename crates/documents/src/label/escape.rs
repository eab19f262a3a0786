//! Attribute values as XML 1.0 writes them, and back.

use std::fmt::Write as _;

use super::profile::Breaks;

/// The maximum number of characters of a value: a file name can be as long as its author likes.
const MAX_CHARS: usize = 2_048;

/// The maximum number of characters of an entity's name, as in `&#1114111;`.
const MAX_ENTITY: usize = 8;

/// The value for a double-quoted attribute, or `None` if nothing but blank would be left of it.
pub(super) fn attribute(value: &str, breaks: Breaks) -> Option<String> {
    if value.chars().filter(|c| is_xml(*c)).all(char::is_whitespace) {
        return None;
    }
    let mut out = String::with_capacity(value.len() + 16);
    let mut rest = value.chars();
    for c in rest.by_ref().filter(|c| is_xml(*c)).take(MAX_CHARS) {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\t' | '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}' if breaks == Breaks::Kept => out.push(c),
            '\t' | '\n' | '\r' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' => {
                // Writing to a string cannot fail.
                let _ = write!(out, "&#{};", u32::from(c));
            }
            c => out.push(c),
        }
    }
    if rest.next().is_some() {
        out.push('…');
    }
    Some(out)
}

/// True if XML 1.0 allows the character at all.
fn is_xml(c: char) -> bool {
    !matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}')
}

/// Resolves what [`attribute`] wrote; an entity that it never writes stays as it is.
pub(super) fn resolve(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut rest = value;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        // Only as far as an entity's name can reach, so that a text of ampersands is read once.
        let end = after.bytes().take(MAX_ENTITY + 1).position(|byte| byte == b';');
        let named = end.and_then(|end| Some((entity(after.get(..end)?)?, after.get(end + 1..)?)));
        match named {
            Some((c, tail)) => {
                out.push(c);
                rest = tail;
            }
            None => {
                out.push('&');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

fn entity(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => name.strip_prefix('#')?.parse().ok().and_then(char::from_u32),
    }
}

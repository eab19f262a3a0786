//! JSON as models write it into texts.

use serde_json::{Map, Value};

/// The length of the object, array or group of parentheses that a text begins with; `None` if it is not closed.
pub(in crate::layer) fn balanced(text: &str) -> Option<usize> {
    let (mut depth, mut quote, mut is_escaped) = (0_usize, None, false);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(_), _) if is_escaped => is_escaped = false,
            (Some(_), '\\') => is_escaped = true,
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"') => quote = Some('"'),
            (None, '{' | '[' | '(') => depth += 1,
            (None, '}' | ']' | ')') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            (None, _) => {}
        }
    }
    None
}

/// The value of a text; `is_lenient` also takes what Python prints.
pub(in crate::layer) fn read(text: &str, is_lenient: bool) -> Option<Value> {
    let read = serde_json::from_str(text).ok();
    read.or_else(|| is_lenient.then(|| serde_json::from_str(&from_python(text)).ok()).flatten())
}

/// A literal of Python as JSON: strings in single quotes, `True`, `False`, `None`.
fn from_python(text: &str) -> String {
    let mut json = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut word = String::new();
    while let Some(c) = chars.next() {
        if c.is_ascii_alphabetic() {
            word.push(c);
            if chars.peek().is_some_and(char::is_ascii_alphabetic) {
                continue;
            }
            json.push_str(match word.as_str() {
                "True" => "true",
                "False" => "false",
                "None" => "null",
                other => other,
            });
            word.clear();
        } else if c == '\'' || c == '"' {
            json.push('"');
            while let Some(inner) = chars.next() {
                match inner {
                    _ if inner == c => break,
                    '\\' if chars.peek() == Some(&'\'') => json.extend(chars.next()),
                    '\\' => json.extend(['\\'].into_iter().chain(chars.next())),
                    '"' => json.push_str("\\\""),
                    inner => json.push(inner),
                }
            }
            json.push('"');
        } else {
            json.push(c);
        }
    }
    json
}

/// The arguments of `f(a=1, b="x")`: all values are JSON.
pub(in crate::layer) fn keywords(text: &str, is_lenient: bool) -> Option<Map<String, Value>> {
    let mut members = Map::new();
    for argument in split_commas(text) {
        let (name, value) = argument.split_once('=')?;
        let name = name.trim();
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let value = read(value.trim(), is_lenient)?;
        if !is_name || members.insert(name.to_owned(), value).is_some() {
            return None;
        }
    }
    Some(members)
}

/// The pieces of a text between commas that stand in no string, object or array.
fn split_commas(text: &str) -> Vec<&str> {
    let (mut depth, mut quote, mut is_escaped, mut from) = (0_usize, None, false, 0);
    let mut pieces = Vec::new();
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(_), _) if is_escaped => is_escaped = false,
            (Some(_), '\\') => is_escaped = true,
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '{' | '[' | '(') => depth += 1,
            (None, '}' | ']' | ')') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                pieces.extend(text.get(from..at));
                from = at + 1;
            }
            (None, _) => {}
        }
    }
    pieces.extend(text.get(from..).filter(|last| !last.trim().is_empty()));
    pieces
}

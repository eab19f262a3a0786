//! The words in which a model reads the problems of values.

use std::fmt::{self, Write as _};

use serde_json::Value;

/// Problems that are named; more would not help.
pub(crate) const MAX_PROBLEMS: usize = 10;
/// Allowed values that are named.
pub(crate) const MAX_CHOICES: usize = 20;
/// Characters of an offending value that are shown.
const MAX_SHOWN: usize = 60;

/// One problem as a phrase.
pub(crate) fn problem(path: &str, what: &str) -> String {
    if path.is_empty() { what.to_owned() } else { format!("`{path}` {what}") }
}

/// A JSON pointer as a phrase.
pub(crate) fn place(pointer: &str) -> &str {
    if pointer.is_empty() { "the root" } else { pointer }
}

/// A value as JSON, cut when it is long. It costs no more than what is shown.
pub(crate) fn shown(value: &Value) -> String {
    beginning(value, MAX_SHOWN)
}

/// The first characters of a value as JSON.
pub(crate) fn beginning(value: &Value, most: usize) -> String {
    let mut beginning = Beginning { text: String::new(), left: most };
    if beginning.value(value).is_err() {
        beginning.text.push('…');
    }
    beginning.text
}

struct Beginning {
    text: String,
    left: usize,
}

impl Beginning {
    fn value(&mut self, value: &Value) -> fmt::Result {
        match value {
            Value::Array(items) => {
                self.write_char('[')?;
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        self.write_char(',')?;
                    }
                    self.value(item)?;
                }
                self.write_char(']')
            }
            Value::Object(members) => {
                self.write_char('{')?;
                for (at, (name, value)) in members.iter().enumerate() {
                    if at > 0 {
                        self.write_char(',')?;
                    }
                    self.quoted(name)?;
                    self.write_char(':')?;
                    self.value(value)?;
                }
                self.write_char('}')
            }
            Value::String(text) => self.quoted(text),
            plain => write!(self, "{plain}"),
        }
    }

    fn quoted(&mut self, text: &str) -> fmt::Result {
        // Beyond these characters there is no room for the quote at the end.
        let end = text.char_indices().nth(self.left).map_or(text.len(), |(end, _)| end);
        write!(self, "{}", Value::from(text.get(..end).unwrap_or_default()))
    }
}

impl fmt::Write for Beginning {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            self.left = self.left.checked_sub(1).ok_or(fmt::Error)?;
            self.text.push(c);
        }
        Ok(())
    }
}

/// Values as a list, cut when there are many.
pub(crate) fn listed<'v>(values: impl Iterator<Item = &'v Value>) -> String {
    let shown: Vec<String> = values.take(MAX_CHOICES).map(shown).collect();
    shown.join(", ")
}

/// A text of at most `most` characters.
pub(crate) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

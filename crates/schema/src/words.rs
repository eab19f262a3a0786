//! The words in which a model reads the problems of values.

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

/// A value as JSON, cut when it is long.
pub(crate) fn shown(value: &Value) -> String {
    cut(&value.to_string(), MAX_SHOWN)
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

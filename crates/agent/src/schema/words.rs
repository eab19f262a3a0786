//! How problems of values are said to a model.

use serde_json::Value;

/// Problems that are named; more would not help.
pub(super) const MAX_PROBLEMS: usize = 10;
/// Characters of an offending value that are shown.
const MAX_SHOWN: usize = 60;

/// One problem as a phrase.
pub(super) fn problem(path: &str, what: &str) -> String {
    if path.is_empty() { what.to_owned() } else { format!("`{path}` {what}") }
}

/// A value as JSON, cut when it is long.
pub(super) fn shown(value: &Value) -> String {
    cut(&value.to_string(), MAX_SHOWN)
}

/// A text of at most `most` characters.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The types as the model reads them; `null` is what is left out.
pub(super) fn type_words<'a>(types: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<_> = types
        .filter(|name| *name != "null")
        .map(|name| match name {
            "integer" => "an integer",
            "array" => "an array",
            "object" => "an object",
            "boolean" => "true or false",
            "number" => "a number",
            "string" => "a string",
            other => other,
        })
        .collect();
    if words.is_empty() { "a value of its schema".to_owned() } else { words.join(" or ") }
}

//! The value of an answer while it is written.

use attache_core::structured::OutputSchema;
use serde_json::{Map, Value};

use super::spec::{OutputMode, OutputSpec, VALUE};

/// The maximum depth of values inside each other.
const MAX_DEPTH: usize = 64;

/// The number of places of a text where the value may begin that are tried.
const MAX_PLACES: usize = 64;

/// Reads an answer while it is written. The text is read again whenever it is an eighth longer, so that all of it costs
/// a fixed number of readings of each byte.
pub(crate) struct Partial {
    /// The name of the tool that takes the value.
    tool: Option<String>,
    is_wrapped: bool,
    /// The schema of the value, if a text holds it, in which other brackets may come first.
    schema: Option<OutputSchema>,
    /// The place of the text where the value is looked for.
    begin: usize,
    places: usize,
    /// True if the value is whole.
    is_whole: bool,
    /// The call that is read.
    slot: Option<usize>,
    text: String,
    next: usize,
    last: Option<Value>,
}

/// The meaning of a piece of a call.
pub(crate) enum Piece {
    /// It belongs to a call of another tool, and is handed back.
    Other(Option<String>, String),
    /// It belongs to the answer, of which this is known now, if it is more than before.
    Answer(Option<Value>),
}

impl Partial {
    pub(crate) fn new(spec: &OutputSpec) -> Self {
        let is_tool = spec.mode == OutputMode::Tool;
        Self {
            tool: is_tool.then(|| spec.name.clone()),
            is_wrapped: is_tool && spec.is_wrapped(),
            schema: (!is_tool).then(|| spec.schema.clone()),
            begin: 0,
            places: 0,
            is_whole: false,
            slot: None,
            text: String::new(),
            next: 0,
            last: None,
        }
    }

    /// Takes a piece of text.
    pub(crate) fn content(&mut self, piece: &str) -> Option<Value> {
        match self.tool {
            Some(_) => None,
            None => self.push(piece),
        }
    }

    /// Takes a piece of a call.
    pub(crate) fn call(&mut self, slot: usize, name: Option<String>, piece: String) -> Piece {
        if self.slot.is_none() && name.is_some() && name == self.tool {
            self.slot = Some(slot);
        }
        let is_again = name.is_some() && name == self.tool;
        match self.slot == Some(slot) {
            true => Piece::Answer(self.push(&piece)),
            false if is_again => Piece::Answer(None),
            false => Piece::Other(name, piece),
        }
    }

    fn push(&mut self, piece: &str) -> Option<Value> {
        self.text.push_str(piece);
        let length = self.text.len();
        if length < self.next || self.is_whole {
            return None;
        }
        self.next = length + length / 8;
        let mut value = self.read()?;
        if self.is_wrapped {
            value = value.as_object_mut()?.remove(VALUE)?;
        }
        if self.last.as_ref() == Some(&value) {
            return None;
        }
        self.last = Some(value.clone());
        Some(value)
    }

    /// The value as far as it is written, at the first place where there may be one.
    fn read(&mut self) -> Option<Value> {
        loop {
            let begin = self.begin + self.place(self.begin)?;
            let (value, end) = prefix(self.text.get(begin..)?);
            let Some(schema) = &self.schema else { return value };
            let next = match end {
                End::Open => return value,
                End::Broken => begin + 1,
                End::Whole(_) if value.clone().is_some_and(|value| schema.fitted(value).is_ok()) => {
                    self.is_whole = true;
                    return value;
                }
                // Prose has brackets of its own, such as the number of a source.
                End::Whole(length) => begin + length,
            };
            if self.places >= MAX_PLACES || self.place(next).is_none() {
                return value;
            }
            (self.begin, self.places) = (next, self.places + 1);
        }
    }

    /// The next place from `at` on where the value may begin.
    fn place(&self, at: usize) -> Option<usize> {
        let kind = self.schema.as_ref().and_then(|schema| schema.value().get("type")?.as_str());
        let rest = self.text.get(at..)?;
        match kind {
            Some("object") => rest.find('{'),
            Some("array") => rest.find('['),
            _ => rest.find(['{', '[']),
        }
    }
}

/// The state of a text behind the known part of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The value goes on.
    Open,
    /// The value ends there.
    Whole(usize),
    /// The text there is no JSON.
    Broken,
}

/// The known part of the JSON value that a text begins. Names, numbers and words that may go on are left out,
/// a text that goes on is there as far as it is written.
fn prefix(text: &str) -> (Option<Value>, End) {
    let mut open: Vec<Open> = Vec::new();
    let mut rest = text.trim_start();
    loop {
        let done = match rest.chars().next() {
            None => return (close(open, None), End::Open),
            Some(_) if open.len() > MAX_DEPTH => return (close(open, None), End::Open),
            Some('{') => {
                open.push(Open::Object(Map::new(), None));
                rest = after(rest, 1);
                None
            }
            Some('[') => {
                open.push(Open::Array(Vec::new()));
                rest = after(rest, 1);
                None
            }
            Some('}' | ']') => {
                rest = after(rest, 1);
                match open.pop() {
                    Some(Open::Object(members, _)) => Some(Value::Object(members)),
                    Some(Open::Array(items)) => Some(Value::Array(items)),
                    None => return (None, End::Broken),
                }
            }
            Some(',' | ':') => {
                rest = after(rest, 1);
                None
            }
            Some('"') => {
                let is_name = matches!(open.last(), Some(Open::Object(_, None)));
                let Some(length) = string_length(rest) else {
                    let said = (!is_name).then(|| unfinished(rest)).flatten();
                    return (close(open, said), End::Open);
                };
                let Ok(said) = serde_json::from_str::<String>(before(rest, length)) else {
                    return (close(open, None), End::Broken);
                };
                rest = after(rest, length);
                match open.last_mut() {
                    Some(Open::Object(_, name @ None)) => {
                        *name = Some(said);
                        None
                    }
                    _ => Some(Value::String(said)),
                }
            }
            Some(_) => {
                let Some(length) = rest.find([',', '}', ']', ' ', '\n', '\r', '\t']) else {
                    return (close(open, None), End::Open);
                };
                let Ok(value) = serde_json::from_str::<Value>(before(rest, length)) else {
                    return (close(open, None), End::Broken);
                };
                rest = after(rest, length);
                Some(value)
            }
        };
        if let Some(value) = done {
            match open.last_mut() {
                Some(parent) => parent.add(value),
                None => return (Some(value), End::Whole(text.len() - rest.len())),
            }
        }
        rest = rest.trim_start();
    }
}

/// A container that is not closed yet.
enum Open {
    Object(Map<String, Value>, Option<String>),
    Array(Vec<Value>),
}

impl Open {
    fn add(&mut self, value: Value) {
        match self {
            Self::Object(members, name) => members.extend(name.take().map(|name| (name, value))),
            Self::Array(items) => items.push(value),
        }
    }
}

fn close(mut open: Vec<Open>, mut value: Option<Value>) -> Option<Value> {
    while let Some(mut last) = open.pop() {
        if let Some(value) = value.take() {
            last.add(value);
        }
        value = Some(match last {
            Open::Object(members, _) => Value::Object(members),
            Open::Array(items) => Value::Array(items),
        });
    }
    value
}

fn before(text: &str, length: usize) -> &str {
    text.get(..length).unwrap_or_default()
}

fn after(text: &str, length: usize) -> &str {
    text.get(length..).unwrap_or_default()
}

/// The length of a JSON string with its quotes; `None` if it is not closed.
fn string_length(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// A string without its end, as far as it can be read: an escape may have been cut.
fn unfinished(text: &str) -> Option<Value> {
    let ends = text.char_indices().rev().map(|(at, c)| at + c.len_utf8());
    let read = |end: usize| serde_json::from_str::<String>(&[text.get(..end)?, "\""].concat()).ok();
    // The longest escape is a pair of surrogates.
    ends.take(12).find_map(read).map(Value::String)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_may_go_on_is_left_out() {
        for (text, value) in [
            ("{", json!({})),
            ("{\"na", json!({})),
            ("{\"name\"", json!({})),
            ("{\"name\": \"An", json!({"name": "An"})),
            ("{\"name\": \"Ann\\", json!({"name": "Ann"})),
            ("{\"name\": \"\\ud83d\\ude", json!({"name": ""})),
            ("{\"n\": 12", json!({})),
            ("{\"n\": 12,", json!({"n": 12})),
            ("{\"n\": tru", json!({})),
            ("[1, 2, {\"a\": [\"x", json!([1, 2, {"a": ["x"]}])),
            ("{\"a\": {\"b\": null}} trailing", json!({"a": {"b": null}})),
        ] {
            assert_eq!(prefix(text).0, Some(value), "{text}");
        }
        assert_eq!(prefix("]").0, None);
    }

    #[test]
    fn brackets_of_prose_are_passed_by() {
        let object = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"],
            "additionalProperties": false});
        let array = json!({"type": "array", "items": {"type": "object"}});
        let any = json!({"anyOf": [object]});
        for (schema, text, value) in [
            (&object, "see [1]: {\"n\": 7}", json!({"n": 7})),
            (&object, "with {name} and {\"m\": 1}: {\"n\": 7} as {\"n\": 9}", json!({"n": 7})),
            (&array, "see [1], [a] and [2]: [{\"n\": 7}] [3]", json!([{"n": 7}])),
            (&any, "see [1] {\"n\": 7} [2]", json!({"n": 7})),
        ] {
            for size in [1, 5, text.len()] {
                let mut partial =
                    Partial::new(&OutputSpec::new(schema.clone()).with_mode(OutputMode::Prompted));
                let mut last = None;
                for piece in text.as_bytes().chunks(size) {
                    last = partial.content(std::str::from_utf8(piece).unwrap()).or(last);
                }
                // It is read again when it is an eighth longer.
                last = partial.content(&" ".repeat(text.len())).or(last);
                assert_eq!(last, Some(value.clone()), "{text} by {size}");
            }
        }
        let mut partial = Partial::new(&OutputSpec::new(object).with_mode(OutputMode::Prompted));
        partial.content(&"{".repeat(200_000));
        partial.content(&"{a".repeat(200_000));
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
            Just(Value::Null),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-z]{1,4}", inner, 0..4).prop_map(|map| json!(map)),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_whole_text_is_the_value_and_no_cut_panics(value in values()) {
            let text = json!([value]).to_string();
            for (at, _) in text.char_indices() {
                prefix(&text[..at]);
            }
            prop_assert_eq!(prefix(&text), (Some(json!([value])), End::Whole(text.len())));
        }

        #[test]
        fn hostile_texts_do_not_panic(text in "[\\[\\]{}\":,\\\\ua0-9 ]{0,64}") {
            prefix(&text);
        }
    }
}

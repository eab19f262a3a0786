//! TOML as values that know their places.

use std::collections::HashMap;
use std::ops::Range;

use serde_json::{Map, Number, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The values of a file, with the place of each by its path.
pub(crate) struct Located {
    pub(crate) value: Value,
    spans: HashMap<String, Range<usize>>,
    keys: HashMap<String, Range<usize>>,
}

impl Located {
    /// Reads a text.
    ///
    /// # Errors
    /// Every mistake, with its place in bytes.
    pub(crate) fn parse(text: &str) -> Result<Self, Vec<(Option<usize>, String)>> {
        let (table, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            let of = |error: &toml::de::Error| {
                (error.span().map(|span| span.start), error.message().trim().replace('\n', ", "))
            };
            return Err(errors.iter().map(of).collect());
        }
        let mut located = Self { value: Value::Null, spans: HashMap::new(), keys: HashMap::new() };
        let mut problems = Vec::new();
        located.value = located.table(table.get_ref(), "", &mut problems);
        if problems.is_empty() { Ok(located) } else { Err(problems) }
    }

    /// The place in bytes of a key, or of the nearest one around it.
    pub(crate) fn start(&self, path: &str) -> Option<usize> {
        let own = self.keys.get(path).or_else(|| self.spans.get(path)).map(|span| span.start);
        own.or_else(|| self.start(parent(path)?))
    }

    fn table(
        &mut self,
        table: &DeTable<'_>,
        path: &str,
        problems: &mut Vec<(Option<usize>, String)>,
    ) -> Value {
        let mut members: Vec<_> = table.iter().collect();
        members.sort_by_key(|(key, _)| key.span().start);
        let mut map = Map::new();
        for (key, value) in members {
            let inner = below(path, key.get_ref());
            self.keys.insert(inner.clone(), key.span());
            map.insert(key.get_ref().to_string(), self.value(value, &inner, problems));
        }
        Value::Object(map)
    }

    fn value(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        path: &str,
        problems: &mut Vec<(Option<usize>, String)>,
    ) -> Value {
        self.spans.insert(path.to_owned(), value.span());
        let mut wrong = |what: &str| {
            problems.push((Some(value.span().start), format!("{path} is {what}")));
            Value::Null
        };
        match value.get_ref() {
            DeValue::String(text) => Value::String(text.to_string()),
            DeValue::Boolean(is) => Value::Bool(*is),
            DeValue::Integer(integer) => match i64::from_str_radix(integer.as_str(), integer.radix()) {
                Ok(number) => number.into(),
                Err(_) => wrong("a number too large"),
            },
            DeValue::Float(float) => {
                let number = float.as_str().parse().ok().and_then(Number::from_f64);
                number.map_or_else(|| wrong("no number that JSON has"), Value::Number)
            }
            DeValue::Datetime(time) => Value::String(time.to_string()),
            DeValue::Array(items) => {
                let items = items.iter().enumerate();
                items.map(|(at, item)| self.value(item, &format!("{path}[{at}]"), problems)).collect()
            }
            DeValue::Table(table) => self.table(table, path, problems),
        }
    }
}

/// The path of a member.
pub(crate) fn below(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// The path around a path, where it has one. Names may hold dots, so it is a step of letters and no parse.
fn parent(path: &str) -> Option<&str> {
    path.rfind(['.', '[']).and_then(|end| path.get(..end)).filter(|path| !path.is_empty())
}

/// The line of a place in bytes, from 1 on.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

//! The keywords of one schema, each as what it must be.

use std::borrow::Cow;

use serde_json::{Map, Number, Value};

use super::error::SchemaError;
use super::rules::{Kinds, Numbers};
use super::words::shown;

/// A keyword's value as what it must be.
pub(crate) type Read<T> = Result<T, SchemaError>;

/// The place of a schema.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) pointer: String,
    /// The pointer of the schema that references start from: the root, or one with an `$id`.
    pub(crate) base: String,
    pub(crate) depth: usize,
}

impl Place {
    pub(crate) fn below(&self, keyword: &str) -> Self {
        Self { pointer: format!("{}/{}", self.pointer, escaped(keyword)), ..self.clone() }
    }

    pub(crate) fn error(&self, problem: impl Into<String>) -> SchemaError {
        SchemaError { pointer: self.pointer.clone(), problem: problem.into() }
    }
}

/// The keywords of one schema.
pub(crate) struct Keywords<'p, 's> {
    pub(crate) place: &'p Place,
    pub(crate) members: &'s Map<String, Value>,
}

impl<'s> Keywords<'_, 's> {
    /// The value of a keyword. A schema has few, among which to look is shorter than to hash.
    pub(crate) fn get(&self, keyword: &str) -> Option<&'s Value> {
        self.members.iter().find_map(|(name, value)| (name == keyword).then_some(value))
    }

    pub(crate) fn wrong(&self, keyword: &str, expected: &str) -> SchemaError {
        self.place.error(format!("{keyword} must be {expected}"))
    }

    pub(crate) fn list(&self, keyword: &str) -> Read<Option<&'s [Value]>> {
        match self.get(keyword) {
            None => Ok(None),
            Some(Value::Array(list)) => Ok(Some(list)),
            Some(_) => Err(self.wrong(keyword, "a list")),
        }
    }

    pub(crate) fn object(
        &self,
        keyword: &str,
    ) -> Read<impl Iterator<Item = (&'s String, &'s Value)> + use<'s>> {
        match self.get(keyword) {
            None => Ok(None.into_iter().flatten()),
            Some(Value::Object(object)) => Ok(Some(object).into_iter().flatten()),
            Some(_) => Err(self.wrong(keyword, "an object")),
        }
    }

    pub(crate) fn text(&self, keyword: &str) -> Read<Option<&'s str>> {
        match self.get(keyword) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.wrong(keyword, "a text")),
        }
    }

    pub(crate) fn count(&self, keyword: &str) -> Read<Option<u64>> {
        let Some(value) = self.get(keyword) else { return Ok(None) };
        let whole = value.as_u64().or_else(|| {
            let float = value.as_f64().filter(|float| float.fract() == 0.0 && (0.0..1e15).contains(float))?;
            format!("{float:.0}").parse().ok()
        });
        whole.map(Some).ok_or_else(|| self.wrong(keyword, "a whole number that is not negative"))
    }

    pub(crate) fn number(&self, keyword: &str) -> Read<Option<Number>> {
        match self.get(keyword) {
            None => Ok(None),
            Some(Value::Number(number)) => Ok(Some(number.clone())),
            Some(_) => Err(self.wrong(keyword, "a number")),
        }
    }

    pub(crate) fn numbers(&self, kinds: Kinds) -> Read<Numbers> {
        let mut numbers = Numbers {
            minimum: self.number("minimum")?,
            maximum: self.number("maximum")?,
            multiple_of: self.number("multipleOf")?,
            ..Numbers::default()
        };
        if numbers.multiple_of.as_ref().and_then(Number::as_f64).is_some_and(|number| number <= 0.0) {
            return Err(self.wrong("multipleOf", "more than 0"));
        }
        // In draft 4 these say how `minimum` and `maximum` are meant.
        match self.get("exclusiveMinimum") {
            Some(Value::Bool(true)) => numbers.above = numbers.minimum.take(),
            Some(Value::Bool(false)) => {}
            _ => numbers.above = self.number("exclusiveMinimum")?,
        }
        match self.get("exclusiveMaximum") {
            Some(Value::Bool(true)) => numbers.below = numbers.maximum.take(),
            Some(Value::Bool(false)) => {}
            _ => numbers.below = self.number("exclusiveMaximum")?,
        }
        // Beyond these no value of the type can be made.
        if kinds.is_integer()
            && let Some((least, most)) = self.get("format").and_then(Value::as_str).and_then(range)
        {
            numbers.minimum.get_or_insert_with(|| least.into());
            numbers.maximum.get_or_insert_with(|| most.into());
        }
        Ok(numbers)
    }

    pub(crate) fn kinds(&self) -> Read<Kinds> {
        let kind = |value: &Value| {
            let known = value.as_str().and_then(Kinds::named);
            known.ok_or_else(|| self.place.error(format!("there is no type {}", shown(value))))
        };
        let mut kinds = match self.get("type") {
            None => return Ok(Kinds::default()),
            Some(Value::Array(names)) => {
                names.iter().try_fold(Kinds::default(), |kinds, name| Ok(kinds.with(kind(name)?)))?
            }
            Some(name) => kind(name)?,
        };
        if self.get("nullable") == Some(&Value::Bool(true)) && !kinds.is_empty() {
            kinds = kinds.with(Kinds::NULL);
        }
        Ok(kinds)
    }

    /// Names under a keyword; draft 3 has `true` or `false` here, which says nothing in a list.
    pub(crate) fn names(&self, keyword: &str) -> Read<Vec<String>> {
        match self.get(keyword) {
            None | Some(Value::Bool(_)) => Ok(Vec::new()),
            Some(Value::Array(names)) => strings(names, || self.place.below(keyword)),
            Some(_) => Err(self.wrong(keyword, "a list of names")),
        }
    }
}

pub(crate) fn strings(names: &[Value], place: impl FnOnce() -> Place) -> Read<Vec<String>> {
    let text = |name: &Value| name.as_str().map(str::to_owned);
    names.iter().map(text).collect::<Option<_>>().ok_or_else(|| place().error("it must be a list of names"))
}

/// The range of the integers that a format names.
pub(crate) fn range(format: &str) -> Option<(i64, u64)> {
    Some(match format {
        "int8" => (i8::MIN.into(), 0x7f),
        "int16" => (i16::MIN.into(), 0x7fff),
        "int32" => (i32::MIN.into(), 0x7fff_ffff),
        "int64" | "int" => (i64::MIN, 0x7fff_ffff_ffff_ffff),
        "uint8" => (0, u8::MAX.into()),
        "uint16" => (0, u16::MAX.into()),
        "uint32" => (0, u32::MAX.into()),
        "uint64" | "uint" => (0, u64::MAX),
        _ => return None,
    })
}

/// A name as a piece of a JSON pointer.
pub(crate) fn escaped(name: &str) -> Cow<'_, str> {
    match name.contains(['~', '/']) {
        true => Cow::Owned(name.replace('~', "~0").replace('/', "~1")),
        false => Cow::Borrowed(name),
    }
}

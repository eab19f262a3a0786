//! Wire values that read whatever a server sends.
//!
//! Every member of a response may be absent, `null`, empty or of a neighbouring type (openai.md 0.4 1).
//! These types never fail on valid JSON: what does not fit reads as absent. They borrow from the input, and nothing
//! is built for members that nobody reads. One `#[serde(borrow)]` in a struct lets all of its members borrow.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A string. Numbers and booleans read as their text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Text<'a>(pub Option<Cow<'a, str>>);

impl<'a> Text<'a> {
    /// The text, if there is any; empty text is none.
    #[inline]
    pub fn get(&self) -> Option<&str> {
        self.0.as_deref().filter(|text| !text.is_empty())
    }

    /// The text, if there is any, as one's own.
    pub fn filled(self) -> Option<String> {
        self.0.filter(|text| !text.is_empty()).map(Cow::into_owned)
    }
}

/// A non-negative integer, also as a float or as text.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Count(pub Option<u64>);

/// True if a member is `true`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Flag(pub bool);

/// A JSON object that reads as a `T`.
#[derive(Debug)]
pub struct Object<T>(pub Option<T>);

impl<T> Default for Object<T> {
    fn default() -> Self {
        Self(None)
    }
}

/// The items of an array. An object in its place reads as the only item.
#[derive(Debug)]
pub struct List<T>(pub Vec<T>);

/// The items of an array as they stand there. An object in its place is the only item.
#[derive(Debug, Default)]
pub struct RawList<'a>(pub Vec<&'a RawValue>);

impl<'a> RawList<'a> {
    /// The items of a value; none where it is neither an array nor an object.
    pub fn of(value: &'a RawValue) -> Self {
        match value.get().as_bytes().first() {
            Some(b'[') => Self(serde_json::from_str(value.get()).unwrap_or_default()),
            Some(b'{') => Self(vec![value]),
            _ => Self::default(),
        }
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// The reading of a value by the type that it has in JSON; the default where that is none of the expected. Types that
/// say so read by [`lenient`].
pub trait Lenient<'de>: Default {
    /// A string that holds no escapes.
    fn borrowed(text: &'de str) -> Self {
        Self::text(text)
    }

    /// Any other string.
    fn text(_: &str) -> Self {
        Self::default()
    }

    /// `true` or `false`.
    fn boolean(_: bool) -> Self {
        Self::default()
    }

    /// A number.
    fn number(_: Number) -> Self {
        Self::default()
    }

    /// An array.
    ///
    /// # Errors
    /// Malformed JSON inside it.
    fn list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }

    /// An object.
    ///
    /// # Errors
    /// Malformed JSON inside it.
    fn object<A: MapAccess<'de>>(mut object: A) -> Result<Self, A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

/// A number as JSON has it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(clippy::exhaustive_enums, reason = "JSON knows no other number")]
pub enum Number {
    /// An integer from 0 up.
    Unsigned(u64),
    /// An integer below 0.
    Signed(i64),
    /// Any other.
    Float(f64),
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsigned(number) => number.fmt(f),
            Self::Signed(number) => number.fmt(f),
            Self::Float(number) => number.fmt(f),
        }
    }
}

impl From<Number> for serde_json::Value {
    fn from(number: Number) -> Self {
        match number {
            Number::Unsigned(number) => number.into(),
            Number::Signed(number) => number.into(),
            Number::Float(number) => number.into(),
        }
    }
}

/// Reads any value as a `T`.
///
/// # Errors
/// Malformed JSON.
pub fn lenient<'de, T: Lenient<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_any(Any(PhantomData))
}

struct Any<T>(PhantomData<T>);

impl<'de, T: Lenient<'de>> Visitor<'de> for Any<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<T, E> {
        Ok(T::borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::text(text))
    }

    fn visit_bool<E>(self, value: bool) -> Result<T, E> {
        Ok(T::boolean(value))
    }

    fn visit_u64<E>(self, number: u64) -> Result<T, E> {
        Ok(T::number(Number::Unsigned(number)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<T, E> {
        Ok(T::number(Number::Signed(number)))
    }

    fn visit_f64<E>(self, number: f64) -> Result<T, E> {
        Ok(T::number(Number::Float(number)))
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        T::list(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<T, A::Error> {
        T::object(object)
    }
}

impl<'a> Lenient<'a> for Text<'a> {
    fn borrowed(text: &'a str) -> Self {
        Self(Some(Cow::Borrowed(text)))
    }

    fn text(text: &str) -> Self {
        Self(Some(Cow::Owned(text.to_owned())))
    }

    fn boolean(value: bool) -> Self {
        Self(Some(Cow::Borrowed(if value { "true" } else { "false" })))
    }

    fn number(number: Number) -> Self {
        Self(Some(Cow::Owned(number.to_string())))
    }
}

impl Lenient<'_> for Count {
    fn text(text: &str) -> Self {
        Self(text.trim().parse().ok())
    }

    fn number(number: Number) -> Self {
        Self(match number {
            Number::Unsigned(count) => Some(count),
            Number::Signed(_) => None,
            // Beyond 2^53 a float is no exact count any more.
            Number::Float(float) => {
                let exact = float >= 0.0 && float.fract() == 0.0 && float < 9_007_199_254_740_992.0;
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "the value was checked to be a non-negative integer below 2^53"
                )]
                exact.then_some(float as u64)
            }
        })
    }
}

impl Lenient<'_> for Flag {
    fn boolean(value: bool) -> Self {
        Self(value)
    }
}

impl<'de, T: Deserialize<'de>> Lenient<'de> for Object<T> {
    fn object<A: MapAccess<'de>>(object: A) -> Result<Self, A::Error> {
        T::deserialize(MapAccessDeserializer::new(object)).map(|object| Self(Some(object)))
    }
}

impl<'de, T: Lenient<'de> + Deserialize<'de>> Lenient<'de> for List<T> {
    fn list<A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let Some(first) = list.next_element()? else { return Ok(Self::default()) };
        // Most have one item, and items are large: room for more is made when it is wanted.
        let mut items = vec![first];
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Self(items))
    }

    fn object<A: MapAccess<'de>>(object: A) -> Result<Self, A::Error> {
        T::object(object).map(|item| Self(vec![item]))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        lenient(deserializer)
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        lenient(deserializer)
    }
}

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        lenient(deserializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        lenient(deserializer)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawList<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <&'de RawValue>::deserialize(deserializer).map(Self::of)
    }
}

impl<'de, T: Lenient<'de> + Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        lenient(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::{Count, List, Object, RawList, Text};

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Wire<'a> {
        #[serde(borrow)]
        text: Text<'a>,
        count: Count,
        object: Object<Inner<'a>>,
        list: List<Count>,
        raws: RawList<'a>,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Inner<'a> {
        #[serde(borrow)]
        text: Text<'a>,
    }

    // openai.md 0.4 1
    #[test]
    fn nothing_that_is_json_fails() {
        for value in
            ["null", "\"\"", "\"a\"", "1", "-1", "1.5", "true", "[]", "[1]", "{}", "{\"text\":7}", "[[{}]]"]
        {
            for member in ["text", "count", "object", "list", "raws"] {
                let json = format!("{{\"{member}\":{value},\"unknown\":{value}}}");
                let wire: Wire<'_> = serde_json::from_str(&json).unwrap();
                if value == "null" {
                    assert!(wire.text.get().is_none() && wire.count.0.is_none(), "{json}");
                    assert!(wire.object.0.is_none() && wire.list.0.is_empty(), "{json}");
                }
            }
        }
    }

    #[test]
    fn neighbouring_types_are_read() {
        let json = r#"{"text":429,"count":"12","object":{"text":"x"},"list":[1,null,2.0,"3",{}]}"#;
        let wire: Wire<'_> = serde_json::from_str(json).unwrap();
        assert_eq!((wire.text.get(), wire.count.0), (Some("429"), Some(12)));
        assert_eq!(wire.object.0.unwrap().text.get(), Some("x"));
        let counts: Vec<_> = wire.list.0.iter().map(|count| count.0).collect();
        assert_eq!(counts, [Some(1), None, Some(2), Some(3), None]);
        let json = r#"{"raws":[1.50,{"a":null}]}"#;
        let raws = serde_json::from_str::<Wire<'_>>(json).unwrap().raws;
        assert_eq!(raws.0.iter().map(|raw| raw.get()).collect::<Vec<_>>(), ["1.50", "{\"a\":null}"]);
        let one = serde_json::from_str::<Wire<'_>>(r#"{"raws": {"a":1} }"#).unwrap().raws;
        assert_eq!(one.0.iter().map(|raw| raw.get()).collect::<Vec<_>>(), ["{\"a\":1}"]);
        let one: List<Object<Inner<'_>>> = serde_json::from_str(r#"{"text":"x"}"#).unwrap();
        assert_eq!(one.0.len(), 1);
        assert_eq!(one.0[0].0.as_ref().unwrap().text.get(), Some("x"), "one that is not in a list");
    }
}

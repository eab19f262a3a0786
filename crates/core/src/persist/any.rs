//! Raw JSON out of any deserializer.

use std::fmt;

use serde::de::value::MapDeserializer;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::Value;
use serde_json::value::RawValue;

/// The JSON that a deserializer holds.
///
/// serde_json hands out its text as it stands. Inside a tagged, untagged or flattened type serde has read the text
/// already; what it read is written again, members in their order.
pub(super) fn raw<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<RawValue>, D::Error> {
    Box::<RawValue>::deserialize(Lenient(deserializer))
}

/// A deserializer that can be asked for raw JSON, whatever is behind it.
struct Lenient<D>(D);

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Lenient<D> {
    type Error = D::Error;

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_newtype_struct(name, OrWritten { name, visitor })
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, D::Error> {
        Err(D::Error::custom("raw JSON is asked for as a newtype"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// The visitor of raw JSON, which takes a map of one entry: the type's name, and the text.
struct OrWritten<V> {
    name: &'static str,
    visitor: V,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for OrWritten<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.visitor.expecting(f)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<V::Value, A::Error> {
        self.visitor.visit_map(map)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        let text = Value::deserialize(deserializer)?.to_string();
        self.visitor.visit_map(MapDeserializer::new(std::iter::once((self.name, text))))
    }
}

//! The arguments that are the fields of one struct.

use serde::Deserializer;
use serde::de::value::MapDeserializer;
use serde::de::{IntoDeserializer, Visitor};
use serde_json::{Error, Map, Value};

/// Reads a struct of the arguments that it has fields for: it may refuse unknown ones, and those of others are none.
pub(super) struct Fields<'a>(pub(super) &'a Map<String, Value>);

impl<'de> Deserializer<'de> for Fields<'de> {
    type Error = Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let own = self.0.iter().filter(|(name, _)| fields.contains(&name.as_str()));
        visitor.visit_map(MapDeserializer::new(own.map(|(name, value)| (name.as_str(), value))))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    // A struct with flattened fields of its own reads whatever is there.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.0.into_deserializer().deserialize_any(visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        seq tuple tuple_struct map enum identifier ignored_any
    }
}

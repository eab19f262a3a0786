//! Looks through an output that could not be written, for the documents in it.

use std::fmt;

use serde::Serialize;
use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

use crate::document::reference::{REFERENCE_ID, REFERENCE_MARKER};
use crate::id::DocumentId;

/// Nested values that are looked at.
const MAX_DEPTH: usize = 128;

/// The ids in the document references of `output`, in order, whatever JSON cannot say of the rest. Serialising it tells
/// the active capture of the documents once more. At most `max_values` values are looked at.
pub(super) fn references<T: Serialize + ?Sized>(output: &T, max_values: usize) -> Vec<DocumentId> {
    let mut walk = Walk { left: max_values, depth: 0, found: Vec::new() };
    // Whatever fails further down is left out.
    let _ = output.serialize(&mut walk);
    walk.found
}

/// Accepts every value and writes nothing.
struct Walk {
    left: usize,
    depth: usize,
    found: Vec<DocumentId>,
}

impl Walk {
    fn step(&mut self) -> Result<(), fmt::Error> {
        self.left = self.left.checked_sub(1).ok_or(fmt::Error)?;
        Ok(())
    }

    fn down(&mut self) -> Result<Inside<'_>, fmt::Error> {
        self.step()?;
        if self.depth >= MAX_DEPTH {
            return Err(fmt::Error);
        }
        let outside = self.depth;
        self.depth += 1;
        let place = self.found.len();
        Ok(Inside { walk: self, outside, place, is_reference: false, key: None, id: None })
    }
}

/// An array or an object.
struct Inside<'a> {
    walk: &'a mut Walk,
    outside: usize,
    /// The place of its own id among those found: before those inside it.
    place: usize,
    is_reference: bool,
    key: Option<String>,
    id: Option<DocumentId>,
}

impl Inside<'_> {
    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), fmt::Error> {
        let depth = self.walk.depth;
        // A value that fails does not hide those behind it.
        let _ = value.serialize(&mut *self.walk);
        self.walk.depth = depth;
        self.walk.step()
    }

    fn member<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), fmt::Error> {
        self.is_reference |= key == REFERENCE_MARKER;
        if key == REFERENCE_ID
            && let Ok(Ok(id)) = serde_json::to_string(value).map(|json| serde_json::from_str(&json))
        {
            self.id = Some(id);
        }
        self.value(value)
    }

    fn leave(self) -> Result<(), fmt::Error> {
        self.walk.depth = self.outside;
        if let Some(id) = self.id.filter(|_| self.is_reference) {
            self.walk.found.insert(self.place.min(self.walk.found.len()), id);
        }
        Ok(())
    }
}

macro_rules! scalars {
    ($($name:ident($type:ty))*) => {
        $(fn $name(self, _: $type) -> Result<(), fmt::Error> {
            self.step()
        })*
    };
}

impl<'a> Serializer for &'a mut Walk {
    type Ok = ();
    type Error = fmt::Error;
    type SerializeSeq = Inside<'a>;
    type SerializeTuple = Inside<'a>;
    type SerializeTupleStruct = Inside<'a>;
    type SerializeTupleVariant = Inside<'a>;
    type SerializeMap = Inside<'a>;
    type SerializeStruct = Inside<'a>;
    type SerializeStructVariant = Inside<'a>;

    scalars! {
        serialize_bool(bool) serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64)
        serialize_i128(i128) serialize_u8(u8) serialize_u16(u16) serialize_u32(u32) serialize_u64(u64)
        serialize_u128(u128) serialize_f32(f32) serialize_f64(f64) serialize_char(char) serialize_str(&str)
        serialize_bytes(&[u8]) serialize_unit_struct(&'static str)
    }

    fn serialize_none(self) -> Result<(), fmt::Error> {
        self.step()
    }

    fn serialize_unit(self) -> Result<(), fmt::Error> {
        self.step()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<(), fmt::Error> {
        self.step()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), fmt::Error> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), fmt::Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), fmt::Error> {
        let mut inside = self.down()?;
        inside.value(value)?;
        inside.leave()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Inside<'a>, fmt::Error> {
        self.down()
    }

    fn serialize_tuple(self, _: usize) -> Result<Inside<'a>, fmt::Error> {
        self.down()
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Inside<'a>, fmt::Error> {
        self.down()
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Inside<'a>, fmt::Error> {
        self.down()
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Inside<'a>, fmt::Error> {
        self.down()
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Inside<'a>, fmt::Error> {
        self.down()
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Inside<'a>, fmt::Error> {
        self.down()
    }
}

macro_rules! lists {
    ($($trait:ident::$element:ident)*) => {
        $(impl $trait for Inside<'_> {
            type Ok = ();
            type Error = fmt::Error;

            fn $element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), fmt::Error> {
                self.value(value)
            }

            fn end(self) -> Result<(), fmt::Error> {
                self.leave()
            }
        })*
    };
}

lists! {
    SerializeSeq::serialize_element SerializeTuple::serialize_element SerializeTupleStruct::serialize_field
    SerializeTupleVariant::serialize_field
}

macro_rules! structs {
    ($($trait:ident)*) => {
        $(impl $trait for Inside<'_> {
            type Ok = ();
            type Error = fmt::Error;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), fmt::Error> {
                self.member(key, value)
            }

            fn end(self) -> Result<(), fmt::Error> {
                self.leave()
            }
        })*
    };
}

structs! { SerializeStruct SerializeStructVariant }

impl SerializeMap for Inside<'_> {
    type Ok = ();
    type Error = fmt::Error;

    /// Keys may be of any type here; of those that matter the text is known.
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), fmt::Error> {
        let json = serde_json::to_string(key).unwrap_or_default();
        self.key = serde_json::from_str(&json).ok();
        self.walk.step()
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), fmt::Error> {
        let key = self.key.take().unwrap_or_default();
        self.member(&key, value)
    }

    fn end(self) -> Result<(), fmt::Error> {
        self.leave()
    }
}

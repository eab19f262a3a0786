//! Documents and trees as they are written: each tells the capture that is active.

use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::capture::{register, register_tree};
use crate::document::{Document, Reader};
use crate::tree::ContentTree;

impl Serialize for Document {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match register(self) {
            Ok(Some(captured)) => {
                let reader = Reader::Model { id: &captured.id, store_id: captured.store_id.as_deref() };
                self.write_reference(serializer, reader)
            }
            Ok(None) => self.write_reference(serializer, Reader::Nobody),
            Err(full) => Err(S::Error::custom(full)),
        }
    }
}

/// Serialises as the JSON itself. Inside a capture its documents are captured again, so a tool may return a tree that
/// another tool returned. Those that it withholds stay withheld.
impl Serialize for ContentTree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        register_tree(self).map_err(S::Error::custom)?;
        let raw: &RawValue = serde_json::from_str(self.json()).map_err(S::Error::custom)?;
        raw.serialize(serializer)
    }
}

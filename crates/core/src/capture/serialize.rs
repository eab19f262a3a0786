//! Documents, trees and deferred results as they are written: each tells the capture that is active.

use serde::ser::{Error as _, SerializeMap};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::capture::{defer, register, register_tree};
use crate::document::Document;
use crate::document::reference::Reader;
use crate::tool::deferred::Deferred;
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

/// Inside a capture that writes a tool's output there is no result yet.
impl Serialize for Deferred {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        defer(self).map_err(S::Error::custom)?;
        let mut map = serializer.serialize_map(None)?;
        if let Some(handle) = &self.handle {
            map.serialize_entry("deferred", handle)?;
        }
        if let Some(prompt) = &self.prompt {
            map.serialize_entry("question", prompt)?;
        }
        map.end()
    }
}

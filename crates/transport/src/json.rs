//! JSON that is read once and kept, or written, byte for byte.

use std::borrow::Cow;
use std::fmt;

use attache_core::{ErrorKind, ProviderError};
use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// A JSON string and nothing else, borrowed where it holds no escapes. (An `Option<Cow<str>>` alone is always copied.)
#[derive(Debug, Default, Deserialize)]
pub struct JsonStr<'a>(#[serde(borrow)] pub Cow<'a, str>);

impl JsonStr<'_> {
    /// The text as one's own, unless it is empty.
    pub fn into_filled(self) -> Option<String> {
        (!self.0.is_empty()).then(|| self.0.into_owned())
    }

    /// The text as one's own; an absent one is empty.
    pub fn owned(text: Option<Self>) -> String {
        text.map(|text| text.0.into_owned()).unwrap_or_default()
    }
}

/// The members of an object in their order, their values byte for byte.
#[derive(Clone, Debug, Default)]
pub struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Members<'a> {
    /// The members of a JSON object; `None` for other JSON.
    pub fn of(json: &'a str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    /// The value of the member of that name.
    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// Takes a member out.
    pub fn remove(&mut self, name: &str) {
        self.0.retain(|(known, _)| known != name);
    }

    /// These members, and more behind them.
    pub fn with<'b>(&'b self, more: impl IntoIterator<Item = (&'b str, &'b RawValue)>) -> Members<'b> {
        let more = more.into_iter().map(|(name, value)| (name.to_owned(), value));
        Members(self.0.iter().map(|(name, value)| (name.clone(), *value)).chain(more).collect())
    }

    /// Puts a value in the place of the member of that name, or behind the others.
    pub fn set(&mut self, name: &str, value: &'a RawValue) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Members(members))
    }
}

impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// Appends `value` as compact JSON.
///
/// # Errors
/// [`ErrorKind::Configuration`] if it cannot be serialised.
pub fn write_json<T: Serialize + ?Sized>(value: &T, out: &mut String) -> Result<(), ProviderError> {
    let json = serde_json::to_string(value).map_err(|error| {
        ProviderError::new(ErrorKind::Configuration, "the request cannot be written as JSON")
            .with_source(error)
    })?;
    out.push_str(&json);
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::value::to_raw_value;

    use super::*;

    #[test]
    fn other_members_stay_as_they_are() {
        let block = r#"{ "b": 1.0, "a": [ 1e400 ],"input":{} }"#;
        let (input, more) = (to_raw_value(&[1]).unwrap(), to_raw_value(&2).unwrap());
        let mut members = Members::of(block).unwrap();
        members.set("input", &input);
        members.set("z", &more);
        let written = to_raw_value(&members).unwrap();
        assert_eq!(written.get(), r#"{"b":1.0,"a":[ 1e400 ],"input":[1],"z":2}"#);
        assert!(Members::of("[]").is_none());
    }
}

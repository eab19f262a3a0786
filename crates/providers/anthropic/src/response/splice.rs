//! JSON objects whose other members stay byte for byte.

use std::fmt;

use serde::Deserializer;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

/// The object `raw` with `members` replaced, or added at its end. Anything but an object is returned as it is.
pub(super) fn with_members(raw: Box<RawValue>, members: &[(&str, Box<RawValue>)]) -> Box<RawValue> {
    if members.is_empty() {
        return raw;
    }
    let mut reader = serde_json::Deserializer::from_str(raw.get());
    let Ok(known) = reader.deserialize_map(Members) else { return raw };
    let added = members.iter().filter(|(name, _)| !known.iter().any(|(known, _)| known == name));
    let replaced = known.iter().map(|(name, value)| {
        let new = members.iter().find(|(new, _)| new == name).map(|(_, value)| &**value);
        (name.as_str(), new.unwrap_or(value))
    });
    let mut text = String::with_capacity(raw.get().len());
    for (name, value) in replaced.chain(added.map(|(name, value)| (*name, &**value))) {
        text.push(if text.is_empty() { '{' } else { ',' });
        text.push_str(&serde_json::to_string(name).unwrap_or_default());
        text.push(':');
        text.push_str(value.get());
    }
    text.push('}');
    RawValue::from_string(text).unwrap_or(raw)
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(members)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::with_members;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn other_members_stay_as_they_are() {
        let block = raw(r#"{ "b": 1.0, "a": [ 1e400 ],"input":{} }"#);
        let spliced = with_members(block, &[("input", raw("{\"q\": 1}")), ("z", raw("2"))]);
        assert_eq!(spliced.get(), r#"{"b":1.0,"a":[ 1e400 ],"input":{"q": 1},"z":2}"#);
        assert_eq!(with_members(raw("{ }"), &[]).get(), "{ }");
        assert_eq!(with_members(raw("[]"), &[("a", raw("1"))]).get(), "[]");
    }
}

//! Things in answers that are not quite of the form that the protocol gives them.

use serde::de::DeserializeOwned;
use serde_json::Value;

/// Base64 in unknown things that is longer is not shown.
const LONGEST_BASE64: usize = 1_000;

/// Members that must be there beside others, and say little.
const EMPTY: [(&str, &str); 4] = [("data", "mimeType"), ("blob", "uri"), ("text", "uri"), ("uri", "name")];

/// One of several things in an answer, read as far as it has the form that the protocol gives it.
pub(crate) enum Odd<T> {
    Known(T),
    Odd(Value),
}

/// The items of a list that stands in an answer under that name. Some servers write `null` for an empty one.
pub(crate) fn items(answer: &mut Value, member: &str) -> Option<Vec<Value>> {
    match answer.get_mut(member)?.take() {
        Value::Array(items) => Some(items),
        Value::Null => Some(Vec::new()),
        _ => None,
    }
}

impl<T: DeserializeOwned> Odd<T> {
    /// The items of a list that stands in an answer under that name.
    pub(crate) fn list(answer: &mut Value, member: &str) -> Option<Vec<Self>> {
        Some(items(answer, member)?.iter().map(Self::read).collect())
    }

    /// Reads a thing as it is, or else without what it says wrongly beside its content.
    pub(crate) fn read(value: &Value) -> Self {
        if let Ok(known) = T::deserialize(value) {
            return Self::Known(known);
        }
        let mut mended = value.clone();
        mend(&mut mended);
        T::deserialize(mended).map_or_else(|_| Self::Odd(value.clone()), Self::Known)
    }
}

/// Takes members of a wrong kind out of a block, and puts empty ones where the SDK asks for them.
fn mend(block: &mut Value) {
    let Value::Object(members) = block else { return };
    for inner in ["content", "resource"] {
        members.get_mut(inner).into_iter().for_each(mend);
    }
    if let Some(annotations) = members.remove("annotations") {
        let audience = annotations.get("audience").map(audience).unwrap_or_default();
        members.insert("annotations".to_owned(), serde_json::json!({ "audience": audience }));
    }
    members.retain(|name, value| match &**name {
        "mimeType" | "uri" | "name" | "title" | "description" => value.is_string(),
        "_meta" => value.is_object(),
        "size" => value.is_u64(),
        "icons" => false,
        _ => true,
    });
    for (beside, member) in EMPTY {
        if members.contains_key(beside) {
            members.entry(member).or_insert_with(|| Value::from(""));
        }
    }
}

/// The roles of an audience, which may be one text. One that names somebody unknown says nothing certain.
fn audience(said: &Value) -> Vec<&'static str> {
    let all = said.as_array().map_or(std::slice::from_ref(said), Vec::as_slice);
    let known = |role: &Value| {
        let is_named = |name: &&str| role.as_str().is_some_and(|role| role.eq_ignore_ascii_case(name));
        ["user", "assistant"].into_iter().find(is_named)
    };
    all.iter().map(known).collect::<Option<_>>().unwrap_or_default()
}

/// Puts a word in the place of long base64, of which a model reads nothing.
pub(crate) fn without_base64(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > LONGEST_BASE64 => {
            let data = text.split_once(";base64,").map_or(&**text, |(_, data)| data);
            // Words without other signs between them are base64 to a tolerant reader; lines of base64 are long.
            let is_wrapped = data.trim().lines().rev().skip(1).all(|line| line.trim_end().len() >= 60);
            if is_wrapped && !data.contains([' ', '\t']) && attache_core::base64::decode(data).is_some() {
                *text = format!("({} characters of base64 are not shown)", data.len());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(without_base64),
        Value::Object(members) => members.values_mut().for_each(without_base64),
        _ => {}
    }
}

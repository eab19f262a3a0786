//! Members of Protobuf JSON, which Google's servers read in camel and in snake case.

use serde_json::{Map, Value};

/// A member by its name in snake case, in either spelling; `null` counts as absent.
pub(crate) fn get<'v>(object: &'v Map<String, Value>, name: &str) -> Option<&'v Value> {
    let member = object
        .get(name)
        .or_else(|| object.iter().find(|(key, _)| is_spelling_of(key, name)).map(|(_, value)| value));
    member.filter(|value| !value.is_null())
}

/// A member of a value, as [`get`] finds it.
pub(crate) fn member<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    get(value.as_object()?, name)
}

/// A string member; empty where it is none.
pub(crate) fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    member(value, name).and_then(Value::as_str).unwrap_or_default()
}

/// A list member; empty where it is none.
pub(crate) fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    member(value, name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// True if a key is the name in snake case or its camel-case form.
pub(crate) fn is_spelling_of(key: &str, name: &str) -> bool {
    if key == name {
        return true;
    }
    let mut words = name.split('_');
    let Some(mut rest) = words.next().and_then(|first| key.strip_prefix(first)) else { return false };
    for word in words {
        let (Some(initial), Some(tail)) = (word.get(..1), word.get(1..)) else { return false };
        let after = rest
            .strip_prefix(initial.to_ascii_uppercase().as_str())
            .and_then(|after| after.strip_prefix(tail));
        let Some(after) = after else { return false };
        rest = after;
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::is_spelling_of;

    #[test]
    fn both_spellings_are_the_field() {
        for key in ["function_call", "functionCall"] {
            assert!(is_spelling_of(key, "function_call"));
        }
        for key in ["functioncall", "function_Call", "functionCalls", "FunctionCall", "function"] {
            assert!(!is_spelling_of(key, "function_call"), "{key}");
        }
        assert!(is_spelling_of("topP", "top_p") && is_spelling_of("text", "text"));
    }
}

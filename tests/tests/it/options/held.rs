//! The effect of an option on a request, held against the one that is expected.

use attache_core::Degradation;
use serde_json::Value;

use super::Expected::{self, AsItIs, Begins, Member, Unknown};

/// The places in which two bodies differ.
fn changes(before: &Value, after: &Value, at: &str, found: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(a), Value::Object(b)) => {
            for key in a.keys().chain(b.keys().filter(|key| !a.contains_key(*key))) {
                let null = Value::Null;
                let (a, b) = (a.get(key).unwrap_or(&null), b.get(key).unwrap_or(&null));
                changes(a, b, &format!("{at}/{key}"), found);
            }
        }
        (a, b) if a != b => found.push(at.to_owned()),
        _ => {}
    }
}

/// An option that was left out is on record, and the rest of the request is as it was.
pub(super) fn is_left_out(context: &str, field: &str, recorded: &[Degradation], plain: &Value, body: &Value) {
    let left_out: Vec<&str> = recorded.iter().map(|degradation| degradation.option.as_str()).collect();
    assert_eq!(left_out, [field], "{context}");
    let mut changed = Vec::new();
    changes(plain, body, "", &mut changed);
    // The nearest may be taken instead.
    let nearest = |place: &str| match field {
        "reasoning" => place.contains("think") || place.contains("reasoning"),
        // Where the bounds of the API are narrower.
        "frequency_penalty" => place == "/frequency_penalty",
        _ => place.contains("format"),
    };
    assert!(changed.iter().all(|place| nearest(place)), "{context}: {changed:?}");
}

/// A request with an option is the one without it but for what is expected.
pub(super) fn is_as_expected(context: &str, option: &str, expected: Expected, plain: &Value, body: &Value) {
    let mut changed = Vec::new();
    changes(plain, body, "", &mut changed);
    match expected {
        Member(pointer, value) => {
            assert_eq!(plain.pointer(pointer).filter(|plain| **plain == value), None, "{context}: was there");
            assert_eq!(body.pointer(pointer), Some(&value), "{context}");
            let head = pointer.split('/').nth(1).unwrap();
            let beside = |place: &String| !place.starts_with(&format!("/{head}"));
            let beside: Vec<&String> = changed.iter().filter(|place| beside(place)).collect();
            // An option may need others beside it.
            let known = |place: &&String| match option {
                "cached long" => *place == "/prompt_cache_key",
                "effort" => *place == "/thinking",
                "budget" => *place == "/max_tokens",
                _ => false,
            };
            assert!(beside.iter().all(known), "{context}: {beside:?} changed too");
        }
        Begins(pointer, start) => {
            assert_eq!(plain.pointer(pointer), None, "{context}: was there");
            let value = body.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            assert!(value.starts_with(start), "{context}: {body:#}");
            assert_eq!(changed, [pointer], "{context}");
        }
        AsItIs => assert_eq!(changed, [""; 0], "{context}"),
        Unknown => unreachable!("handled above"),
    }
}

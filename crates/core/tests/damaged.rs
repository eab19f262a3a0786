//! The golden file of schema version 1, damaged at random.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a broken expectation is a failed test")]

use attache_core::Conversation;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

/// The golden file with one thing changed, somewhere.
#[derive(Clone, Debug)]
enum Mutation {
    /// Bytes are replaced by others.
    Text(Index, usize, String),
    /// A value becomes another one.
    Value(Index, Index),
    /// A member is renamed, or a list loses an entry.
    Member(Index, String),
    /// A value moves to the place of another.
    Move(Index, Index),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let index = any::<Index>;
    prop_oneof![
        (index(), 0_usize..6, "[\\[\\]{}\",:0-9a-z\\\\ é\u{0}]{0,6}")
            .prop_map(|(at, cut, text)| Mutation::Text(at, cut, text)),
        (index(), index()).prop_map(|(at, other)| Mutation::Value(at, other)),
        (index(), "[a-zA-Z.]{0,12}").prop_map(|(at, name)| Mutation::Member(at, name)),
        (index(), index()).prop_map(|(at, other)| Mutation::Move(at, other)),
    ]
}

/// The places of all values.
fn places(value: &Value, here: &str, found: &mut Vec<String>) {
    found.push(here.to_owned());
    match value {
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(at, value)| places(value, &format!("{here}/{at}"), found));
        }
        Value::Object(members) => members.iter().for_each(|(name, value)| {
            let name = name.replace('~', "~0").replace('/', "~1");
            places(value, &format!("{here}/{name}"), found);
        }),
        _ => {}
    }
}

fn mutated(golden: &str, mutations: &[Mutation]) -> String {
    let mut text = golden.to_owned();
    for mutation in mutations {
        let Ok(mut root) = serde_json::from_str::<Value>(&text) else { return text };
        let mut all = Vec::new();
        places(&root, "", &mut all);
        match mutation {
            Mutation::Text(at, cut, with) => {
                let mut chars: Vec<char> = text.chars().collect();
                let start = at.index(chars.len());
                let end = chars.len().min(start + cut);
                chars.splice(start..end, with.chars());
                text = chars.into_iter().collect();
                continue;
            }
            Mutation::Value(at, other) => {
                let others = [
                    json!(null),
                    json!(""),
                    json!(" "),
                    json!([]),
                    json!({}),
                    json!(true),
                    json!(-1),
                    json!(1e300),
                    json!([[{"a": "b"}]]),
                ];
                *root.pointer_mut(at.get::<String>(&all)).unwrap() = other.get::<Value>(&others).clone();
            }
            Mutation::Member(at, name) => match root.pointer_mut(at.get::<String>(&all)).unwrap() {
                Value::Object(members) if !members.is_empty() => {
                    let key = members.keys().nth(at.index(members.len())).unwrap().clone();
                    let value = members.remove(&key).unwrap();
                    members.insert(name.clone(), value);
                }
                Value::Array(list) if !list.is_empty() => {
                    list.remove(at.index(list.len()));
                }
                Value::String(text) => text.clone_from(name),
                other => *other = Value::Null,
            },
            Mutation::Move(at, other) => {
                let value = root.pointer(other.get::<String>(&all)).unwrap().clone();
                *root.pointer_mut(at.get::<String>(&all)).unwrap() = value;
            }
        }
        text = root.to_string();
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    // Whatever happens to a stored conversation: it is refused, or what is read is what is written.
    #[test]
    fn a_damaged_file_never_panics_and_never_drifts(mutations in prop::collection::vec(mutation(), 1..4)) {
        let text = mutated(include_str!("golden/conversation-v1.json"), &mutations);
        let Ok(read) = Conversation::from_json(&text) else { return Ok(()) };
        let written = read.to_json().unwrap();
        let again = Conversation::from_json(&written);
        prop_assert!(again.is_ok(), "{} is read, but not what is made of it: {}: {:?}", text, written, again);
        prop_assert_eq!(again.unwrap().to_json().unwrap(), written);
    }
}

// A member that nobody knows is refused by name, wherever it stands; what is free to hold anything keeps it.
#[test]
fn an_added_member_is_refused_or_kept() {
    let golden = include_str!("golden/conversation-v1.json");
    let root: Value = serde_json::from_str(golden).unwrap();
    let mut all = Vec::new();
    places(&root, "", &mut all);
    let (mut refused, mut kept) = (0, 0);
    for place in all {
        let mut changed = root.clone();
        let Some(Value::Object(members)) = changed.pointer_mut(&place) else { continue };
        members.insert("unexpected".to_owned(), json!(7));
        match Conversation::from_json(&changed.to_string()) {
            Ok(read) => {
                assert!(read.to_json().unwrap().contains("unexpected"), "{place} loses it");
                kept += 1;
            }
            Err(error) => {
                let source = std::error::Error::source(&error).unwrap().to_string();
                assert!(source.contains("`unexpected`"), "{place}: {source}");
                refused += 1;
            }
        }
    }
    assert!(refused > 25 && kept > 10, "{refused} {kept}");
}

//! Schemas of Rust types: what fits them can be made of JSON.
#![allow(clippy::unwrap_used, reason = "a broken expectation is a failed test")]

mod kinds;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use attache_schema::Schema;
use kinds::{Adjacent, Closed, Collections, External, Flattened, Scalars, Tagged, Untagged};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use schemars::{JsonSchema, schema_for};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Values that are nearly of these types.
fn near() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-300_i64..300).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-3_i32..4).prop_map(|half| json!(f64::from(half) / 2.0)),
        any::<f64>().prop_map(Value::from),
        "[a-z0-9\"{}\\[\\]]{0,4}".prop_map(Value::from),
        prop::sample::select(vec![
            "up", "down", "Nothing", "amount", "not", "either", "Text", "5", "-7.0", "true", "[1]"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        let names = prop::sample::select(vec![
            "float", "small", "signed", "wide", "flag", "text", "letter", "optional", "list", "set", "pair",
            "array", "words", "numbers", "keys", "1", "-2", "up", "One", "Two", "Named", "order", "of",
            "kind", "above", "filter", "left", "right",
        ]);
        let kind = prop::sample::select(vec![
            "amount", "not", "either", "scalars", "all", "Text", "List", "Nothing",
        ]);
        let members = prop::collection::vec((names, inner.clone()), 0..8);
        prop_oneof![
            2 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            3 => members.clone().prop_map(|members| members.into_iter().map(named).collect()),
            2 => (kind, members).prop_map(|(kind, members)| {
                members.into_iter().map(named).chain([("kind".to_owned(), json!(kind))]).collect()
            }),
            1 => inner.prop_map(|value| Value::from(value.to_string())),
        ]
    })
}

fn named((name, value): (&str, Value)) -> (String, Value) {
    (name.to_owned(), value)
}

fn schema_of<T: JsonSchema>() -> Schema {
    Schema::new(&schema_for!(T).to_value()).unwrap()
}

/// The number of values that fitted.
static FITTED: AtomicUsize = AtomicUsize::new(0);

/// Reads a value that fits the type's schema as the type.
type Becomes = Box<dyn Fn(&Value) -> Result<(), TestCaseError>>;

fn becomes<T: JsonSchema + DeserializeOwned>() -> Becomes {
    let schema = schema_of::<T>();
    Box::new(move |value| {
        let mut coerced = value.clone();
        if schema.coerce(&mut coerced).is_empty() {
            FITTED.fetch_add(1, Ordering::Relaxed);
            let read = serde_json::from_value::<T>(coerced.clone());
            prop_assert!(read.is_ok(), "{value} as {coerced}: {:?}", read.err());
        }
        Ok(())
    })
}

/// A member with a value of some type, so that not every object lacks most members.
fn scalars() -> impl Strategy<Value = Value> {
    let fields = (any::<f64>(), near(), near(), near(), near(), near(), near(), near());
    fields.prop_map(|(float, small, signed, wide, flag, text, letter, optional)| {
        json!({"float": float, "small": small, "signed": signed, "wide": wide, "flag": flag, "text": text,
            "letter": letter, "optional": optional})
    })
}

#[test]
fn what_fits_after_coercion_can_be_read() {
    let (of_scalars, of_collections) = (becomes::<Scalars>(), becomes::<Collections>());
    let others = [
        becomes::<External>(),
        becomes::<Tagged>(),
        becomes::<Adjacent>(),
        becomes::<Untagged>(),
        becomes::<Closed>(),
        becomes::<Flattened>(),
        becomes::<Vec<Tagged>>(),
        becomes::<Option<Vec<External>>>(),
        becomes::<BTreeMap<u16, Option<Adjacent>>>(),
    ];
    let mut runner =
        TestRunner::new(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() });
    let values = (near(), scalars(), near(), near());
    let ran = runner.run(&values, |(value, scalars, pair, keys)| {
        of_scalars(&scalars)?;
        of_collections(
            &json!({"list": scalars, "set": value, "pair": pair, "words": keys, "numbers": value,
            "keys": keys}),
        )?;
        others.iter().try_for_each(|becomes| [&value, &pair, &keys].into_iter().try_for_each(becomes))
    });
    ran.unwrap();
    assert!(FITTED.load(Ordering::Relaxed) > 200, "only {FITTED:?} values fitted");
}

/// The answer of a model that puts every value in quotes, and the values that are meant.
#[test]
fn every_value_in_quotes_is_understood() {
    let meant = json!({
        "list": [{"float": 0.5, "small": 7, "signed": -3, "wide": 9, "flag": true, "text": "5", "letter": "x", "optional": null}],
        "set": [1, 2], "pair": [1, "a"], "array": [true, false], "words": {"a": [1]}, "numbers": {"-1": 2.5},
        "keys": {"up": true}
    });
    let mut written = json!({
        "list": {"float": "0.5", "small": "7", "signed": "-3.0", "wide": 9.0, "flag": "true", "text": "5", "letter": "x", "optional": null},
        "set": "[1, 2]", "pair": "[\"1\", \"a\"]", "array": ["true", false], "words": {"a": "1"},
        "numbers": "{\"-1\": \"2.5\"}", "keys": {"up": "true"}
    });
    assert_eq!(schema_of::<Collections>().coerce(&mut written), []);
    assert_eq!(written, meant);
    assert!(serde_json::from_value::<Collections>(written).is_ok());
}

// A list of one item is never made of what was meant as another list, or as none.
#[test]
fn a_broken_list_is_no_item_of_one() {
    let schema = Schema::new(&json!({"type": ["array", "null"], "items": {"type": "string"}})).unwrap();
    for text in ["['a', 'b']", " null ", "[\"a\", \"b", "null"] {
        let mut value = json!(text);
        let problems = schema.coerce(&mut value);
        assert_eq!(value, json!(text));
        assert!(problems.iter().any(|one| one.to_string().starts_with("must be an array")), "{problems:?}");
    }
    for (text, list) in [("a", json!(["a"])), (" [\"a\"]", json!(["a"])), ("nullable", json!(["nullable"]))] {
        let mut value = json!(text);
        assert_eq!(schema.coerce(&mut value), []);
        assert_eq!(value, list);
    }
}

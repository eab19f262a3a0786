//! Random schemas and values, judged here and by a library that is too heavy to be carried along.

use attache_schema::Schema;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-4_i64..8).prop_map(Value::from),
        (-8_i64..16).prop_map(|n| json!(n as f64 / 2.0)),
        "[ab1é]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-c]{1,2}", inner), 0..4)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

/// One keyword with what it says; schemas in it are of `inner`.
fn keyword(inner: impl Strategy<Value = Value> + Clone + 'static) -> BoxedStrategy<(&'static str, Value)> {
    let word =
        |name: &'static str, says: BoxedStrategy<Value>| says.prop_map(move |says| (name, says)).boxed();
    let count = || (0_u64..4).prop_map(Value::from).boxed();
    let number = || (-4_i64..8).prop_map(|n| json!(n as f64 / 2.0)).boxed();
    let kinds = ["null", "boolean", "integer", "number", "string", "array", "object"];
    let kind = prop::sample::select(kinds.to_vec());
    let types = prop_oneof![
        kind.clone().prop_map(Value::from),
        prop::sample::subsequence(kinds.to_vec(), 1..4).prop_map(Value::from),
    ];
    let one = || inner.clone().boxed();
    let many = || prop::collection::vec(inner.clone(), 1..3).prop_map(Value::from).boxed();
    let named = |names: &'static str| {
        let members = prop::collection::vec((names, inner.clone()), 0..3);
        members.prop_map(|members| Value::Object(members.into_iter().collect())).boxed()
    };
    let names = || prop::sample::subsequence(vec!["a", "b", "ab", "c"], 0..3).prop_map(Value::from).boxed();
    let dependent = prop::collection::vec(("[a-c]", names()), 0..2)
        .prop_map(|members| Value::Object(members.into_iter().collect()))
        .boxed();
    let pattern =
        prop::sample::select(vec!["^a", "b$", "[0-9]", "^[ab]+$", "é|1"]).prop_map(Value::from).boxed();
    prop_oneof![
        4 => word("type", types.boxed()),
        1 => word("enum", prop::collection::vec(value(), 1..4).prop_map(Value::from).boxed()),
        1 => word("const", value().boxed()),
        1 => word("minimum", number()),
        1 => word("exclusiveMaximum", number()),
        1 => word("multipleOf", prop::sample::select(vec![json!(1), json!(0.5), json!(3)]).boxed()),
        1 => word("minLength", count()),
        1 => word("maxLength", count()),
        1 => word("pattern", pattern),
        1 => word("minItems", count()),
        1 => word("maxItems", count()),
        1 => word("uniqueItems", any::<bool>().prop_map(Value::from).boxed()),
        2 => word("items", one()),
        1 => word("prefixItems", many()),
        1 => word("contains", one()),
        1 => word("minContains", count()),
        1 => word("maxContains", count()),
        3 => word("properties", named("[a-c]{1,2}")),
        1 => word("patternProperties", named("\\^?[a-c]")),
        1 => word("additionalProperties", one()),
        1 => word("propertyNames", one()),
        2 => word("required", names()),
        1 => word("minProperties", count()),
        1 => word("dependentRequired", dependent),
        1 => word("dependentSchemas", named("[a-c]")),
        1 => word("allOf", many()),
        1 => word("anyOf", many()),
        1 => word("oneOf", many()),
        1 => word("not", one()),
        1 => word("if", one()),
        1 => word("then", one()),
        1 => word("else", one()),
        1 => word("unevaluatedProperties", one()),
        1 => word("unevaluatedItems", one()),
        1 => word("$ref", Just(json!("#/$defs/d")).boxed()),
    ]
    .boxed()
}

fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![1 => any::<bool>().prop_map(Value::from), 4 => Just(json!({}))];
    // References lead to a definition that holds none, so that none leads to itself.
    let depth = |leaf: BoxedStrategy<Value>, reference: bool| {
        leaf.prop_recursive(3, 24, 3, move |inner| {
            prop::collection::vec(keyword(inner), 0..4).prop_map(move |words| {
                let words = words.into_iter().filter(|(name, _)| reference || *name != "$ref");
                Value::Object(words.map(|(name, says)| (name.to_owned(), says)).collect::<Map<_, _>>())
            })
        })
        .boxed()
    };
    (depth(leaf.clone().boxed(), true), depth(leaf.boxed(), false)).prop_map(|(mut schema, definition)| {
        if let Value::Object(members) = &mut schema {
            members.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
            members.insert("$defs".to_owned(), json!({ "d": definition }));
        }
        schema
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn both_say_the_same(schema in schema(), values in prop::collection::vec(value(), 1..6)) {
        let (Ok(ours), Ok(theirs)) = (Schema::new(&schema), jsonschema::draft202012::new(&schema)) else {
            return Err(TestCaseError::fail(format!("one cannot read {schema}")));
        };
        for value in values {
            let violations = ours.check(&value);
            prop_assert_eq!(violations.is_empty(), theirs.is_valid(&value), "{} {:?}", value, violations);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn coercion_changes_no_value_that_fits_and_calls_none_fitting_that_does_not(
        schema in schema(),
        values in prop::collection::vec(value(), 1..6),
    ) {
        let (Ok(ours), Ok(theirs)) = (Schema::new(&schema), jsonschema::draft202012::new(&schema)) else {
            return Err(TestCaseError::fail(format!("one cannot read {schema}")));
        };
        for value in values {
            let mut coerced = value.clone();
            let violations = ours.coerce(&mut coerced);
            prop_assert_eq!(violations.is_empty(), theirs.is_valid(&coerced), "{} {:?}", coerced, violations);
            if theirs.is_valid(&value) {
                // A number may be written otherwise: 2.0 as 2.
                let constant = jsonschema::draft202012::new(&json!({ "const": value })).unwrap();
                prop_assert!(constant.is_valid(&coerced), "{} became {}", value, coerced);
            }
            let once = coerced.clone();
            ours.coerce(&mut coerced);
            if violations.is_empty() {
                prop_assert_eq!(coerced, once, "coercing twice changes nothing");
            }
        }
    }
}

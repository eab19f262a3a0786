use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn problems(schema: &Value, value: &Value) -> Vec<String> {
    let schema = Schema::new(schema).unwrap();
    schema.check(value).iter().map(ToString::to_string).collect()
}

fn fits(schema: &Value, value: &Value) -> bool {
    problems(schema, value).is_empty()
}

// A83: each keyword, with a value that fits and one that does not
#[test]
fn every_keyword_is_held() {
    let cases = [
        (json!({"type": "integer"}), json!(5.0), json!(5.5)),
        (json!({"type": ["string", "null"]}), json!(null), json!(1)),
        (json!({"type": "string", "nullable": true}), json!(null), json!(1)),
        (json!({"const": {"a": 1, "b": 2}}), json!({"b": 2.0, "a": 1}), json!({"a": 1})),
        (json!({"enum": ["a", 1]}), json!(1.0), json!("b")),
        (json!({"minimum": 2}), json!(2), json!(1)),
        (
            json!({"maximum": 9_007_199_254_740_993_u64}),
            json!(9_007_199_254_740_993_u64),
            json!(9_007_199_254_740_994_u64),
        ),
        (json!({"exclusiveMinimum": 2}), json!(3), json!(2)),
        (json!({"exclusiveMaximum": 2}), json!(1), json!(2)),
        (json!({"minimum": 2, "exclusiveMinimum": true}), json!(3), json!(2)),
        (json!({"multipleOf": 0.1}), json!(0.3), json!(0.35)),
        (json!({"multipleOf": 3}), json!(9), json!(10)),
        (json!({"multipleOf": 0.01}), json!(12_345_678.12), json!(12_345_678.123)),
        (json!({"minLength": 2}), json!("éé"), json!("é")),
        (json!({"maxLength": 2}), json!("éé"), json!("ééé")),
        (json!({"pattern": "^\\d+$"}), json!("12"), json!("12a")),
        (json!({"required": ["a"]}), json!({"a": 1}), json!({})),
        (json!({"minProperties": 1}), json!({"a": 1}), json!({})),
        (json!({"maxProperties": 1}), json!({"a": 1}), json!({"a": 1, "b": 1})),
        (json!({"properties": {"a": {"type": "string"}}}), json!({"a": "x"}), json!({"a": 1})),
        (json!({"properties": {"a": {}}, "additionalProperties": false}), json!({"a": 1}), json!({"b": 1})),
        (json!({"additionalProperties": {"type": "string"}}), json!({"b": "x"}), json!({"b": 1})),
        (
            json!({"patternProperties": {"^x": {"type": "string"}}, "additionalProperties": false}),
            json!({"xa": "a"}),
            json!({"ya": "a"}),
        ),
        (json!({"propertyNames": {"maxLength": 2}}), json!({"ab": 1}), json!({"abc": 1})),
        (json!({"dependentRequired": {"a": ["b"]}}), json!({"a": 1, "b": 1}), json!({"a": 1})),
        (json!({"dependencies": {"a": ["b"], "c": {"required": ["d"]}}}), json!({"b": 1}), json!({"c": 1})),
        (json!({"dependentSchemas": {"a": {"required": ["b"]}}}), json!({"b": 1}), json!({"a": 1})),
        (json!({"items": {"type": "string"}}), json!(["a"]), json!(["a", 1])),
        (json!({"prefixItems": [{"type": "string"}], "items": false}), json!(["a"]), json!(["a", "b"])),
        (
            json!({"items": [{"type": "string"}], "additionalItems": {"type": "number"}}),
            json!(["a", 1]),
            json!(["a", "b"]),
        ),
        (json!({"minItems": 1}), json!([1]), json!([])),
        (json!({"maxItems": 1}), json!([1]), json!([1, 2])),
        (json!({"uniqueItems": true}), json!([1, 2]), json!([1, 1.0])),
        (json!({"contains": {"type": "string"}}), json!([1, "a"]), json!([1])),
        (json!({"contains": {"type": "string"}, "maxContains": 1}), json!(["a"]), json!(["a", "b"])),
        (json!({"contains": {"type": "string"}, "minContains": 0}), json!([1]), json!(null)),
        (json!({"allOf": [{"minimum": 1}, {"maximum": 3}]}), json!(2), json!(4)),
        (json!({"anyOf": [{"type": "string"}, {"minimum": 3}]}), json!(3), json!(2)),
        (json!({"oneOf": [{"minimum": 1}, {"minimum": 3}]}), json!(2), json!(4)),
        (json!({"not": {"type": "string"}}), json!(1), json!("a")),
        (
            json!({"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}}),
            json!({"c": 1}),
            json!({"a": 1}),
        ),
        (json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}), json!("a"), json!(1)),
        (json!({"$ref": "#/$defs/a~1b%25", "$defs": {"a/b%": {"type": "string"}}}), json!("a"), json!(1)),
        (
            json!({"$ref": "#word", "$defs": {"a": {"$anchor": "word", "type": "string"}}}),
            json!("a"),
            json!(1),
        ),
        (json!({"$ref": "T", "$defs": {"a": {"$id": "T", "type": "string"}}}), json!("a"), json!(1)),
        (
            json!({"$id": "https://x/y", "$ref": "https://x/y#/$defs/a", "$defs": {"a": {"type": "string"}}}),
            json!("a"),
            json!(1),
        ),
        (
            json!({"properties": {"next": {"$ref": "#"}}, "required": ["v"]}),
            json!({"v": 1, "next": {"v": 2}}),
            json!({"v": 1, "next": {}}),
        ),
        (
            json!({"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": false}),
            json!({"a": 1}),
            json!({"b": 1}),
        ),
        (
            json!({"anyOf": [{"properties": {"a": {"const": 1}}, "required": ["a"]}, {"properties": {"b": {}}}], "unevaluatedProperties": false}),
            json!({"a": 1, "b": 1}),
            json!({"a": 2}),
        ),
        (
            json!({"properties": {"a": {}}, "allOf": [{"unevaluatedProperties": false}]}),
            json!({}),
            json!({"a": 1}),
        ),
        (json!({"prefixItems": [{}], "unevaluatedItems": false}), json!([1]), json!([1, 2])),
    ];
    for (schema, good, bad) in cases {
        assert!(fits(&schema, &good), "{schema} takes {good}: {:?}", problems(&schema, &good));
        if !bad.is_null() {
            assert!(!fits(&schema, &bad), "{schema} refuses {bad}");
        }
    }
}

// A83: which path, what was expected
#[test]
fn what_is_wrong_is_said_where_it_is() {
    let schema = json!({"type": "object",
        "properties": {
            "lines": {"type": "array", "items": {"type": "object", "properties": {"price": {"type": "number", "minimum": 0}}}},
            "currency": {"type": "string", "pattern": "^[A-Z]{3}$"},
            "kind": {"oneOf": [{"const": "a"}, {"const": "b"}]},
            "who": {"anyOf": [{"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}, {"type": "null"}]},
            "day": {"type": "integer", "maximum": 31}},
        "required": ["day"], "additionalProperties": false});
    assert_eq!(
        problems(
            &schema,
            &json!({"lines": [{"price": 1}, {"price": -1}], "currency": "euro", "kind": "c", "who": {}, "more": 1})
        ),
        [
            "`day` is missing (an integer)",
            "`lines[1].price` must be at least 0, not -1",
            "`currency` must match the pattern ^[A-Z]{3}$, not \"euro\"",
            "`kind` must be one of \"a\", \"b\", not \"c\"",
            "`who.name` is missing (a string)",
            "`more` is not allowed",
        ]
    );
}

#[test]
fn what_is_no_schema() {
    let refused = |schema: Value| Schema::new(&schema).unwrap_err().to_string();
    assert_eq!(
        refused(json!({"properties": {"a": "string"}})),
        "/properties/a: a schema must be an object, true or false"
    );
    assert_eq!(refused(json!({"type": "strng"})), "the root: there is no type \"strng\"");
    assert_eq!(
        refused(json!({"minLength": -1})),
        "the root: minLength must be a whole number that is not negative"
    );
    assert_eq!(refused(json!({"allOf": {}})), "the root: allOf must be a list");
    assert_eq!(refused(json!({"required": [1]})), "/required: it must be a list of names");
    // Nothing is ever fetched.
    for elsewhere in
        ["https://elsewhere/x.json", "file:///etc/passwd", "other.json#/a", "#/$defs/none", "#none"]
    {
        assert!(refused(json!({"$ref": elsewhere})).contains("the reference"), "{elsewhere}");
    }
    for endless in [
        json!({"$ref": "#"}),
        json!({"anyOf": [{"type": "string"}, {"$ref": "#"}]}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"not": {"$ref": "#/$defs/b"}}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}}}),
    ] {
        assert!(refused(endless).contains("without end"));
    }
    let mut deep = json!({});
    for _ in 0..100 {
        deep = json!({"items": deep});
    }
    assert!(refused(deep).contains("nested"));
    let many: serde_json::Map<String, Value> = (0..30_000).map(|at| (at.to_string(), json!({}))).collect();
    assert!(refused(json!({"properties": many})).contains("more than 20000 schemas"));
}

// Hostile patterns and schemas: what they cost is bounded
#[test]
fn hostile_schemas_end() {
    let text = "a".repeat(200_000);
    for pattern in ["^(a+)+$", "(a*)*b", "^(a|aa)+$", "(x+x+)+y"] {
        let started = std::time::Instant::now();
        let _ = problems(&json!({"pattern": pattern}), &json!(text));
        assert!(started.elapsed() < std::time::Duration::from_secs(5), "{pattern}");
    }
    // Too large to be compiled, or of a kind that is not linear: said, not guessed.
    for pattern in ["((((a{99}){99}){99}){99})", "^(?=a)b$", "(a)\\1", "\\p{L}+"] {
        let schema = Schema::new(&json!({"properties": {"x": {"pattern": pattern}}})).unwrap();
        assert_eq!(
            (schema.unchecked()[0].pointer.as_str(), schema.unchecked()[0].keyword),
            ("/properties/x", "pattern")
        );
        assert!(schema.check(&json!({"x": "b"})).is_empty());
    }
}

// A name stands in the pointers of all that is below it, and patterns are larger compiled than written
#[test]
fn what_a_schema_takes_is_bounded_by_its_size() {
    let long = "x".repeat(200_000);
    let below = |schema: Value| Schema::new(&json!({"properties": {long.as_str(): schema}}));
    below(json!({"enum": vec![0; 20_000]})).unwrap();
    let empty: serde_json::Map<String, Value> = (0..1_000).map(|at| (at.to_string(), json!([]))).collect();
    below(json!({"dependentRequired": empty})).unwrap();
    let named: Vec<Value> = (0..1_000).map(|at| json!({"$id": at.to_string()})).collect();
    for many in [json!({"anyOf": vec![json!({}); 1_000]}), json!({"enum": named})] {
        let refused = below(many).unwrap_err();
        assert_eq!(refused.problem, "the names of its schemas are too long together");
        assert!(refused.pointer.len() < 1_000);
    }
    let patterns: serde_json::Map<String, Value> =
        (0..1_000).map(|at| (at.to_string(), json!({"pattern": format!("(a{{30}}){{60}}{at}")}))).collect();
    let schema = Schema::new(&json!({"properties": patterns})).unwrap();
    let unchecked = schema.unchecked();
    assert_eq!(unchecked.len(), 1_000 - 64, "64 of 64 KiB are 4 MiB");
    assert!(unchecked.iter().all(|one| one.why.ends_with("are too large together)")), "{:?}", unchecked[0]);
}

// Each level tries every branch of the next: each branch is asked once about each part of the value
#[test]
fn unions_inside_unions_are_judged_in_time_that_is_linear() {
    let branches: Vec<Value> =
        (6..10).map(|least| json!({"allOf": [{"$ref": "#/$defs/t"}, {"minItems": least}]})).collect();
    let tree = json!({"$ref": "#/$defs/t", "$defs": {"t": {"type": "array", "items": {"anyOf": branches}}}});
    let mut value = json!([]);
    for _ in 0..60 {
        value = json!([value]);
    }
    let problems = problems(&tree, &value);
    assert_eq!(problems.len(), 1);
    assert!(
        problems[0].starts_with("`[0]` fits none of the forms that are allowed (nearest: ")
            && problems[0].ends_with("` must have at least 6 items, not 0)"),
        "{problems:?}"
    );
    // The first branch fails only at the end of each level, and both look into the same member.
    let untagged = json!({"$ref": "#/$defs/e", "$defs": {"e": {"anyOf": [
        {"type": "object", "properties": {"of": {"$ref": "#/$defs/e"}, "right": {"type": "integer"}}, "required": ["of", "right"]},
        {"type": "object", "properties": {"of": {"$ref": "#/$defs/e"}}, "required": ["of"]},
        {"type": "integer"}]}}});
    let mut value = json!(1);
    for _ in 0..40 {
        value = json!({"of": value});
    }
    let schema = Schema::new(&untagged).unwrap();
    assert_eq!(schema.check(&value), []);
    let started = std::time::Instant::now();
    assert_eq!(schema.coerce(&mut value), []);
    assert!(started.elapsed() < std::time::Duration::from_secs(5));
}

#[test]
fn long_lists_of_unique_items_and_long_enums_are_no_burden() {
    let words: Vec<String> = (0..5_000).map(|at| format!("word {at}")).collect();
    let schema = json!({"uniqueItems": true, "items": {"enum": words}});
    assert_eq!(problems(&schema, &json!(words)), [""; 0]);
    let twice: Vec<&str> = words.iter().map(String::as_str).chain(["word 7", "other"]).collect();
    let problems = problems(&schema, &json!(twice));
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[1].starts_with("`[5000]` is there before"), "{problems:?}");
    assert!(fits(&json!({"uniqueItems": true}), &json!([0, -1, [0], {"a": 0}, {"a": 1}, "0", null, false])));
    for twins in [json!([0, -0.0]), json!([1, 1.0]), json!([{"a": 1, "b": [2]}, {"b": [2.0], "a": 1.0}])] {
        assert!(!fits(&json!({"uniqueItems": true}), &twins), "{twins}");
    }
    let large = 1_u64 << 60;
    assert!(fits(&json!({"uniqueItems": true}), &json!([large, large + 1, 1e40])));
    assert!(!fits(&json!({"uniqueItems": true}), &json!([large, 1_152_921_504_606_846_976_f64])));
}

// Values of these types cannot be made of other numbers
#[test]
fn formats_of_integers_are_ranges() {
    for (format, least, most) in [
        ("int8", -128_i128, 127_i128),
        ("uint16", 0, 65_535),
        ("int32", -2_147_483_648, 2_147_483_647),
        ("uint32", 0, 4_294_967_295),
        ("int64", -9_223_372_036_854_775_808, 9_223_372_036_854_775_807),
        ("uint64", 0, 18_446_744_073_709_551_615),
    ] {
        let schema = json!({"type": ["integer", "null"], "format": format});
        let read = |number: i128| serde_json::from_str::<Value>(&number.to_string()).unwrap();
        assert!(fits(&schema, &read(least)) && fits(&schema, &read(most)), "{format}");
        // A number beyond 64 bits is a fraction by now, which is nearly the same number.
        let compiled = Schema::new(&schema).unwrap();
        for outside in [least - 1, most + 1] {
            assert_eq!(compiled.coerce(&mut read(outside)).len(), 1, "{format} {outside}");
        }
    }
    assert!(fits(&json!({"type": "number", "format": "int8"}), &json!(300)), "not of an integer: a hint");
}

#[test]
fn branches_are_told_apart_by_their_tags() {
    let circle = json!({"type": "object", "properties": {"kind": {"const": "circle"}, "radius": {"type": "number"}}, "required": ["kind", "radius"]});
    let square = json!({"properties": {"kind": {"enum": ["square"]}, "side": {"type": "number"}}, "required": ["kind", "side"]});
    let schema =
        json!({"oneOf": [{"$ref": "#/$defs/c"}, {"$ref": "#/$defs/s"}], "$defs": {"c": circle, "s": square}});
    let said = |value: Value| problems(&schema, &value);
    assert_eq!(said(json!({"kind": "circle", "side": 1})), ["`radius` is missing (a number)"]);
    assert_eq!(said(json!({"kind": "oval"})), [r#"`kind` must be one of "circle", "square", not "oval""#]);
    let all = json!({"anyOf": [{"type": "object"}, {"type": "array"}, {"type": "null"}]});
    assert_eq!(problems(&all, &json!("x")), [r#"must be an array or an object, not "x""#]);
}

fn any_json(depth: u32) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..4).prop_map(Value::from),
        (-2_i32..3).prop_map(|half| Value::from(f64::from(half) / 2.0)),
        prop::sample::select(vec!["", "a", "ab", "object", "string", "#", "#/$defs/a", "^a"])
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(depth, 40, 4, |inner| {
        let name = prop::sample::select(vec![
            "a",
            "type",
            "properties",
            "items",
            "required",
            "$ref",
            "$defs",
            "anyOf",
            "allOf",
            "oneOf",
            "not",
            "if",
            "then",
            "enum",
            "const",
            "pattern",
            "minimum",
            "additionalProperties",
            "unevaluatedProperties",
            "dependencies",
            "$id",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name, inner), 0..5).prop_map(|members| members
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()),
        ]
    })
}

proptest! {
    #[test]
    fn any_schema_and_any_value_come_to_an_end(schema in any_json(5), value in any_json(4)) {
        if let Ok(schema) = Schema::new(&schema) {
            let violations = schema.check(&value);
            prop_assert!(violations.len() <= 10);
            prop_assert_eq!(schema.check(&value), violations);
            let mut coerced = value;
            prop_assert!(schema.coerce(&mut coerced).len() <= 10);
        }
    }
}

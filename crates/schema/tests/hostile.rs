//! Schemas and values that are made to take long: whoever sends them is told so at once.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a broken expectation is a failed test")]

use std::time::{Duration, Instant};

use attache_schema::{Schema, Subset, strict};
use serde_json::{Map, Value, json};

/// Runs something that must end soon, in programs without optimisations and on busy machines too.
fn ends<T>(name: &str, run: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let made = run();
    let took = started.elapsed();
    assert!(took < Duration::from_secs(60), "{name} took {took:?}");
    made
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/$defs/{name}")})
}

fn with_definitions(root: Value, definitions: impl IntoIterator<Item = (String, Value)>) -> Value {
    let mut root = root;
    root["$defs"] = definitions.into_iter().collect::<Map<String, Value>>().into();
    root
}

// Each is some kilobytes or a few hundred of them.
#[test]
fn strict_schemas_are_made_or_refused_at_once() {
    let ten = |name: String| Value::from(vec![reference(&name); 10]);
    let fold = (0..15).map(|at| (format!("d{at}"), json!({"allOf": ten(format!("d{}", at + 1))})));
    let fold = fold.chain([("d15".to_owned(), json!({"type": "string"}))]);
    let allof = with_definitions(json!({"type": "object", "properties": {"a": reference("d0")}}), fold);

    let of = |at: usize| {
        (
            format!("n{at}"),
            json!({"anyOf": if at < 2 { vec![reference(&format!("n{}", at + 1)); 1_000] } else { vec![json!({"type": "string"}); 1_000] }}),
        )
    };
    let null =
        with_definitions(json!({"type": "object", "properties": {"a": reference("n0")}}), (0..3).map(of));

    let alike = |at: u32| format!("#{}", char::from_u32(0x4e00 + at).unwrap().to_string().repeat(2));
    let names = (0..3_000).map(|at| (alike(at), json!({"type": "string"})));
    let names = with_definitions(
        json!({"type": "object", "properties": {"a": {"anyOf": (0..3_000).map(|at| reference(&alike(at))).collect::<Vec<_>>()}}}),
        names,
    );

    let next =
        |at: u32| (format!("c{at}"), json!({"type": "array", "items": reference(&format!("c{}", at + 1))}));
    let chain = (0..4_000).map(next).chain([("c4000".to_owned(), json!({"type": "string"}))]);
    let chain = with_definitions(json!({"type": "object", "properties": {"a": reference("c0")}}), chain);

    let name = |at: u32| format!("a property {at}");
    let properties: Map<String, Value> = (0..2_000).map(|at| (name(at), json!({"type": "null"}))).collect();
    let required: Vec<String> = (0..100_000).map(|at| name(at % 2_000)).collect();
    let required = json!({"type": "object", "required": required, "properties": properties});

    for (name, schema) in
        [("allof", allof), ("null", null), ("names", names), ("chain", chain), ("required", required)]
    {
        for subset in [Subset::OpenAi, Subset::Azure, Subset::Anthropic] {
            let made = ends(&format!("{name} for {subset:?}"), || strict(&schema, subset));
            let problem = made.err().map(|refusal| refusal.problem);
            let expected = match (name, subset) {
                ("allof", _) => Some("it is too large or nested too deep, or it holds itself"),
                ("required", Subset::Azure) => Some("it has 2000 properties, more than 100"),
                _ => None,
            };
            assert_eq!(problem.as_deref(), expected, "{name} for {subset:?}");
        }
    }
}

/// Schemas and values of some hundred kilobytes each that cost the most for each schema that is entered.
fn costly() -> Vec<(&'static str, Value, Value)> {
    let names = |count: usize| -> Vec<String> { (0..count).map(|at| format!("n{at}")).collect() };
    let texts = json!(vec!["text"; 40_000]);
    let refs = |count: usize| vec![reference("t"); count];
    let with = |root: Value, t: Value| with_definitions(root, [("t".to_owned(), t)]);
    let tags: Map<String, Value> = names(5_000).into_iter().map(|name| (name, json!({"const": 1}))).collect();
    let mut row: Map<String, Value> = names(5_000).into_iter().map(|name| (name, json!(1))).collect();
    let members = json!(row);
    row.insert("n4999".to_owned(), json!(2));
    let nulls: Map<String, Value> = names(15_000).into_iter().map(|name| (name, Value::Null)).collect();
    let optional: Map<String, Value> =
        names(15_000).into_iter().map(|name| (name, json!({"type": "integer"}))).collect();
    let patterns: Map<String, Value> =
        names(4_000).into_iter().map(|name| (name, json!({"minimum": 1}))).collect();
    let letters: Map<String, Value> =
        ('a'..='z').chain('A'..='Z').map(|c| (c.to_string(), json!("0"))).collect();
    let large = |at: u64| json!([u64::MAX - at % 1_000, u64::MAX - at / 1_000]);
    let longer: Vec<String> = (0..90_000).map(|at| format!("m{at}")).collect();
    vec![
        ("required", json!({"items": {"required": names(2_000)}}), json!(vec![json!({}); 60_000])),
        ("shown", with(json!({"anyOf": refs(3_000)}), json!({"type": "integer"})), texts.clone()),
        (
            "clones",
            with(json!({"anyOf": refs(3_000)}), json!({"type": "array", "minItems": 50_000})),
            texts.clone(),
        ),
        ("enums", with(json!({"allOf": refs(3_000)}), json!({"enum": names(20)})), texts),
        (
            "lengths",
            with(json!({"allOf": refs(15_000)}), json!({"minLength": 1})),
            json!("é".repeat(4_000_000)),
        ),
        (
            "tags",
            with(json!({"items": {"anyOf": refs(2_000)}}), json!({"properties": tags})),
            json!(vec![json!(row); 100]),
        ),
        ("nulls", json!({"properties": optional, "required": longer}), json!(nulls)),
        ("patterns", json!({"items": {"patternProperties": patterns}}), json!(vec![json!(letters); 500])),
        (
            "paths",
            with(json!({"additionalProperties": {"anyOf": refs(15_000)}}), json!({"type": "integer"})),
            json!({"x".repeat(1_000_000): "x"}),
        ),
        ("numbers", json!({"uniqueItems": true}), (0..30_000).map(large).collect()),
        (
            "names",
            with(
                json!({"allOf": refs(3_000), "unevaluatedProperties": false}),
                json!({"properties": {}, "additionalProperties": true}),
            ),
            members,
        ),
    ]
}

#[test]
fn values_are_judged_and_mended_at_once() {
    for (name, schema, mut value) in costly() {
        let schema = Schema::new(&schema).unwrap();
        // It checks first, and checks again what it has mended.
        ends(name, || schema.coerce(&mut value));
    }
}

// Where the steps end, nobody knows that `null` does not fit.
#[test]
fn values_are_left_alone_where_the_steps_end() {
    let names: Vec<String> = (0..2_000).map(|at| format!("n{at}")).collect();
    let rows: Vec<Value> =
        (0..10_000).map(|at| if at < 9_999 { json!({"a": "1"}) } else { json!({"b": null}) }).collect();
    let schema = Schema::new(&json!({"items": {"anyOf": [
        {"required": names, "properties": {"a": {"type": "integer"}}},
        {"properties": {"a": {"type": "integer"}, "b": {"type": ["string", "null"]}}}]}}));
    let mut value = json!(rows);
    assert!(!schema.unwrap().coerce(&mut value).is_empty());
    assert_eq!(value.get(9_999), Some(&json!({"b": null})));
}

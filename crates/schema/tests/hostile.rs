//! Schemas and values that are made to take long: whoever sends them is told so at once.
#![allow(clippy::unwrap_used, reason = "a broken expectation is a failed test")]

use std::time::{Duration, Instant};

use attache_schema::{Subset, strict};
use serde_json::{Map, Value, json};

/// Runs something that must end soon, in programs without optimisations too.
fn ends<T>(name: &str, run: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let made = run();
    let took = started.elapsed();
    assert!(took < Duration::from_secs(5), "{name} took {took:?}");
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

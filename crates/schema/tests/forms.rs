//! Strict schemas of another form than the original: what they cannot say is described, and nothing is lost.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a broken expectation is a failed test")]

use attache_schema::{Strict, Subset, strict};
use serde_json::{Value, json};

fn unsaid(strict: &Strict) -> Vec<String> {
    strict.unsaid().iter().map(ToString::to_string).collect()
}

fn of_property(schema: &Value) -> (Strict, Value) {
    let strict = strict(&json!({"properties": {"a": schema}, "required": ["a"]}), Subset::OpenAi).unwrap();
    let said = strict.schema()["properties"]["a"].clone();
    (strict, said)
}

#[test]
fn what_another_form_cannot_say_is_described() {
    let (strict, said) = of_property(
        &json!({"type": "object", "required": ["EUR"], "additionalProperties": {"type": "number"}}),
    );
    assert_eq!(unsaid(&strict), ["required at /properties/a"]);
    assert_eq!(said["description"], "required: [\"EUR\"]");
    let (strict, said) = of_property(&json!({"enum": [{"x": 1}, {"x": 2}], "description": "One."}));
    assert_eq!(unsaid(&strict), ["enum at /properties/a"]);
    assert_eq!(said["description"], "One. (enum: [{\"x\":1},{\"x\":2}])");
    let pair = json!({"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "integer"},
        "const": ["a", 1]});
    let (strict, said) = of_property(&pair);
    assert_eq!(unsaid(&strict), ["items at /properties/a", "const at /properties/a"]);
    assert_eq!(said["description"], "items: {\"type\":\"integer\"}, const: [\"a\",1]");
    // An empty list of names says nothing.
    let (strict, said) =
        of_property(&json!({"type": "object", "required": [], "additionalProperties": {"type": "number"}}));
    assert_eq!((unsaid(&strict).len(), said.get("description")), (0, None));
}

#[test]
fn each_keyword_that_is_not_enforced_is_described() {
    for (schema, keyword, text) in [
        (json!({"type": "array", "contains": {"const": 1}}), "contains", "contains: {\"const\":1}"),
        (json!({"type": "string", "not": {"const": ""}}), "not", "not: {\"const\":\"\"}"),
        (
            json!({"type": "object", "properties": {"b": {}}, "dependentRequired": {"b": ["c"]}}),
            "dependentRequired",
            "dependentRequired: {\"b\":[\"c\"]}",
        ),
        (
            json!({"type": "object", "properties": {"b": {}}, "additionalProperties": {"type": "number"}}),
            "additionalProperties",
            "additionalProperties: {\"type\":\"number\"}",
        ),
        (
            json!({"type": "object", "propertyNames": {"maxLength": 3}}),
            "propertyNames",
            "propertyNames: {\"maxLength\":3}",
        ),
        (
            json!({"not": {"type": "null"}}),
            "not",
            "any JSON value, written as a text of JSON (not: {\"type\":\"null\"})",
        ),
    ] {
        let (strict, said) = of_property(&schema);
        assert_eq!(unsaid(&strict), [format!("{keyword} at /properties/a")]);
        assert_eq!(said["description"], text);
    }
    let (_, said) =
        of_property(&json!({"type": "string", "not": {"enum": vec!["a long word"; 500]}, "x-order": 1}));
    let described = said["description"].as_str().unwrap();
    assert!(described.chars().count() < 520 && described.ends_with('…'), "{described}");
}

#[test]
fn a_name_that_must_be_there_is_a_property() {
    let numbers = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a", "b"],
        "additionalProperties": {"type": "number"}});
    let open = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a", "b"]});
    for (schema, kind, reply, meant) in [
        (numbers, "number", json!({"a": "x", "b": 2.5}), json!({"a": "x", "b": 2.5})),
        (open, "string", json!({"a": "x", "b": "[1]"}), json!({"a": "x", "b": [1]})),
    ] {
        for subset in [Subset::OpenAi, Subset::Anthropic] {
            let strict = strict(&schema, subset).unwrap();
            assert_eq!(strict.schema()["required"], json!(["a", "b"]));
            assert_eq!(strict.schema()["properties"]["b"]["type"], kind);
            assert_eq!(strict.restore(reply.clone()).unwrap(), meant);
        }
    }
    let never = json!({"properties": {"a": {"properties": {"x": {"type": "string"}}, "required": ["y"],
        "additionalProperties": false}}});
    assert_eq!(
        strict(&never, Subset::OpenAi).unwrap_err().to_string(),
        "/properties/a: it asks for y, and does not allow it"
    );
}

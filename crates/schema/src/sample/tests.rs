use schemars::JsonSchema;
use serde_json::{Value, json};

use super::{example, sample};
use crate::Schema;

#[track_caller]
fn assert_sample(schema: &Value, expected: Value) {
    assert_eq!(sample(schema), Ok(expected), "{schema}");
}

#[test]
fn an_object_has_what_is_required_and_nothing_else() {
    let schema = json!({"type": "object", "required": ["a", "b"], "properties": {
        "a": {"type": "string"}, "b": {"type": "boolean"}, "c": {"type": "integer"},
    }});
    assert_sample(&schema, json!({"a": "a", "b": true}));
    assert_sample(&json!({"type": "object"}), json!({}));
    assert_sample(
        &json!({"type": "object", "minProperties": 1, "properties": {"x": {"type": "null"}}}),
        json!({"x": null}),
    );
}

#[test]
fn enums_and_constants_are_taken_as_they_are() {
    assert_sample(&json!({"enum": ["red", "green"]}), json!("red"));
    assert_sample(&json!({"const": {"a": [1]}}), json!({"a": [1]}));
    assert_sample(&json!({"type": "string", "enum": [1, "x"]}), json!("x"));
}

#[test]
fn numbers_keep_to_their_bounds() {
    for (schema, expected) in [
        (json!({"type": "integer"}), json!(1)),
        (json!({"type": "integer", "minimum": 18}), json!(18)),
        (json!({"type": "integer", "exclusiveMinimum": 18}), json!(19)),
        (json!({"type": "integer", "maximum": -3}), json!(-3)),
        (json!({"type": "integer", "minimum": 11, "multipleOf": 5}), json!(15)),
        (json!({"type": "integer", "format": "uint8", "minimum": 0}), json!(1)),
        (json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}), json!(0.5)),
        (json!({"type": "number", "minimum": 0.25, "maximum": 0.25}), json!(0.25)),
        (json!({"type": "number", "minimum": 1.2, "multipleOf": 0.5}), json!(1.5)),
    ] {
        assert_sample(&schema, expected);
    }
}

#[test]
fn texts_keep_to_length_and_format() {
    assert_sample(&json!({"type": "string", "minLength": 4}), json!("aaaa"));
    assert_sample(&json!({"type": "string", "maxLength": 0}), json!(""));
    assert_sample(&json!({"type": "string", "format": "date"}), json!("2026-01-01"));
    assert_sample(&json!({"type": "string", "format": "email"}), json!("user1@example.com"));
}

#[test]
fn arrays_tuples_and_maps_have_what_they_need() {
    for (schema, expected) in [
        (json!({"type": "array", "items": {"type": "integer"}}), json!([1])),
        (
            json!({"type": "array", "items": {"type": "integer"}, "minItems": 2, "uniqueItems": true}),
            json!([1, 2]),
        ),
        (
            json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false}),
            json!(["a", 1]),
        ),
        (
            json!({"type": "array", "items": [{"type": "null"}, {"type": "boolean"}], "additionalItems": false}),
            json!([null, true]),
        ),
        (json!({"type": "object", "additionalProperties": {"type": "integer"}}), json!({"a": 1})),
        (
            json!({"type": "object", "propertyNames": {"enum": ["k"]}, "additionalProperties": {"type": "null"}}),
            json!({"k": null}),
        ),
        (json!({"type": "array", "contains": {"const": 7}}), json!([7])),
    ] {
        assert_sample(&schema, expected);
    }
}

#[test]
fn references_and_branches_are_followed() {
    let schema = json!({
        "$defs": {"Id": {"type": "integer", "minimum": 3}, "Shape": {"oneOf": [
            {"type": "object", "required": ["kind", "id"], "properties": {"kind": {"const": "circle"}, "id": {"$ref": "#/$defs/Id"}}},
            {"type": "null"},
        ]}},
        "type": "object", "required": ["shape", "id"],
        "properties": {"shape": {"$ref": "#/$defs/Shape"}, "id": {"$ref": "#/$defs/Id", "minimum": 5}},
    });
    assert_sample(&schema, json!({"shape": {"kind": "circle", "id": 3}, "id": 5}));
    let all =
        json!({"allOf": [{"type": "object", "required": ["a"]}, {"properties": {"a": {"type": "integer"}}}]});
    assert_sample(&all, json!({"a": 1}));
    // One branch alone must hold, and 1 is both.
    assert_sample(
        &json!({"oneOf": [{"type": "integer"}, {"type": "number"}, {"type": "string"}]}),
        json!("a"),
    );
    let condition = json!({"type": "object", "required": ["a"], "properties": {"a": {"const": 1}},
        "if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]}});
    assert_sample(&condition, json!({"a": 1, "b": "a"}));
}

#[test]
fn a_schema_that_leads_back_to_itself_ends() {
    let tree = json!({"$defs": {"Tree": {"type": "object", "required": ["left", "right", "all"], "properties": {
        "left": {"anyOf": [{"$ref": "#/$defs/Tree"}, {"type": "null"}]},
        "right": {"anyOf": [{"$ref": "#/$defs/Tree"}, {"type": "null"}]},
        "all": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
    }}}, "$ref": "#/$defs/Tree"});
    assert_sample(&tree, json!({"left": null, "right": null, "all": []}));
    let endless = json!({"$defs": {"E": {"type": "array", "minItems": 2, "items": {"$ref": "#/$defs/E"}}}, "$ref": "#/$defs/E"});
    assert!(sample(&endless).is_err());
}

#[test]
fn a_schema_that_nothing_fits_is_told() {
    let never = sample(&json!({"type": "integer", "minimum": 3, "maximum": 2}));
    assert_eq!(never, Err("nothing fits its schema".to_owned()));
    let pattern =
        sample(&json!({"type": "string", "pattern": "^[0-9]{8}$"})).expect_err("no text of it is made");
    assert!(!pattern.is_empty());
    let shown = json!({"type": "string", "pattern": "^[0-9]{8}$", "examples": ["x", "20260101"]});
    assert_sample(&shown, json!("20260101"));
}

/// Types as users write them.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Order {
    lines: Vec<Line>,
    prices: std::collections::BTreeMap<String, f32>,
    size: (u8, i64, char),
    status: Status,
    note: Option<String>,
    parent: Option<Box<Order>>,
    ids: std::collections::HashSet<u16>,
    matrix: [[f64; 2]; 2],
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Line {
    #[schemars(length(min = 3))]
    article: String,
    #[schemars(range(min = 2, max = 9))]
    count: u32,
}

#[derive(JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum Status {
    Open,
    Sent { at: String, by: Option<String> },
}

#[test]
fn types_of_rust_have_samples() {
    let schema = schemars::schema_for!(Order).to_value();
    let made = sample(&schema).expect("a sample");
    assert_eq!(Schema::new(&schema).expect("a schema").check(&made), []);
    assert_eq!(made, sample(&schema).expect("the same"));
    assert_eq!(
        made,
        json!({
            "lines": [{"article": "aaa", "count": 2}],
            "prices": {"a": 1},
            "size": [1, 1, "a"],
            "status": {"state": "open"},
            "ids": [1],
            "matrix": [[1, 1], [1, 1]],
        })
    );
}

// A08
#[test]
fn examples_go_by_names_where_that_fits() {
    let schema = json!({"type": "object", "required": ["customerEmail", "due-date", "id", "homepage", "name", "note", "unit", "limit"],
    "properties": {
        "customerEmail": {"type": "string"},
        "due-date": {"type": "string", "format": "date"},
        "id": {"type": "integer"},
        "homepage": {"type": ["string", "null"]},
        "name": {"type": "string", "maxLength": 5},
        "note": {"type": "string", "examples": ["by hand"]},
        "unit": {"enum": ["day", "week"]},
        "limit": {"type": "integer", "maximum": 5},
    }});
    let expected = json!({"customerEmail": "ann@example.org", "due-date": "2026-01-31", "id": 17,
        "homepage": "https://example.org", "name": "a", "note": "by hand", "unit": "day", "limit": 1});
    assert_eq!(example(&schema), Ok(expected));
}

// A07
#[test]
fn examples_fit_their_schemas() {
    let mut made = 0;
    let names = ["email", "date", "url", "id", "name", "year", "price", "any", "path"];
    let kinds = [
        json!({"type": "string"}),
        json!({"type": "string", "minLength": 40}),
        json!({"type": "integer", "minimum": 100, "maximum": 120}),
        json!({"type": "number", "exclusiveMaximum": 1}),
        json!({"type": "boolean"}),
        json!({"enum": ["x", "y"]}),
        json!({"type": "array", "items": {"type": "string", "format": "uri"}, "minItems": 2}),
        json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
        json!({"$ref": "#/$defs/email"}),
        json!({"type": "object", "properties": {"email": {"type": "string"}}, "required": ["email"]}),
    ];
    for name in names {
        for kind in &kinds {
            let schema = json!({"type": "object", "properties": {name: kind}, "required": [name],
                "$defs": {"email": {"type": "string", "pattern": "^[a-z]+@example.org$"}}});
            let Ok(value) = example(&schema) else { continue };
            assert_eq!(Schema::new(&schema).unwrap().check(&value), [], "{schema}");
            made += 1;
        }
    }
    assert!(made > 80, "{made} examples");
}

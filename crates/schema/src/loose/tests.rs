use super::*;

/// A dialect that knows some keywords.
const DIALECT: Dialect = Dialect::new(
    &["type", "required", "minItems", "maxItems", "minimum", "maximum"],
    &["date-time", "date", "time", "int32", "int64", "float", "double"],
);

fn fit(schema: &Value) -> Loosened {
    loosen(schema, &DIALECT)
}

fn said(fitted: &Loosened) -> Vec<String> {
    fitted.unsaid.iter().map(ToString::to_string).collect()
}

fn fitted(schema: &Value) -> Value {
    fit(schema).schema
}

// gemini.md 5
#[test]
fn what_the_api_does_not_know_moves_into_descriptions() {
    let schema = json!({"$schema": "x", "type": "object", "title": "Invoice", "x-order": 1,
        "properties": {
            "total": {"type": "number", "description": "In euros.", "exclusiveMinimum": 0, "maximum": 10},
            "due": {"type": "string", "format": "date"},
            "mail": {"type": "string", "format": "email", "default": "a@b"},
            "count": {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 10, "format": "uint32"},
            "tags": {"type": "array", "uniqueItems": true, "maxItems": 3, "items": {"type": "string", "title": "Tag"}},
            "any": true},
        "required": ["total"]});
    let fitted = fit(&schema);
    assert_eq!(
        fitted.schema,
        json!({"type": "object",
            "properties": {
                "total": {"type": "number", "description": "In euros.\n\n{\"exclusiveMinimum\":0}", "maximum": 10},
                "due": {"type": "string", "format": "date"},
                "mail": {"type": "string", "description": "{\"format\":\"email\",\"default\":\"a@b\"}"},
                "count": {"type": "integer", "minimum": 1, "maximum": 9, "description": "{\"format\":\"uint32\"}"},
                "tags": {"type": "array", "maxItems": 3, "items": {"type": "string"},
                    "description": "{\"uniqueItems\":true}"},
                "any": {}},
            "required": ["total"]})
    );
    assert_eq!(
        said(&fitted),
        ["exclusiveMinimum at /properties/total", "uniqueItems at /properties/tags"],
        "hints are no constraints"
    );
    assert_eq!(fit(&fitted.schema).schema, fitted.schema, "fitting twice changes nothing");
}

// Of two bounds the stricter one holds, in whatever order they stand.
#[test]
fn the_stricter_bound_is_said() {
    for (bounds, minimum) in [((0, 5), 6), ((5, 0), 5), ((6, 5), 6), ((5, 5), 6)] {
        let (minimum_there, above) = bounds;
        for schema in [
            json!({"type": "integer", "minimum": minimum_there, "exclusiveMinimum": above}),
            json!({"type": "integer", "exclusiveMinimum": above, "minimum": minimum_there}),
        ] {
            assert_eq!(fitted(&schema), json!({"type": "integer", "minimum": minimum}), "{schema}");
        }
    }
    for (bounds, maximum) in [((9, 5), 4), ((5, 9), 5), ((4, 5), 4), ((5, 5), 4)] {
        let (maximum_there, below) = bounds;
        for schema in [
            json!({"type": "integer", "maximum": maximum_there, "exclusiveMaximum": below}),
            json!({"exclusiveMaximum": below, "type": "integer", "maximum": maximum_there}),
        ] {
            assert_eq!(fitted(&schema), json!({"type": "integer", "maximum": maximum}), "{schema}");
        }
    }
}

#[test]
fn references_stand_alone_and_lead_somewhere() {
    assert_eq!(
        fitted(&json!({"type": "object", "properties": {
                "a": {"$ref": "#/definitions/person", "description": "Who."},
                "b": {"allOf": [{"$ref": "#/$defs/person"}], "title": "B"}},
            "definitions": {"person": {"type": "object", "title": "P"}}})),
        json!({"type": "object", "properties": {
                "a": {"description": "Who.", "anyOf": [{"$ref": "#/$defs/person"}]},
                "b": {"$ref": "#/$defs/person"}},
            "$defs": {"person": {"type": "object"}}})
    );
}

#[test]
fn all_of_is_merged() {
    let fitted = fit(&json!({"type": "object", "properties": {"a": {}}, "required": ["a"],
        "allOf": [{"properties": {"b": {"type": "string"}}, "required": ["b"]}, {"type": "array", "minItems": 1}]}));
    assert_eq!(
        fitted.schema,
        json!({"type": "object", "properties": {"a": {}, "b": {"type": "string"}}, "required": ["a", "b"], "minItems": 1,
            "description": "{\"allOf\":{\"type\":\"array\"}}"})
    );
    assert_eq!(said(&fitted), ["allOf at the root"]);
}

// Of an `allOf`, nothing is lost, wherever it stands and whatever is said twice.
#[test]
fn all_of_loses_nothing() {
    let part = json!({"properties": {"kind": {"enum": ["a", "b"]}}, "required": ["kind"],
        "patternProperties": {"^z": {}}});
    let own = json!({"properties": {"kind": {"type": "string"}, "x": {"type": "integer"}}, "required": ["x"],
        "description": "Own."});
    let (mut before, mut after) = (json!({"allOf": [part]}), own.clone());
    before.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
    after["allOf"] = json!([part]);
    for schema in [before, after] {
        let fitted = fit(&schema);
        assert_eq!(
            fitted.schema,
            json!({"properties": {"kind": {"type": "string", "enum": ["a", "b"]}, "x": {"type": "integer"}},
                "required": ["x", "kind"], "description": "Own.\n\n{\"patternProperties\":{\"^z\":{}}}"})
        );
        assert_eq!(said(&fitted), ["patternProperties at /allOf/0"]);
    }
    let twice = fit(
        &json!({"allOf": [{"properties": {"n": {"type": "integer", "minimum": 1}}}, {"minItems": 1},
        {"properties": {"n": {"type": "number", "maximum": 5}}}, {"properties": {"n": {"$ref": "#/$defs/a"}}}]}),
    );
    assert_eq!(
        twice.schema,
        json!({"properties": {"n": {"type": "integer", "minimum": 1, "maximum": 5}}, "minItems": 1, "description":
            "{\"allOf\":[{\"properties\":{\"n\":{\"type\":\"number\"}}},{\"properties\":{\"n\":{\"$ref\":\"#/$defs/a\"}}}]}"})
    );
    assert_eq!(said(&twice), ["allOf at the root", "allOf at the root"]);
}

// gemini.md (a) 13, (a) 14
#[test]
fn values_that_are_allowed() {
    for (schema, expected) in [
        (json!({"enum": ["a", "b"]}), json!({"enum": ["a", "b"], "type": "string"})),
        (json!({"type": "integer", "enum": [1, 2]}), json!({"type": "integer", "enum": [1, 2]})),
        (json!({"enum": ["a", null]}), json!({"enum": ["a"], "type": ["string", "null"]})),
        (json!({"enum": [1, 2, null]}), json!({"enum": [1, 2], "type": ["integer", "null"]})),
        (
            json!({"enum": [1, 2.5, "a", null]}),
            json!({"enum": [1, 2.5, "a"], "type": ["number", "string", "null"]}),
        ),
        (json!({"const": 3}), json!({"enum": [3]})),
        (json!({"const": null}), json!({"type": "null"})),
        (json!({"const": true}), json!({"description": "{\"const\":true}"})),
        (json!({"nullable": true, "type": "string"}), json!({"type": ["string", "null"]})),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ),
        (
            json!({"items": [{"type": "string"}, {"type": "number"}]}),
            json!({"prefixItems": [{"type": "string"}, {"type": "number"}]}),
        ),
        (
            json!({"additionalProperties": {"type": "string", "title": "t"}}),
            json!({"additionalProperties": {"type": "string"}}),
        ),
    ] {
        assert_eq!(fitted(&schema), expected, "{schema}");
    }
}

#[test]
fn depth_is_bounded() {
    let mut deep = json!({"type": "string"});
    for _ in 0..200 {
        deep = json!({"type": "array", "items": deep});
    }
    assert!(said(&fit(&deep))[0].starts_with("nesting at /items"));
}

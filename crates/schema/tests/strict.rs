//! Strict schemas: they obey the subset, and every reply that they allow comes back as the type.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    dead_code,
    reason = "a broken expectation is a failed test"
)]

mod kinds;

use std::collections::BTreeMap;
use std::fmt::Debug;

use attache_schema::{Schema, Subset, Violation, strict};
use kinds::{Adjacent, Closed, Collections, External, Flattened, Order, Scalars, Tagged, Untagged};
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// Judges a schema by the rules that the API's documentation gives.
fn assert_strict(schema: &Value, subset: Subset) {
    assert_eq!(schema["type"], "object", "the root is an object: {schema}");
    assert!(schema.get("anyOf").is_none(), "the root is no union");
    assert_strict_inside(schema, subset, "");
}

fn assert_strict_inside(schema: &Value, subset: Subset, at: &str) {
    const ONLY_OPENAI: [&str; 7] =
        ["pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "maxItems"];
    const ALLOWED: [&str; 20] = [
        "type",
        "enum",
        "const",
        "anyOf",
        "$defs",
        "$ref",
        "description",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "pattern",
        "format",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minItems",
        "maxItems",
    ];
    let members = schema.as_object().unwrap_or_else(|| panic!("{at} is {schema}"));
    for keyword in members.keys() {
        assert!(ALLOWED.contains(&keyword.as_str()), "{at}: {keyword}");
        assert!(subset == Subset::OpenAi || !ONLY_OPENAI.contains(&keyword.as_str()), "{at}: {keyword}");
        let is_bound = matches!(keyword.as_str(), "format" | "minItems");
        assert!(subset != Subset::Azure || !is_bound, "{at}: {keyword}");
    }
    if members.contains_key("$ref") {
        assert_eq!(members.len(), 1, "{at}: siblings of $ref");
        return;
    }
    assert!(members.contains_key("type") || members.contains_key("anyOf"), "{at}: no type in {schema}");
    let is = |kind: &str| match &schema["type"] {
        Value::Array(kinds) => kinds.iter().any(|known| known == kind),
        known => known == kind,
    };
    if is("object") {
        assert_eq!(schema["additionalProperties"], json!(false), "{at}");
        if subset != Subset::Anthropic {
            let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
            assert_eq!(schema["required"], json!(names), "{at}: every property is required");
        }
    }
    assert_eq!(is("array"), members.contains_key("items"), "{at}");
    for keyword in ["properties", "$defs"] {
        for (name, inner) in members.get(keyword).and_then(Value::as_object).into_iter().flatten() {
            assert_strict_inside(inner, subset, &format!("{at}/{keyword}/{name}"));
        }
    }
    for (number, branch) in members.get("anyOf").and_then(Value::as_array).into_iter().flatten().enumerate() {
        assert_strict_inside(branch, subset, &format!("{at}/anyOf/{number}"));
    }
    if let Some(items) = members.get("items") {
        assert_strict_inside(items, subset, &format!("{at}/items"));
    }
}

/// Makes replies that a strict schema allows, from numbers that are drawn in order.
struct Writer<'s> {
    root: &'s Value,
    state: u64,
}

impl Writer<'_> {
    fn draw(&mut self, below: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state % below.max(1)
    }

    fn write(&mut self, schema: &Value, depth: u32) -> Value {
        if let Some(target) = schema.get("$ref") {
            let target = self.root.pointer(target.as_str().unwrap().trim_start_matches('#')).unwrap();
            return self.write(target, depth + 1);
        }
        if let Some(branches) = schema.get("anyOf").and_then(Value::as_array) {
            // Deep inside, what ends comes first.
            let plain: Vec<&Value> = branches
                .iter()
                .filter(|branch| branch.get("properties").is_none() && branch.get("$ref").is_none())
                .collect();
            let small = branches.iter().min_by_key(|branch| branch.to_string().matches("$ref").count());
            let all: Vec<&Value> = match (depth > 6, plain.is_empty()) {
                (true, false) => plain,
                (true, true) => small.into_iter().collect(),
                (false, _) => branches.iter().collect(),
            };
            let taken = self.draw(all.len() as u64) as usize;
            return self.write(all[taken], depth + 1);
        }
        if let Some(only) = schema.get("const") {
            return only.clone();
        }
        if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
            return choices[self.draw(choices.len() as u64) as usize].clone();
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) if depth > 6 => kinds.last().unwrap().as_str().unwrap().to_owned(),
            Value::Array(kinds) => kinds[self.draw(kinds.len() as u64) as usize].as_str().unwrap().to_owned(),
            kind => kind.as_str().unwrap().to_owned(),
        };
        match kind.as_str() {
            "object" => {
                let properties = schema["properties"].as_object().unwrap();
                let required = schema["required"].as_array().unwrap();
                let mut members = Map::new();
                for (name, inner) in properties {
                    if required.iter().any(|known| known == name) || self.draw(2) == 0 {
                        members.insert(name.clone(), self.write(inner, depth + 1));
                    }
                }
                members.into()
            }
            "array" => {
                let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0);
                let most = schema.get("maxItems").and_then(Value::as_u64).unwrap_or(least + 2);
                let most = if depth > 6 { least } else { most };
                let count = least + self.draw(most - least + 1);
                let mut items: Vec<Value> =
                    (0..count).map(|_| self.write(&schema["items"], depth + 1)).collect();
                // Keys of maps and members of sets stand once, which no strict schema can say.
                if least == 0 {
                    let mut seen = std::collections::HashSet::new();
                    items.retain(|item| seen.insert(item.get("key").unwrap_or(item).to_string()));
                }
                items.into()
            }
            "string" => match (schema.get("pattern").and_then(Value::as_str), schema["description"].as_str())
            {
                (Some(_), _) => json!(self.draw(1_000).to_string()),
                (None, Some(text)) if text.contains("minLength: 1") => json!("x"),
                _ => json!(["", "a", "two words", "7"][self.draw(4) as usize]),
            },
            "integer" => {
                let least = schema.get("minimum").and_then(Value::as_i64).unwrap_or(-1_000);
                let most = schema.get("maximum").and_then(Value::as_i64).unwrap_or(least + 2_000);
                json!(least + self.draw((most - least) as u64 + 1) as i64)
            }
            "number" => json!(self.draw(4_000) as f64 / 8.0 - 250.0),
            "boolean" => json!(self.draw(2) == 1),
            _ => Value::Null,
        }
    }
}

fn every_reply_comes_back<T: JsonSchema + DeserializeOwned + Debug>() {
    let original = schema_for!(T).to_value();
    let strict = strict(&original, Subset::OpenAi).unwrap_or_else(|refusal| panic!("{refusal}: {original}"));
    assert_strict(strict.schema(), Subset::OpenAi);
    let judge = Schema::new(strict.schema()).unwrap();
    let mut writer = Writer { root: strict.schema(), state: 0x2545_f491_4f6c_dd1d };
    for _ in 0..300 {
        let reply = writer.write(strict.schema(), 0);
        assert_eq!(judge.check(&reply), [], "the writer obeys {}: {reply}", strict.schema());
        if strict.keeps_form() {
            assert_eq!(strict.original_form(reply.clone()).unwrap(), reply);
        }
        let restored = strict.restore(reply.clone());
        let restored = restored.unwrap_or_else(|violations| panic!("{reply}: {violations:?}"));
        let read = serde_json::from_value::<T>(restored.clone());
        assert!(read.is_ok(), "{reply} as {restored}: {read:?}");
    }
}

/// Numbers have no bounds there, so a reply comes back as the type, or with what is wrong.
fn every_reply_comes_back_or_is_refused<T: JsonSchema + DeserializeOwned + Debug>(subset: Subset) {
    let original = schema_for!(T).to_value();
    let strict = strict(&original, subset).unwrap_or_else(|refusal| panic!("{refusal}: {original}"));
    assert_strict(strict.schema(), subset);
    let mut writer = Writer { root: strict.schema(), state: 0x2545_f491_4f6c_dd1d };
    let mut came_back = 0;
    for _ in 0..300 {
        let reply = writer.write(strict.schema(), 0);
        let Ok(restored) = strict.restore(reply.clone()) else { continue };
        came_back += 1;
        let read = serde_json::from_value::<T>(restored.clone());
        assert!(read.is_ok(), "{reply} as {restored}: {read:?}");
    }
    assert!(came_back > 0, "{}", strict.schema());
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Invoice {
    /// As printed.
    number: String,
    #[schemars(extend("format" = "date"))]
    day: String,
    total: f64,
    #[schemars(length(min = 1))]
    note: Option<String>,
    lines: Vec<Line>,
    by_country: BTreeMap<String, f32>,
    by_year: BTreeMap<u16, Vec<Line>>,
    size: (u32, u32),
    #[serde(default = "ten")]
    limit: u8,
    free: Value,
    extra: BTreeMap<String, Value>,
    parent: Option<Box<Invoice>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Line {
    price: f64,
    order: Option<Order>,
    what: External,
}

fn ten() -> u8 {
    10
}

#[test]
fn every_type_is_said_and_every_reply_comes_back() {
    every_reply_comes_back::<Scalars>();
    every_reply_comes_back::<Collections>();
    every_reply_comes_back::<External>();
    every_reply_comes_back::<Tagged>();
    every_reply_comes_back::<Adjacent>();
    every_reply_comes_back::<Untagged>();
    every_reply_comes_back::<Closed>();
    every_reply_comes_back::<Flattened>();
    every_reply_comes_back::<Invoice>();
    every_reply_comes_back::<Order>();
    every_reply_comes_back::<Vec<Tagged>>();
    every_reply_comes_back::<Option<Invoice>>();
    every_reply_comes_back::<BTreeMap<String, BTreeMap<i32, bool>>>();
    every_reply_comes_back::<(f64, Option<String>)>();
    every_reply_comes_back::<Vec<u64>>();
    every_reply_comes_back::<String>();
}

#[test]
fn every_type_without_recursion_is_said_in_the_subset_of_anthropic() {
    every_reply_comes_back_or_is_refused::<Scalars>(Subset::Anthropic);
    every_reply_comes_back_or_is_refused::<Collections>(Subset::Anthropic);
    every_reply_comes_back_or_is_refused::<Adjacent>(Subset::Anthropic);
    every_reply_comes_back_or_is_refused::<Closed>(Subset::Anthropic);
    every_reply_comes_back_or_is_refused::<Order>(Subset::Anthropic);
    every_reply_comes_back_or_is_refused::<BTreeMap<String, BTreeMap<i32, bool>>>(Subset::Anthropic);
    every_reply_comes_back_or_is_refused::<(f64, Option<String>)>(Subset::Anthropic);
    every_reply_comes_back_or_is_refused::<Vec<i64>>(Subset::Anthropic);
    let refusal =
        |original: schemars::Schema| strict(&original.to_value(), Subset::Anthropic).unwrap_err().to_string();
    for recursive in [schema_for!(External), schema_for!(Tagged), schema_for!(Untagged), schema_for!(Invoice)]
    {
        assert!(refusal(recursive).ends_with("holds itself, and the API takes no recursion"));
    }
    let many: Map<String, Value> = (0..21).map(|at| (format!("p{at}"), json!({"type": "string"}))).collect();
    let refusal = strict(&json!({"properties": many}), Subset::Anthropic).unwrap_err();
    assert_eq!(refusal.to_string(), "the root: 21 of its properties may be left out, more than 20");
}

#[test]
fn every_type_is_said_at_azure_without_bounds() {
    every_reply_comes_back_or_is_refused::<Scalars>(Subset::Azure);
    every_reply_comes_back_or_is_refused::<Collections>(Subset::Azure);
    every_reply_comes_back_or_is_refused::<External>(Subset::Azure);
    every_reply_comes_back_or_is_refused::<Tagged>(Subset::Azure);
    every_reply_comes_back_or_is_refused::<Untagged>(Subset::Azure);
    every_reply_comes_back_or_is_refused::<Flattened>(Subset::Azure);
    every_reply_comes_back_or_is_refused::<BTreeMap<String, bool>>(Subset::Azure);
    let refused = |schema: &Value| strict(schema, Subset::Azure).unwrap_err().to_string();
    let many: Map<String, Value> = (0..101).map(|at| (format!("p{at}"), json!({"type": "string"}))).collect();
    assert_eq!(refused(&json!({"properties": many})), "the root: it has 101 properties, more than 100");
    let deep = (0..5).fold(json!({"type": "string"}), |inner, _| json!({"properties": {"a": inner}}));
    assert_eq!(refused(&deep), "the root: it is nested deeper than 5 levels");
    let count = json!({"properties": {"count": {"type": "integer", "format": "uint8", "minimum": 0}}});
    let strict = strict(&count, Subset::Azure).unwrap();
    let said = json!({"type": ["integer", "null"], "description": "minimum: 0"});
    let said = json!({"type": said["type"], "description": "maximum: 255, minimum: 0"});
    assert_eq!(strict.schema()["properties"]["count"], said);
    let unsaid: Vec<_> = strict.unsaid().iter().map(|one| &*one.keyword).collect();
    assert_eq!(unsaid, ["format", "minimum"]);
}

#[test]
fn the_subset_of_anthropic_leaves_properties_out_and_describes_bounds() {
    let schema = json!({"type": "object", "properties": {
        "count": {"type": "integer", "format": "uint8", "minimum": 0, "maximum": 255},
        "note": {"type": ["string", "null"]},
        "link": {"type": "string", "format": "uri"},
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 2},
        "prices": {"type": "object", "additionalProperties": {"type": "number"}},
    }, "required": ["count", "prices"]});
    let strict = strict(&schema, Subset::Anthropic).unwrap();
    let pair = json!({"type": "object", "properties": {"key": {"type": "string"}, "value": {"type": "number"}},
        "required": ["key", "value"], "additionalProperties": false});
    assert_eq!(
        strict.schema(),
        &json!({"type": "object", "properties": {
            "count": {"type": "integer", "description": "minimum: 0, maximum: 255"},
            "note": {"type": "string"},
            "link": {"type": "string", "format": "uri"},
            "tags": {"type": "array", "items": {"type": "string"}, "description": "minItems: 2"},
            "prices": {"type": "array", "items": pair},
        }, "required": ["count", "prices"], "additionalProperties": false})
    );
    let unsaid: Vec<_> = strict.unsaid().iter().map(|one| (&*one.pointer, &*one.keyword)).collect();
    assert_eq!(
        unsaid,
        [
            ("/properties/count", "minimum"),
            ("/properties/count", "maximum"),
            ("/properties/tags", "minItems")
        ]
    );
    let restored = strict.restore(json!({"count": 3, "prices": [{"key": "EUR", "value": 1.5}]}));
    assert_eq!(restored.unwrap(), json!({"count": 3, "prices": {"EUR": 1.5}}));
    assert!(strict.restore(json!({"count": 300, "prices": []})).is_err());
}

#[test]
fn what_is_said_differently_is_put_back() {
    let schema = json!({
        "type": "object",
        "title": "T",
        "properties": {
            "kept": {"type": "string", "description": "Kept.", "minLength": 2},
            "left_out": {"type": "integer", "format": "int32", "default": 7},
            "order": {"oneOf": [{"const": "up", "description": "first"}, {"const": "down"}]},
            "prices": {"type": "object", "additionalProperties": {"type": "number"}, "maxProperties": 2},
            "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "minItems": 2, "maxItems": 2},
            "free": true,
        },
        "required": ["kept", "order", "prices", "pair", "free"],
    });
    let strict = strict(&schema, Subset::OpenAi).unwrap();
    assert_eq!(
        strict.schema(),
        &json!({
            "type": "object",
            "properties": {
                "kept": {"type": "string", "description": "Kept. (minLength: 2)"},
                "left_out": {"type": ["integer", "null"], "minimum": -2_147_483_648_i64, "maximum": 2_147_483_647,
                    "description": "default: 7"},
                "order": {"anyOf": [{"type": "string", "const": "up", "description": "first"}, {"type": "string", "const": "down"}]},
                "prices": {"type": "array", "maxItems": 2, "items": {"type": "object",
                    "properties": {"key": {"type": "string"}, "value": {"type": "number"}},
                    "required": ["key", "value"], "additionalProperties": false}},
                "pair": {"type": "object", "properties": {"item_1": {"type": "string"}, "item_2": {"type": "integer"}},
                    "required": ["item_1", "item_2"], "additionalProperties": false},
                "free": {"type": "string", "description": "any JSON value, written as a text of JSON"},
            },
            "required": ["kept", "left_out", "order", "prices", "pair", "free"],
            "additionalProperties": false,
        })
    );
    let unsaid: Vec<_> = strict.unsaid().iter().map(|one| (&*one.pointer, &*one.keyword)).collect();
    assert_eq!(unsaid, [("/properties/kept", "minLength")]);
    let reply = json!({"kept": "ab", "left_out": null, "order": "up", "prices": [{"key": "EUR", "value": 2.5}],
        "pair": {"item_1": "x", "item_2": 3}, "free": "{\"a\": [1]}"});
    assert_eq!(
        strict.restore(reply.clone()).unwrap(),
        json!({"kept": "ab", "order": "up", "prices": {"EUR": 2.5}, "pair": ["x", 3], "free": {"a": [1]}})
    );
    let with = |name: &str, value: Value| {
        let mut reply: Map<String, Value> = reply.as_object().unwrap().clone();
        reply.insert(name.to_owned(), value);
        strict.restore(reply.into()).unwrap_err().iter().map(Violation::to_string).collect::<Vec<_>>()
    };
    assert_eq!(with("kept", json!("a")), ["`kept` must have at least 2 characters, not 1"]);
    let twice = json!([{"key": "EUR", "value": 1}, {"key": "EUR", "value": 2}]);
    assert_eq!(with("prices", twice), ["`EUR` stands twice in a map"]);
}

#[test]
fn what_the_subset_cannot_say_is_refused_by_its_place() {
    let refused = |schema: Value| strict(&schema, Subset::OpenAi).unwrap_err().to_string();
    assert_eq!(refused(json!({"properties": {"a": false}})), "/properties/a: it takes no value");
    assert!(
        refused(json!({"properties": {"a": {"$ref": "elsewhere.json"}}})).contains("is not in the schema")
    );
    assert!(
        refused(json!({"properties": {"m": {"patternProperties": {"^a": {"type": "string"}, "^b": {"type": "integer"}}}}}))
            .starts_with("/properties/m: its members are told apart by the patterns")
    );
    assert_eq!(
        refused(json!({"properties": {"a": {"allOf": [
            {"properties": {"x": {"type": "string"}}}, {"properties": {"x": {"type": "integer"}}}]}}})),
        "/properties/a: the property x is said twice of one value"
    );
    let itself = json!({"$ref": "#", "properties": {"b": {"type": "string"}}});
    assert!(
        refused(json!({"properties": {"a": itself, "c": {"$ref": "#", "minProperties": 1}}}))
            .contains("it holds itself")
    );
    let mut deep = json!({"type": "string"});
    for _ in 0..12 {
        deep = json!({"type": "object", "properties": {"a": deep}});
    }
    assert_eq!(refused(deep), "the root: it is nested deeper than 10 levels");
    let many: Map<String, Value> =
        (0..6_000).map(|at| (format!("p{at}"), json!({"type": "string"}))).collect();
    assert_eq!(refused(json!({"properties": many})), "the root: it has 6000 properties, more than 5000");
    let choices: Vec<String> = (0..2_000).map(|at| at.to_string()).collect();
    assert_eq!(
        refused(json!({"properties": {"a": {"enum": choices}}, "required": ["a"]})),
        "the root: it has 2000 values of enums, more than 1000"
    );
}

#[test]
fn a_root_without_properties_is_the_closed_empty_object() {
    let none = json!({"type": "object", "properties": {}});
    let closed = json!({"type": "object", "properties": {}, "required": [], "additionalProperties": false});
    for subset in [Subset::OpenAi, Subset::Anthropic] {
        let empty = strict(&none, subset).unwrap();
        assert_eq!(empty.schema(), &closed);
        assert!(empty.keeps_form());
        assert_eq!(empty.restore(json!({})).unwrap(), json!({}));
        // Inside, and where more is said of members, an object of any names is meant.
        let inside = strict(&json!({"properties": {"a": none}, "required": ["a"]}), subset).unwrap();
        assert_eq!(inside.schema()["properties"]["a"]["type"], "array");
        for (keyword, value) in [
            ("additionalProperties", json!(true)),
            ("patternProperties", json!({"^a": {"type": "string"}})),
            ("required", json!(["a"])),
            ("minProperties", json!(1)),
        ] {
            let mut open = none.clone();
            open[keyword] = value;
            let open = strict(&open, subset).unwrap();
            assert_eq!(open.schema()["properties"]["value"]["type"], "array", "{keyword}");
        }
    }
}

/// Every value of an enum, and every constant, is one that the types beside it take.
fn assert_choices_fit(schema: &Value) {
    match schema {
        Value::Object(members) => {
            let kinds: Vec<&str> = match &members.get("type") {
                Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
                kind => kind.and_then(Value::as_str).into_iter().collect(),
            };
            let choices = members.get("enum").and_then(Value::as_array).into_iter().flatten();
            for value in choices.chain(members.get("const").filter(|_| !kinds.is_empty())) {
                let fits = kinds.iter().any(|kind| match *kind {
                    "string" => value.is_string(),
                    "integer" => value.is_i64() || value.is_u64(),
                    "number" => value.is_number(),
                    "null" => value.is_null(),
                    "boolean" => value.is_boolean(),
                    _ => false,
                });
                assert!(fits, "{value} in {schema}");
            }
            members.values().for_each(assert_choices_fit);
        }
        Value::Array(list) => list.iter().for_each(assert_choices_fit),
        _ => {}
    }
}

#[test]
fn values_of_an_enum_stand_beside_their_types() {
    let text = json!({"type": "string", "enum": ["a"]});
    let either = json!({"anyOf": [text, {"type": "integer", "enum": [1]}]});
    let cases = [
        (json!({"enum": ["a", 1]}), either.clone()),
        (json!({"type": ["string", "integer"], "enum": ["a", 1]}), either),
        (json!({"enum": [1, 2.5]}), json!({"type": "number", "enum": [1, 2.5]})),
        (
            json!({"type": ["integer", "string"], "enum": [1, 2.5, "a"]}),
            json!({"anyOf": [{"type": "integer", "enum": [1]}, text]}),
        ),
        (json!({"type": "string", "enum": ["a", null]}), text.clone()),
        (
            json!({"type": ["string", "null"], "enum": ["a", null]}),
            json!({"type": ["string", "null"], "enum": ["a", null]}),
        ),
        // A type that none of the values has says nothing.
        (json!({"type": ["string", "integer", "null"], "enum": ["a"]}), text),
        (json!({"type": ["string", "boolean"], "const": true}), json!({"type": "boolean", "const": true})),
    ];
    for subset in [Subset::OpenAi, Subset::Anthropic] {
        for (given, said) in &cases {
            let whole = json!({"type": "object", "properties": {"a": given}, "required": ["a"]});
            let strict = strict(&whole, subset).unwrap();
            assert_eq!(&strict.schema()["properties"]["a"], said, "{given}");
            assert_choices_fit(strict.schema());
            let may_lack = json!({"type": "object", "properties": {"a": given}});
            assert_choices_fit(attache_schema::strict(&may_lack, subset).unwrap().schema());
            for value in given.get("enum").and_then(Value::as_array).into_iter().flatten() {
                let reply = json!({"a": value});
                let fits = Schema::new(&whole).unwrap().check(&reply).is_empty();
                assert_eq!(strict.restore(reply).is_ok(), fits, "{value} for {given}");
            }
        }
        let none = json!({"properties": {"a": {"type": "string", "enum": [1]}}});
        assert_eq!(strict(&none, subset).unwrap_err().to_string(), "/properties/a: it takes no value");
    }
}

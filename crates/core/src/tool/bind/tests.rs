use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::Deserialize;

use super::*;
use crate::tool::{ToolErrorKind, ToolSet};

/// The arguments of a call to a tool of that definition.
fn bound<'d>(definition: &'d ToolDefinition, written: &str) -> Result<Bound<'d>, ToolError> {
    let object = definition.coerce(&Arguments::new(written))?;
    Ok(Bound::new(definition, object))
}

/// A period of time.
#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Period {
    /// The first day.
    from: String,
    to: Option<String>,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Order {
    /// Oldest first.
    Ascending,
    /// Newest first.
    Descending,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Filter {
    Amount { above: u32 },
    Sender { name: String },
    Not { filter: Box<Filter> },
    Either { left: Box<Filter>, right: Box<Filter> },
}

fn definition() -> ToolDefinition {
    Parameters::new()
        .parameter::<String>("number")
        .described("the number")
        .example("R-17")
        .parameter::<u8>("limit")
        .optional()
        .with_default(10)
        .parameter::<Option<Period>>("period")
        .parameter::<Vec<u32>>("pages")
        .optional()
        .parameter::<Option<Order>>("order")
        .parameter::<Option<Filter>>("filter")
        .parameter::<BTreeMap<String, bool>>("flags")
        .optional()
        .into_definition("find", "Finds")
}

// The values that a flat argument takes stand in the schema, or the tool is not offered at all.
#[test]
fn only_structs_are_flat() {
    #[derive(JsonSchema)]
    #[schemars(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Closed {
        from: String,
    }
    #[derive(JsonSchema)]
    struct Empty {}
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Choosing {
        limit: u8,
        #[serde(flatten)]
        filter: Filter,
    }
    #[derive(JsonSchema)]
    #[expect(dead_code, reason = "only its schema is looked at")]
    struct Newtype(u8);
    fn flat<T: JsonSchema>() -> Result<usize, crate::tool::ToolSetError> {
        let definition = Parameters::new().fields_of::<T>().into_definition("flat", "");
        let properties =
            definition.input_schema().get("properties").and_then(Value::as_object).map_or(0, Map::len);
        ToolSet::new([definition]).map(|_| properties)
    }
    assert_eq!((flat::<Period>(), flat::<Closed>(), flat::<Empty>()), (Ok(2), Ok(1), Ok(0)));
    assert_eq!(flat::<Box<Period>>(), Ok(2));
    let refused = [
        flat::<String>(),
        flat::<Vec<Period>>(),
        flat::<Option<Period>>(),
        flat::<BTreeMap<String, u8>>(),
        flat::<Value>(),
        flat::<()>(),
        flat::<Order>(),
        flat::<Filter>(),
        flat::<Choosing>(),
        flat::<Newtype>(),
    ];
    for refused in refused {
        let error = refused.unwrap_err().to_string();
        assert!(
            error.starts_with("the tool \"flat\" cannot be offered: a flat argument is of the type "),
            "{error}"
        );
    }
}

fn error(arguments: &str) -> String {
    let definition = definition();
    let error = bound(&definition, arguments).unwrap_err();
    assert_eq!(error.kind(), ToolErrorKind::InvalidArguments);
    error.for_model().to_owned()
}

// A04, A05, S21, S22, runtime.md 3
#[test]
fn the_schema_of_parameters() {
    let mut schema = definition().input_schema().clone();
    let definitions = schema["$defs"].take();
    assert_eq!(definitions.as_object().unwrap().keys().collect::<Vec<_>>(), ["Period", "Order", "Filter"]);
    assert_eq!(definitions["Period"]["properties"]["from"]["description"], "The first day.");
    let nullable = |name: &str| json!({"anyOf": [{"$ref": format!("#/$defs/{name}")}, {"type": "null"}]});
    let expected = json!({
        "type": "object",
        "properties": {
            "number": {"type": "string", "description": "the number", "examples": ["R-17"]},
            "limit": {"type": "integer", "format": "uint8", "minimum": 0, "maximum": 255, "default": 10},
            "period": nullable("Period"),
            "pages": {"type": "array", "items": {"type": "integer", "format": "uint32", "minimum": 0}},
            "order": nullable("Order"),
            "filter": nullable("Filter"),
            "flags": {"type": "object", "additionalProperties": {"type": "boolean"}},
        },
        "required": ["number"],
        "$defs": null,
    });
    assert_eq!(schema.to_string(), expected.to_string(), "members in the order of the parameters");
    assert_eq!(definition().examples(), [json!({"number": "R-17"})]);
}

// S25
#[test]
fn a_flat_struct_has_the_schema_of_its_fields() {
    let flat = Parameters::new().fields_of::<Period>().into_definition("t", "");
    let apart = Parameters::new()
        .parameter::<String>("from")
        .described("The first day.")
        .parameter::<Option<String>>("to")
        .into_definition("t", "");
    assert_eq!(flat.input_schema(), apart.input_schema());
    let mut bound = bound(&flat, r#"{"from": "May", "other": 1}"#).unwrap();
    assert_eq!(bound.take_flat(), Some(Period { from: "May".to_owned(), to: None }));
}

// runtime.md 4
#[test]
fn what_is_only_written_differently_is_mended() {
    let definition = definition();
    let written = r#"{"number": "7", "limit": "5", "period": "{\"from\": \"May\"}", "pages": 3.0,
        "order": "ascending", "filter": {"kind": "amount", "above": " 9 "}, "flags": {"a": "true"}, "more": 1}"#;
    let mut bound = bound(&definition, written).unwrap();
    assert_eq!(bound.take::<String>("number").as_deref(), Some("7"));
    assert_eq!(bound.take::<u8>("limit"), Some(5));
    assert_eq!(bound.take("period"), Some(Some(Period { from: "May".to_owned(), to: None })));
    assert_eq!(bound.take("pages"), Some(vec![3_u32]));
    assert_eq!(bound.take("order"), Some(Some(Order::Ascending)));
    assert_eq!(bound.take("filter"), Some(Some(Filter::Amount { above: 9 })));
    assert_eq!(bound.take("flags"), Some(BTreeMap::from([("a".to_owned(), true)])));
    let strict = definition.check(&Arguments::new(written)).unwrap_err();
    for path in
        ["`limit` must be an integer, not \"5\"", "`pages` must be an array", "`flags.a` must be true or"]
    {
        assert!(strict.for_model().contains(path), "{path}: {strict}");
    }
}

#[test]
fn what_was_left_out_is_what_serde_makes_of_nothing() {
    let definition = definition();
    let mut bound = bound(&definition, r#"{"number": "7", "limit": null, "period": null}"#).unwrap();
    assert_eq!(bound.take_or("limit", || 10_u8), Some(10));
    assert_eq!(bound.take::<Option<Period>>("period"), Some(None));
    assert_eq!(bound.take::<Option<Order>>("order"), Some(None));
    assert_eq!(bound.take::<Vec<u32>>("pages"), None, "only an option is made of nothing");
    assert!(bound.into_error().for_model().contains("`pages` is not valid: it is missing"));
}

// runtime.md 4: the tool, each bad path, what was expected, what came, what is allowed
#[test]
fn errors_say_what_to_mend() {
    assert_eq!(
        error(r#"{"limit": 300, "period": {"to": 4}, "pages": [1, "x"], "flags": {"a": 1}}"#),
        "the arguments of find do not fit: `number` is missing (a string); `limit` must be at most 255, not 300; \
         `period.from` is missing (a string); `period.to` must be a string, not 4; `pages[1]` must be an integer, \
         not \"x\"; `flags.a` must be true or false, not 1; \
         allowed: number, limit, period, pages, order, filter, flags"
    );
    assert!(
        error(r#"{"number": "1", "order": "up"}"#)
            .contains(r#"`order` must be one of "ascending", "descending", not "up""#)
    );
    let tagged = error(r#"{"number": "1", "filter": {"kind": "sender", "above": 3}}"#);
    assert!(tagged.contains("fit: `filter.name` is missing (a string); allowed"), "{tagged}");
    let unknown = error(r#"{"number": "1", "filter": {"kind": "colour"}}"#);
    assert!(
        unknown.contains(r#"`filter.kind` must be one of "amount", "sender", "not", "either""#),
        "{unknown}"
    );
    let untagged = error(r#"{"number": "1", "filter": {"above": 3}}"#);
    assert!(untagged.contains("(nearest: `filter.kind` is missing (a string))"), "{untagged}");
    assert!(
        error("[1]").starts_with("find: the arguments must be a JSON object, not an array; allowed: number")
    );
    assert!(error(&json!({"number": vec!["x"; 100]}).to_string()).len() < 400, "what came is cut");
    let none = Parameters::new().into_definition("now", "");
    let error = bound(&none, "7").unwrap_err();
    assert_eq!(
        error.for_model(),
        "now: the arguments must be a JSON object, not a number; it takes no arguments"
    );
    assert!(bound(&none, "").is_ok());
}

#[test]
fn what_no_schema_can_say_serde_says() {
    let definition = Parameters::new().parameter::<std::net::IpAddr>("host").into_definition("ping", "");
    let mut bound = bound(&definition, r#"{"host": "nowhere"}"#).unwrap();
    assert_eq!(bound.take::<std::net::IpAddr>("host"), None);
    let error = bound.into_error();
    assert!(
        error.for_model().starts_with("the arguments of ping do not fit: `host` is not valid: "),
        "{error}"
    );
}

#[test]
fn a_closed_object_refuses_what_it_does_not_know() {
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema matters")]
    struct Closed {
        a: u8,
    }
    let definition = Parameters::new().parameter::<Closed>("closed").into_definition("t", "");
    let error = bound(&definition, r#"{"closed": {"a": 1, "b": 2}}"#).unwrap_err();
    assert!(error.for_model().contains("`closed.b` is not allowed"), "{error}");
}

#[test]
fn recursive_schemas_cost_no_more_than_a_bound() {
    let mut filter = json!({"kind": "amount", "above": "many"});
    for _ in 0..50 {
        filter = json!({"kind": "either", "left": filter, "right": {"kind": "sender"}});
    }
    let started = std::time::Instant::now();
    assert!(error(&json!({"number": "1", "filter": filter}).to_string()).contains("`filter.left"));
    assert!(started.elapsed().as_secs() < 20);
    let endless = json!({"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#/$defs/A"}}});
    let definition = ToolDefinition::new("t", "", endless);
    let error = bound(&definition, r#"{"a": 1}"#).unwrap_err();
    assert!(error.source().is_some_and(|source| source.to_string().contains("without end")), "{error:?}");
}

#[test]
fn maps_with_keys_of_any_kind_can_be_passed() {
    #[derive(Debug, PartialEq, Eq, Hash, Deserialize, JsonSchema, PartialOrd, Ord)]
    #[serde(rename_all = "snake_case")]
    enum Key {
        Left,
        Right,
    }
    let definition = Parameters::new()
        .parameter::<BTreeMap<u32, f32>>("numbers")
        .parameter::<BTreeMap<i64, Vec<u8>>>("signed")
        .parameter::<BTreeMap<Key, bool>>("keys")
        .into_definition("plot", "");
    let written = r#"{"numbers": {"1": 2, "30": "2.5"}, "signed": {"-7": 3}, "keys": {"left": "true", "right": false}}"#;
    let mut taken = bound(&definition, written).unwrap();
    assert_eq!(taken.take("numbers"), Some(BTreeMap::from([(1_u32, 2.0_f32), (30, 2.5)])));
    assert_eq!(taken.take("signed"), Some(BTreeMap::from([(-7_i64, vec![3_u8])])));
    assert_eq!(taken.take("keys"), Some(BTreeMap::from([(Key::Left, true), (Key::Right, false)])));
    let error = bound(&definition, r#"{"numbers": {"one": 2}, "signed": {}, "keys": {}}"#).unwrap_err();
    assert!(error.for_model().contains("`numbers.one` is not allowed"), "{error}");
}

#[test]
fn integers_that_64_bits_do_not_hold_are_refused_with_the_reason() {
    let definition = Parameters::new().parameter::<u128>("big").into_definition("t", "");
    let take = |written: &str| bound(&definition, written).map(|mut bound| bound.take::<u128>("big"));
    assert_eq!(take(r#"{"big": 18446744073709551615}"#).unwrap(), Some(u128::from(u64::MAX)));
    assert_eq!(take(r#"{"big": 5.0}"#).unwrap(), Some(5));
    let error = take(r#"{"big": 170141183460469231731687303715884105727}"#).unwrap_err();
    assert!(error.for_model().contains("`big` must be an integer of at most 64 bits, not "), "{error}");
}

// An object that is no reference to a document is not made into a text of its id
#[test]
fn a_text_is_taken_of_a_reference_and_of_no_other_object() {
    let definition = Parameters::new().parameter::<String>("payload").into_definition("save", "");
    let take = |written: Value| {
        let bound = bound(&definition, &json!({ "payload": written }).to_string());
        bound.ok().and_then(|mut bound| bound.take::<String>("payload"))
    };
    let reference = json!({"attache.document": "stored", "documentId": "d-1", "storeId": "main", "metadata": {"size": 3}});
    assert_eq!(take(reference).as_deref(), Some("d-1"));
    assert_eq!(take(json!({"documentId": "d-1"})).as_deref(), Some("d-1"));
    assert_eq!(take(json!({"documentId": "d-1", "body": "everything else"})), None);
}

#[test]
fn a_name_that_two_arguments_have_is_a_problem() {
    let definition =
        Parameters::new().fields_of::<Period>().parameter::<String>("from").into_definition("list", "");
    let error = ToolSet::new([definition]).unwrap_err().to_string();
    assert!(
        error.starts_with("the tool \"list\" cannot be offered: two of its arguments are named `from`"),
        "{error}"
    );
}

#[test]
fn flat_structs_that_refuse_unknown_fields_stand_beside_others() {
    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Page {
        limit: u8,
        #[serde(alias = "start")]
        offset: Option<u32>,
    }
    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    struct Outer {
        #[serde(flatten)]
        period: Period,
        year: u16,
    }
    let definition = Parameters::new()
        .fields_of::<Period>()
        .fields_of::<Page>()
        .parameter::<bool>("newest")
        .into_definition("list", "");
    let mut taken =
        bound(&definition, r#"{"from": "May", "limit": "3", "newest": true, "start": 9}"#).unwrap();
    assert_eq!(taken.take("newest"), Some(true));
    assert_eq!(taken.take_flat(), Some(Period { from: "May".to_owned(), to: None }));
    assert_eq!(taken.take_flat(), Some(Page { limit: 3, offset: Some(9) }));
    let nested = Parameters::new().fields_of::<Outer>().fields_of::<Box<Page>>().into_definition("list", "");
    let mut taken = bound(&nested, r#"{"from": "May", "year": 2026, "limit": 3}"#).unwrap();
    let period = Period { from: "May".to_owned(), to: None };
    assert_eq!(taken.take_flat(), Some(Outer { period, year: 2026 }));
    assert_eq!(taken.take_flat(), Some(Box::new(Page { limit: 3, offset: None })));
}

#[test]
fn a_schema_is_compiled_once_for_all_clones() {
    let definition = definition();
    let clone = definition.clone();
    assert!(std::ptr::eq(definition.schema().unwrap(), clone.schema().unwrap()));
    assert_eq!(definition, clone);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z0-9\"{}\\[\\]]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let names = prop::sample::select(vec!["from", "to", "kind", "above", "filter", "left", "x"]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((names, inner), 0..4).prop_map(|members| members
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect()),
        ]
    })
}

proptest! {
    #[test]
    fn any_arguments_bind_or_say_why(period in any_json(), filter in any_json(), pages in any_json()) {
        let arguments = json!({"number": "1", "period": period, "filter": filter, "pages": pages});
        let definition = definition();
        match bound(&definition, &arguments.to_string()) {
            Ok(mut bound) => {
                let _ = bound.take::<Option<Period>>("period");
                let _ = bound.take::<Option<Filter>>("filter");
                let _ = bound.take_or::<Vec<u32>>("pages", Vec::new);
                prop_assert!(bound.problems.is_empty(), "the schema lets pass what serde refuses: {:?}", bound.problems);
            }
            Err(error) => prop_assert!(error.for_model().contains('`')),
        }
    }
}

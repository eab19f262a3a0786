use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::Deserialize;

use super::*;

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

// What a flat argument takes stands in the schema, or the tool is not offered at all.
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
        crate::tool::ToolSet::new([definition]).map(|_| properties)
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
    let error = Bound::new(&definition, &Arguments::new(arguments), false).unwrap_err();
    assert_eq!(error.kind(), ToolErrorKind::InvalidArguments);
    error.for_model().to_owned()
}

// A04, A05, S21, S22, runtime.md §3
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
    let arguments = Arguments::new(r#"{"from": "May", "other": 1}"#);
    let mut bound = Bound::new(&flat, &arguments, false).unwrap();
    assert_eq!(bound.take_flat(), Some(Period { from: "May".to_owned(), to: None }));
}

// runtime.md §4
#[test]
fn what_is_only_written_differently_is_mended() {
    let definition = definition();
    let written = r#"{"number": "7", "limit": "5", "period": "{\"from\": \"May\"}", "pages": 3.0,
        "order": "ascending", "filter": {"kind": "amount", "above": " 9 "}, "flags": {"a": "true"}, "more": 1}"#;
    let mut bound = Bound::new(&definition, &Arguments::new(written), false).unwrap();
    assert_eq!(bound.take::<String>("number").as_deref(), Some("7"));
    assert_eq!(bound.take::<u8>("limit"), Some(5));
    assert_eq!(bound.take("period"), Some(Some(Period { from: "May".to_owned(), to: None })));
    assert_eq!(bound.take("pages"), Some(vec![3_u32]));
    assert_eq!(bound.take("order"), Some(Some(Order::Ascending)));
    assert_eq!(bound.take("filter"), Some(Some(Filter::Amount { above: 9 })));
    assert_eq!(bound.take("flags"), Some(BTreeMap::from([("a".to_owned(), true)])));
    let strict = Bound::new(&definition, &Arguments::new(written), true).unwrap_err();
    for path in
        ["`limit` must be an integer, not \"5\"", "`pages` must be an array", "`flags.a` must be true or"]
    {
        assert!(strict.for_model().contains(path), "{path}: {strict}");
    }
}

#[test]
fn what_was_left_out_is_what_serde_makes_of_nothing() {
    let definition = definition();
    let arguments = Arguments::new(r#"{"number": "7", "limit": null, "period": null}"#);
    let mut bound = Bound::new(&definition, &arguments, false).unwrap();
    assert_eq!(bound.take_or("limit", || 10_u8), Some(10));
    assert_eq!(bound.take::<Option<Period>>("period"), Some(None));
    assert_eq!(bound.take::<Option<Order>>("order"), Some(None));
    assert_eq!(bound.take::<Vec<u32>>("pages"), None, "only an option is made of nothing");
    assert!(bound.into_error().for_model().contains("`pages` is not valid: it is missing"));
}

// runtime.md §4: the tool, each bad path, what was expected, what came, what is allowed
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
    let error = Bound::new(&none, &Arguments::new("7"), false).unwrap_err();
    assert_eq!(
        error.for_model(),
        "now: the arguments must be a JSON object, not a number; it takes no arguments"
    );
    assert!(Bound::new(&none, &Arguments::new(""), false).is_ok());
}

#[test]
fn what_no_schema_can_say_serde_says() {
    let definition = Parameters::new().parameter::<std::net::IpAddr>("host").into_definition("ping", "");
    let mut bound = Bound::new(&definition, &Arguments::new(r#"{"host": "nowhere"}"#), false).unwrap();
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
    let error =
        Bound::new(&definition, &Arguments::new(r#"{"closed": {"a": 1, "b": 2}}"#), false).unwrap_err();
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
    assert!(Bound::new(&definition, &Arguments::new(r#"{"a": 1}"#), false).is_ok());
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
        match Bound::new(&definition, &Arguments::new(arguments.to_string()), false) {
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

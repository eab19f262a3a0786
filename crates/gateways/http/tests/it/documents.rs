//! Documents that are read whole or not at all, and what is told of the rest.

#![allow(clippy::needless_pass_by_value, reason = "what is written in place reads best without a mark")]

use attache_core::{Effect, ToolHandler};
use attache_http_tools::{HttpToolsConfig, OpenApi};
use serde_json::{Value, json};

use crate::openapi::{document, one, parameter, schema, target, tools};
use crate::support::{call, value};

fn skipped(document: &OpenApi) -> Vec<String> {
    document.skipped().unwrap().iter().map(ToString::to_string).collect()
}

fn names(document: &OpenApi) -> Vec<String> {
    document.endpoints().unwrap().iter().map(|endpoint| endpoint.name().to_owned()).collect()
}

fn with_body(id: &str, content: Value) -> Value {
    json!({"operationId": id, "requestBody": {"required": true, "content": content}})
}

// YAML 1.2 knows `true` and `false` alone; documents of OpenAPI are YAML 1.2.
#[tokio::test]
async fn words_of_yaml_1_1_are_texts() {
    let yaml = "
openapi: 3.1.0
servers: [{url: 'https://h/v1'}]
paths:
  /a:
    get:
      operationId: a
      parameters:
        - {name: y, in: query, required: true, schema: {type: string, enum: [on, off, NO, yes, y, true]}}
        - {name: n, in: query, schema: {type: boolean, default: false}}
  /b:
    post:
      operationId: b
      requestBody:
        required: true
        content:
          application/json:
            schema: {type: object, required: [x, y], properties: {x: {type: integer}, y: {type: integer}}}
  /c: {get: {operationId: c, parameters: [{name: 7, in: query}]}}
  /d: {get: {operationId: d, parameters: [{in: query}]}}
  /e: {get: {operationId: e, parameters: [{name: x}]}}
  /f: {get: {operationId: f, parameters: [null]}}
";
    let document = OpenApi::parse(yaml).unwrap();
    let tools = tools(&document);
    let a = schema(&tools, 0).await;
    assert_eq!(a["properties"]["y"]["enum"], json!(["on", "off", "NO", "yes", "y", true]));
    assert_eq!((&a["required"], &a["properties"]["n"]["default"]), (&json!(["y"]), &json!(false)));
    assert_eq!(schema(&tools, 1).await["required"], json!(["x", "y"]));
    // Nobody knows what the service misses then.
    let told = "a parameter of it has no textual `name` or `in`";
    assert_eq!(skipped(&document), ["c", "d", "e", "f"].map(|id| format!("{id}: {told}")));
}

#[test]
fn a_large_document_of_yaml_is_read_as_one_of_json_is() {
    let with = |count: usize, depth: usize| {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        let items = "1, ".repeat(count);
        format!(
            "openapi: 3.0.0\nservers: [{{url: 'https://h'}}]\npaths: {{}}\nx-more: [{open}{close}, {items}]\n"
        )
    };
    assert_eq!(OpenApi::parse(&with(260_000, 100)).map(|_| ()), Ok(()));
    let problem = |text: &str| OpenApi::parse(text).unwrap_err().to_string();
    assert_eq!(problem(&with(1, 140)), "the OpenAPI document has more than 128 levels");
    let aliases = format!("openapi: 3.0.0\na: &a 1\nb: [{}]\n", "*a, ".repeat(60_000));
    assert!(problem(&aliases).starts_with("the OpenAPI document has more than"), "{}", problem(&aliases));
}

#[tokio::test]
async fn paths_that_are_elsewhere_and_methods_that_are_no_tools_are_told() {
    let paths = json!({
        "/other": {"$ref": "paths/other.yaml"},
        "/none": {"$ref": "#/components/pathItems/None"},
        "/circle": {"$ref": "#/components/pathItems/Circle"},
        "/beside": {
            "$ref": "#/components/pathItems/Shared",
            "post": {"operationId": "own-post"},
            "parameters": [parameter("own", "query", json!({}))],
        },
        "/half": {"$ref": "paths/half.yaml", "get": {"operationId": "half"}},
        "/local": {"$ref": "#/components/pathItems/Shared"},
        "/operation": {"get": {"$ref": "operations/get.yaml"}},
        "/nothing": {"get": null},
        "/odd": 7,
        "/more": {"options": {"operationId": "asks"}, "trace": {"operationId": "traces"}, "get": {"operationId": "more"}},
        "x-internal": {"get": {"operationId": "none"}},
    });
    let shared = json!({
        "get": {"operationId": "shared-get"}, "post": {"operationId": "shared-post"},
        "parameters": [parameter("theirs", "query", json!({}))],
    });
    let components =
        json!({"pathItems": {"Shared": shared, "Circle": {"$ref": "#/components/pathItems/Circle"}}});
    let document = document("3.1.0", paths, components);
    let mut read = names(&document);
    read.sort();
    assert_eq!(read, ["half", "more", "own-post", "shared-get", "shared-get_2", "shared-post"]);
    let skipped = skipped(&document);
    for why in [
        "/other: its reference \"paths/other.yaml\" leads into another file, which is not read",
        "/none: its reference \"#/components/pathItems/None\" leads nowhere",
        "/circle: its references lead in a circle",
        "/half: its reference \"paths/half.yaml\" leads into another file, which is not read",
        "get_operation: its reference \"operations/get.yaml\" leads into another file, which is not read",
        "get_nothing: it is no object",
        "/odd: it is no object",
        "asks: an OPTIONS is no tool",
        "traces: a TRACE is no tool",
    ] {
        assert!(skipped.iter().any(|told| told == why), "{why}: {skipped:#?}");
    }
    assert_eq!(skipped.len(), 9, "{skipped:#?}");
    let tools = tools(&document);
    let of = async |name: &str| {
        let specs = ToolHandler::tools(&tools).await.unwrap();
        let spec = specs.iter().find(|spec| spec.definition.name() == name).unwrap().clone();
        spec.definition.input_schema()["properties"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(
        (of("own-post").await, of("shared-post").await),
        (vec!["own".to_owned()], vec!["theirs".to_owned()])
    );
}

#[tokio::test]
async fn openapi_3_2_is_read_and_later_ones_are_not() {
    let paths = json!({"/orders": {
        "query": with_body("orders.search", json!({"application/json": {"schema": {"type": "object", "properties": {"text": {"type": "string"}}}}})),
        "additionalOperations": {"COPY": {"operationId": "orders.copy"}, "MOVE": {}},
    }});
    let read = document("3.2.0", paths.clone(), json!({}));
    let tools = tools(&read);
    let spec = &ToolHandler::tools(&tools).await.unwrap()[0];
    assert_eq!((spec.definition.name(), spec.metadata.effect), ("orders.search", Effect::Read));
    let sent = value(&call(&tools, "orders.search", json!({"text": "x"})).await.unwrap());
    assert_eq!((&sent["method"], &sent["body"]), (&json!("QUERY"), &json!(r#"{"text":"x"}"#)));
    assert_eq!(skipped(&read), ["orders.copy: a COPY is no tool", "move_orders: a MOVE is no tool"]);
    for version in ["3.3.0", "3.10.0", "3.x", "3"] {
        let error = OpenApi::of(json!({"openapi": version, "paths": paths})).unwrap_err().to_string();
        assert!(error.contains("no OpenAPI 3.0, 3.1 or 3.2"), "{error}");
    }
    let config = json!({"base_url": "https://h", "openapi": "o.json", "methods": ["query"]});
    let config: HttpToolsConfig = serde_json::from_value(config).unwrap();
    let text = json!({"openapi": "3.2.0", "paths": paths}).to_string();
    assert_eq!(config.tools("orders", |_| Ok(text)).unwrap().endpoints().len(), 1);
}

#[test]
fn media_types_by_reference_are_those_that_stand_there() {
    let order = json!({"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]});
    let form = json!({"type": "object", "properties": {"scan": {"type": "string", "format": "binary"}}});
    let media = json!({
        "Order": {"schema": order},
        "Range": {"schema": order},
        "Steps": {"schema": {"type": "array", "items": order}},
        "Form": {"schema": form, "encoding": {"scan": {"contentType": "image/png"}}},
        "Filter": {"schema": {"type": "object", "properties": {"state": {"enum": ["open"]}}}},
    });
    let read = |is_inline: bool| {
        let of = |name: &str| match is_inline {
            true => media[name].clone(),
            false => json!({"$ref": format!("#/components/mediaTypes/{name}")}),
        };
        let content = json!({"application/json": of("Order")});
        let mut put = with_body("put", content.clone());
        put["responses"] = json!({"200": {"content": content}});
        put["parameters"] =
            json!([{"name": "filter", "in": "query", "content": {"application/json": of("Filter")}}]);
        let paths = json!({
            "/a": {"put": put, "post": with_body("scan", json!({"multipart/form-data": of("Form")}))},
            "/b": {"put": with_body("any", json!({"*/*": of("Range")}))},
            "/c": {"patch": with_body("steps", json!({"application/json-patch+json": of("Steps"),
                "text/plain": {"schema": {"type": "string"}}}))},
        });
        document("3.2.0", paths, json!({"mediaTypes": media}))
    };
    let (inline, by_reference) = (read(true), read(false));
    assert!(skipped(&by_reference).is_empty());
    let specs = |document: &OpenApi| futures_now(ToolHandler::tools(&tools(document))).unwrap();
    for (one, other) in specs(&inline).into_iter().zip(specs(&by_reference)) {
        assert_eq!(one.definition, other.definition);
    }
    assert!(specs(&inline)[0].definition.input_schema()["properties"]["id"].is_object());
    let lost = json!({"application/json": {"$ref": "#/components/mediaTypes/Lost"}});
    let lost = document("3.2.0", json!({"/a": {"put": with_body("put", lost)}}), json!({}));
    assert!(skipped(&lost)[0].contains("#/components/mediaTypes/Lost"), "{:?}", skipped(&lost));
}

#[test]
fn a_parameter_whose_place_is_unknown_is_told_if_it_must_be_sent() {
    let with = |id: &str, required: bool| json!({"operationId": id, "parameters": [{"name": "all", "in": "querystring", "required": required}]});
    let document = document(
        "3.1.0",
        json!({"/a": {"get": with("a", true)}, "/b": {"get": with("b", false)}}),
        json!({}),
    );
    assert_eq!(names(&document), ["b"]);
    assert_eq!(
        skipped(&document),
        ["a: it demands the parameter all in \"querystring\", a place that is not known"]
    );
}

// As Kubernetes writes its own.
#[tokio::test]
async fn ranges_are_json_and_patches_are_merges() {
    let patch = json!({"schema": {"type": "object"}});
    let object = json!({"schema": {"type": "object", "properties": {"name": {"type": "string"}}}});
    let list = json!({"schema": {"type": "array", "items": {"type": "object"}}});
    let file = json!({"schema": {"type": "string", "format": "binary"}});
    for (content, arguments, media, body) in [
        (json!({"*/*": object}), json!({"name": "n"}), "application/json", r#"{"name":"n"}"#),
        (json!({"application/*": patch}), json!({"body": {"a": 1}}), "application/json", r#"{"a":1}"#),
        (
            json!({"application/apply-patch+yaml": patch, "application/json-patch+json": patch, "application/strategic-merge-patch+json": patch, "application/merge-patch+json": patch}),
            json!({"body": {"a": 1}}),
            "application/merge-patch+json",
            r#"{"a":1}"#,
        ),
        (
            json!({"application/json-patch+json": patch, "application/strategic-merge-patch+json": patch, "application/a+json": patch}),
            json!({"body": {"a": 1}}),
            "application/strategic-merge-patch+json",
            r#"{"a":1}"#,
        ),
        (
            json!({"application/json-patch+json": patch, "*/*": patch}),
            json!({"body": {"a": 1}}),
            "application/json",
            r#"{"a":1}"#,
        ),
        (
            json!({"application/json-patch+json": list, "application/x-www-form-urlencoded": object}),
            json!({"body": [{"op": "test"}]}),
            "application/json-patch+json",
            r#"[{"op":"test"}]"#,
        ),
        (json!({"text/*": {"schema": {"type": "string"}}}), json!({"body": "x"}), "text/plain", "x"),
        (
            json!({"Application/JSON": object, "application/a+json": object}),
            json!({"name": "n"}),
            "application/json",
            r#"{"name":"n"}"#,
        ),
    ] {
        let tools = tools(&one("patch", "/x", with_body("x", content.clone())));
        let sent = value(&call(&tools, "x", arguments).await.unwrap());
        assert_eq!(
            (&sent["headers"]["content-type"], &sent["body"]),
            (&json!(media), &json!(body)),
            "{content}"
        );
    }
    let taken = schema(&tools(&one("post", "/x", with_body("x", json!({"*/*": file})))), 0).await;
    assert!(taken["properties"]["body"]["description"].as_str().unwrap().contains("document"), "{taken}");
}

// Each value that a model is shown can be sent.
#[tokio::test]
async fn objects_in_a_query_are_known_wherever_their_members_are() {
    let named = |name: &str| json!({"type": "object", "properties": {name: {"type": "integer"}}});
    let of = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    let components = json!({"schemas": {
        "A": named("a"), "B": named("b"),
        "All": {"allOf": [of("A"), of("B")]},
        "Alias": of("All"),
        "Nullable": {"anyOf": [of("Alias"), {"type": "null"}]},
        "Choice": {"anyOf": [of("A"), of("B")]},
        "Open": {"type": "object", "properties": {"x": {}}, "additionalProperties": {"type": "integer"}},
    }});
    let inline = json!({"anyOf": [{"allOf": [named("a"), named("b")]}, {"type": "null"}]});
    for schema in ["All", "Alias", "Nullable", "Choice", ""] {
        let schema = if schema.is_empty() { inline.clone() } else { of(schema) };
        for (style, expected) in [("form", "/v1/x?a=1&b=2"), ("deepObject", "/v1/x?q%5Ba%5D=1&q%5Bb%5D=2")] {
            let operation = json!({"operationId": "x", "parameters": [parameter("q", "query", json!({"schema": schema, "style": style, "explode": true}))]});
            let tools = tools(&document("3.1.0", json!({"/x": {"get": operation}}), components.clone()));
            let both = call(&tools, "x", json!({"q": {"a": 1, "b": 2}})).await;
            let sent = both.unwrap_or_else(|error| panic!("{schema} {style}: {error:?}"));
            assert_eq!(value(&sent)["target"], expected, "{schema}");
            let forged = call(&tools, "x", json!({"q": {"a": 1, "evil": 2}})).await.unwrap_err();
            assert!(forged.for_model().contains("cannot be sent with: \"evil\""), "{schema}");
        }
    }
    let open = json!({"operationId": "x", "parameters": [parameter("q", "query", json!({"schema": of("Open"), "style": "deepObject"}))]});
    let open = tools(&document("3.1.0", json!({"/x": {"get": open}}), components));
    assert_eq!(target(&open, "x", json!({"q": {"any": 1}})).await, "/v1/x?q%5Bany%5D=1");
}

#[tokio::test]
async fn what_stands_beside_a_reference_counts_from_3_1_on() {
    let of = |name: &str, more: Value| {
        let mut schema = json!({"$ref": format!("#/components/schemas/{name}")});
        schema.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        schema
    };
    let components = json!({"schemas": {
        "Id": {"type": "string"}, "Shown": {"type": "string", "readOnly": true}, "Alias": {"$ref": "#/components/schemas/Shown"},
        "Body": {"type": "object", "properties": {
            "from": of("Id", json!({"description": "The sender.", "maxLength": 9, "default": "me", "example": "x"})),
            "made": of("Id", json!({"readOnly": true})),
            "shown": of("Shown", json!({})), "alias": of("Alias", json!({})),
        }},
        "Outer": {"type": "object", "properties": {"inner": of("Body", json!({"required": ["from"]}))}},
    }});
    for (version, beside) in [
        ("3.0.3", json!({})),
        ("3.1.0", json!({"description": "The sender.", "maxLength": 9, "default": "me"})),
    ] {
        let read = async |body: Value| {
            let operation = with_body("x", json!({"application/json": {"schema": body}}));
            schema(&tools(&document(version, json!({"/x": {"post": operation}}), components.clone())), 0)
                .await
        };
        let mut member = beside.clone();
        member["$ref"] = json!("#/$defs/Id");
        let flat = read(of("Body", json!({"required": ["from"]}))).await;
        assert_eq!(flat["properties"], json!({"from": member}), "{version}");
        assert_eq!(flat.get("required").is_some(), version != "3.0.3");
        let nested = read(json!({"type": "object", "properties": {"outer": of("Outer", json!({}))}})).await;
        assert_eq!(nested["$defs"]["Body"]["properties"], json!({"from": member}), "{version}");
        assert_eq!(
            nested["$defs"]["Outer"]["properties"]["inner"].get("required").is_some(),
            version != "3.0.3"
        );
    }
}

#[tokio::test]
async fn parameters_stand_as_texts_of_their_types() {
    let content = |media: &str| json!({"schema": null, "content": {media: {"schema": {}}}});
    let operation = json!({"operationId": "x", "parameters": [
        parameter("plain", "query", content("text/plain")),
        parameter("json", "query", content("application/json")),
        parameter("id", "path", content("application/json")),
    ]});
    let tools = tools(&one("get", "/x/{id}", operation));
    let arguments = json!({"plain": "a b", "json": "a", "id": {"a": [1]}});
    assert_eq!(
        target(&tools, "x", arguments).await,
        "/v1/x/%7B%22a%22%3A%5B1%5D%7D?plain=a%20b&json=%22a%22"
    );
}

#[tokio::test]
async fn forms_of_one_line_hold_lists_of_json_and_may_be_empty() {
    let form = |schema: Value, encoding: Value| {
        with_body("x", json!({"application/x-www-form-urlencoded": {"schema": schema, "encoding": encoding}}))
    };
    let list =
        json!({"type": "object", "properties": {"ids": {"type": "array", "items": {"type": "integer"}}}});
    let tools_of = |operation: Value| tools(&one("post", "/x", operation));
    for (encoding, expected) in
        [(json!({"ids": {"contentType": "application/json"}}), "ids=%5B1%2C2%5D"), (json!({}), "ids=1&ids=2")]
    {
        let tools = tools_of(form(list.clone(), encoding));
        assert_eq!(value(&call(&tools, "x", json!({"ids": [1, 2]})).await.unwrap())["body"], expected);
    }
    let empty = tools_of(form(json!({"type": "object"}), json!({})));
    assert_eq!(value(&call(&empty, "x", json!({})).await.unwrap())["body"], "");
}

#[tokio::test]
async fn a_query_in_a_path_may_hold_parameters() {
    for place in ["path", "query"] {
        let of = |id: &str| json!({"operationId": id, "parameters": [parameter("q", place, json!({"schema": {"type": "integer"}}))]});
        let paths = json!({
            "/search?q={q}&kind=all": {"get": of("same")}, "/search?text={q}": {"get": of("other")},
            "/search?none={none}": {"get": {"operationId": "none"}}, "/search?q=a{q}": {"get": of("within")},
        });
        let document = document("3.0.3", paths, json!({}));
        assert_eq!(
            skipped(&document),
            ["within: its path \"/search\" has a parameter within a value of its query"]
        );
        let tools = tools(&document);
        assert_eq!(target(&tools, "same", json!({"q": 7})).await, "/v1/search?q=7&kind=all");
        assert_eq!(target(&tools, "other", json!({"text": 7})).await, "/v1/search?text=7");
        assert_eq!(target(&tools, "none", json!({"none": "a"})).await, "/v1/search?none=a");
        assert!(call(&tools, "same", json!({})).await.is_err(), "it must be there");
    }
}

#[test]
fn the_client_says_the_idempotency_key_itself() {
    let of = |id: &str| json!({"operationId": id, "parameters": [parameter("Idempotency-Key", "header", json!({"required": true}))]});
    let document = document("3.0.3", json!({"/x": {"post": of("make"), "get": of("read")}}), json!({}));
    assert_eq!(names(&document), ["make"]);
    assert_eq!(
        skipped(&document),
        ["read: it demands the header Idempotency-Key, which is neither given nor passed on"]
    );
}

// Each of many is not compared with all others.
#[test]
fn a_document_of_many_equal_things_is_read_in_little_time() {
    let body = |schema: Value| json!({"requestBody": {"content": {"application/json": {"schema": schema}}}});
    let many: Vec<Value> = (0..200_000).map(|n| json!({"name": format!("p{n}"), "in": "query"})).collect();
    let names: Vec<String> = (0..200_000).map(|n| format!("n{n}")).collect();
    let mut paths = json!({
        "/many": {"get": {"parameters": many}},
        "/twice": {"get": {"parameters": vec![parameter("p", "query", json!({})); 200_000]}},
        "/required": {"post": body(json!({"allOf": [
            {"type": "object", "required": names, "properties": {"a": {}}}, {"required": names},
        ]}))},
    });
    let equal = (0..20_000).map(|n| (format!("/equal/{n}"), json!({"get": {"operationId": "same"}})));
    paths.as_object_mut().unwrap().extend(equal);
    let document =
        OpenApi::of(json!({"openapi": "3.0.0", "servers": [{"url": "https://h"}], "paths": paths})).unwrap();
    let began = std::time::Instant::now();
    let tools = document.tools("x").unwrap();
    // Much more than it needs; what is quadratic here takes some ten minutes.
    assert!(began.elapsed() < std::time::Duration::from_secs(90), "{:?}", began.elapsed());
    let names: Vec<&str> = tools.endpoints().map(|endpoint| endpoint.name()).collect();
    let (equal, others): (Vec<&str>, Vec<&str>) =
        names.into_iter().partition(|name| name.starts_with("same"));
    assert_eq!((equal.len(), equal.last()), (20_000, Some(&"same_20000")));
    assert_eq!(others, ["get_twice", "post_required"]);
    let skipped: Vec<String> = tools.skipped().iter().map(ToString::to_string).collect();
    assert_eq!(skipped, ["get_many: it has more than 1024 parameters"]);
}

// A document may be as hostile as its author.
#[test]
fn a_hostile_document_is_bounded() {
    // Doubling references, as a bomb has them.
    let mut schemas = serde_json::Map::new();
    for n in 0..60 {
        let next = json!({"$ref": format!("#/components/schemas/S{}", n + 1)});
        schemas.insert(
            format!("S{n}"),
            json!({"type": "object", "allOf": [next, next], "properties": {"a": next, "b": next}}),
        );
    }
    // Wide and shallow.
    for n in 0..8 {
        let next = json!({"$ref": format!("#/components/schemas/W{}", n + 1)});
        schemas.insert(format!("W{n}"), json!({"allOf": vec![next; 30]}));
    }
    schemas.insert("W8".to_owned(), json!({"type": "object", "properties": {"a": {"type": "string"}}}));
    schemas.insert("S60".to_owned(), json!({"type": "object", "description": "x".repeat(1 << 20), "properties": {"big": {"enum": vec!["y".repeat(1000); 2000]}}}));
    let body = |schema: Value| json!({"requestBody": {"content": {"application/json": {"schema": schema}}}});
    let mut deep = json!({"type": "string"});
    for _ in 0..50 {
        deep = json!({"type": "object", "additionalProperties": deep});
    }
    let paths = json!({
        "/bomb": {"post": body(json!({"$ref": "#/components/schemas/S0"}))},
        "/wide": {"post": body(json!({"$ref": "#/components/schemas/W0"}))},
        "/deep": {"post": body(deep)},
        "/nowhere": {"post": body(json!({"$ref": "#/components/schemas/None"}))},
        "/file": {"post": body(json!({"$ref": "other.json#/X"}))},
        "/pattern": {"get": {"parameters": [parameter("p", "query", json!({"schema": {"type": "string", "pattern": "(?<=x)y("}}))]}},
        "/inline": {"get": {"parameters": [parameter("p", "query", json!({"schema": {"enum": vec!["y".repeat(1000); 2000]}}))]}},
        "/long".repeat(2_000): {"get": {}},
        "/circle": {"get": {"parameters": [{"$ref": "#/components/parameters/A"}]}},
        "https://evil.example/": {"get": {}},
        "/../x": {"get": {}},
    });
    let components = json!({"schemas": schemas, "parameters": {"A": {"$ref": "#/components/parameters/B"}, "B": {"$ref": "#/components/parameters/A"}}});
    let began = std::time::Instant::now();
    let document = document("3.0.0", paths, components);
    let tools = document.tools("x").unwrap();
    assert!(began.elapsed() < std::time::Duration::from_secs(10), "{:?}", began.elapsed());
    let names: Vec<&str> = tools.endpoints().map(|endpoint| endpoint.name()).collect();
    assert_eq!(names, ["post_bomb", "post_wide", "post_deep", "post_nowhere", "post_file", "get_pattern"]);
    let skipped: Vec<String> = document.skipped().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(skipped.len(), 5, "{skipped:?}");
    let why = "get_inline: the schema of its arguments has more than 262144 bytes";
    assert!(skipped.iter().any(|skipped| skipped == why), "{skipped:?}");
    let specs = futures_now(ToolHandler::tools(&tools)).unwrap();
    for spec in &specs {
        assert!(spec.definition.input_schema().to_string().len() < 300 << 10, "{}", spec.definition.name());
        assert!(spec.definition.schema().is_ok(), "{}", spec.definition.name());
    }
}

/// The outcome of a future that waits for nothing.
fn futures_now<F: std::future::Future>(future: F) -> F::Output {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::pin!(future).poll(&mut context) {
        std::task::Poll::Ready(output) => output,
        std::task::Poll::Pending => panic!("nothing is asked of a service"),
    }
}

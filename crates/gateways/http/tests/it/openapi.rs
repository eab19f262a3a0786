//! Endpoints of OpenAPI documents, and the requests that they make.

#![allow(clippy::needless_pass_by_value, reason = "what is written in place reads best without a mark")]

use attache_core::tool::ConversationDocuments;
use attache_core::{Document, Effect, Message, ToolContext, ToolErrorKind, ToolHandler, UserMessage};
use attache_http_tools::{CallerHeaders, HttpTools, OpenApi};
use axum::http::header;
use serde_json::{Value, json};

use crate::support::{call, call_in, echoing, value};

/// A document with these paths and components.
pub(crate) fn document(version: &str, paths: Value, components: Value) -> OpenApi {
    let document = json!({
        "openapi": version,
        "info": {"title": "Orders", "version": "1"},
        "servers": [{"url": "https://{region}.example.com/v1/", "variables": {"region": {"default": "eu"}}}],
        "paths": paths,
        "components": components,
    });
    OpenApi::parse(&document.to_string()).unwrap()
}

pub(crate) fn one(method: &str, path: &str, operation: Value) -> OpenApi {
    document("3.0.3", json!({path: {method: operation}}), json!({}))
}

/// The tools of a document, in front of a service in this process.
pub(crate) fn tools(document: &OpenApi) -> HttpTools {
    document.tools("orders").unwrap().with_service(echoing())
}

pub(crate) async fn schema(tools: &HttpTools, at: usize) -> Value {
    ToolHandler::tools(tools).await.unwrap()[at].definition.input_schema().clone()
}

pub(crate) async fn target(tools: &HttpTools, tool: &str, arguments: Value) -> String {
    value(&call(tools, tool, arguments).await.unwrap())["target"].as_str().unwrap().to_owned()
}

pub(crate) fn parameter(name: &str, place: &str, more: Value) -> Value {
    let mut parameter =
        json!({"name": name, "in": place, "required": place == "path", "schema": {"type": "string"}});
    parameter.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    parameter
}

#[tokio::test]
async fn an_operation_becomes_a_tool() {
    let operation = json!({
        "operationId": "orders.find",
        "summary": "Finds orders.",
        "description": "Newest first.",
        "tags": ["orders"],
        "parameters": [
            parameter("id", "path", json!({"description": "The number.", "schema": {"type": "integer"}})),
            parameter("filter[state]", "query", json!({"schema": {"type": "string", "nullable": true, "example": "open"}})),
            parameter("page", "query", json!({"schema": {"type": "integer", "minimum": 0, "exclusiveMinimum": true}})),
            parameter("per_page", "query", json!({})),
            parameter("X-Trace", "header", json!({})),
            parameter("session", "cookie", json!({})),
        ],
        "responses": {"200": {"content": {"application/json": {"schema": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}, "secret": {"type": "string", "writeOnly": true}}}}}}}},
    });
    let tools = tools(&one("get", "/orders/{id}", operation).with_prefix("shop."));
    let spec = &ToolHandler::tools(&tools).await.unwrap()[0];
    assert_eq!((spec.definition.name(), spec.metadata.effect), ("shop.orders.find", Effect::Read));
    assert_eq!(
        spec.definition.description(),
        "Finds orders.\n\nNewest first.\n\nThe answer is one page: `page` asks for the next; `per_page` says how many it holds."
    );
    assert_eq!(spec.metadata.tags, ["orders"]);
    assert_eq!(
        spec.definition.input_schema(),
        &json!({
            "type": "object",
            "properties": {
                "id": {"type": "integer", "description": "The number."},
                "filter_state": {"type": ["string", "null"]},
                "page": {"type": "integer", "exclusiveMinimum": 0},
                "per_page": {"type": "string"},
            },
            "additionalProperties": false,
            "required": ["id"],
        })
    );
    let answered =
        json!({"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}}});
    assert_eq!(spec.definition.output_schema(), Some(&answered));
    let sent = target(&tools, "shop.orders.find", json!({"id": 7, "filter_state": "a&b", "page": 2})).await;
    assert_eq!(sent, "/v1/orders/7?filter%5Bstate%5D=a%26b&page=2");
}

#[tokio::test]
async fn parameters_are_written_in_their_styles() {
    let array = json!({"type": "array", "items": {"type": "string"}});
    let object = json!({"type": "object", "properties": {"a": {}, "b": {}}});
    let operation = json!({
        "operationId": "x",
        "parameters": [
            parameter("label", "path", json!({"style": "label", "explode": true, "schema": array})),
            parameter("matrix", "path", json!({"style": "matrix", "schema": array})),
            parameter("simple", "path", json!({"schema": object})),
            parameter("form", "query", json!({"schema": array})),
            parameter("flat", "query", json!({"explode": false, "schema": array})),
            parameter("pipe", "query", json!({"style": "pipeDelimited", "explode": false, "schema": array})),
            parameter("space", "query", json!({"style": "spaceDelimited", "explode": false, "schema": array})),
            parameter("deep", "query", json!({"style": "deepObject", "explode": true, "schema": object})),
            parameter("free", "query", json!({"schema": {"$ref": "#/components/schemas/Pair"}})),
            parameter("json", "query", json!({"schema": null, "content": {"application/json": {"schema": object}}})),
        ],
    });
    let components = json!({"schemas": {"Pair": object}});
    let tools =
        tools(&document("3.0.3", json!({"/{label}/{matrix}/{simple}": {"get": operation}}), components));
    let two = ["x,y", "z"];
    let arguments = json!({
        "label": two, "matrix": two, "simple": {"a": 1, "b": 2}, "form": two, "flat": two, "pipe": two, "space": two,
        "deep": {"a": 1, "b": [2]}, "free": {"a": 1}, "json": {"a": [1]},
    });
    let mut forged = arguments.clone();
    forged["free"]["evil"] = json!(2);
    let error = call(&tools, "x", forged).await.unwrap_err();
    assert!(error.for_model().contains("\"free\" has members that it cannot be sent with: \"evil\""));
    assert_eq!(
        target(&tools, "x", arguments).await,
        "/v1/.x%2Cy.z/;matrix=x%2Cy,z/a,1,b,2?form=x%2Cy&form=z&flat=x%2Cy,z&pipe=x%2Cy%7Cz&space=x%2Cy%20z\
         &deep%5Ba%5D=1&deep%5Bb%5D%5B%5D=2&a=1&json=%7B%22a%22%3A%5B1%5D%7D"
    );
}

#[tokio::test]
async fn bodies_are_flat_where_they_are_plain_objects() {
    let body = |schema: Value| json!({"operationId": "x", "requestBody": {"required": true, "content": {"application/json": {"schema": schema}}}});
    let flat = one(
        "post",
        "/orders/{id}",
        body(json!({
            "type": "object",
            "required": ["note", "state"],
            "properties": {"id": {"type": "integer"}, "note": {"type": "string"}, "state": {"type": "string", "readOnly": true}},
        })),
    );
    let flat = tools(&flat);
    let taken = schema(&flat, 0).await;
    assert_eq!(taken["required"], json!(["id", "note"]));
    assert_eq!(
        taken["properties"].as_object().unwrap().keys().collect::<Vec<_>>(),
        ["id", "body_id", "note"]
    );
    let sent = value(&call(&flat, "x", json!({"id": "a", "body_id": 3, "note": "n"})).await.unwrap());
    assert_eq!((&sent["target"], &sent["body"]), (&json!("/v1/orders/a"), &json!(r#"{"id":3,"note":"n"}"#)));

    let whole = one(
        "post",
        "/",
        body(json!({"oneOf": [{"type": "object", "properties": {"a": {}}}, {"type": "array"}]})),
    );
    let whole = tools(&whole);
    assert_eq!(schema(&whole, 0).await["required"], json!(["body"]));
    assert_eq!(value(&call(&whole, "x", json!({"body": [1]})).await.unwrap())["body"], "[1]");
}

#[tokio::test]
async fn a_body_that_may_be_left_out_has_its_required_members_if_it_is_sent() {
    let schema_of_body = json!({
        "type": "object", "required": ["note", "to"],
        "properties": {"note": {"type": "string", "description": "The text."}, "to": {"type": "string"}, "cc": {"type": "string"}},
    });
    let content = json!({"application/json": {"schema": schema_of_body}});
    let tools =
        tools(&one("post", "/notes", json!({"operationId": "x", "requestBody": {"content": content}})));
    let taken = schema(&tools, 0).await;
    assert!(taken.get("required").is_none(), "{taken}");
    assert_eq!(taken["properties"]["note"]["description"], "The text. (required if the body is sent)");
    // Without a body it is a request without one.
    assert_eq!(value(&call(&tools, "x", json!({})).await.unwrap())["body"], "");
    for (arguments, missing) in [(json!({"cc": "c"}), "note"), (json!({"note": "n", "cc": "c"}), "to")] {
        let error = call(&tools, "x", arguments).await.unwrap_err();
        assert_eq!(error.kind(), ToolErrorKind::InvalidArguments);
        assert!(error.for_model().contains(missing), "{error:?}");
    }
    let sent = value(&call(&tools, "x", json!({"note": "n", "to": "t"})).await.unwrap());
    assert_eq!(sent["body"], r#"{"note":"n","to":"t"}"#);
}

#[tokio::test]
async fn the_schema_of_a_document_says_nothing_but_what_a_model_needs() {
    let member = json!({"type": "string", "format": "binary"});
    let content = json!({"multipart/form-data": {"schema": {"type": "object", "properties": {"file": member.clone(), "more": {"type": "array", "items": member}}}}});
    let tools = tools(&one(
        "post",
        "/",
        json!({"operationId": "x", "requestBody": {"required": true, "content": content}}),
    ));
    let taken = schema(&tools, 0).await;
    for place in [&taken["properties"]["file"], &taken["properties"]["more"]["items"]] {
        let names: Vec<_> = place.as_object().unwrap().keys().collect();
        assert_eq!(names, ["type", "description"], "{taken}");
    }
}

#[tokio::test]
async fn all_of_is_merged_and_recursion_is_kept() {
    let components = json!({"schemas": {
        "Base": {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}, "additionalProperties": false},
        "Named": {"allOf": [{"$ref": "#/components/schemas/Base"}, {"properties": {"name": {"type": "string"}}, "required": ["name"]}]},
        "Node": {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}}, "named": {"$ref": "#/components/schemas/Named"}}},
        "Loop": {"allOf": [{"$ref": "#/components/schemas/Loop"}]},
    }});
    let reference = |name: &str| json!({"operationId": name, "requestBody": {"required": true, "content": {"application/json": {"schema": {"$ref": format!("#/components/schemas/{name}")}}}}});
    let paths = json!({"/a": {"post": reference("Named")}, "/b": {"post": reference("Node")}, "/c": {"post": reference("Loop")}});
    let document = document("3.0.0", paths, components);
    let tools = tools(&document);
    assert_eq!(
        schema(&tools, 0).await["properties"],
        json!({"id": {"type": "integer"}, "name": {"type": "string"}})
    );
    let node = schema(&tools, 1).await;
    assert_eq!(node["properties"]["children"]["items"], json!({"$ref": "#/$defs/Node"}));
    assert_eq!(node["$defs"]["Node"]["properties"]["children"]["items"], json!({"$ref": "#/$defs/Node"}));
    assert_eq!(node["$defs"]["Named"]["required"], json!(["id", "name"]));
    assert_eq!(node["$defs"]["Named"].get("additionalProperties"), None);
    let sent = value(&call(&tools, "Node", json!({"children": [{"children": []}]})).await.unwrap());
    assert_eq!(sent["body"], r#"{"children":[{"children":[]}]}"#);
    assert!(
        call(&tools, "Node", json!({"children": [{"children": 7}]})).await.is_err(),
        "deep values are held to it"
    );
    assert_eq!(ToolHandler::tools(&tools).await.unwrap().len(), 2);
    let skipped = document.skipped().unwrap();
    assert!(skipped[0].to_string().starts_with("Loop: the schema of its arguments is none"), "{skipped:?}");
}

#[tokio::test]
async fn forms_take_documents() {
    let binary = json!({"type": "string", "format": "binary"});
    let list = |items: Value| json!({"type": "array", "items": items});
    let or_null = |schema: Value| json!({"anyOf": [schema, {"type": "null"}]});
    for (version, file, more) in [
        ("3.0.3", binary.clone(), list(binary.clone())),
        (
            "3.1.0",
            json!({"contentMediaType": "application/octet-stream"}),
            list(json!({"type": "string", "contentMediaType": "image/png"})),
        ),
        // As FastAPI writes files that may be left out.
        ("3.1.0", or_null(binary.clone()), or_null(list(binary.clone()))),
        (
            "3.1.0",
            json!({"type": ["string", "null"], "format": "binary"}),
            json!({"type": ["array", "null"], "items": or_null(binary.clone())}),
        ),
        // The media types of the parts say it alone.
        ("3.1.0", json!({"title": "A file"}), list(json!({}))),
    ] {
        let operation = json!({"operationId": "x", "requestBody": {"required": true, "content": {"multipart/form-data": {
            "schema": {"type": "object", "required": ["file"], "properties": {"file": file, "more": more, "purpose": {"type": "string"}}},
            "encoding": {
                "file": {"contentType": "application/pdf, image/png"},
                "more": {"contentType": "application/pdf, image/png"},
                "purpose": {"contentType": "text/x-purpose"},
            },
        }}}});
        let tools = tools(&document(version, json!({"/files": {"post": operation}}), json!({})));
        let pdf = Document::from_bytes(&b"%PDF-1.4 x"[..], "application/pdf").with_file_name("lease.pdf");
        let messages = [Message::User(UserMessage::new([pdf.clone().into()])).shared()];
        let mut context = ToolContext::new();
        context.documents = ConversationDocuments::of(&messages);
        let arguments = json!({"file": pdf.id(), "more": [pdf.id()], "purpose": "archive"});
        let sent = value(&call_in(&tools, "x", arguments, context).await.unwrap());
        let body = sent["body"].as_str().unwrap();
        for part in [
            "name=\"file\"; filename=\"lease.pdf\"\r\nContent-Type: application/pdf\r\n\r\n%PDF-1.4 x\r\n",
            "name=\"more\"; filename=",
            "name=\"purpose\"\r\nContent-Type: text/x-purpose\r\n\r\narchive\r\n",
        ] {
            assert!(body.contains(part), "{body}");
        }
    }
}

// One that a body must have and that may be null is left out by that word alone.
#[tokio::test]
async fn a_file_that_must_be_there_may_be_null() {
    let binary = json!({"type": "string", "format": "binary"});
    for (version, file) in [
        ("3.1.0", json!({"anyOf": [binary, {"type": "null"}]})),
        ("3.1.0", json!({"type": ["string", "null"], "format": "binary"})),
        ("3.0.3", json!({"type": "string", "format": "binary", "nullable": true})),
    ] {
        for (media, expected) in
            [("application/json", r#"{"file":null,"note":"x"}"#), ("multipart/form-data", "\r\nx\r\n")]
        {
            let schema = json!({"type": "object", "required": ["file"], "properties": {"file": file, "note": {"type": "string"}}});
            let operation = json!({"operationId": "x", "requestBody": {"required": true, "content": {media: {"schema": schema}}}});
            let tools = tools(&document(version, json!({"/files": {"post": operation}}), json!({})));
            let sent = value(&call(&tools, "x", json!({"file": null, "note": "x"})).await.unwrap());
            let body = sent["body"].as_str().unwrap();
            assert!(body.contains(expected) && !body.contains("name=\"file\""), "{body}");
            // A provider that checks arguments lets it pass, and what is missing altogether is told.
            let spec = &ToolHandler::tools(&tools).await.unwrap()[0];
            let fits = |arguments: Value| spec.definition.schema().unwrap().check(&arguments).is_empty();
            assert!(fits(json!({"file": null})) && !fits(json!({"note": "x"})) && !fits(json!({"file": 7})));
        }
    }
}

#[tokio::test]
async fn a_form_of_one_line_and_a_delete_with_a_body() {
    let form = one(
        "post",
        "/charges",
        json!({"operationId": "x", "requestBody": {"content": {"application/x-www-form-urlencoded": {
            "schema": {"type": "object", "properties": {"amount": {"type": "integer"}, "card": {"type": "object"}}},
            "encoding": {"card": {"style": "deepObject", "explode": true}},
        }}}}),
    );
    let sent = value(&call(&tools(&form), "x", json!({"amount": 5, "card": {"n": "1 2"}})).await.unwrap());
    assert_eq!(sent["body"], "amount=5&card%5Bn%5D=1%202");
    let delete = one(
        "delete",
        "/x?mode=all",
        json!({"operationId": "x", "requestBody": {"required": true, "content": {"application/json": {"schema": {"type": "object", "properties": {"a": {"type": "integer"}}}}}}}),
    );
    let sent = value(&call(&tools(&delete), "x", json!({"a": 1})).await.unwrap());
    assert_eq!((&sent["target"], &sent["body"]), (&json!("/v1/x?mode=all"), &json!(r#"{"a":1}"#)));
}

#[tokio::test]
async fn credentials_follow_the_security_of_each_operation() {
    let components = json!({"securitySchemes": {
        "key": {"type": "apiKey", "in": "query", "name": "api_key"},
        "token": {"type": "http", "scheme": "bearer"},
        "user": {"type": "http", "scheme": "basic"},
        "cookie": {"type": "apiKey", "in": "cookie", "name": "sid"},
    }});
    let secured = |id: &str, security: Value| json!({"operationId": id, "security": security, "parameters": [parameter("api_key", "query", json!({"required": true}))]});
    let paths = json!({
        "/a": {"get": secured("a", json!([{"key": []}]))},
        "/b": {"get": secured("b", json!([{"missing": []}, {"token": [], "cookie": []}]))},
        "/c": {"get": secured("c", json!([{"user": []}]))},
        "/d": {"get": secured("d", json!([]))},
        "/e": {"get": {"operationId": "e", "security": [{"token": []}], "servers": [{"url": "https://elsewhere.example"}]}},
    });
    let document = document("3.1.0", paths, components)
        .with_credential("key", "canary-key")
        .with_credential("token", "canary-token")
        .with_credential("user", "ann:canary-word")
        .with_credential("cookie", "canary-cookie");
    assert!(!format!("{document:?}").contains("canary"));
    // Answers mask what was sent, so the mask tells that it was.
    let tools = tools(&document);
    assert!(
        schema(&tools, 0).await["properties"].as_object().unwrap().is_empty(),
        "no model writes a credential"
    );
    let sent = async |tool: &str| value(&call(&tools, tool, json!({})).await.unwrap());
    assert_eq!(sent("a").await["target"], "/v1/a?api_key=***");
    let b = sent("b").await;
    assert_eq!(
        (&b["headers"]["authorization"], &b["headers"]["cookie"]),
        (&json!("Bearer ***"), &json!("sid=***"))
    );
    assert_eq!(b["target"], "/v1/b");
    assert_eq!(sent("c").await["headers"]["authorization"], "***");
    // That parameter is not the scheme's, since the operation says that it has none.
    assert_eq!(target(&tools, "d", json!({"api_key": "mine"})).await, "/v1/d?api_key=mine");
    for (none, arguments) in [("d", json!({"api_key": "mine"})), ("e", json!({}))] {
        let sent = value(&call(&tools, none, arguments).await.unwrap());
        assert_eq!(
            (sent["headers"].get("authorization"), sent["headers"].get("cookie")),
            (None, None),
            "{none}"
        );
    }
    let unknown = OpenApi::of(json!({"openapi": "3.0.0", "servers": [{"url": "https://h"}]}))
        .unwrap()
        .with_credential("x", "y");
    assert!(unknown.tools("x").unwrap_err().to_string().contains("no security scheme \"x\""));
}

#[tokio::test]
async fn headers_are_given_or_passed_on_or_the_operation_is_left_out() {
    let with = |name: &str, more: Value| json!({"operationId": name, "parameters": [parameter(name, "header", more)]});
    // A document may name another origin, which gets nothing of the program's.
    let elsewhere = |name: &str, more: Value| {
        let mut operation = with(name, more);
        operation["operationId"] = json!(format!("evil-{name}"));
        operation["servers"] = json!([{"url": "https://evil.example"}]);
        operation
    };
    let paths = json!({
        "/a": {"get": with("X-Tenant", json!({"required": true}))},
        "/b": {"get": with("X-Version", json!({"required": true, "schema": {"enum": ["2024-01-01"]}}))},
        "/c": {"get": with("X-Given", json!({"required": true}))},
        "/d": {"get": with("X-Missing", json!({"required": true}))},
        "/e": {"get": with("X-Optional", json!({}))},
        "/f": {"get": elsewhere("X-Given", json!({"required": true}))},
        "/g": {"get": elsewhere("x-given", json!({}))},
        "/h": {"servers": [{"url": "https://evil.example"}], "get": with("X-GIVEN", json!({}))},
        "/i": {"get": elsewhere("X-Tenant", json!({"required": true}))},
        "/j": {"get": elsewhere("X-Version", json!({"required": true, "schema": {"enum": ["2024-01-01"]}}))},
    });
    let document = document("3.0.1", paths, json!({}))
        .with_forwarded_headers(["x-tenant"])
        .with_header("X-Given", "given-1");
    let skipped = document.skipped().unwrap();
    let skipped: Vec<String> = skipped.iter().map(ToString::to_string).collect();
    assert_eq!(
        skipped,
        ["X-Missing", "evil-X-Given", "evil-X-Tenant"].map(|id| {
            let header = id.trim_start_matches("evil-");
            format!("{id}: it demands the header {header}, which is neither given nor passed on")
        })
    );
    let tools = tools(&document);
    let sent = async |tool: &str| {
        let caller = CallerHeaders::new().with_header(header::HeaderName::from_static("x-tenant"), "t1");
        value(&call_in(&tools, tool, json!({}), ToolContext::new().with(caller)).await.unwrap())["headers"]
            .clone()
    };
    assert_eq!(sent("X-Tenant").await["x-tenant"], "t1");
    assert_eq!(sent("X-Version").await["x-version"], "2024-01-01");
    assert_eq!(sent("X-Given").await["x-given"], "***");
    assert_eq!(sent("X-Optional").await.get("x-optional"), None);
    for elsewhere in ["evil-x-given", "X-GIVEN", "evil-X-Version"] {
        assert_eq!(sent(elsewhere).await.get("x-given"), None, "{elsewhere}");
    }
    assert_eq!(sent("evil-X-Version").await["x-version"], "2024-01-01");
}

#[tokio::test]
async fn operations_are_filtered_and_named_once() {
    let paths = json!({
        "/a/{id}": {"get": {"operationId": "same", "tags": ["keep"]}, "delete": {"operationId": "same", "tags": ["keep"]}},
        "/b/{x-y}": {"get": {"tags": ["keep"]}},
        "/c": {"get": {"operationId": "old", "deprecated": true, "tags": ["keep"]}, "post": {"operationId": "other"}},
    });
    let document = document("3.0.3", paths, json!({}))
        .with_filter(|operation| operation.tags.iter().any(|tag| tag == "keep"));
    let names = |document: &OpenApi| -> Vec<String> {
        document.endpoints().unwrap().iter().map(|endpoint| endpoint.name().to_owned()).collect()
    };
    assert_eq!(names(&document), ["same", "same_2", "get_b_x_y"]);
    assert_eq!(names(&document.clone().with_deprecated(true)), ["same", "same_2", "get_b_x_y", "old"]);
    assert_eq!(document.skipped().unwrap()[0].why, "it is deprecated");
}

#[test]
fn servers_are_the_document_s_or_the_program_s() {
    let of =
        |servers: Value| OpenApi::of(json!({"openapi": "3.1.0", "servers": servers, "paths": {}})).unwrap();
    let problem = |document: OpenApi| document.tools("x").map(|_| ()).unwrap_err().to_string();
    assert!(problem(of(json!([]))).contains("names no server"));
    assert!(problem(of(json!([{"url": "/v3"}]))).contains("is the path /v3"));
    assert!(problem(of(json!([{"url": "https://u:p@h/"}]))).contains("user name"));
    assert!(of(json!([{"url": "/v3"}])).with_server("https://h/v3").tools("x").is_ok());
    let variable = of(json!([{"url": "https://{r}.h", "variables": {"r": {"default": "eu"}}}]))
        .with_server_variable("r", "us");
    let unknown = variable.clone().with_server_variable("region", "us");
    assert_eq!(problem(unknown), "no server of the document has the variable \"region\"");
    let undeclared = of(json!([{"url": "https://{r}.h"}])).with_server_variable("r", "us");
    assert!(format!("{:?}", undeclared.tools("x").unwrap()).contains("https://us.h:443"));
    assert!(format!("{:?}", variable.tools("x").unwrap()).contains("https://us.h:443"));
}

#[test]
fn what_is_no_openapi_3_is_refused() {
    for (text, why) in [
        (r#"{"swagger": "2.0"}"#, "Swagger 2"),
        (r#"{"openapi": "4.0"}"#, "no OpenAPI 3"),
        ("{", "no JSON"),
        ("[1, 2", "no YAML"),
        ("just text", "no OpenAPI 3"),
    ] {
        let error = OpenApi::parse(text).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let yaml = "openapi: 3.1.0\nservers: [{url: 'https://h'}]\npaths:\n  /a:\n    get:\n      operationId: a\n      responses:\n        200: {description: ok}\n";
    assert_eq!(OpenApi::parse(yaml).unwrap().endpoints().unwrap()[0].name(), "a");
}

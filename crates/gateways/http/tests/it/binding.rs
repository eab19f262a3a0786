//! Arguments in paths and queries.

use attache_core::{ToolContext, ToolErrorKind, ToolHandler};
use attache_http_tools::{Endpoint, Parameter, Style};
use attache_transport::percent_decoded;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{call, call_in, echoed, echoing, here, refused, serve, tools, value};

fn find() -> Endpoint {
    Endpoint::get("orders.find", "/orders/{id}/items/{item}")
        .with_parameter(Parameter::path("id", json!({"type": "string"})))
        .with_parameter(Parameter::path("item", json!({"type": "string"})))
        .with_parameter(Parameter::query("q", json!({"type": "string"})))
        .with_parameter(Parameter::query("tag", json!({"type": "array", "items": {"type": "string"}})))
        .with_parameter(
            Parameter::query("filter", json!({"type": "object", "additionalProperties": {"type": "string"}}))
                .with_style(Style::DeepObject, true),
        )
}

// A19
#[tokio::test]
async fn arguments_of_get_and_delete_stand_in_path_and_query() {
    let tools = tools(&serve(echoing()).await)
        .with_endpoint(
            Endpoint::get("find", "/orders/{id}").with_schema(json!({
                "type": "object",
                "properties": {"id": {"type": "integer"}, "expand": {"type": "array", "items": {"type": "string"}}, "page": {"type": ["integer", "null"]}},
                "required": ["id"],
            })),
        )
        .unwrap()
        .with_endpoint(
            Endpoint::delete("drop", "/orders/{id}").with_schema(json!({
                "properties": {"id": {"type": "integer"}, "reason": {"type": "string"}},
            })),
        )
        .unwrap();
    let found = echoed(&tools, "find", json!({"id": 7, "expand": ["a b", "c"], "page": null})).await;
    assert_eq!(
        (&found["method"], &found["target"]),
        (&json!("GET"), &json!("/orders/7?expand=a%20b&expand=c"))
    );
    assert_eq!(found["body"], "");
    let dropped = echoed(&tools, "drop", json!({"id": "7", "reason": "twice & more"})).await;
    assert_eq!(
        (&dropped["method"], &dropped["target"]),
        (&json!("DELETE"), &json!("/orders/7?reason=twice%20%26%20more"))
    );
    assert_eq!(dropped["body"], "");
}

// A19
#[tokio::test]
async fn arguments_of_post_put_and_patch_stand_in_path_and_body() {
    let schema = json!({
        "properties": {"id": {"type": "integer"}, "note": {"type": "string"}, "lines": {"type": "array", "items": {}}},
        "required": ["id"],
    });
    let url = serve(echoing()).await;
    let mut all = tools(&url);
    for endpoint in [
        Endpoint::post("POST", "/orders/{id}"),
        Endpoint::put("PUT", "/orders/{id}"),
        Endpoint::patch("PATCH", "/orders/{id}"),
    ] {
        all = all.with_endpoint(endpoint.with_schema(schema.clone())).unwrap();
    }
    for method in ["POST", "PUT", "PATCH"] {
        let sent = echoed(&all, method, json!({"id": 7, "note": "a\"b", "lines": [1, {"x": null}]})).await;
        assert_eq!((&sent["method"], &sent["target"]), (&json!(method), &json!("/orders/7")));
        let body: Value = serde_json::from_str(sent["body"].as_str().unwrap()).unwrap();
        assert_eq!(body, json!({"note": "a\"b", "lines": [1, {"x": null}]}));
        assert_eq!(sent["headers"]["content-type"], "application/json");
    }
}

// A19: what belongs to headers and cookies is no argument
#[tokio::test]
async fn a_model_cannot_write_headers_and_cookies() {
    let tools = here(echoing())
        .with_endpoint(
            Endpoint::get("find", "/orders")
                .with_parameter(Parameter::query("q", json!({"type": "string"})))
                .with_secret_header("x-api-key", "", "canary-key")
                .with_secret_cookie("session", "canary-session")
                .with_context_query("tenant", |context| context.principal.clone()),
        )
        .unwrap();
    let spec = &ToolHandler::tools(&tools).await.unwrap()[0];
    let names: Vec<_> = spec.definition.input_schema()["properties"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["q"]);
    for forged in [json!({"x-api-key": "mine"}), json!({"session": "mine"}), json!({"tenant": "other"})] {
        let error = call(&tools, "find", forged).await.unwrap_err();
        assert_eq!(error.kind(), ToolErrorKind::InvalidArguments);
    }
    let mut context = ToolContext::new();
    context.principal = Some("acme & co".to_owned());
    let sent = value(&call_in(&tools, "find", json!({"q": "x"}), context).await.unwrap());
    assert_eq!(sent["target"], "/v1/orders?q=x&tenant=acme%20%26%20co");
}

// Without it the request would go out as nobody's.
#[tokio::test]
async fn a_cookie_that_cannot_be_sent_is_a_mistake() {
    for secret in ["a b", "a,b", "a;b", "a\\b", "\u{e9}"] {
        let find = Endpoint::get("find", "/orders").with_secret_cookie("session", secret);
        let error = here(echoing()).with_endpoint(find).err().unwrap().to_string();
        assert!(error.contains("the cookie \"session\"") && !error.contains(secret), "{error}");
    }
}

// A20
#[tokio::test]
async fn a_step_that_would_lead_elsewhere_is_refused() {
    let tools = here(echoing()).with_endpoint(find()).unwrap();
    for bad in ["..", ".", "", "../../admin", "a/../b", "..\\..\\x"] {
        let error = call(&tools, "orders.find", json!({"id": bad, "item": "1"})).await.unwrap_err();
        assert_eq!(error.kind(), ToolErrorKind::InvalidArguments, "{bad:?}");
        assert!(error.for_model().starts_with("id must be a value"), "{error}");
    }
}

fn text() -> impl Strategy<Value = String> {
    let nasty = prop::sample::select(vec![
        "/", "?", "#", "%", "..", ".", "&", "=", ";", "%2f", "%2e%2e", "//", "\\", " ", "+", "\u{0}", "\r\n",
        "ü", "文字", "🦀", "@", ":", "[", "]", "{", "}", "http://", "a", "admin", "id", "q=1", "|", "\"",
        "'", "<", ",",
    ]);
    prop_oneof![prop::collection::vec(nasty, 1..8).prop_map(|parts| parts.concat()), ".{1,30}"]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    // A20: no argument changes the shape of the path, or adds a parameter
    #[test]
    fn whatever_an_argument_holds_the_request_has_the_declared_shape(
        id in text(),
        item in text(),
        q in text(),
        tags in prop::collection::vec(text(), 0..3),
        filter in prop::collection::btree_map(text(), text(), 0..3),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let tools = here(echoing()).with_endpoint(find()).unwrap();
        let arguments = json!({"id": id, "item": item, "q": q, "tag": tags, "filter": filter});
        let sent = match runtime.block_on(call(&tools, "orders.find", arguments)) {
            Ok(output) => value(&output),
            Err(error) => {
                prop_assert_eq!(error.kind(), ToolErrorKind::InvalidArguments);
                // A bracket in a name would be another depth.
                let is_bracketed = filter.keys().any(|key| key.contains(['[', ']']));
                prop_assert!(is_bracketed || id.contains('.') || item.contains('.'), "{}", error);
                return Ok(());
            }
        };
        let target = sent["target"].as_str().unwrap();
        prop_assert!(target.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#'), "{}", target);
        let (path, query) = target.split_once('?').unwrap();
        let decoded = |text: &str| String::from_utf8(percent_decoded(text)).unwrap();
        let steps: Vec<_> = path.split('/').map(decoded).collect();
        prop_assert_eq!(steps, ["", "v1", "orders", &id, "items", &item]);
        prop_assert!(path.split('/').all(|step| !matches!(decoded(step).as_str(), "." | "..")));
        let pairs: Vec<(String, String)> = query
            .split('&')
            .map(|pair| {
                let (name, value) = pair.split_once('=').unwrap();
                (decoded(name), decoded(value))
            })
            .collect();
        let mut expected = vec![("q".to_owned(), q)];
        expected.extend(tags.into_iter().map(|tag| ("tag".to_owned(), tag)));
        expected.extend(filter.into_iter().map(|(key, value)| (format!("filter[{key}]"), value)));
        prop_assert_eq!(pairs, expected);
    }
}

#[test]
fn declarations_that_do_not_fit_together_are_refused() {
    let path = |name| Parameter::path(name, json!({}));
    let query = |name| Parameter::query(name, json!({}));
    for (endpoint, why) in [
        (Endpoint::get("x", "/{id}"), "nothing says what \"id\""),
        (Endpoint::get("x", "/").with_parameter(path("id")), "no place for \"id\""),
        (Endpoint::get("x", "/").with_parameter(query("a")).with_parameter(query("a")), "two parameters"),
        (
            Endpoint::get("x", "/").with_parameter(query("a[b]")).with_parameter(query("a_b")),
            "two parameters",
        ),
        (Endpoint::get("x", "https://evil.example/"), "is an address"),
        (Endpoint::get("x", "/").with_parameter(Parameter::body("a", json!({}))), "has no body"),
        (
            Endpoint::get("x", "/").with_parameter(query("key")).with_secret_query("key", "s"),
            "must not write",
        ),
        (Endpoint::get("x", "/").with_fixed_header("Host", "h"), "for the client to say"),
        (Endpoint::get("x", "/").with_forwarded_headers(["Cookie"]), "by their names"),
        (Endpoint::get(" ", "/"), "no name"),
    ] {
        let error = refused(endpoint);
        assert!(error.contains(why), "{error}");
    }
    let twice = here(echoing())
        .with_endpoint(Endpoint::get("x", "/"))
        .unwrap()
        .with_endpoint(Endpoint::get("x", "/a"));
    assert!(twice.unwrap_err().to_string().contains("another endpoint"));
    let fixed = here(echoing()).with_endpoint(Endpoint::get("x", "/").with_parameter(query("key"))).unwrap();
    assert!(fixed.with_secret_query("key", "s").unwrap_err().to_string().contains("must not write"));
}

#[tokio::test]
async fn a_type_declares_the_arguments() {
    #[derive(attache_core::schemars::JsonSchema)]
    #[schemars(crate = "attache_core::schemars")]
    #[allow(dead_code, reason = "its schema alone is of use")]
    struct Find {
        /// The order's number.
        id: u64,
        /// The most lines.
        limit: Option<u8>,
    }
    let tools = here(echoing())
        .with_endpoint(Endpoint::get("find", "/orders/{id}").with_arguments::<Find>())
        .unwrap();
    let spec = &ToolHandler::tools(&tools).await.unwrap()[0];
    assert_eq!(spec.definition.input_schema()["properties"]["id"]["description"], "The order's number.");
    assert_eq!(spec.definition.input_schema()["required"], json!(["id"]));
    assert_eq!(echoed(&tools, "find", json!({"id": 3, "limit": 9})).await["target"], "/v1/orders/3?limit=9");
}

//! One declaration: called in this process, mounted on a router, over HTTP.

use attache_core::{ResultStatus, ToolContext};
use attache_http_tools::{CallerHeaders, Endpoint, HttpTools, Parameter};
use axum::extract::{Path, Query, Request};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use std::collections::HashMap;

use crate::support::{call_in, serve, tools, value};

async fn find(Path(id): Path<u64>, Query(query): Query<HashMap<String, String>>) -> Json<Value> {
    Json(json!({"order": id, "lang": query.get("lang")}))
}

async fn signed_in(request: Request, next: Next) -> Response {
    match request.headers().get(header::AUTHORIZATION).is_some_and(|value| value == "Bearer canary") {
        true => next.run(request).await,
        false => (StatusCode::UNAUTHORIZED, "who are you?").into_response(),
    }
}

fn app() -> Router {
    Router::new().route("/orders/{id}", get(find)).layer(middleware::from_fn(signed_in))
}

fn declared(tools: HttpTools) -> HttpTools {
    let endpoint = Endpoint::get("orders.find", "/orders/{id}")
        .with_parameter(Parameter::path("id", json!({"type": "integer"})))
        .with_parameter(Parameter::query("lang", json!({"type": "string"})));
    tools.with_forwarded_headers(["authorization"]).unwrap().with_endpoint(endpoint).unwrap()
}

// A17, A18: routing, authorization and layers stand before the handler either way
#[tokio::test]
async fn one_declaration_is_called_in_this_process_and_over_http() {
    let here = declared(HttpTools::new("orders", "http://orders.internal").unwrap().with_service(app()));
    let there = declared(tools(&serve(app()).await));
    for tools in [&here, &there] {
        let caller = || {
            ToolContext::new().with(CallerHeaders::new().with_header(header::AUTHORIZATION, "Bearer canary"))
        };
        let arguments = json!({"id": 7, "lang": "de"});
        let output = call_in(tools, "orders.find", arguments.clone(), caller()).await.unwrap();
        assert_eq!((value(&output), output.status), (json!({"order": 7, "lang": "de"}), ResultStatus::Ok));
        let output = call_in(tools, "orders.find", arguments, ToolContext::new()).await.unwrap();
        let told = json!({"error": {"status": 401, "reason": "Unauthorized", "body": "who are you?"}});
        assert_eq!(value(&output), told);
        assert!(output.status != ResultStatus::Ok);
    }
}

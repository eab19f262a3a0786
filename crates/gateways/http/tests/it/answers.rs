//! Answers as results: JSON, text, documents, failures.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use attache_core::{Effect, ResultStatus, ToolContext, ToolHandler};
use attache_http_tools::{Endpoint, HttpTools, Parameter};
use attache_transport::RetryPolicy;
use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{answering, call, call_in, echoing, here, value};

const PDF: &[u8] = b"%PDF-1.4\n% the lease\n";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

fn getting(router: Router) -> HttpTools {
    here(router).with_endpoint(Endpoint::get("get", "/files/x")).unwrap()
}

// A body that is a file is a document with its name and type
#[tokio::test]
async fn files_become_documents_with_their_names() {
    for (headers, body, media_type, name) in [
        (&[("content-type", "application/pdf")][..], PDF, "application/pdf", "get.pdf"),
        (
            &[
                ("content-type", "application/pdf"),
                ("content-disposition", "inline; filename*=UTF-8''Miet%C3%A4.pdf"),
            ],
            PDF,
            "application/pdf",
            "Mietä.pdf",
        ),
        (&[("content-type", "application/octet-stream")], PNG, "image/png", "get.png"),
        (&[], PNG, "image/png", "get.png"),
        (
            &[("content-type", "text/csv"), ("content-disposition", "attachment; filename=\"../../x.csv\"")],
            b"a,b\n1,2\n",
            "text/csv",
            "x.csv",
        ),
        (
            &[
                ("content-type", "application/json"),
                ("content-disposition", "attachment; filename=export.json"),
            ],
            b"{\"a\":1}",
            "application/json",
            "export.json",
        ),
        // Wrong types: the bytes say what they are.
        (&[("content-type", "application/json")], PDF, "application/pdf", "get.pdf"),
        (&[("content-type", "image/png")], PDF, "application/pdf", "get.pdf"),
        (&[("content-type", "text/html")], PNG, "image/png", "get.png"),
    ] {
        let body = Bytes::copy_from_slice(body);
        let output = call(&getting(answering(200, headers, body.clone())), "get", json!({})).await.unwrap();
        let [document] = &output.documents[..] else { panic!("{name}: {}", output.tree.json()) };
        assert_eq!((document.media_type().essence(), document.file_name()), (media_type, Some(name)));
        assert_eq!(document.bytes().unwrap(), body);
        assert_eq!(value(&output)["documentId"], document.id().as_str());
    }
}

#[tokio::test]
async fn the_address_names_a_file_by_its_extension() {
    let router = answering(200, &[("content-type", "application/pdf")], PDF);
    let tools = here(router)
        .with_endpoint(
            Endpoint::get("get", "/f/{name}")
                .with_parameter(Parameter::path("name", json!({"type": "string"}))),
        )
        .unwrap();
    for (asked, name) in [("a lease.pdf", "a lease.pdf"), ("secret-token", "get.pdf"), ("a/b.pdf", "get.pdf")]
    {
        let output = call(&tools, "get", json!({"name": asked})).await.unwrap();
        assert_eq!(output.documents[0].file_name(), Some(name));
    }
}

// Invariant 11
#[tokio::test]
async fn texts_of_any_encoding_show_no_secret() {
    for headers in [
        &[("content-type", "text/plain; charset=iso-8859-1")][..],
        &[("content-type", "text/csv"), ("content-disposition", "attachment; filename=\"a.csv\"")],
    ] {
        let endpoint = Endpoint::get("get", "/files/x").with_secret_header("x-api-key", "", "canary-key");
        let service = answering(200, headers, &b"caf\xe9: canary-key \xfc"[..]);
        let output = call(&here(service).with_endpoint(endpoint).unwrap(), "get", json!({})).await.unwrap();
        assert_eq!(output.documents[0].bytes().unwrap()[..], b"caf\xe9: *** \xfc"[..]);
    }
}

// Between the letters of UTF-16 stand zeros, which are not shown.
#[tokio::test]
async fn errors_of_utf_16_show_no_secret() {
    let headers = &[("content-type", "text/plain; charset=utf-16")][..];
    let text: Vec<u8> = "no: canary-key".encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (status, expected) in [(403, "no: ***"), (200, "n\0o\0:\0 \0*\0*\0*\0")] {
        let endpoint = Endpoint::get("get", "/files/x").with_secret_header("x-api-key", "", "canary-key");
        let service = answering(status, headers, text.clone());
        let output = call(&here(service).with_endpoint(endpoint).unwrap(), "get", json!({})).await.unwrap();
        match status {
            200 => assert_eq!(output.documents[0].bytes().unwrap()[..], *expected.as_bytes()),
            _ => assert_eq!(value(&output)["error"]["body"], expected),
        }
    }
}

#[tokio::test]
async fn json_stays_json_and_text_is_text() {
    type Case = (&'static [(&'static str, &'static str)], &'static str, Value);
    let cases: [Case; 11] = [
        (
            &[("content-type", "application/json; charset=utf-8")],
            r#"{"b":1,"a":[true,null]}"#,
            json!({"b": 1, "a": [true, null]}),
        ),
        (&[("content-type", "application/problem+json")], r#"{"a":1}"#, json!({"a": 1})),
        (&[("content-type", "application/json")], "12", json!(12)),
        (&[("content-type", "text/plain")], "12", json!("12")),
        (&[("content-type", "text/plain")], r#"{"a":1}"#, json!({"a": 1})),
        (&[("content-type", "application/json")], "no json", json!("no json")),
        (&[("content-type", "text/html")], "<p>hi</p>", json!("<p>hi</p>")),
        (&[], "[1]", json!([1])),
        // The mark of UTF-8 is no part of a text.
        (&[("content-type", "application/json")], "\u{feff}{\"a\":1}", json!({"a": 1})),
        (&[("content-type", "text/plain")], "\u{feff}hi", json!("hi")),
        (&[("content-type", "application/json")], "", json!({"status": 200, "reason": "OK"})),
    ];
    for (headers, body, expected) in cases {
        let output = call(&getting(answering(200, headers, body)), "get", json!({})).await.unwrap();
        assert_eq!(value(&output), expected);
        assert!(output.documents.is_empty() && output.status == ResultStatus::Ok);
    }
    let gone = call(&getting(answering(204, &[], "")), "get", json!({})).await.unwrap();
    assert_eq!(value(&gone), json!({"status": 204, "reason": "No Content"}));
}

// A reference that a service makes up is no document.
#[tokio::test]
async fn a_forged_reference_is_nothing() {
    let forged = r#"{"attache.document":"stored","documentId":"7d41c0b2-93e5-4f6a-8b1d-2a6e5f0c9d34"}"#;
    let output =
        call(&getting(answering(200, &[("content-type", "application/json")], forged)), "get", json!({}))
            .await
            .unwrap();
    assert!(output.documents.is_empty());
}

#[tokio::test]
async fn a_long_text_is_a_document_that_is_read_piece_by_piece() {
    let long = "x".repeat(300 << 10);
    let output =
        call(&getting(answering(200, &[("content-type", "text/plain")], long.clone())), "get", json!({}))
            .await
            .unwrap();
    assert_eq!(output.documents[0].bytes().unwrap(), long);
    assert_eq!(output.documents[0].file_name(), Some("get.txt"));
}

// A23
#[tokio::test]
async fn failures_are_observations_with_status_reason_and_body() {
    for (status, body, told) in [
        (404, "", json!({"status": 404, "reason": "Not Found"})),
        (
            400,
            r#"{"message":"no \"id\""}"#,
            json!({"status": 400, "reason": "Bad Request", "body": {"message": "no \"id\""}}),
        ),
        (
            500,
            "it's \"broken\"\r\nat line\t3\u{0}",
            json!({"status": 500, "reason": "Internal Server Error", "body": "it's \"broken\"\nat line\t3"}),
        ),
        (
            502,
            "<html><title>Bad\ngateway</title>…",
            json!({"status": 502, "reason": "Bad Gateway", "body": "a web page: Bad\ngateway"}),
        ),
        (599, "x", json!({"status": 599, "reason": "unknown", "body": "x"})),
    ] {
        let html: &'static [(&'static str, &'static str)] =
            if body.starts_with('<') { &[("content-type", "text/html")] } else { &[] };
        let router = answering(status, html, body);
        let tools = getting(router).with_retry(RetryPolicy::never());
        let output = call(&tools, "get", json!({})).await.unwrap();
        assert_eq!(value(&output), json!({"error": told}));
        assert_ne!(output.status, ResultStatus::Ok);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    // A23: valid JSON whatever the body has, and bounded
    #[test]
    fn whatever_an_error_holds_the_observation_is_json(
        status in 400_u16..600,
        body in prop_oneof![prop::collection::vec(any::<u8>(), 0..300), prop::collection::vec(any::<u8>(), 60_000..70_000)],
        typed in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let headers: &'static [(&'static str, &'static str)] = if typed { &[("content-type", "application/json")] } else { &[] };
        let tools = getting(answering(status, headers, body)).with_retry(RetryPolicy::never());
        let output = runtime.block_on(call(&tools, "get", json!({}))).unwrap();
        prop_assert_eq!(&value(&output)["error"]["status"], &json!(status));
        prop_assert!(output.tree.json().len() < 30_000, "{}", output.tree.json().len());
    }
}

/// A service that is busy for some calls, and how often it was called.
fn busy(times: u32, status: u16, after: &'static str) -> (Router, Arc<AtomicU32>) {
    let calls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&calls);
    let router = Router::new().fallback(move || {
        let call = counted.fetch_add(1, Ordering::Relaxed);
        async move {
            match call < times {
                true => (StatusCode::from_u16(status).unwrap(), [(header::RETRY_AFTER, after)], "busy")
                    .into_response(),
                false => axum::Json(json!("done")).into_response(),
            }
        }
    });
    (router, calls)
}

#[tokio::test(start_paused = true)]
async fn only_what_may_be_repeated_is_tried_again() {
    for (endpoint, calls_made) in [
        (Endpoint::get("x", "/"), 3),
        (Endpoint::put("x", "/"), 3),
        (Endpoint::post("x", "/"), 1),
        (Endpoint::patch("x", "/"), 1),
        (Endpoint::delete("x", "/"), 1),
        (Endpoint::post("x", "/").with_effect(Effect::Idempotent), 3),
        (Endpoint::get("x", "/").with_effect(Effect::SideEffect), 1),
    ] {
        let (router, calls) = busy(2, 503, "1");
        let output = call(&here(router).with_endpoint(endpoint).unwrap(), "x", json!({})).await.unwrap();
        assert_eq!(calls.load(Ordering::Relaxed), calls_made);
        match calls_made {
            3 => assert_eq!(value(&output), json!("done")),
            _ => assert_eq!(value(&output)["error"]["retryAfter"], "1"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_wait_that_a_service_asks_for_is_kept_and_bounded() {
    let (router, calls) = busy(1, 429, "20");
    let began = tokio::time::Instant::now();
    let output = call(&getting(router), "get", json!({})).await.unwrap();
    assert_eq!((value(&output), calls.load(Ordering::Relaxed)), (json!("done"), 2));
    assert_eq!(began.elapsed().as_secs(), 20);
    let (router, calls) = busy(1, 429, "3600");
    let output = call(&getting(router), "get", json!({})).await.unwrap();
    assert_eq!((&value(&output)["error"]["retryAfter"], calls.load(Ordering::Relaxed)), (&json!("3600"), 1));
}

#[tokio::test]
async fn what_is_not_there_is_not_asked_for_again() {
    let (router, calls) = busy(9, 404, "0");
    call(&getting(router), "get", json!({})).await.unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn calls_that_change_something_carry_a_key_of_the_call() {
    let mut tools = here(echoing());
    for endpoint in [Endpoint::get("GET", "/"), Endpoint::post("POST", "/"), Endpoint::put("PUT", "/")] {
        tools = tools.with_endpoint(endpoint).unwrap();
    }
    let key = async |name, key: &str| {
        let mut context = ToolContext::new();
        context.idempotency_key = Some(key.to_owned());
        value(&call_in(&tools, name, json!({}), context).await.unwrap())["headers"]
            .get("idempotency-key")
            .cloned()
    };
    let first = key("POST", "run-1/call-1").await.unwrap();
    assert_eq!(first.as_str().unwrap().len(), 32);
    assert_eq!(key("POST", "run-1/call-1").await, Some(first.clone()), "the same for each attempt");
    assert_ne!(key("PUT", "run-1/call-2").await, Some(first));
    assert_eq!(key("GET", "run-1/call-1").await, None);
}

#[tokio::test]
async fn methods_say_what_a_call_changes() {
    let mut tools = here(echoing());
    for endpoint in [
        Endpoint::get("a", "/"),
        Endpoint::put("b", "/"),
        Endpoint::delete("c", "/"),
        Endpoint::post("d", "/"),
        Endpoint::patch("e", "/"),
    ] {
        tools = tools.with_endpoint(endpoint).unwrap();
    }
    let effects: Vec<_> =
        ToolHandler::tools(&tools).await.unwrap().iter().map(|spec| spec.metadata.effect).collect();
    use Effect::{Idempotent, Read, SideEffect};
    assert_eq!(effects, [Read, Idempotent, SideEffect, SideEffect, SideEffect]);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_of_a_call_ends_it() {
    let router = Router::new().fallback(|| async { std::future::pending::<&'static str>().await });
    let tools = here(router).with_endpoint(Endpoint::post("x", "/")).unwrap();
    let mut context = ToolContext::new();
    context.deadline = Some(std::time::Instant::now() + Duration::from_secs(7));
    let began = tokio::time::Instant::now();
    let error = call_in(&tools, "x", json!({}), context).await.unwrap_err();
    assert_eq!(error.kind(), attache_core::ToolErrorKind::Timeout);
    assert_eq!(
        error.for_model(),
        "the service did not answer in time; it is not known if it did what was asked"
    );
    assert!((6..=7).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
}

// A failure would have the model call again.
#[tokio::test]
async fn an_effect_whose_answer_is_not_shown_is_no_failure() {
    let large = answering(200, &[("content-type", "text/plain")], vec![b'x'; 2_000]);
    let encoded = answering(201, &[("content-encoding", "gzip")], "x");
    for (router, why) in [(large, "more than the 1000 bytes"), (encoded, "encodes its answer")] {
        let tools = here(router)
            .with_max_bytes(1_000)
            .with_endpoints([Endpoint::post("make", "/x"), Endpoint::get("get", "/x")])
            .unwrap();
        let output = call(&tools, "make", json!({})).await.unwrap();
        assert_eq!(output.status, ResultStatus::Ok);
        let note = value(&output)["note"].as_str().unwrap().to_owned();
        assert!(note.contains("did what was asked") && note.contains(why), "{note}");
        assert!(call(&tools, "get", json!({})).await.is_err());
    }
}

#[tokio::test]
async fn the_status_of_an_encoded_error_is_told() {
    let tools = getting(answering(404, &[("content-encoding", "gzip")], "x"));
    let output = call(&tools, "get", json!({})).await.unwrap();
    assert_eq!(value(&output)["error"]["status"], 404);
}

// Some servers have a word for none, or name a charset there.
#[tokio::test]
async fn an_answer_whose_encoding_is_none_is_read() {
    for headers in [
        &[("content-encoding", "identity"), ("content-type", "text/plain")],
        &[("content-encoding", "None"), ("content-type", "text/plain")],
        &[("content-encoding", "UTF-8"), ("content-type", "text/plain")],
        &[("content-encoding", ""), ("content-type", "text/plain")],
    ] {
        let output = call(&getting(answering(200, headers, "paid")), "get", json!({})).await.unwrap();
        assert!(value(&output).to_string().contains("paid"), "{headers:?}: {}", value(&output));
    }
}

#[tokio::test]
async fn a_head_of_a_large_file_is_answered() {
    let router = Router::new().fallback(|| async { [(header::CONTENT_LENGTH, "99999999")] });
    let endpoint = Endpoint::new(axum::http::Method::HEAD, "head", "/x");
    let output = call(&here(router).with_endpoint(endpoint).unwrap(), "head", json!({})).await.unwrap();
    assert_eq!(value(&output)["status"], 200);
}

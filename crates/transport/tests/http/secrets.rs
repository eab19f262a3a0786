//! Keys never show. (Invariant 11.)

use std::error::Error as _;
use std::sync::Arc;

use attache_core::{ErrorKind, ModelSettings, ProviderError, Secret};
use attache_transport::{ErrorResponse, Exchange, ReplyDecoder, RequestParts};
use http::header::AUTHORIZATION;

use super::client;
use crate::support::{Codec, Server, call_with, collect, quick};

const KEY: &str = "canary-0123456789";

fn request(url: &str) -> RequestParts {
    let options = ModelSettings::new().with_extra_header("X-Gateway", "canary-gateway");
    RequestParts::post_json(format!("{url}/v1?key=canary-query"), "{\"prompt\":\"canary-prompt\"}".to_owned())
        .with_secret_header(AUTHORIZATION, "Bearer ", &Secret::new(KEY))
        .with_extra_headers(&options.extra_headers)
        .unwrap()
}

fn shown(error: &ProviderError) -> String {
    let mut text = format!("{error} {error:?} {error:#?} {:?}", error.response_body());
    let mut cause = error.source();
    while let Some(inner) = cause {
        text += &format!(" {inner} {inner:?}");
        cause = inner.source();
    }
    text
}

async fn error_of(url: &str) -> ProviderError {
    collect(call_with(&client(), &Arc::default(), request(url), quick())).await.1.unwrap_err()
}

#[tokio::test]
async fn a_server_that_repeats_the_key_does_not_spread_it() {
    let echo = format!("key {KEY} of canary-gateway at canary-query, Bearer {KEY}");
    let body = format!("{{\"error\":{{\"message\":\"{echo}\",\"code\":\"{KEY}\",\"param\":\"{KEY}\"}}}}");
    for (status, body) in [
        (401, body.clone()),
        (401, echo.clone()),
        (400, format!("<title>{echo}</title>")),
        (200, body.clone()),
        (200, format!("data: {body}\n\n")),
    ] {
        let server = Server::start(move |_, mut connection| {
            let body = body.clone();
            async move {
                connection.respond(status, "", &body).await;
                Some(connection)
            }
        })
        .await;
        let error = error_of(&server.url).await;
        let text = shown(&error);
        assert!(!text.contains("canary") && text.contains("***"), "{text}");
        let sent = server.requests.lock().unwrap()[0].clone();
        assert!(sent.contains(&format!("authorization: Bearer {KEY}\r\n")), "it was sent");
        assert!(sent.contains("x-gateway: canary-gateway\r\n"));
    }
}

#[tokio::test]
async fn secrets_are_redacted_from_errors_that_a_codec_made() {
    let server = Server::start(|_, mut connection| async move {
        connection.respond(401, &format!("x-echo: {KEY}\r\n"), "").await;
        Some(connection)
    })
    .await;
    let (request, retry) = (request(&server.url), quick());
    let read_error = |response: &ErrorResponse| {
        let echo = response.headers["x-echo"].to_str().unwrap();
        response.error(ErrorKind::Authentication, format!("no {echo}"))
    };
    let error = client().send(&request, &retry, read_error).await.unwrap_err();
    assert_eq!((error.message(), error.status()), ("no ***", Some(401)));
}

#[tokio::test]
async fn failures_of_the_network_do_not_show_the_url() {
    let text = shown(&error_of("http://user:canary-password@127.0.0.1:1").await);
    assert!(!text.contains("canary"), "{text}");
    let text = shown(&error_of("http://canary-user:canary-password@").await);
    assert!(!text.contains("canary"), "{text}");
}

#[tokio::test]
async fn debug_of_everything_is_clean() {
    let request = request("http://user:canary-password@localhost");
    let redactor = request.redactor();
    let exchange = Exchange::new(request.clone(), || Box::new(ReplyDecoder::new(Codec::default())));
    let text = format!("{request:?} {redactor:?} {exchange:?} {:?}", client());
    assert!(!text.contains("canary"), "{text}");
}

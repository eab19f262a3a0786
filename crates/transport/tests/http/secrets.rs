//! Keys never show. (Invariant 11.)

use std::error::Error as _;
use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use attache_core::{ErrorKind, ProviderConfig, ProviderError, Secret};
use attache_transport::{ErrorResponse, Exchange, HttpClient, ReplyDecoder, RequestParts};
use http::header::AUTHORIZATION;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::support::{Codec, Server, call_with, client, collect, quick};

const KEY: &str = "canary-0123456789";

fn request(url: &str) -> RequestParts {
    let options = ProviderConfig::new().with_extra_header("X-Gateway", "canary-gateway");
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
async fn what_a_codec_makes_of_an_error_response_is_cleaned_too() {
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
    let text = format!("{request:?} {redactor:?} {exchange:?} {:?}", HttpClient::shared());
    assert!(!text.contains("canary"), "{text}");
}

/// Everything that any crate logs, at every level.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{field}={value:?} ").unwrap();
    }
}

impl Log {
    fn note(&self, metadata: &Metadata<'_>, record: impl FnOnce(&mut Fields)) {
        let mut fields = Fields(format!("{} ", metadata.target()));
        record(&mut fields);
        self.0.lock().unwrap().push(fields.0);
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.note(span.metadata(), |fields| span.record(fields));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.note(event.metadata(), |fields| event.record(fields));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn logs_show_one_event_a_call_and_no_secret() {
    let server = Server::start(|number, mut connection| async move {
        match number {
            0 => connection.respond(503, "", KEY).await,
            1 => connection.respond(200, "", "{\"text\":\"canary-answer\"}").await,
            _ => connection.respond(401, "", &format!("{{\"error\":\"bad {KEY}\"}}")).await,
        }
        Some(connection)
    })
    .await;
    let log = Log::default();
    let guard = tracing::subscriber::set_default(log.clone());
    let client = client();
    let call = || collect(call_with(&client, &Arc::default(), request(&server.url), quick()));
    call().await.1.unwrap();
    call().await.1.unwrap_err();
    drop(guard);

    let lines = log.0.lock().unwrap().clone();
    let text = lines.join("\n");
    assert!(!text.contains("canary"), "{text}");
    let ours: Vec<_> = lines.iter().filter(|line| line.starts_with("attache_transport")).collect();
    assert_eq!(ours.len(), 2, "{ours:?}");
    assert!(ours[0].contains("attempts=2") && ours[0].contains("?key=***"), "{ours:?}");
    assert!(ours[1].contains("error=\"authentication\"") && ours[1].contains("status=401"), "{ours:?}");
}

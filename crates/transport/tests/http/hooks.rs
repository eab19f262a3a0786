//! Hooks: what they hear of a client, and what they say in the network's place.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use attache_core::{ErrorKind, ProviderError};
use attache_transport::{
    Auth, EndedExchange, Exchange, Hook, ReplyDecoder, RequestParts, RetryPolicy, Timeouts, stream,
};
use bytes::Bytes;
use futures_util::StreamExt;
use http::{HeaderMap, HeaderValue, Response, StatusCode};

use super::client;
use crate::support::{Codec, DONE, Server, TEXT, call, call_with, collect, quick};

#[derive(Clone, Debug, Default)]
struct Hears(Arc<Mutex<Vec<Heard>>>);

/// Address, status and body.
type Heard = (String, StatusCode, Vec<u8>);

impl Hook for Hears {
    fn answered(&self, request: &RequestParts, status: StatusCode, headers: &HeaderMap) -> usize {
        assert!(!headers.is_empty());
        let mut heard = self.0.lock().unwrap();
        heard.push((request.url.clone(), status, Vec::new()));
        heard.len() - 1
    }

    fn read(&self, answer: usize, piece: &Bytes) {
        self.0.lock().unwrap()[answer].2.extend_from_slice(piece);
    }
}

#[tokio::test]
async fn a_hook_hears_each_attempt_as_it_is_read() {
    let server = Server::start(|number, mut connection| async move {
        if number == 0 {
            connection.respond(503, "", "busy").await;
            return Some(connection);
        }
        connection.start_events().await;
        connection.chunk(TEXT).await;
        connection.chunk(DONE).await;
        connection.end().await;
        Some(connection)
    })
    .await;
    let heard = Hears::default();
    // Other time limits loses no hook.
    let client =
        client().with_hook(heard.clone()).with_timeouts(Timeouts::new().with_connect(Duration::from_secs(9)));
    let (texts, end) = collect(call(&client, &server)).await;
    assert_eq!((texts.as_slice(), end.is_ok()), (["hello".to_owned()].as_slice(), true));
    let heard = heard.0.lock().unwrap();
    let statuses: Vec<u16> = heard.iter().map(|(_, status, _)| status.as_u16()).collect();
    assert_eq!(statuses, [503, 200]);
    assert_eq!(heard[0].2, b"busy");
    assert!(heard[1].2.starts_with(TEXT.as_bytes()) && heard[1].0.starts_with(&server.url));
}

#[derive(Debug)]
struct Says(u16, String);

impl Hook for Says {
    fn answer(&self, _: &RequestParts) -> Option<Result<Response<Bytes>, ProviderError>> {
        if self.0 == 0 {
            return Some(Err(ProviderError::new(ErrorKind::Configuration, self.1.clone())));
        }
        Some(Ok(Response::builder().status(self.0).body(self.1.clone().into()).unwrap()))
    }
}

#[tokio::test]
async fn a_hook_answers_where_no_server_is() {
    let ask = async |hook: Says| {
        let request = RequestParts::post_json("http://127.0.0.1:9/v1", "{}".to_owned());
        collect(call_with(&client().with_hook(hook), &Arc::default(), request, quick())).await
    };
    let (texts, end) = ask(Says(200, format!("{TEXT}{DONE}"))).await;
    assert_eq!((texts, end.unwrap().message.text()), (vec!["hello".to_owned()], "hello".to_owned()));
    let (_, end) = ask(Says(401, "no".to_owned())).await;
    assert_eq!(end.unwrap_err().kind(), ErrorKind::Authentication);
    let (_, end) = ask(Says(0, "not recorded".to_owned())).await;
    assert_eq!(end.unwrap_err().message(), "not recorded");
}

/// Adds a header, and notes how attempts ended.
#[derive(Clone, Debug, Default)]
struct Metrics(Arc<Mutex<Vec<String>>>, Arc<AtomicUsize>);

impl Hook for Metrics {
    fn began(&self, request: &RequestParts) -> usize {
        assert!(!request.shown_headers().any(|(name, _)| name == "x-team"));
        self.1.fetch_add(1, Ordering::SeqCst) + 1
    }

    fn headers(&self, request: &RequestParts, headers: &mut HeaderMap) {
        assert!(!request.shown_headers().any(|(name, _)| name == "x-team"));
        headers.insert("x-team", HeaderValue::from_static("canary-team"));
    }

    fn ended(&self, ended: &EndedExchange<'_>) {
        let status = ended.status.map(|status| status.as_u16());
        let error = ended.error.map(ProviderError::kind);
        let told = format!("{} {status:?} {} {} {error:?}", ended.number, ended.received, ended.is_complete);
        assert!(!format!("{ended:?}").contains("canary"), "{ended:?}");
        self.0.lock().unwrap().push(told);
    }
}

#[tokio::test]
async fn a_hook_adds_headers_and_is_told_how_each_attempt_ended() {
    let server = Server::start(|number, mut connection| async move {
        match number {
            0 => connection.respond(503, "", "busy canary-team").await,
            1 => connection.respond(200, "", &format!("{TEXT}{DONE}")).await,
            _ => {
                connection.start_events().await;
                connection.chunk(TEXT).await;
                connection.closed().await;
                return None;
            }
        }
        Some(connection)
    })
    .await;
    let metrics = Metrics::default();
    let client = client().with_hook(metrics.clone());
    let (texts, end) = collect(call(&client, &server)).await;
    assert_eq!((texts, end.is_ok()), (vec!["hello".to_owned()], true));
    assert!(server.requests.lock().unwrap().iter().all(|sent| sent.contains("x-team: canary-team\r\n")));
    // The caller gives up in the middle of a reply.
    let mut given_up = call(&client, &server);
    assert!(given_up.next().await.unwrap().is_ok());
    drop(given_up);
    // Nobody listens at port 1.
    let request = RequestParts::get("http://127.0.0.1:1/v1?key=canary-key");
    let failed = call_with(&client, &Arc::default(), request, RetryPolicy::never());
    assert_eq!(collect(failed).await.1.unwrap_err().kind(), ErrorKind::Network);
    let sizes = (TEXT.len() + DONE.len(), TEXT.len());
    assert_eq!(
        *metrics.0.lock().unwrap(),
        [
            "1 Some(503) 16 true None".to_owned(),
            format!("2 Some(200) {} true None", sizes.0),
            format!("3 Some(200) {} false None", sizes.1),
            "4 None 0 false Some(Network)".to_owned(),
        ]
    );
}

#[tokio::test]
async fn secrets_of_hooks_are_masked_where_answers_repeat_them() {
    const ECHO: &str = "x-echo: canary-team\r\n";
    let server = Server::start(|number, mut connection| async move {
        match number {
            0 => connection.respond(200, ECHO, &format!("{TEXT}{DONE}")).await,
            _ => connection.respond(400, ECHO, "no team canary-team").await,
        }
        Some(connection)
    })
    .await;
    let client = client().with_hook(Metrics::default());
    let ask = || {
        collect(call_with(
            &client,
            &Arc::default(),
            RequestParts::post_json(&server.url, "{}".to_owned()),
            RetryPolicy::never(),
        ))
    };
    let completion = ask().await.1.unwrap();
    assert_eq!(completion.response.unwrap().headers()["x-echo"], "***");
    let error = ask().await.1.unwrap_err();
    assert_eq!(error.response().unwrap().headers()["x-echo"], "***");
    assert!(!format!("{error:?} {error}").contains("canary"), "{error:?}");
}

#[tokio::test]
async fn secrets_of_hooks_are_masked_beside_those_of_an_authorizer() {
    let server = Server::start(|_, mut connection| async move {
        let event = "data: {\"error\":{\"message\":\"no canary-team, no canary-token\"}}\n\n";
        connection.respond(200, "", event).await;
        Some(connection)
    })
    .await;
    let request = RequestParts::post_json(&server.url, "{}".to_owned());
    let exchange = Exchange::new(request, || Box::new(ReplyDecoder::new(Codec::default())))
        .with_authorizer(Auth::bearer("canary-token").signer().cloned())
        .with_retry(RetryPolicy::never());
    let client = client().with_hook(Metrics::default());
    let error = collect(stream(client, Arc::default(), async { Ok(exchange) })).await.1.unwrap_err();
    assert_eq!(error.message(), "no ***, no ***");
    assert!(!format!("{error:?}").contains("canary"), "{error:?}");
}

#[derive(Debug)]
struct Adds(&'static str);

impl Hook for Adds {
    fn headers(&self, _: &RequestParts, headers: &mut HeaderMap) {
        headers.insert(self.0, HeaderValue::from_static("7"));
    }
}

#[tokio::test]
async fn a_hook_cannot_change_what_a_request_is() {
    let server = Server::start(|_, mut connection| async move {
        connection.respond(200, "", DONE).await;
        Some(connection)
    })
    .await;
    for name in ["content-length", "transfer-encoding", "host", "accept-encoding", "content-type"] {
        let error = collect(call(&client().with_hook(Adds(name)), &server)).await.1.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration);
        assert_eq!(error.message(), format!("a hook may not set the header {name}"));
    }
    // Nor may one hook overrule another.
    let twice = client().with_hook(Adds("x-a")).with_hook(Adds("x-a"));
    assert!(collect(call(&twice, &server)).await.1.is_err());
    assert_eq!(server.requests(), 0);
    let both = client().with_hook(Adds("x-a")).with_hook(Adds("x-b"));
    collect(call(&both, &server)).await.1.unwrap();
    let sent = server.requests.lock().unwrap()[0].clone();
    assert!(sent.contains("x-a: 7\r\n") && sent.contains("x-b: 7\r\n"), "{sent}");
}

/// Panics in the methods of that name.
#[derive(Debug)]
struct Panics(&'static str);

impl Panics {
    fn at(&self, method: &str) {
        assert_ne!(self.0, method, "as the test wants");
    }
}

impl Hook for Panics {
    fn headers(&self, _: &RequestParts, _: &mut HeaderMap) {
        self.at("headers");
    }

    fn answer(&self, _: &RequestParts) -> Option<Result<Response<Bytes>, ProviderError>> {
        self.at("answer");
        None
    }

    fn answered(&self, _: &RequestParts, _: StatusCode, _: &HeaderMap) -> usize {
        self.at("answered");
        0
    }

    fn read(&self, _: usize, _: &Bytes) {
        self.at("read");
    }

    fn ended(&self, _: &EndedExchange<'_>) {
        self.at("ended");
    }
}

#[tokio::test]
async fn a_panic_in_a_hook_is_caught() {
    let server = Server::start(|_, mut connection| async move {
        connection.respond(200, "", DONE).await;
        Some(connection)
    })
    .await;
    for (method, fails) in
        [("headers", true), ("answer", true), ("answered", false), ("read", false), ("ended", false)]
    {
        let end = collect(call(&client().with_hook(Panics(method)), &server)).await.1;
        assert_eq!(
            end.err().map(|error| error.kind()),
            fails.then_some(ErrorKind::Configuration),
            "{method}"
        );
    }
}

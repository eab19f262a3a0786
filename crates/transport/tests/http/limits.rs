//! Time limits and cancellation. (Invariants 8 and 9.)

use std::sync::Arc;
use std::time::Duration;

use super::{client, client_with};
use crate::support::{Server, TEXT, call, call_with, collect, quick, within_a_second};
use attache_core::ErrorKind;
use attache_transport::{ErrorResponse, RequestParts, RetryPolicy, Timeouts};
use futures_util::StreamExt;
use tokio::sync::Notify;

const SHORT: Duration = Duration::from_millis(150);

/// The kind, and whether it took about as long as the limit.
async fn error_under(timeouts: Timeouts, url: &str) -> attache_core::ProviderError {
    let client = client_with(timeouts);
    let request = RequestParts::post_json(url, "{}".to_owned());
    let started = std::time::Instant::now();
    let outcome =
        within_a_second(collect(call_with(&client, &Arc::default(), request, RetryPolicy::never())));
    let error = outcome.await.1.unwrap_err();
    assert!(started.elapsed() >= SHORT, "{error}");
    error
}

#[tokio::test]
async fn no_connection_in_time() {
    // It accepts TCP and never answers the TLS handshake.
    let server = Server::start(|_, connection| async move { Some(connection) }).await;
    let url = server.url.replace("http://", "https://");
    let error = error_under(Timeouts::new().with_connect(SHORT), &url).await;
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    assert!(error.is_retryable());
}

#[tokio::test]
async fn a_limit_beyond_the_clock_is_none() {
    let server = Server::start(|_, mut connection| async move {
        connection.respond(200, "", "x").await;
        Some(connection)
    })
    .await;
    let client = client_with(Timeouts::new().with_total(Duration::MAX));
    let request = RequestParts::get(&server.url);
    assert!(client.answer(&request).await.is_ok());
    assert!(client.send(&request, &RetryPolicy::never(), ErrorResponse::to_error).await.is_ok());
}

#[tokio::test]
async fn no_connection_at_all() {
    let client = client();
    let request = RequestParts::get("http://127.0.0.1:1/v1?key=canary");
    let error = collect(call_with(&client, &Arc::default(), request, quick())).await.1.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Network);
    assert!(error.message().starts_with("cannot connect to 127.0.0.1:1: "), "{error}");
}

#[tokio::test]
async fn no_answer_in_time() {
    let server = Server::start(|_, mut connection| async move {
        connection.closed().await;
        None
    })
    .await;
    let error = error_under(Timeouts::new().with_first_byte(SHORT), &server.url).await;
    assert_eq!((error.kind(), error.message()), (ErrorKind::Timeout, "no answer came within 0.15 s"));
}

#[tokio::test]
async fn silence_in_the_middle_of_a_reply() {
    let server = Server::start(|_, mut connection| async move {
        connection.start_events().await;
        connection.chunk(TEXT).await;
        connection.closed().await;
        None
    })
    .await;
    let error = error_under(Timeouts::new().with_idle(SHORT), &server.url).await;
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(error.is_after_output() && error.message().contains("in the middle"), "{error}");
}

// openai.md 0.2: comments count as activity, but not without end
#[tokio::test]
async fn comments_keep_a_reply_alive_until_the_total_limit() {
    let server = Server::start(|_, mut connection| async move {
        connection.start_events().await;
        let pings = async {
            loop {
                connection.chunk(": ping\n\n").await;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let _: Result<(), _> = tokio::time::timeout(Duration::from_secs(5), pings).await;
        None
    })
    .await;
    let timeouts = Timeouts::new().with_idle(Duration::from_millis(100)).with_total(SHORT * 2);
    let error = error_under(timeouts, &server.url).await;
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(error.message().contains("in all") && !error.is_retryable(), "{error}");
}

#[tokio::test]
async fn the_total_limit_covers_waits_too() {
    let server = Server::start(|_, mut connection| async move {
        connection.respond(503, "retry-after: 60\r\n", "{}").await;
        Some(connection)
    })
    .await;
    let client = client_with(Timeouts::new().with_total(Duration::from_secs(30)));
    let error = within_a_second(collect(call(&client, &server))).await.1.unwrap_err();
    assert_eq!((error.kind(), server.requests()), (ErrorKind::Overloaded, 1));
}

#[tokio::test]
async fn dropping_a_call_that_waits_for_its_answer_aborts_it() {
    let (arrived, gone) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let signals = (Arc::clone(&arrived), Arc::clone(&gone));
    let server = Server::start(move |_, mut connection| {
        let (arrived, gone) = signals.clone();
        async move {
            arrived.notify_one();
            connection.closed().await;
            gone.notify_one();
            None
        }
    })
    .await;
    let task = tokio::spawn(collect(call(&client(), &server)));
    within_a_second(arrived.notified()).await;
    task.abort();
    within_a_second(gone.notified()).await;
}

#[tokio::test]
async fn dropping_a_call_in_the_middle_of_its_reply_aborts_it() {
    let gone = Arc::new(Notify::new());
    let signal = Arc::clone(&gone);
    let server = Server::start(move |_, mut connection| {
        let gone = Arc::clone(&signal);
        async move {
            connection.start_events().await;
            connection.chunk(TEXT).await;
            connection.closed().await;
            gone.notify_one();
            None
        }
    })
    .await;
    let mut stream = call(&client(), &server);
    assert!(stream.next().await.unwrap().is_ok());
    drop(stream);
    within_a_second(gone.notified()).await;
}

#[tokio::test]
async fn dropping_a_call_between_attempts_ends_the_trying() {
    let answered = Arc::new(Notify::new());
    let signal = Arc::clone(&answered);
    let server = Server::start(move |_, mut connection| {
        let answered = Arc::clone(&signal);
        async move {
            connection.respond(503, "retry-after-ms: 200\r\n", "{}").await;
            answered.notify_one();
            Some(connection)
        }
    })
    .await;
    let client = client();
    let task = tokio::spawn(collect(call(&client, &server)));
    within_a_second(answered.notified()).await;
    // The wait before the next attempt is over at once, if anybody still waits.
    tokio::time::pause();
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    tokio::time::advance(Duration::from_millis(400)).await;
    tokio::time::resume();
    // A call that comes later is the next that the server sees.
    let fence = RequestParts::get(format!("{}/fence", server.url));
    let _ = within_a_second(collect(call_with(&client, &Arc::default(), fence, RetryPolicy::never()))).await;
    let seen = server.requests.lock().unwrap().clone();
    assert_eq!(seen.len(), 2);
    assert!(seen[1].starts_with("GET /fence"), "{}", seen[1]);
}

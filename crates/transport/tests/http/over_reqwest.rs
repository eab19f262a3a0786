//! The promises of every client, over a `reqwest::Client`, and its own rules.

use std::sync::Arc;

use attache_core::ErrorKind;
use attache_transport::{HttpClient, RequestParts, RetryPolicy, Timeouts};
use reqwest::redirect::Policy;

use crate::support::{DONE, Server, TEXT, call_with, collect, quick};

// The same files as for the built-in connections, so that no promise is kept by one alone.
#[path = "calls.rs"]
#[allow(clippy::duplicate_mod, reason = "one test body runs over both clients")]
mod calls;
#[path = "hooks.rs"]
#[allow(clippy::duplicate_mod, reason = "one test body runs over both clients")]
mod hooks;
#[path = "limits.rs"]
#[allow(clippy::duplicate_mod, reason = "one test body runs over both clients")]
mod limits;
#[path = "secrets.rs"]
#[allow(clippy::duplicate_mod, reason = "one test body runs over both clients")]
mod secrets;

pub(crate) fn builder() -> reqwest::ClientBuilder {
    // Another test may have been first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().redirect(Policy::none()).no_proxy()
}

pub(crate) fn client_with(timeouts: Timeouts) -> HttpClient {
    let own = builder().connect_timeout(timeouts.connect).build().unwrap();
    HttpClient::from_reqwest(own).with_timeouts(timeouts)
}

fn client() -> HttpClient {
    client_with(Timeouts::new())
}

/// Lines of a request's head that the client writes, and words that are not in it.
const SAYS: [&str; 1] = ["accept-encoding: identity\r\n"];
const SAYS_NOT: [&str; 2] = ["attache", "transfer-encoding"];

fn over(own: reqwest::ClientBuilder) -> HttpClient {
    HttpClient::from_reqwest(own.build().unwrap())
}

#[tokio::test]
async fn what_the_own_client_adds_is_sent() {
    let server = Server::start(|_, mut connection| async move {
        connection.start_events().await;
        connection.chunk(TEXT).await;
        connection.chunk(DONE).await;
        connection.end().await;
        Some(connection)
    })
    .await;
    let headers = [(http::header::VIA, "corporate".parse().unwrap())].into_iter().collect();
    let client = over(builder().user_agent("mine/1").default_headers(headers));
    let request = RequestParts::post_json(format!("{}/v1", server.url), "{}".to_owned());
    collect(call_with(&client, &Arc::default(), request, quick())).await.1.unwrap();
    let sent = server.requests.lock().unwrap()[0].clone();
    assert!(sent.contains("user-agent: mine/1\r\n") && sent.contains("via: corporate\r\n"), "{sent}");
}

#[tokio::test]
async fn a_redirect_that_was_followed_is_an_error() {
    let server = Server::start(|number, mut connection| async move {
        let (status, headers) = if number == 0 { (303, "location: /elsewhere\r\n") } else { (200, "") };
        connection.respond(status, headers, "{}").await;
        Some(connection)
    })
    .await;
    let client = over(builder().redirect(Policy::limited(3)));
    let request = RequestParts::post_json(format!("{}/v1?key=canary", server.url), "{}".to_owned());
    let error = collect(call_with(&client, &Arc::default(), request, quick())).await.1.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.message().contains("Policy::none()") && !error.message().contains("canary"), "{error}");
}

#[tokio::test]
async fn time_limits_of_the_own_client_are_timeouts() {
    let server = Server::start(|number, mut connection| async move {
        if number > 0 {
            connection.start_events().await;
            connection.chunk(TEXT).await;
        }
        connection.closed().await;
        None
    })
    .await;
    let client = over(builder().timeout(std::time::Duration::from_millis(150)));
    for _ in 0..2 {
        let request = RequestParts::post_json(format!("{}/v1?key=canary", server.url), "{}".to_owned());
        let call = call_with(&client, &Arc::default(), request, RetryPolicy::never());
        let error = collect(call).await.1.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
        assert!(!format!("{error:?}").contains("canary"), "{error:?}");
    }
}

// These are refused by the built-in client.
#[tokio::test]
async fn a_socks_proxy_is_spoken_to() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("socks5h://{}", listener.local_addr().unwrap());
    let asked = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut greeting = [0; 2];
        socket.read_exact(&mut greeting).await.unwrap();
        let mut methods = vec![0; usize::from(greeting[1])];
        socket.read_exact(&mut methods).await.unwrap();
        // RFC 1928: no authentication; the request has a name of 11 bytes and a port
        socket.write_all(&[5, 0]).await.unwrap();
        let mut request = [0; 5 + 11 + 2];
        socket.read_exact(&mut request).await.unwrap();
        socket.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{DONE}", DONE.len());
        let mut piece = [0; 4096];
        assert!(socket.read(&mut piece).await.unwrap() > 0);
        socket.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8_lossy(&request[5..16]).into_owned()
    });
    let client = over(builder().proxy(reqwest::Proxy::all(proxy).unwrap()));
    let request = RequestParts::post_json("http://target.test/v1", "{}".to_owned());
    collect(call_with(&client, &Arc::default(), request, quick())).await.1.unwrap();
    assert_eq!(asked.await.unwrap(), "target.test");
}

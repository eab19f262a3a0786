//! Services that mean harm: the call ends, bounded, and says why.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use attache_core::{ToolErrorKind, ToolErrorKind as Kind};
use attache_http_tools::{Endpoint, HttpTools, Redirects};
use attache_transport::{AddressGuard, RetryPolicy, Timeouts};
use axum::Router;
use axum::http::{StatusCode, header};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use serde_json::json;

use crate::support::{call, serve, tools, value};

/// A server that says `head`, and then `piece` again and again, `pause` apart, until the client goes.
async fn endless(head: &'static str, piece: &'static str, pause: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut asked = [0; 4096];
                let _ = socket.read(&mut asked).await;
                if socket.write_all(head.as_bytes()).await.is_err() {
                    return;
                }
                while socket.write_all(piece.as_bytes()).await.is_ok() {
                    tokio::time::sleep(pause).await;
                }
            });
        }
    });
    url
}

fn getting(url: &str) -> HttpTools {
    let timeouts = Timeouts::new()
        .with_first_byte(Duration::from_millis(300))
        .with_idle(Duration::from_millis(300))
        .with_total(Duration::from_millis(900));
    tools(url)
        .with_timeouts(timeouts)
        .with_max_bytes(64 << 10)
        .with_retry(RetryPolicy::never())
        .with_endpoint(Endpoint::get("get", "/"))
        .unwrap()
}

/// The kind of failure, and what the model is told. It must not take long.
async fn fails(tools: &HttpTools) -> (ToolErrorKind, String) {
    let began = Instant::now();
    let error = call(tools, "get", json!({})).await.unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    (error.kind(), error.for_model().to_owned())
}

const CHUNKED: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n";

/// A chunk of 16 KiB.
fn much() -> &'static str {
    Box::leak(format!("4000\r\n{}\r\n", "x".repeat(0x4000)).into())
}

#[tokio::test]
async fn a_body_without_end_is_cut_off() {
    let url = endless(CHUNKED, much(), Duration::ZERO).await;
    let (_, text) = fails(&getting(&url)).await;
    assert!(text.contains("65536 bytes"), "{text}");
}

#[tokio::test]
async fn a_body_that_is_announced_too_large_is_not_read() {
    let url =
        endless("HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n", "x", Duration::from_secs(60)).await;
    let (_, text) = fails(&getting(&url)).await;
    assert!(text.contains("65536 bytes"), "{text}");
}

#[tokio::test]
async fn an_error_without_end_is_an_observation() {
    let url = endless("HTTP/1.1 500 No\r\ntransfer-encoding: chunked\r\n\r\n", much(), Duration::ZERO).await;
    let output = call(&getting(&url), "get", json!({})).await.unwrap();
    let told = value(&output);
    assert_eq!(told["error"]["status"], 500);
    assert!(told["error"]["body"].as_str().unwrap().ends_with("(cut)"));
}

#[tokio::test]
async fn a_slow_service_is_given_up() {
    let silent = endless("", "", Duration::from_secs(60)).await;
    let stops = endless(CHUNKED, "", Duration::from_secs(60)).await;
    let drips = endless(CHUNKED, "1\r\nx\r\n", Duration::from_millis(50)).await;
    for url in [silent, stops, drips] {
        let (kind, text) = fails(&getting(&url)).await;
        assert_eq!((kind, text.as_str()), (Kind::Timeout, "the service did not answer in time"));
    }
}

#[tokio::test]
async fn what_is_no_http_is_an_observation() {
    for head in ["nonsense\r\n\r\n", "HTTP/1.1 200 OK\r\nbad header\0\r\n\r\n", ""] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let mut asked = [0; 4096];
                let _ = socket.read(&mut asked).await;
                let _ = socket.write_all(head.as_bytes()).await;
            }
        });
        assert_eq!(
            fails(&getting(&url)).await,
            (Kind::Unavailable, "the service does not answer".to_owned())
        );
    }
}

// A compressed body could be anything once it is inflated.
#[tokio::test]
async fn an_encoding_that_was_not_asked_for_is_refused() {
    let router = Router::new().fallback(|| async { ([(header::CONTENT_ENCODING, "gzip")], "\u{1f}…") });
    let (_, text) = fails(&getting(&serve(router).await)).await;
    assert!(text.contains("encodes"), "{text}");
}

// A22: private addresses, as they are written and as names lead to them
#[tokio::test]
async fn private_addresses_are_out_of_reach() {
    for url in [
        "http://127.0.0.1:1",
        "http://10.0.0.1",
        "http://192.168.1.1",
        "http://169.254.169.254",
        "http://[::1]",
        "http://[fd00::1]",
        "http://[::ffff:127.0.0.1]",
        "http://100.64.0.1",
        "http://0.0.0.0",
        "http://localhost",
    ] {
        let tools = HttpTools::new("x", url).unwrap().with_endpoint(Endpoint::get("get", "/")).unwrap();
        let (kind, told) = fails(&tools).await;
        assert_eq!(kind, Kind::Failed, "{url}");
        assert!(
            told.starts_with("this tool may not reach its service: the address is a private one"),
            "{url}: {told}"
        );
        assert!(told.contains("`private_addresses = true`"), "{url}: {told}");
    }
    // The metadata services of clouds are out of reach even of those who allow private ones.
    let tools = tools("http://169.254.169.254").with_endpoint(Endpoint::get("get", "/")).unwrap();
    assert_eq!(fails(&tools).await.0, Kind::Failed);
}

// A second look-up that differs is never made: what was checked is connected to.
#[tokio::test]
async fn a_name_that_changes_its_address_gains_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let counted = std::sync::Arc::clone(&asked);
    let guard = AddressGuard::new().with_lookup(move |_| {
        let count = counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        async move {
            let address: IpAddr = if count == 0 { "127.0.0.1" } else { "93.184.216.34" }.parse().unwrap();
            Ok(vec![address])
        }
    });
    let tools = HttpTools::new("x", &format!("http://rebinding.test:{port}"))
        .unwrap()
        .with_guard(guard)
        .with_retry(RetryPolicy::never())
        .with_endpoint(Endpoint::get("get", "/"))
        .unwrap();
    assert_eq!(fails(&tools).await.0, Kind::Failed);
    assert_eq!(asked.load(std::sync::atomic::Ordering::Relaxed), 1);
    let knocked = tokio::time::timeout(Duration::from_millis(50), listener.accept()).await;
    assert!(knocked.is_err(), "nobody came");
}

#[tokio::test]
async fn a_redirect_to_a_private_address_is_not_followed() {
    for to in ["http://169.254.169.254/latest", "file:///etc/passwd", "http://user:pass@127.0.0.1/", "//"] {
        let router =
            Router::new().fallback(move || async move { (StatusCode::FOUND, [(header::LOCATION, to)]) });
        let tools = getting(&serve(router).await).with_redirects(Redirects::Stripped);
        match call(&tools, "get", json!({})).await {
            Ok(output) => assert_eq!(value(&output)["error"]["status"], 302, "{to}"),
            Err(error) => {
                assert!(error.for_model().starts_with("this tool may not reach its service"), "{to}")
            }
        }
    }
}

#[tokio::test]
async fn json_that_is_too_deep_is_no_panic() {
    for depth in [90_usize, 120, 200, 20_000] {
        let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let router = crate::support::answering(200, &[("content-type", "application/json")], deep);
        let outcome = call(&getting(&serve(router).await), "get", json!({})).await;
        assert!(outcome.is_ok() || depth == 120, "{depth}");
    }
}

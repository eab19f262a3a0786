//! Proxies. Their addresses come from the environment, which a test cannot set, so they are put in here.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use hyper_util::client::proxy::matcher::Matcher;

use super::*;

/// A client whose every request goes by `proxy`, except to `direct.test`.
fn client(proxy: &str) -> HttpClient {
    guarded_client(proxy, None)
}

fn guarded_client(proxy: &str, guard: Option<AddressGuard>) -> HttpClient {
    let pool = Pool::new(Timeouts::new().connect, guard, true);
    pool.open_with(Matcher::builder().all(proxy.to_owned()).no("direct.test").build().into());
    let connections = Connections::Pool(Arc::new(pool));
    HttpClient { timeouts: Timeouts::new(), connections, hooks: None }
}

/// Asks for `target` through a proxy that answers with `answer`; what the proxy was sent, and what came of it.
async fn through_proxy(target: &str, answer: &'static str) -> (String, Result<Reply, ProviderError>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("http://user:p%40ss@{}", listener.local_addr().unwrap());
    let asked = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut asked = String::new();
        while !asked.ends_with("\r\n\r\n") {
            let mut piece = [0; 1024];
            let count = socket.read(&mut piece).await.unwrap();
            asked += std::str::from_utf8(&piece[..count]).unwrap();
        }
        socket.write_all(answer.as_bytes()).await.unwrap();
        asked
    });
    let client = client(&proxy);
    let request = RequestParts::get(target);
    let outcome = client.send(&request, &RetryPolicy::never(), ErrorResponse::to_error).await;
    (asked.await.unwrap(), outcome)
}

#[tokio::test]
async fn plain_requests_are_forwarded_by_the_proxy() {
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    let (asked, outcome) = through_proxy("http://target.test/v1?a=b", answer).await;
    assert!(asked.starts_with("GET http://target.test/v1?a=b HTTP/1.1\r\n"), "{asked}");
    assert!(asked.contains("proxy-authorization: Basic dXNlcjpwQHNz\r\n"), "{asked}");
    assert_eq!(outcome.unwrap().bytes(10).await.unwrap(), "ok");
}

#[tokio::test]
async fn secure_requests_go_through_a_tunnel() {
    let answer = "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n";
    let (asked, outcome) = through_proxy("https://target.test/v1?a=b", answer).await;
    assert!(asked.starts_with("CONNECT target.test:443 HTTP/1.1\r\n"), "{asked}");
    assert!(asked.contains("Proxy-Authorization: Basic dXNlcjpwQHNz\r\n"), "{asked}");
    let error = outcome.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration, "asking again brings no password");
    assert!(error.message().contains("proxy authorization required"), "{error}");
    assert!(error.message().contains("target.test through the proxy 127.0.0.1:"), "{error}");
    assert!(!format!("{error:?}").contains("p@ss"), "{error:?}");
}

#[tokio::test]
async fn a_dead_proxy_is_named_in_the_error() {
    // Nobody listens at a port that was given back.
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let client = client(&format!("http://user:canary@{free}"));
    for url in ["http://target.test/v1?key=canary", "https://target.test/v1?key=canary"] {
        let request = RequestParts::get(url);
        let error = client.send(&request, &RetryPolicy::never(), ErrorResponse::to_error).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Network);
        let told = format!(" through the proxy {free}: ");
        assert!(error.message().starts_with("cannot connect to target.test"), "{error}");
        assert!(error.message().contains(&told), "{error}");
        assert!(!format!("{error:?}").contains("canary"), "{error:?}");
    }
    assert_eq!(client.proxy("http://target.test/"), Some(free.to_string()));
}

#[tokio::test]
async fn loopback_is_reached_past_a_dead_proxy() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut asked = Vec::new();
            while !asked.ends_with(b"\r\n\r\n") {
                socket.read_buf(&mut asked).await.unwrap();
            }
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok";
            socket.write_all(answer).await.unwrap();
        }
    });
    let client = client("http://proxy.invalid:1");
    for host in ["127.0.0.1", "localhost"] {
        let request = RequestParts::get(format!("http://{host}:{port}/"));
        let reply = client.send(&request, &RetryPolicy::never(), ErrorResponse::to_error).await.unwrap();
        assert_eq!(reply.bytes(10).await.unwrap(), "ok", "{host}");
    }
}

#[tokio::test]
async fn a_socks_proxy_is_an_error_and_exceptions_are_kept() {
    let client = client("socks5://127.0.0.1:1");
    let send = async |url| {
        let (request, once) = (RequestParts::get(url), RetryPolicy::never());
        client.send(&request, &once, ErrorResponse::to_error).await.unwrap_err()
    };
    for url in ["http://target.test", "https://target.test"] {
        let error = send(url).await;
        assert_eq!(error.kind(), ErrorKind::Configuration);
        assert!(error.message().contains("only proxies with an http:// address are supported"), "{error}");
    }
    let error = send("http://direct.test").await;
    assert!(!error.message().contains("proxies"), "{error}");
}

// The state that every call carries while it waits for its answer.
#[test]
fn the_future_of_a_request_is_small() {
    let (client, request) = (HttpClient::new(Timeouts::new()), RequestParts::get("http://h/"));
    let policy = RetryPolicy::never();
    let size = std::mem::size_of_val(&client.send(&request, &policy, ErrorResponse::to_error));
    assert!(size <= 1536, "{size} bytes");
}

// The proxy itself may be anywhere; what is asked of it may not be what is known to be private.
#[tokio::test]
async fn a_known_private_host_is_not_asked_of_a_proxy() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("http://{}", listener.local_addr().unwrap());
    let guard = AddressGuard::new().with_lookup(|host| async move {
        match host.as_str() {
            "inside.test" => Ok(vec!["10.0.0.1".parse().unwrap()]),
            _ => Err(std::io::Error::other("only the proxy knows")),
        }
    });
    let client = guarded_client(&proxy, Some(guard));
    let send = async |url| {
        let (request, once) = (RequestParts::get(url), RetryPolicy::never());
        client.send(&request, &once, ErrorResponse::to_error).await
    };
    for inside in ["http://inside.test/", "https://inside.test/", "http://10.0.0.1/", "http://[::1]/"] {
        let error = send(inside).await.unwrap_err();
        assert!(error.to_string().contains("not public"), "{inside}: {error}");
    }
    let (asked, ()) = tokio::join!(send("http://outside.test/"), async {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut asked = Vec::new();
        while !asked.ends_with(b"\r\n\r\n") {
            socket.read_buf(&mut asked).await.unwrap();
        }
        socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.unwrap();
    });
    assert_eq!(asked.unwrap().bytes(10).await.unwrap(), "ok");
}

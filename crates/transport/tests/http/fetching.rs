//! Documents from addresses, with everything that a server may do to whoever fetches. (documents.md 9.3)

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use attache_core::fetcher::{FetchError, FetchErrorKind, Fetched, Fetcher};
use attache_transport::{GuardedFetcher, Timeouts};
use tokio::io::AsyncWriteExt;

use crate::support::{Connection, Server};

const PDF: &str = "%PDF-1.7 canary";

/// Reaches servers of this machine.
fn inside() -> GuardedFetcher {
    GuardedFetcher::new().with_private_addresses(true).with_any_port()
}

fn hasty() -> Timeouts {
    Timeouts::new()
        .with_connect(Duration::from_millis(500))
        .with_first_byte(Duration::from_millis(500))
        .with_idle(Duration::from_millis(300))
        .with_total(Duration::from_secs(1))
}

/// A server that answers each request with the same head and body.
async fn answering(status: u16, headers: &'static str, body: &'static str) -> Server {
    Server::start(move |_, mut connection: Connection| async move {
        connection.respond(status, headers, body).await;
        Some(connection)
    })
    .await
}

/// A server whose `number`-th answer is a redirect to the `number`-th location, closing the connection.
async fn leading(locations: Vec<String>) -> Server {
    Server::start(move |number, mut connection: Connection| {
        let location = locations.get(number).cloned();
        async move {
            match location {
                Some(location) => {
                    let headers = format!("location: {location}\r\nconnection: close\r\n");
                    connection.respond(302, &headers, "").await;
                }
                None => connection.respond(200, "connection: close\r\n", PDF).await,
            }
            None
        }
    })
    .await
}

/// The error, which shows nothing of the address.
fn refusal(outcome: Result<Fetched, FetchError>) -> (FetchErrorKind, String) {
    let error = outcome.unwrap_err();
    let shown = format!("{error} {error:?}");
    for secret in ["canary", "127.0.0.1", "://", ".test", "\n"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    (error.kind(), error.to_string())
}

/// Counts look-ups, and answers the `n`-th with the `n`-th address, later ones with the last.
fn lookups(fetcher: GuardedFetcher, addresses: &[&str]) -> (GuardedFetcher, Arc<AtomicUsize>) {
    let addresses: Vec<IpAddr> = addresses.iter().map(|text| text.parse().unwrap()).collect();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let fetcher = fetcher.with_lookup(move |_| {
        let at = counted.fetch_add(1, Ordering::SeqCst).min(addresses.len() - 1);
        let found = vec![addresses[at]];
        async move { Ok(found) }
    });
    (fetcher, count)
}

fn port(server: &Server) -> &str {
    server.url.rsplit(':').next().unwrap()
}

#[tokio::test]
async fn content_type_and_name_come_with_the_bytes() {
    let headers =
        "content-type: Application/PDF; x=1\r\ncontent-disposition: attachment; filename=\"a lease.pdf\"\r\n";
    let server = answering(200, headers, PDF).await;
    let url = format!("{}/download?sig=canary", server.url);
    let fetched = inside().fetch(&url).await.unwrap();
    assert_eq!(fetched.bytes, PDF);
    assert_eq!(fetched.media_type.unwrap().essence(), "application/pdf");
    assert_eq!(fetched.file_name.as_deref(), Some("a lease.pdf"));
    let sent = server.requests.lock().unwrap()[0].to_ascii_lowercase();
    assert!(sent.starts_with("get /download?sig=canary http/1.1\r\n"), "{sent}");
    assert!(sent.contains("accept-encoding: identity\r\n"), "{sent}");
    for header in ["authorization", "cookie", "referer"] {
        assert!(!sent.contains(header), "{sent}");
    }
}

// documents.md 9.3: private addresses. Nothing is even connected to.
#[tokio::test]
async fn private_addresses_are_not_reached() {
    let server = answering(200, "", PDF).await;
    let fetcher = GuardedFetcher::new().with_any_port();
    let (named, _) = lookups(fetcher.clone(), &["127.0.0.1"]);
    let port = port(&server);
    for host in
        ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "127.0.0.1.", "0.0.0.0", "[::]", "169.254.169.254"]
    {
        let (kind, text) = refusal(fetcher.fetch(&format!("http://{host}:{port}/canary")).await);
        assert_eq!(
            (kind, text.as_str()),
            (FetchErrorKind::Refused, "it is at an address that is not public")
        );
    }
    // Names that lead there, and ways of writing addresses that only systems understand.
    for host in ["inside.test", "2130706433", "0x7f.1", "127.1"] {
        let (kind, _) = refusal(named.fetch(&format!("http://{host}:{port}/canary")).await);
        assert_eq!(kind, FetchErrorKind::Refused, "{host}");
    }
    let (kind, _) = refusal(fetcher.fetch(&format!("http://localhost:{port}/")).await);
    assert_eq!(kind, FetchErrorKind::Refused);
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn metadata_services_stay_out_of_reach() {
    for host in
        ["169.254.169.254", "100.100.100.200", "168.63.129.16", "[fd00:ec2::254]", "[fe80::1]", "0.0.0.0"]
    {
        let (kind, _) = refusal(inside().fetch(&format!("http://{host}/latest/meta-data")).await);
        assert_eq!(kind, FetchErrorKind::Refused, "{host}");
    }
}

// A host that is public when it is checked and private when it is connected to: there is no second look-up.
#[tokio::test]
async fn a_checked_address_is_the_one_connected_to() {
    let server = answering(200, "connection: close\r\n", PDF).await;
    let (fetcher, count) = lookups(inside(), &["127.0.0.1", "169.254.169.254"]);
    let url = format!("http://rebinding.test:{}/a.pdf", port(&server));
    assert_eq!(fetcher.fetch(&url).await.unwrap().bytes, PDF);
    assert_eq!((count.load(Ordering::SeqCst), server.connections()), (1, 1));
    // The next connection is looked up, and checked, anew.
    let (kind, _) = refusal(fetcher.fetch(&url).await);
    assert_eq!(kind, FetchErrorKind::Refused);
    assert_eq!((count.load(Ordering::SeqCst), server.connections()), (2, 1));
}

// Of several addresses only those that may be reached are.
#[tokio::test]
async fn mixed_answers_are_filtered() {
    let server = answering(200, "", PDF).await;
    let fetcher = inside().with_lookup(|_| async {
        Ok(["169.254.169.254", "127.0.0.1"].map(|text| text.parse().unwrap()).to_vec())
    });
    let url = format!("http://mixed.test:{}/", port(&server));
    assert_eq!(fetcher.fetch(&url).await.unwrap().bytes, PDF);
}

#[tokio::test]
async fn redirects_are_followed_and_checked() {
    let server = leading(vec!["/b".to_owned(), "c?sig=canary".to_owned()]).await;
    let fetched = inside().fetch(&format!("{}/a", server.url)).await.unwrap();
    assert_eq!(fetched.bytes, PDF);
    let asked: Vec<String> = server
        .requests
        .lock()
        .unwrap()
        .iter()
        .map(|request| request.lines().next().unwrap().to_owned())
        .collect();
    assert_eq!(asked, ["GET /a HTTP/1.1", "GET /b HTTP/1.1", "GET /c?sig=canary HTTP/1.1"]);

    for (location, kind) in [
        ("http://169.254.169.254/latest/meta-data/canary", FetchErrorKind::Refused),
        ("http://[fe80::1]/", FetchErrorKind::Refused),
        ("file:///etc/canary", FetchErrorKind::Refused),
        ("http://user:canary@host.test/", FetchErrorKind::Refused),
        ("http://", FetchErrorKind::Refused),
    ] {
        let server = leading(vec![location.to_owned()]).await;
        assert_eq!(refusal(inside().fetch(&server.url).await).0, kind, "{location}");
    }
    // A public host that leads inside.
    let server = leading(vec!["http://inside.test/".to_owned()]).await;
    let (fetcher, _) = lookups(inside(), &["127.0.0.1", "169.254.1.1"]);
    let url = format!("http://outside.test:{}/", port(&server));
    assert_eq!(refusal(fetcher.fetch(&url).await).0, FetchErrorKind::Refused);
}

#[tokio::test]
async fn redirects_are_counted() {
    let forever = Server::start(|number, mut connection: Connection| async move {
        connection.respond(307, &format!("location: /{number}\r\n"), "").await;
        Some(connection)
    })
    .await;
    let (kind, text) = refusal(inside().fetch(&forever.url).await);
    assert_eq!((kind, text.as_str()), (FetchErrorKind::Refused, "its address leads on more than 5 times"));
    assert_eq!(forever.requests(), 6);
    let (_, text) = refusal(inside().with_redirects(0).fetch(&forever.url).await);
    assert!(text.contains("more than 0 times"), "{text}");
    let nowhere = answering(302, "", "").await;
    assert_eq!(refusal(inside().fetch(&nowhere.url).await).0, FetchErrorKind::Malformed);
}

#[tokio::test]
async fn announced_and_real_sizes_are_bounded() {
    let fetcher = inside().with_max_bytes(1000);
    // Announced: nothing of it is waited for.
    let announced = Server::start(|_, mut connection: Connection| async move {
        connection.send("HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n").await;
        connection.closed().await;
        None
    })
    .await;
    let (kind, text) = refusal(fetcher.fetch(&announced.url).await);
    assert_eq!(
        (kind, text.as_str()),
        (FetchErrorKind::TooLarge, "it has more than the 1000 bytes that are fetched")
    );

    // Endless: read up to the limit and hung up on.
    let endless = Server::start(|_, mut connection: Connection| async move {
        connection.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await;
        let piece = format!("{:x}\r\n{}\r\n", 4096, "x".repeat(4096));
        while connection.socket.write_all(piece.as_bytes()).await.is_ok() {}
        None
    })
    .await;
    assert_eq!(refusal(fetcher.fetch(&endless.url).await).0, FetchErrorKind::TooLarge);
    let exact = answering(200, "", PDF).await;
    assert!(inside().with_max_bytes(PDF.len()).fetch(&exact.url).await.is_ok());
    assert!(inside().with_max_bytes(PDF.len() - 1).fetch(&exact.url).await.is_err());
}

// Nothing is inflated: what is encoded although nobody asked is refused, a bomb with it.
#[tokio::test]
async fn encoded_bodies_are_refused() {
    for encoding in ["gzip", "br", "deflate, gzip"] {
        let headers: &'static str = format!("content-encoding: {encoding}\r\n").leak();
        let server = answering(200, headers, "\x1f canary").await;
        let (kind, text) = refusal(inside().fetch(&server.url).await);
        assert_eq!(kind, FetchErrorKind::Malformed);
        assert!(text.contains("not asked for"), "{text}");
    }
}

#[tokio::test]
async fn slow_servers_are_left() {
    let silent = Server::start(|_, mut connection: Connection| async move {
        connection.closed().await;
        None
    })
    .await;
    // A head, and a body, that never end: a byte is life, but the end is the end.
    let drip = |head: &'static str| {
        Server::start(move |_, mut connection: Connection| async move {
            connection.send(head).await;
            while connection.socket.write_all(b"a").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            None
        })
    };
    let head = drip("HTTP/1.1 200 OK\r\nx-slow: ").await;
    let body = drip("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n").await;
    let stalls = Server::start(|_, mut connection: Connection| async move {
        connection.send("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nabc").await;
        connection.closed().await;
        None
    })
    .await;
    for server in [&silent, &head, &body, &stalls] {
        let started = Instant::now();
        let (kind, _) = refusal(inside().with_timeouts(hasty()).fetch(&server.url).await);
        assert_eq!(kind, FetchErrorKind::Timeout);
        assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
    }
    // A look-up that never ends.
    let fetcher = inside().with_timeouts(hasty()).with_lookup(|_| std::future::pending());
    assert_eq!(refusal(fetcher.fetch("http://lost.test/").await).0, FetchErrorKind::Timeout);
}

#[tokio::test]
async fn huge_headers_are_not_collected() {
    let server = Server::start(|_, mut connection: Connection| async move {
        connection.send("HTTP/1.1 200 OK\r\n").await;
        let line = format!("x-huge: {}\r\n", "h".repeat(1000));
        for _ in 0..10_000 {
            if connection.socket.write_all(line.as_bytes()).await.is_err() {
                break;
            }
        }
        None
    })
    .await;
    assert_eq!(refusal(inside().fetch(&server.url).await).0, FetchErrorKind::Malformed);
    let nonsense = Server::start(|_, mut connection: Connection| async move {
        connection.send("SSH-2.0-OpenSSH_9.6\r\n").await;
        None
    })
    .await;
    assert_eq!(refusal(inside().fetch(&nonsense.url).await).0, FetchErrorKind::Malformed);
}

#[tokio::test]
async fn hosts_and_ports_are_a_policy() {
    let server = answering(200, "", PDF).await;
    let (fetcher, _) = lookups(inside(), &["127.0.0.1"]);
    let url = |host: &str| format!("http://{host}:{}/a.pdf", port(&server));
    let few = fetcher.clone().with_hosts(["*.Example.test", "only.test"]).without_hosts(["bad.example.test"]);
    for host in ["a.example.test", "A.B.EXAMPLE.test", "only.test", "only.test."] {
        assert!(few.fetch(&url(host)).await.is_ok(), "{host}");
    }
    for host in
        ["example.test", "badexample.test", "bad.example.test", "not.only.test", "other.test", "127.0.0.1"]
    {
        let (kind, text) = refusal(few.fetch(&url(host)).await);
        assert_eq!(kind, FetchErrorKind::Refused, "{host}");
        assert!(text.contains("its host"), "{text}");
    }
    let web = GuardedFetcher::new().with_private_addresses(true);
    assert!(refusal(web.fetch(&url("127.0.0.1")).await).1.contains("its port"));
    let own: u16 = port(&server).parse().unwrap();
    assert!(web.with_ports([own]).fetch(&url("127.0.0.1")).await.is_ok());
}

#[tokio::test]
async fn statuses_say_what_is_wrong() {
    for (status, kind) in [
        (404, FetchErrorKind::NotFound),
        (410, FetchErrorKind::NotFound),
        (401, FetchErrorKind::Denied),
        (403, FetchErrorKind::Denied),
        (400, FetchErrorKind::Malformed),
        (206, FetchErrorKind::Malformed),
        (304, FetchErrorKind::Malformed),
    ] {
        let server = answering(status, "content-type: text/html\r\n", "<h1>canary</h1>").await;
        let outcome = inside().fetch(&format!("{}/?sig=canary", server.url)).await;
        assert_eq!(refusal(outcome).0, kind, "{status}");
        assert_eq!(server.requests(), 1, "{status}");
    }
}

#[tokio::test]
async fn a_busy_server_is_asked_once_more() {
    let server = Server::start(|number, mut connection: Connection| async move {
        let status = if number == 0 { 503 } else { 200 };
        connection.respond(status, "", PDF).await;
        Some(connection)
    })
    .await;
    assert_eq!(inside().fetch(&server.url).await.unwrap().bytes, PDF);
    let down = answering(500, "", "").await;
    assert_eq!(refusal(inside().fetch(&down.url).await).0, FetchErrorKind::Unavailable);
    assert_eq!(down.requests(), 2);
}

#[tokio::test]
async fn dead_servers_and_unknown_hosts_are_unavailable() {
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    assert_eq!(refusal(inside().fetch(&format!("http://{free}/")).await).0, FetchErrorKind::Unavailable);
    let lost = inside().with_lookup(|_| async { Err(std::io::Error::other("canary")) });
    let (kind, text) = refusal(lost.fetch("http://lost.test/").await);
    assert_eq!((kind, text.as_str()), (FetchErrorKind::Unavailable, "its host cannot be found"));
    let none = inside().with_lookup(|_| async { Ok(Vec::new()) });
    assert_eq!(refusal(none.fetch("http://lost.test/").await).0, FetchErrorKind::Unavailable);
}

// Invariant 8: dropping is cancelling.
#[tokio::test]
async fn dropping_hangs_up() {
    let (told, mut gone) = tokio::sync::mpsc::unbounded_channel();
    let server = Server::start(move |_, mut connection: Connection| {
        let told = told.clone();
        async move {
            connection.send("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\na").await;
            told.send("asked").unwrap();
            connection.closed().await;
            told.send("gone").unwrap();
            None
        }
    })
    .await;
    let fetcher = inside();
    tokio::select! {
        _ = fetcher.fetch(&server.url) => panic!("it ended"),
        asked = gone.recv() => assert_eq!(asked, Some("asked")),
    }
    let gone = tokio::time::timeout(Duration::from_secs(1), gone.recv()).await;
    assert_eq!(gone.unwrap(), Some("gone"));
}

//! Over real connections.

use std::net::SocketAddr;
use std::time::Duration;

use attache_agent::Agent;
use attache_server::{ApiKey, ApiKeys, ServeError, Server};
use attache_testkit::Turn;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::common::{Stage, sessions, trusting};

pub(crate) fn head(method: &str, path: &str, body: &str, more: &str) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\n{more}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Asks over a connection of its own, and yields head and body.
pub(crate) async fn request(address: SocketAddr, method: &str, path: &str, body: &str) -> (String, String) {
    asked_with(address, method, path, body, "Connection: close\r\n").await
}

async fn asked_with(
    address: SocketAddr,
    method: &str,
    path: &str,
    body: &str,
    more: &str,
) -> (String, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let more = format!("{more}Connection: close\r\n");
    stream.write_all(head(method, path, body, &more).as_bytes()).await.unwrap();
    let mut read = Vec::new();
    stream.read_to_end(&mut read).await.unwrap();
    let read = String::from_utf8_lossy(&read).into_owned();
    let (head, body) = read.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

async fn served(server: Server) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(server.serve(listener, std::future::pending()));
    address
}

// A62: in mid-stream, before the first delta, and while a whole answer is made, for a connection that is closed and for
// one that is reset.
#[tokio::test]
async fn a_connection_that_goes_hangs_up_the_model_within_a_second() {
    for reset in [false, true] {
        for (turn, stream, wait_for) in [
            (Turn::text("Half of it").then_hang(), true, Some("Half")),
            (Turn::empty().then_hang(), true, None),
            (Turn::text("Half of it").then_hang(), false, None),
        ] {
            let stage = Stage::new([turn]);
            let server = trusting(Server::new("papers", sessions(Agent::builder(stage.clone()))));
            let address = served(server).await;
            let body =
                json!({"model": "papers", "stream": stream, "messages": [{"role": "user", "content": "?"}]});
            let mut client = TcpStream::connect(address).await.unwrap();
            let request = head("POST", "/v1/chat/completions", &body.to_string(), "");
            client.write_all(request.as_bytes()).await.unwrap();
            stage.asked().await;
            if let Some(text) = wait_for {
                let mut read = String::new();
                while !read.contains(text) {
                    let mut piece = [0; 1024];
                    let count = client.read(&mut piece).await.unwrap();
                    read.push_str(std::str::from_utf8(&piece[..count]).unwrap());
                }
            }
            if reset {
                #[allow(
                    deprecated,
                    reason = "a time of nothing resets the connection, and nothing else does"
                )]
                client.set_linger(Some(Duration::ZERO)).unwrap();
            }
            drop(client);
            stage.hangs_up().await;
        }
    }
}

#[tokio::test]
async fn without_keys_this_machine_alone_is_answered_and_no_page_of_a_stranger() {
    let address = served(Server::new("papers", sessions(Agent::builder(Stage::new([]))))).await;
    let ask = async |more: &'static str| asked_with(address, "GET", "/v1/models", "", more).await.0;
    assert!(ask("").await.starts_with("HTTP/1.1 200"));
    assert!(ask("Origin: http://localhost\r\n").await.starts_with("HTTP/1.1 200"));
    assert!(ask("Origin: http://evil.example\r\n").await.starts_with("HTTP/1.1 403"));
    let mut stream = TcpStream::connect(address).await.unwrap();
    let rebound = "GET /v1/models HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    stream.write_all(rebound.as_bytes()).await.unwrap();
    let mut read = String::new();
    stream.read_to_string(&mut read).await.unwrap();
    assert!(read.starts_with("HTTP/1.1 403"), "{read}");
}

#[tokio::test]
async fn a_server_without_keys_does_not_open_to_other_machines() {
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let agent = || sessions(Agent::builder(Stage::new([])));
    let served = Server::new("papers", agent()).serve(listener, std::future::pending()).await;
    assert!(matches!(served, Err(ServeError::Open(_))), "{served:?}");
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let keys = ApiKeys::new().with_key(ApiKey::of("ann", "a long and random key"));
    let served = Server::new("papers", agent()).keys(keys).serve(listener, std::future::ready(())).await;
    assert!(served.is_ok(), "{served:?}");
}

#[tokio::test]
async fn a_client_that_sends_no_head_is_let_go() {
    let mut limits = attache_server::ServerLimits::default();
    limits.head_time = Duration::from_millis(100);
    let server = trusting(Server::new("papers", sessions(Agent::builder(Stage::new([])))));
    let address = served(server.limits(limits)).await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /v1/models HTTP/1.1\r\nHost: loc").await.unwrap();
    let mut read = Vec::new();
    let ended = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut read)).await;
    assert!(ended.is_ok(), "the connection is held open");
}

// Whoever takes nothing of a long answer holds up nobody.
#[tokio::test]
async fn a_client_that_reads_nothing_is_let_go() {
    let mut limits = attache_server::ServerLimits::default();
    limits.write_time = Duration::from_millis(200);
    limits.connections = 1;
    let server = trusting(Server::new("papers", sessions(Agent::builder(Stage::new([])))));
    let address = served(server.limits(limits)).await;
    // Longer than all that lies between two programs.
    let long = "a".repeat(32 << 20);
    let (_, upload) = request(address, "POST", "/v1/documents?name=long.txt", &long).await;
    let upload: serde_json::Value = serde_json::from_str(&upload).unwrap();
    let path = format!("/v1/documents/{}", upload["id"].as_str().unwrap());
    let mut silent = TcpStream::connect(address).await.unwrap();
    silent.write_all(head("GET", &path, "", "").as_bytes()).await.unwrap();
    let mut first = [0; 8];
    silent.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1");
    let other = request(address, "GET", "/v1/models", "");
    let other = tokio::time::timeout(Duration::from_secs(20), other).await.expect("nobody else is answered");
    assert!(other.0.starts_with("HTTP/1.1 200"), "{}", other.0);
}

#[tokio::test]
async fn a_client_that_reads_is_told_all_of_a_long_answer() {
    let server = trusting(Server::new("papers", sessions(Agent::builder(Stage::new([])))));
    let address = served(server).await;
    let long = "a".repeat(32 << 20);
    let (_, upload) = request(address, "POST", "/v1/documents?name=long.txt", &long).await;
    let upload: serde_json::Value = serde_json::from_str(&upload).unwrap();
    let path = format!("/v1/documents/{}", upload["id"].as_str().unwrap());
    let (_, told) = request(address, "GET", &path, "").await;
    assert_eq!(told.len(), long.len());
}

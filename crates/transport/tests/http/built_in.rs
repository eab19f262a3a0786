//! The promises of every client, over the built-in connections.

use attache_transport::{HttpClient, Timeouts};

use crate::support::{DONE, Server, TEXT, call, collect};

#[path = "calls.rs"]
mod calls;
#[path = "hooks.rs"]
mod hooks;
#[path = "limits.rs"]
mod limits;
#[path = "secrets.rs"]
mod secrets;

pub(crate) fn client_with(timeouts: Timeouts) -> HttpClient {
    HttpClient::new(timeouts)
}

fn client() -> HttpClient {
    client_with(Timeouts::new())
}

/// Lines of a request's head that the client writes, and words that are not in it.
const SAYS: [&str; 2] =
    [concat!("user-agent: attache/", env!("CARGO_PKG_VERSION"), "\r\n"), "accept-encoding: identity\r\n"];
const SAYS_NOT: [&str; 1] = ["transfer-encoding"];

// Invariant 8: an agent asks again as soon as a reply is read.
#[tokio::test]
async fn a_request_right_after_a_reply_finds_its_connection() {
    let server = Server::start(|number, mut connection| async move {
        let body = format!("{TEXT}{DONE}");
        if number % 2 == 0 {
            connection.respond(200, "", &body).await;
        } else {
            let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
            connection.send(&format!("{head}{:x}\r\n{body}\r\n0\r\n\r\n", body.len())).await;
        }
        Some(connection)
    })
    .await;
    let client = client();
    for _ in 0..50 {
        collect(call(&client, &server)).await.1.unwrap();
    }
    assert_eq!(server.connections(), 1);
}

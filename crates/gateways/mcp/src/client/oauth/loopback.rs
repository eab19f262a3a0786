//! The end of a login on this machine: a page that a browser is led to.

use std::time::Duration;

use attache_core::BoxFuture;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::McpLoginError;

/// The time that a person has.
const PATIENCE: Duration = Duration::from_secs(300);
/// The time that a browser has for one request.
const REQUEST: Duration = Duration::from_secs(5);
/// The maximum number of bytes of a request's head.
const LARGEST: usize = 16 << 10;
/// The path of the page.
const PATH: &str = "/callback";

/// A page at an address of this machine, once.
pub(crate) struct Loopback(TcpListener);

impl Loopback {
    pub(crate) async fn open() -> Result<(Self, String), McpLoginError> {
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(McpLoginError::Loopback)?;
        let port = listener.local_addr().map_err(McpLoginError::Loopback)?.port();
        Ok((Self(listener), format!("http://127.0.0.1:{port}{PATH}")))
    }

    /// Waits until a browser comes with the answer to the login of that state, and yields its query. Others are sent away:
    /// any page may send a browser here.
    pub(crate) fn query(self, state: &str) -> BoxFuture<'_, Result<String, McpLoginError>> {
        let waiting = async move {
            loop {
                let (socket, _) = self.0.accept().await.map_err(McpLoginError::Loopback)?;
                if let Ok(Some(query)) = timeout(REQUEST, serve(socket, state)).await {
                    return Ok(query);
                }
            }
        };
        Box::pin(async { timeout(PATIENCE, waiting).await.unwrap_or(Err(McpLoginError::Late)) })
    }
}

async fn serve(mut socket: TcpStream, state: &str) -> Option<String> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() > LARGEST || socket.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let head = String::from_utf8_lossy(&head);
    let mut words = head.lines().next()?.split(' ');
    let query = match (words.next(), words.next().and_then(|target| target.split_once('?'))) {
        (Some("GET"), Some((PATH, query)))
            if query.split('&').any(|pair| pair.strip_prefix("state=") == Some(state)) =>
        {
            Some(query.to_owned())
        }
        _ => None,
    };
    let (status, text) = match query {
        Some(_) => ("200 OK", "You may close this page and go back to the program."),
        None => ("404 Not Found", "There is nothing here."),
    };
    let length = text.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {length}\r\n\
         cache-control: no-store\r\nreferrer-policy: no-referrer\r\nconnection: close\r\n\r\n{text}"
    );
    // A browser that does not read it has asked all the same.
    let _ = socket.write_all(answer.as_bytes()).await;
    let _ = socket.shutdown().await;
    query
}

//! A server whose reply comes in two parts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::Notify;

/// Answers each request with the first part at once and the rest when told to. Returns its address, the word to go on, and
/// the count of connections.
pub async fn two_parts(
    content_type: &str,
    first: Vec<u8>,
    rest: Vec<u8>,
) -> (String, Arc<Notify>, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (go_on, count) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    let (told, counted) = (Arc::clone(&go_on), Arc::clone(&count));
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\nconnection: close\r\n\r\n");
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let _ = socket.read(&mut [0; 4096]).await;
            let _ = socket.write_all(&[head.as_bytes(), &first].concat()).await;
            told.notified().await;
            let _ = socket.write_all(&rest).await;
        }
    });
    (address, go_on, count)
}

//! A server that plays scripts over TCP, and a small codec.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use attache_core::provider::StateCell;
use attache_core::{
    AssistantMessage, AssistantPart, ChunkStream, Completion, Degradation, FinishReason, ProviderError,
    StreamChunk, Usage,
};
use attache_transport::{
    ChunkSink, ErrorBody, EventDecoder, Exchange, HttpClient, ReplyDecoder, RequestParts, RetryPolicy,
    SseEvent, stream,
};
use futures_util::StreamExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// One connection at the server's side.
pub(crate) struct Connection {
    pub(crate) socket: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    /// The next request with its whole body; `None` once the client is gone.
    pub(crate) async fn request(&mut self) -> Option<String> {
        loop {
            let text = String::from_utf8_lossy(&self.buffer).into_owned();
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                let length: usize = length.map_or(0, |length| length.parse().unwrap());
                if body.len() >= length {
                    let whole = head.len() + 4 + length;
                    self.buffer.drain(..whole);
                    return Some(text[..whole].to_owned());
                }
            }
            let mut piece = [0; 4096];
            match self.socket.read(&mut piece).await {
                Ok(0) | Err(_) => return None,
                Ok(count) => self.buffer.extend_from_slice(&piece[..count]),
            }
        }
    }

    pub(crate) async fn send(&mut self, text: &str) {
        // The client may be gone, which some tests want.
        let _ = self.socket.write_all(text.as_bytes()).await;
        let _ = self.socket.flush().await;
    }

    /// A whole response.
    pub(crate) async fn respond(&mut self, status: u16, headers: &str, body: &str) {
        let length = body.len();
        self.send(&format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n{headers}\r\n{body}")).await;
    }

    /// The head of a chunked stream of events.
    pub(crate) async fn start_events(&mut self) {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        self.send(head).await;
    }

    pub(crate) async fn chunk(&mut self, text: &str) {
        self.send(&format!("{:x}\r\n{text}\r\n", text.len())).await;
    }

    pub(crate) async fn end(&mut self) {
        self.send("0\r\n\r\n").await;
    }

    /// Waits until the client closes.
    pub(crate) async fn closed(&mut self) {
        let mut sink = [0; 1024];
        while self.socket.read(&mut sink).await.is_ok_and(|count| count > 0) {}
    }
}

/// A running script.
pub(crate) struct Server {
    pub(crate) url: String,
    pub(crate) connections: Arc<AtomicUsize>,
    pub(crate) requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Plays `script` for each request, with the number of the request from 0. The script ends a connection by
    /// returning `false`.
    pub(crate) async fn start<S, F>(script: S) -> Self
    where
        S: Fn(usize, Connection) -> F + Clone + Send + 'static,
        F: Future<Output = Option<Connection>> + Send,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let connections = Arc::new(AtomicUsize::new(0));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (opened, seen) = (Arc::clone(&connections), Arc::clone(&requests));
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                opened.fetch_add(1, Ordering::SeqCst);
                socket.set_nodelay(true).unwrap();
                let (script, seen) = (script.clone(), Arc::clone(&seen));
                tokio::spawn(async move {
                    let mut connection = Connection { socket, buffer: Vec::new() };
                    while let Some(request) = connection.request().await {
                        let number = {
                            let mut seen = seen.lock().unwrap();
                            seen.push(request);
                            seen.len() - 1
                        };
                        match script(number, connection).await {
                            Some(open) => connection = open,
                            None => return,
                        }
                    }
                });
            }
        });
        Self { url, connections, requests }
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub(crate) fn requests(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

/// `{"text":…}` is text, `{"error":…}` an error, `[DONE]` the end.
#[derive(Default)]
pub(crate) struct Codec {
    text: String,
    notes: Vec<Degradation>,
}

impl Codec {
    /// One whose replies have these notes.
    pub(crate) fn noting(notes: Vec<Degradation>) -> Self {
        Self { notes, ..Self::default() }
    }

    fn read(&mut self, json: &[u8], out: &mut ChunkSink) -> Result<(), ProviderError> {
        if let Some(error) = ErrorBody::parse(json) {
            return Err(error.to_error());
        }
        let value: serde_json::Value = serde_json::from_slice(json).unwrap();
        let text = value["text"].as_str().unwrap_or_default();
        self.text.push_str(text);
        out.content(text);
        Ok(())
    }

    fn done(&mut self, out: &mut ChunkSink) {
        out.done(self.partial());
    }
}

impl EventDecoder for Codec {
    fn event(&mut self, event: SseEvent<'_>, out: &mut ChunkSink) -> Result<(), ProviderError> {
        if event.data == b"[DONE]" {
            self.done(out);
            return Ok(());
        }
        self.read(event.data, out)
    }

    fn whole(&mut self, body: &[u8], out: &mut ChunkSink) -> Result<(), ProviderError> {
        self.read(body, out)?;
        self.done(out);
        Ok(())
    }

    fn end(&mut self, _: &mut ChunkSink) -> Result<(), ProviderError> {
        Ok(())
    }

    fn partial(&mut self) -> Completion {
        let message = AssistantMessage::new([AssistantPart::text(std::mem::take(&mut self.text))]);
        let mut completion = Completion::new(message, FinishReason::Stop, Usage::new(3, 4));
        completion.degradations = std::mem::take(&mut self.notes);
        completion
    }
}

pub(crate) const TEXT: &str = "data: {\"text\":\"hello\"}\n\n";
pub(crate) const DONE: &str = "data: [DONE]\n\n";

/// Fast retries, so that tests are.
pub(crate) fn quick() -> RetryPolicy {
    RetryPolicy::new().with_backoff(Duration::from_millis(1), Duration::from_millis(5))
}

/// A call with the test codec.
pub(crate) fn call_with(
    client: &HttpClient,
    state: &Arc<StateCell>,
    request: RequestParts,
    retry: RetryPolicy,
) -> ChunkStream {
    stream(client.clone(), Arc::clone(state), async move {
        Ok(Exchange::new(request, || Box::new(ReplyDecoder::new(Codec::default()))).with_retry(retry))
    })
}

pub(crate) fn call(client: &HttpClient, server: &Server) -> ChunkStream {
    let request = RequestParts::post_json(format!("{}/v1/chat", server.url), "{\"ask\":1}".to_owned());
    call_with(client, &Arc::default(), request, quick())
}

/// The result of a call: its texts and its end.
pub(crate) async fn collect(mut stream: ChunkStream) -> (Vec<String>, Result<Completion, ProviderError>) {
    let mut texts = Vec::new();
    while let Some(chunk) = stream.next().await {
        match chunk {
            Ok(StreamChunk::Content(text)) => texts.push(text),
            Ok(StreamChunk::Done(completion)) => {
                assert!(stream.next().await.is_none(), "nothing follows the end");
                return (texts, Ok(*completion));
            }
            Ok(other) => panic!("{other:?}"),
            Err(error) => {
                assert!(stream.next().await.is_none(), "nothing follows an error");
                return (texts, Err(error));
            }
        }
    }
    panic!("a stream ended without an end");
}

/// Fails if `future` takes longer than invariant 8 allows.
pub(crate) async fn within_a_second<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(1), future).await.expect("it took longer than a second")
}

//! A tiny HTTP client for the crate's own tests.

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

/// The head of a PNG of that size: all that the rules look at.
pub(crate) fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes
}

/// The beginning of a PDF.
pub(crate) const PDF: &[u8] = b"%PDF-1.7\n";

pub(crate) fn base64(bytes: impl AsRef<[u8]>) -> String {
    attache_core::base64::encode(bytes)
}

/// Bodies that differ from `body` in one place each: an object with a member that no API knows, or a string that
/// is a number. A value at or below a pointer in `free` is left alone.
pub(crate) fn spoiled(body: &Value, free: &[&str]) -> Vec<(String, Value)> {
    let mut places = Vec::new();
    collect(body, String::new(), free, &mut places);
    let mut spoiled = Vec::new();
    for place in places {
        let mut copy = body.clone();
        match copy.pointer_mut(&place) {
            Some(Value::Object(object)) => _ = object.insert("foreign".to_owned(), Value::from(1)),
            Some(value) => *value = Value::from(42),
            None => continue,
        }
        spoiled.push((place, copy));
    }
    spoiled
}

fn collect(value: &Value, at: String, free: &[&str], places: &mut Vec<String>) {
    if free.contains(&at.as_str()) {
        return;
    }
    match value {
        Value::Object(object) => {
            object.iter().for_each(|(key, value)| collect(value, format!("{at}/{key}"), free, places));
            places.push(at);
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(index, value)| collect(value, format!("{at}/{index}"), free, places));
        }
        Value::String(_) => places.push(at),
        _ => {}
    }
}

/// A request to be sent on a connection of its own.
pub(crate) struct Request {
    address: String,
    builder: http::request::Builder,
    body: Bytes,
}

impl Request {
    pub(crate) fn post(url: &str, path: &str, body: impl Into<Bytes>) -> Self {
        Self::new(Method::POST, url, path, body.into())
    }

    pub(crate) fn get(url: &str, path: &str) -> Self {
        Self::new(Method::GET, url, path, Bytes::new())
    }

    pub(crate) fn delete(url: &str, path: &str) -> Self {
        Self::new(Method::DELETE, url, path, Bytes::new())
    }

    fn new(method: Method, url: &str, path: &str, body: Bytes) -> Self {
        let address = url.strip_prefix("http://").expect("an http URL").to_owned();
        let builder = http::Request::builder().method(method).uri(path).header("host", &address);
        Self { address, builder, body }
    }

    /// A Chat Completions request with all the headers it needs.
    pub(crate) fn chat(url: &str, body: &Value) -> Self {
        Self::post(url, "/v1/chat/completions", body.to_string())
            .header("authorization", "Bearer sk-test")
            .header("content-type", "application/json")
    }

    /// A Messages request with all the headers it needs.
    pub(crate) fn messages(url: &str, body: &Value) -> Self {
        Self::post(url, "/v1/messages", body.to_string())
            .header("x-api-key", "sk-ant-test")
            .header("anthropic-version", "2023-06-01")
            .header("content-type", "application/json")
    }

    /// A Responses request with all the headers it needs.
    pub(crate) fn responses(url: &str, body: &Value) -> Self {
        Self::post(url, "/v1/responses", body.to_string())
            .header("authorization", "Bearer sk-test")
            .header("content-type", "application/json")
    }

    /// A request to Cohere's chat with all the headers it needs.
    pub(crate) fn cohere(url: &str, body: &Value) -> Self {
        Self::post(url, "/v2/chat", body.to_string())
            .header("authorization", "Bearer key-test")
            .header("content-type", "application/json")
    }

    /// A request to Ollama's own chat.
    pub(crate) fn ollama(url: &str, body: &Value) -> Self {
        Self::post(url, "/api/chat", body.to_string()).header("content-type", "application/json")
    }

    /// A Gemini request with all the headers it needs.
    pub(crate) fn gemini(url: &str, model: &str, stream: bool, body: &Value) -> Self {
        let method = if stream { "streamGenerateContent?alt=sse" } else { "generateContent" };
        Self::google(Method::POST, url, &format!("/v1beta/models/{model}:{method}"), Some(body))
    }

    /// A request to any of Google's resources.
    pub(crate) fn google(method: Method, url: &str, path: &str, body: Option<&Value>) -> Self {
        let body = body.map(ToString::to_string).unwrap_or_default();
        Self::new(method, url, path, body.into())
            .header("x-goog-api-key", "key-test")
            .header("content-type", "application/json")
    }

    /// A Converse request to that model with all the headers it needs.
    pub(crate) fn converse(url: &str, model_id: &str, body: &Value) -> Self {
        Self::to_model(url, model_id, "converse", body)
    }

    /// The same for ConverseStream.
    pub(crate) fn converse_stream(url: &str, model_id: &str, body: &Value) -> Self {
        Self::to_model(url, model_id, "converse-stream", body)
    }

    fn to_model(url: &str, model_id: &str, operation: &str, body: &Value) -> Self {
        let path = format!("/model/{}/{operation}", model_id.replace(':', "%3A"));
        Self::post(url, &path, body.to_string())
            .header("authorization", "Bearer key-test")
            .header("content-type", "application/json")
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.builder = self.builder.header(name, value);
        self
    }

    pub(crate) fn without_header(mut self, name: &str) -> Self {
        self.builder.headers_mut().expect("a valid request").remove(name);
        self
    }

    /// Sends it and returns as soon as the response's head is there. The connection lives as long as the response.
    pub(crate) async fn open(self) -> Result<http::Response<Incoming>, hyper::Error> {
        let stream = TcpStream::connect(&self.address).await.expect("the server listens");
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .expect("HTTP/1 needs no handshake");
        tokio::spawn(connection);
        let request = self.builder.body(Full::new(self.body)).expect("a valid request");
        sender.send_request(request).await
    }

    /// Sends it and reads the response to its end, or to where it breaks.
    pub(crate) async fn send(self) -> Result<Answer, hyper::Error> {
        let (head, mut body) = self.open().await?.into_parts();
        let mut chunks = Vec::new();
        let mut broken = false;
        while let Some(frame) = body.frame().await {
            match frame {
                Ok(frame) => chunks.extend(frame.into_data()),
                Err(_) => broken = true,
            }
        }
        Ok(Answer { status: head.status, headers: head.headers, chunks, broken })
    }
}

/// A response that was read to its end.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// The body as it came, chunk by chunk.
    pub(crate) chunks: Vec<Bytes>,
    /// True if the body broke off.
    pub(crate) broken: bool,
}

impl Answer {
    pub(crate) fn body(&self) -> Bytes {
        self.chunks.concat().into()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body().to_vec()).expect("the body is text")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body()).expect("the body is JSON")
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The JSON of the `data:` lines, `[DONE]` as a string.
    pub(crate) fn events(&self) -> Vec<Value> {
        let text = self.text();
        let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        data.map(|data| serde_json::from_str(data).unwrap_or_else(|_| data.into())).collect()
    }
}

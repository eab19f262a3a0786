//! S3 access over the transport's connections.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use attache_core::{ErrorKind, ProviderError, Secret, StoreError, StoreErrorKind};
use attache_transport::{EncodedBody, HttpClient, Reply, RequestParts, Timeouts};
use bytes::Bytes;
use futures_util::stream::{self, BoxStream, StreamExt};
use http::header::{AUTHORIZATION, HeaderMap, HeaderName};
use http_body::{Body, Frame};
use object_store::aws::AmazonS3Builder;
use object_store::client::{
    HttpClient as Client, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
    HttpResponse, HttpResponseBody, HttpService,
};
use object_store::{ClientConfigKey, ClientOptions};

use super::documents::ObjectDocumentStore;

/// The time that each part of a request may take; the store's own limit ends the whole call.
const CONNECT: Duration = Duration::from_secs(10);
const ANSWER: Duration = Duration::from_secs(60);
/// Headers that nobody may see: tokens of a session and of a machine, and keys of customers.
const SECRET: [&str; 5] = [
    "x-amz-security-token",
    "x-aws-ec2-metadata-token",
    "x-amz-server-side-encryption-customer-key",
    "x-amz-copy-source-server-side-encryption-customer-key",
    "x-amz-s3session-token",
];

impl ObjectDocumentStore {
    /// Opens a store under `folder` of a bucket (blank for the whole bucket), in S3 or a compatible service.
    ///
    /// Requests use attache's own HTTP client, with its TLS, its proxy settings from the environment and its redaction:
    /// connection settings of the builder are ignored, except `allow_http`. Credentials come from the builder, or from
    /// its usual sources: the environment, a web identity, or the metadata endpoint of a container or machine.
    ///
    /// A bucket with object versioning keeps removed objects: configure a lifecycle rule that deletes old versions.
    ///
    /// ```
    /// # fn documents() -> Result<(), Box<dyn std::error::Error>> {
    /// use attache_stores::ObjectDocumentStore;
    /// use attache_stores::object_store::aws::AmazonS3Builder;
    ///
    /// let bucket = AmazonS3Builder::from_env().with_bucket_name("documents").with_region("eu-central-1");
    /// let documents = ObjectDocumentStore::s3(bucket, "agents")?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`StoreError`] if the builder is incomplete.
    pub fn s3(bucket: AmazonS3Builder, folder: &str) -> Result<Self, StoreError> {
        let bucket = bucket.with_http_connector(Transport).build().map_err(|error| {
            StoreError::new(StoreErrorKind::Unavailable, "the bucket is not set up").with_source(error)
        })?;
        Ok(Self::new(Arc::new(bucket), folder))
    }
}

/// Makes clients that connect through the transport.
#[derive(Debug)]
struct Transport;

#[derive(Debug)]
struct Service {
    http: HttpClient,
    /// True if requests may go without TLS.
    allows_http: bool,
}

impl HttpConnector for Transport {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<Client> {
        let timeouts = Timeouts::new().with_connect(CONNECT).with_first_byte(ANSWER).with_idle(ANSWER);
        let http = HttpClient::shared().with_timeouts(timeouts);
        let allowed = options.get_config_value(&ClientConfigKey::AllowHttp);
        Ok(Client::new(Service { http, allows_http: allowed.as_deref() == Some("true") }))
    }
}

#[async_trait]
impl HttpService for Service {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        if !self.allows_http && request.uri().scheme_str() != Some("https") {
            let message = "the address has no TLS, but `allow_http` is not set";
            return Err(failed(ProviderError::new(ErrorKind::Configuration, message)));
        }
        let (head, body) = request.into_parts();
        let mut parts = RequestParts::get(head.uri.to_string());
        parts.method = head.method;
        parts.body = EncodedBody::from_pieces(pieces(body).await?);
        let parts = with_headers(parts, &head.headers)?;
        let reply = self.http.answer(&parts).await.map_err(failed)?;
        let mut response = http::Response::builder().status(reply.status());
        if let Some(headers) = response.headers_mut() {
            *headers = reply.headers().clone();
        }
        let body = HttpResponseBody::new(Answer(Mutex::new(chunks(reply))));
        response.body(body).map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))
    }
}

fn with_headers(mut parts: RequestParts, headers: &HeaderMap) -> Result<RequestParts, HttpError> {
    for (name, value) in headers {
        let text = value.to_str().map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))?;
        parts = match value.is_sensitive() || is_secret(name) {
            true => parts.with_secret_header(name.clone(), "", &Secret::new(text)),
            false => parts.with_header(name.clone(), text),
        };
    }
    Ok(parts)
}

/// True of headers that hold credentials or keys, whatever the signer says of them.
fn is_secret(name: &HeaderName) -> bool {
    *name == AUTHORIZATION || SECRET.contains(&name.as_str())
}

/// The pieces of a request's body, which are all there.
async fn pieces(mut body: HttpRequestBody) -> Result<Vec<Bytes>, HttpError> {
    let mut pieces = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        pieces.extend(frame?.into_data().ok());
    }
    Ok(pieces)
}

fn chunks(reply: Reply) -> BoxStream<'static, Result<Bytes, HttpError>> {
    stream::unfold(Some(reply), async |reply| {
        let mut reply = reply?;
        match reply.chunk().await {
            Ok(Some(chunk)) => Some((Ok(chunk), Some(reply))),
            Ok(None) => None,
            Err(error) => Some((Err(failed(error)), None)),
        }
    })
    .boxed()
}

/// An answer that may be shared between threads, though only who has it alone reads it.
struct Answer(Mutex<BoxStream<'static, Result<Bytes, HttpError>>>);

impl Body for Answer {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let chunks = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        chunks.poll_next_unpin(context).map(|chunk| chunk.map(|chunk| chunk.map(Frame::data)))
    }
}

fn failed(error: ProviderError) -> HttpError {
    let kind = match error.kind() {
        ErrorKind::Timeout => HttpErrorKind::Timeout,
        ErrorKind::Network | ErrorKind::StreamCut => HttpErrorKind::Interrupted,
        _ => HttpErrorKind::Unknown,
    };
    HttpError::new(kind, error)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn headers_with_keys_and_tokens_are_secret() {
        let mut marked = HeaderValue::from_static("canary");
        marked.set_sensitive(true);
        let mut headers = HeaderMap::new();
        headers.insert("x-of-a-proxy", marked);
        for name in [
            "authorization",
            "x-amz-security-token",
            "x-aws-ec2-metadata-token",
            "x-amz-server-side-encryption-customer-key",
        ] {
            headers.insert(name, HeaderValue::from_static("canary"));
        }
        headers.insert("x-amz-date", HeaderValue::from_static("20261123T000000Z"));
        let parts = with_headers(RequestParts::get("https://bucket.example"), &headers).unwrap();
        let shown: Vec<_> = parts.shown_headers().collect();
        assert_eq!(shown.len(), 6);
        assert!(shown.contains(&("x-amz-date", "20261123T000000Z")), "{shown:?}");
        assert!(!format!("{parts:?}").contains("canary"), "{parts:?}");
        assert_eq!(parts.to_http().unwrap().headers()["x-aws-ec2-metadata-token"], "canary");
    }
}

//! The client and credentials through which a call reaches a server.

use attache_core::ProviderError;
use bytes::Bytes;
use http::HeaderMap;

use crate::auth::Auth;
use crate::client::{HttpClient, Reply};
use crate::error::ErrorReader;
use crate::request::RequestParts;
use crate::retry::RetryPolicy;

/// The client and credentials through which a call reaches a server.
#[derive(Clone, Debug)]
pub struct Network {
    http: HttpClient,
    auth: Auth,
    retry: RetryPolicy,
}

impl Network {
    /// The network of a model: what a codec that does more than one request at a time sends through.
    pub fn new(http: HttpClient, auth: Auth, retry: RetryPolicy) -> Self {
        Self { http, auth, retry }
    }

    pub(crate) fn http(&self) -> &HttpClient {
        &self.http
    }

    pub(crate) fn set_http(&mut self, http: HttpClient) {
        self.http = http;
    }

    pub(crate) fn retry(&self) -> &RetryPolicy {
        &self.retry
    }

    pub(crate) fn set_retry(&mut self, retry: RetryPolicy) {
        self.retry = retry;
    }

    /// The authorization of requests. A key is for the codec to place.
    pub fn auth(&self) -> &Auth {
        &self.auth
    }

    /// Sends a request that is no model call, with the model's credentials, time limits and retries.
    ///
    /// # Errors
    /// As for [`HttpClient::send`].
    ///
    /// # Cancellation
    /// Dropping the future aborts the request.
    pub async fn send(
        &self,
        request: &RequestParts,
        read_error: ErrorReader,
    ) -> Result<Reply, ProviderError> {
        self.http.send_authorized(request, &self.retry, read_error, self.auth.signer()).await
    }

    /// Sends such a request and yields what `read` makes of the head and the body of its answer. That may be an error,
    /// also under a success status, in words of the server that repeat a secret.
    pub(crate) async fn read<T>(
        &self,
        request: &RequestParts,
        read_error: ErrorReader,
        limit: usize,
        read: impl FnOnce(HeaderMap, Bytes) -> Result<T, ProviderError>,
    ) -> Result<T, ProviderError> {
        self.send(request, read_error).await?.read(request, limit, read).await
    }
}

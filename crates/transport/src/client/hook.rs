//! Hooks: what stands between a client and the network.

use std::borrow::Cow;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use attache_core::{ErrorKind, ProviderError, Secret};
use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, EXPECT, HOST,
    PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderName, Response, StatusCode};
use tokio::time::Instant;

use crate::error::configuration;
use crate::request::RequestParts;

/// Stands between a client and the network: for metrics, for the headers of a gateway, for recordings. It sees each
/// attempt that a model makes, uploads and the like included, adds headers to it, hears what is answered, or answers
/// itself. [`HttpClient::with_hook`](crate::HttpClient::with_hook) adds it to a client.
///
/// It is called while a request is made, so it must not wait. A panic in it is caught: where it decides about a request
/// ([`headers`](Self::headers), [`answer`](Self::answer)) the attempt fails, where it listens nothing is lost but its
/// own call.
///
/// ```
/// use attache_transport::{EndedExchange, Hook, HttpClient, RequestParts};
/// use http::{HeaderMap, HeaderValue};
///
/// #[derive(Debug)]
/// struct Gateway;
///
/// impl Hook for Gateway {
///     fn headers(&self, _: &RequestParts, headers: &mut HeaderMap) {
///         headers.insert("x-team", HeaderValue::from_static("legal"));
///     }
///
///     fn ended(&self, exchange: &EndedExchange<'_>) {
///         let (status, seconds) = (exchange.status.map(|status| status.as_u16()), exchange.elapsed.as_secs_f64());
///         println!("{} {status:?} in {seconds} s", exchange.request.shown_url());
///     }
/// }
///
/// let client = HttpClient::shared().with_hook(Gateway);
/// # let _ = client;
/// ```
pub trait Hook: fmt::Debug + Send + Sync + 'static {
    /// An attempt begins. [`headers`](Self::headers) is asked next, on the same thread, if at all. The number is handed
    /// back in [`EndedExchange::number`].
    fn began(&self, request: &RequestParts) -> usize {
        let _ = request;
        0
    }

    /// Adds headers to `request`, which has its credentials and those that hooks before this one added. They count as
    /// secrets. The attempt fails where a header belongs to the connection, such as `content-length`, or stands in the
    /// request already.
    fn headers(&self, request: &RequestParts, headers: &mut HeaderMap) {
        let _ = (request, headers);
    }

    /// The answer to `request`, which then goes nowhere; `None` lets it go to the network.
    ///
    /// # Errors
    /// The error ends the attempt in the place of an answer.
    fn answer(&self, request: &RequestParts) -> Option<Result<Response<Bytes>, ProviderError>> {
        let _ = request;
        None
    }

    /// `request` is answered. The number is handed back with each piece of the body.
    fn answered(&self, request: &RequestParts, status: StatusCode, headers: &HeaderMap) -> usize {
        let _ = (request, status, headers);
        0
    }

    /// The next piece of the body of the answer of that number, as it is read. A body that nobody reads is not told.
    fn read(&self, answer: usize, piece: &Bytes) {
        let _ = (answer, piece);
    }

    /// An attempt is over, however it ended: once for each.
    fn ended(&self, exchange: &EndedExchange<'_>) {
        let _ = exchange;
    }
}

/// An attempt that is over.
#[derive(Debug)]
#[non_exhaustive]
pub struct EndedExchange<'a> {
    /// The number that [`Hook::began`] gave it.
    pub number: usize,
    /// The request as it was sent. Its secret headers show nowhere; its URL is to be shown by
    /// [`shown_url`](RequestParts::shown_url).
    pub request: &'a RequestParts,
    /// The status of the answer, if there was one.
    pub status: Option<StatusCode>,
    /// The time since the attempt began.
    pub elapsed: Duration,
    /// The bytes of the body that were read.
    pub received: u64,
    /// True if the body was read to its end. It is false where the caller dropped the reply.
    pub is_complete: bool,
    /// The failure of the exchange: no connection, a time limit, a reply that broke off. It holds no secret. An
    /// answer that says an error is no failure of the exchange; its status says so.
    pub error: Option<&'a ProviderError>,
}

/// The hooks of a client, in the order in which they were added.
#[derive(Clone, Debug)]
pub(super) struct Hooks(Arc<[Arc<dyn Hook>]>);

/// Headers that belong to the connection.
const RESERVED: [HeaderName; 13] = [
    ACCEPT_ENCODING,
    CONNECTION,
    CONTENT_ENCODING,
    CONTENT_LENGTH,
    EXPECT,
    HOST,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    PROXY_AUTHORIZATION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

impl Hooks {
    /// One more behind those that there are.
    pub(super) fn with(hooks: Option<&Self>, hook: impl Hook) -> Self {
        let before = hooks.into_iter().flat_map(|Self(hooks)| hooks.iter().cloned());
        Self(before.chain([Arc::new(hook) as Arc<dyn Hook>]).collect())
    }

    /// The request with what the hooks add to it.
    pub(super) fn dressed<'r>(
        &self,
        request: &'r RequestParts,
    ) -> Result<Cow<'r, RequestParts>, ProviderError> {
        let mut dressed = Cow::Borrowed(request);
        for hook in self.0.iter() {
            let mut added = HeaderMap::new();
            contained("headers", || hook.headers(&dressed, &mut added)).ok_or_else(panicked)?;
            for (name, value) in &added {
                if RESERVED.contains(name)
                    || (*name == AUTHORIZATION && dressed.has_credentials())
                    || dressed.shown_headers().any(|(known, _)| known == name.as_str())
                {
                    return Err(configuration(format!("a hook may not set the header {name}")));
                }
                let Ok(value) = value.to_str() else {
                    return Err(configuration(format!("a hook sets the header {name} to what is no text")));
                };
                let with = dressed.into_owned().with_secret_header(name.clone(), "", &Secret::new(value));
                dressed = Cow::Owned(with);
            }
        }
        Ok(dressed)
    }

    /// The answer of the first hook that has one.
    pub(super) fn answer(&self, request: &RequestParts) -> Option<Result<Response<Bytes>, ProviderError>> {
        self.0.iter().find_map(|hook| {
            contained("answer", || hook.answer(request)).unwrap_or_else(|| Some(Err(panicked())))
        })
    }

    /// The listener to an attempt that begins now.
    pub(super) fn listener(&self, request: &RequestParts) -> Listener {
        let began = |hook: &Arc<dyn Hook>| contained("began", || hook.began(request)).unwrap_or_default();
        let hooks =
            self.0.iter().map(|hook| Listening { hook: Arc::clone(hook), attempt: began(hook), answer: 0 });
        Listener {
            hooks: hooks.collect(),
            request: request.clone(),
            began: Instant::now(),
            status: None,
            received: 0,
            is_complete: false,
            error: None,
        }
    }
}

/// A hook with its numbers of the attempt and of the answer.
#[derive(Debug)]
struct Listening {
    hook: Arc<dyn Hook>,
    attempt: usize,
    answer: usize,
}

/// An attempt that hooks listen to, until it is dropped.
#[derive(Debug)]
pub(super) struct Listener {
    hooks: Vec<Listening>,
    request: RequestParts,
    began: Instant,
    status: Option<StatusCode>,
    received: u64,
    is_complete: bool,
    error: Option<ProviderError>,
}

impl Listener {
    /// The request as it is sent.
    pub(super) fn sends(&mut self, request: &RequestParts) {
        self.request = request.clone();
    }

    pub(super) fn answered(&mut self, status: StatusCode, headers: &HeaderMap) {
        self.status = Some(status);
        for Listening { hook, answer, .. } in &mut self.hooks {
            let answered = || hook.answered(&self.request, status, headers);
            *answer = contained("answered", answered).unwrap_or_default();
        }
    }

    pub(super) fn read(&mut self, piece: &Bytes) {
        self.received = self.received.saturating_add(piece.len() as u64);
        for Listening { hook, answer, .. } in &self.hooks {
            contained("read", || hook.read(*answer, piece));
        }
    }

    pub(super) fn complete(&mut self) {
        self.is_complete = true;
    }

    /// The exchange failed. The error itself goes to the caller.
    pub(super) fn failed(&mut self, error: &ProviderError) {
        let redacted = self.request.redactor().redact(error.message()).into_owned();
        self.error = Some(ProviderError::new(error.kind(), redacted).with_retryable(error.is_retryable()));
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut ended = EndedExchange {
            number: 0,
            request: &self.request,
            status: self.status,
            elapsed: self.began.elapsed(),
            received: self.received,
            is_complete: self.is_complete,
            error: self.error.as_ref(),
        };
        for Listening { hook, attempt, .. } in &self.hooks {
            ended.number = *attempt;
            contained("ended", || hook.ended(&ended));
        }
    }
}

/// Calls a hook; `None` if it panics.
fn contained<T>(method: &'static str, call: impl FnOnce() -> T) -> Option<T> {
    let outcome = catch_unwind(AssertUnwindSafe(call));
    if outcome.is_err() {
        tracing::error!(method, "a hook of the HTTP client panicked");
    }
    outcome.ok()
}

fn panicked() -> ProviderError {
    ProviderError::new(ErrorKind::Configuration, "a hook of the HTTP client panicked")
}

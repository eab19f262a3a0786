//! The HTTP client.

mod connect;
mod connections;
mod deadline;
#[cfg(feature = "reqwest")]
mod external;
mod failure;
mod guard;
mod hook;
mod http2_streams;
mod lanes;
mod pool;
mod proxies;
mod public_addresses;
mod put_back;
mod reply;
mod source;
mod timeouts;
mod under_way;
mod write_to_stream;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, LazyLock};
use std::task::Poll;
use std::time::Duration;

use attache_core::{ErrorKind, ProviderError};
use http::Request;
use tokio::time::{Instant, timeout_at};

pub use self::guard::AddressGuard;
pub use self::hook::{EndedExchange, Hook};
pub use self::reply::Reply;
pub use self::timeouts::Timeouts;

pub(crate) use self::failure::Unanswered;
pub(crate) use self::guard::{NotPublic, Unknown, literal};

use self::connections::Connections;
use self::deadline::Deadline;
use self::hook::Hooks;
use self::pool::Pool;
use self::under_way::UnderWay;
use crate::auth::Authorizer;
use crate::body::EncodedBody;
use crate::error::{BODY_LIMIT, ErrorReader, ErrorResponse, content_encoding};
use crate::request::RequestParts;
use crate::retry::{RetryPolicy, Trying, end_of};

/// The time for which the body of an error is awaited.
const ERROR_TIME: Duration = Duration::from_secs(10);

/// A cheap handle on connections, the built-in ones or those of a `reqwest::Client`.
///
/// The built-in ones are a pool: HTTP/1.1, and HTTP/2 over as many connections as a server's limit on calls for
/// each demands, proxies from the environment (`HTTPS_PROXY` and its like, `http://` proxies only; `NO_PROXY` and
/// loopback go past them), no redirects, no cookies, no content encodings. Servers are trusted as the operating system
/// trusts them (on Linux `SSL_CERT_FILE` and `SSL_CERT_DIR` say which certificates it does). The pool and TLS are set up
/// at their first use.
///
/// A program that needs more brings a client: SOCKS, proxies by rules, private authorities, certificates of clients, a resolver
/// (`from_reqwest`, feature `reqwest`). Time limits, retries, cancellation, redaction, hooks and
/// the kinds of errors are the same.
///
/// It needs a tokio runtime with its clock and I/O enabled.
#[derive(Clone, Debug)]
pub struct HttpClient {
    timeouts: Timeouts,
    connections: Connections,
    hooks: Option<Hooks>,
}

impl HttpClient {
    /// The client of the process, with the default time limits. All its handles use one pool.
    pub fn shared() -> Self {
        static SHARED: LazyLock<HttpClient> = LazyLock::new(|| HttpClient::new(Timeouts::default()));
        SHARED.clone()
    }

    /// A client with a pool of its own.
    pub fn new(timeouts: Timeouts) -> Self {
        Self::with_pool(timeouts, None, true)
    }

    /// A client with a pool of its own that connects to what `guard` permits and nothing else. With `proxies` those of
    /// the environment are used; then it is for them to keep what is private out of reach, and what is known here to
    /// be private is refused as well.
    pub fn guarded(timeouts: Timeouts, guard: AddressGuard, proxies: bool) -> Self {
        Self::with_pool(timeouts, Some(guard), proxies)
    }

    fn with_pool(timeouts: Timeouts, guard: Option<AddressGuard>, proxies: bool) -> Self {
        let pool = Pool::new(timeouts.connect, guard, proxies);
        Self { timeouts, connections: Connections::Pool(Arc::new(pool)), hooks: None }
    }

    /// A client over the connections of another, with the default time limits.
    ///
    /// Its proxies, certificates, resolver, HTTP versions, layers, default headers and own time limits apply; it also
    /// says the `user-agent`. Bodies are handed to it without a copy. Build it with `redirect(Policy::none())`: the
    /// built-in client follows no redirect, and here one that was followed fails, after the request with its key has
    /// gone where it led. No content encodings are offered. `timeouts.connect` is its own to keep
    /// (`ClientBuilder::connect_timeout`). Over HTTP/2 it has one connection for each host.
    ///
    /// ```
    /// # fn client() -> Result<(), Box<dyn std::error::Error>> {
    /// use attache_transport::HttpClient;
    /// let own = reqwest::Client::builder()
    ///     .redirect(reqwest::redirect::Policy::none())
    ///     .proxy(reqwest::Proxy::all("http://proxy.example:3128")?)
    ///     .build()?;
    /// let http = HttpClient::from_reqwest(own);
    /// # let _ = http;
    /// # Ok(()) }
    /// ```
    #[cfg(feature = "reqwest")]
    pub fn from_reqwest(client: reqwest::Client) -> Self {
        Self { timeouts: Timeouts::default(), connections: Connections::Reqwest(client), hooks: None }
    }

    /// The time limits.
    pub fn timeouts(&self) -> Timeouts {
        self.timeouts
    }

    /// A handle with other time limits on the same connections, or on a new pool if the limit for connecting differs.
    #[must_use]
    pub fn with_timeouts(&self, timeouts: Timeouts) -> Self {
        let hooks = self.hooks.clone();
        match &self.connections {
            Connections::Pool(pool) if pool.connect != timeouts.connect => {
                Self { hooks, ..Self::with_pool(timeouts, pool.guard.clone(), pool.proxies) }
            }
            connections => Self { timeouts, connections: connections.clone(), hooks },
        }
    }

    /// A handle on the same connections with one more hook, behind those that it has.
    #[must_use]
    pub fn with_hook(&self, hook: impl Hook) -> Self {
        Self { hooks: Some(Hooks::with(self.hooks.as_ref(), hook)), ..self.clone() }
    }

    /// Sends `request` until it is answered with a success status or `retry` gives up.
    ///
    /// # Errors
    /// The error that `read_error` makes of an error status; [`ErrorKind::Configuration`] for a request that cannot
    /// be sent, [`ErrorKind::Network`] and [`ErrorKind::Timeout`]. None of them contains a secret of the request.
    ///
    /// # Cancellation
    /// Dropping the future aborts the request, or the wait before the next attempt.
    pub async fn send(
        &self,
        request: &RequestParts,
        retry: &RetryPolicy,
        read_error: ErrorReader,
    ) -> Result<Reply, ProviderError> {
        self.send_authorized(request, retry, read_error, None).await
    }

    /// Sends `request` once and yields the answer, whatever its status says, for protocols to which an error status is an
    /// answer. The limit of all of it is [`Timeouts::total`].
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] for a request that cannot be sent, [`ErrorKind::Permission`] for a host that a guard
    /// keeps out of reach, [`ErrorKind::Network`] and [`ErrorKind::Timeout`]. None of them contains a secret of the
    /// request.
    ///
    /// # Cancellation
    /// Dropping the future aborts the request, dropping the reply the rest of it.
    pub async fn answer(&self, request: &RequestParts) -> Result<Reply, ProviderError> {
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(no_runtime());
        }
        let _under_way = UnderWay::begin();
        let end = end_of(self.timeouts.total);
        let reply = match &self.hooks {
            None => self.sent(request, end).await,
            Some(hooks) => Box::pin(self.hooked(hooks, request, end)).await,
        };
        let mut reply = reply.map_err(|error| request.redactor().redact_error(error))?;
        reply.mask_secrets(request);
        Ok(reply)
    }

    pub(crate) async fn send_authorized(
        &self,
        request: &RequestParts,
        retry: &RetryPolicy,
        read_error: ErrorReader,
        authorizer: Option<&Arc<dyn Authorizer>>,
    ) -> Result<Reply, ProviderError> {
        let mut trying = Trying::new(retry, self.timeouts.total);
        self.send_within(request, read_error, authorizer, &mut trying).await
    }

    pub(crate) async fn send_within(
        &self,
        request: &RequestParts,
        read_error: ErrorReader,
        authorizer: Option<&Arc<dyn Authorizer>>,
        trying: &mut Trying,
    ) -> Result<Reply, ProviderError> {
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(no_runtime());
        }
        let mut may_refresh = true;
        loop {
            // An agent asks again as soon as a reply is read. A turn costs a look at the network, so it is given up
            // only where it may bring a connection.
            if UnderWay::any() || self.connections.puts_back_later() {
                tokio::task::yield_now().await;
            }
            let _under_way = UnderWay::begin();
            let mut is_refreshed = false;
            let attempt = async {
                let Some(authorizer) = authorizer else {
                    return self.attempt(request, read_error, trying.end()).await;
                };
                let mut request = request.clone();
                timeout_at(trying.end(), authorizer.authorize(&mut request))
                    .await
                    .map_err(|_| no_credentials())??;
                match self.attempt(&request, read_error, trying.end()).await {
                    Ok(mut reply) => {
                        reply.mask_secrets(&request);
                        Ok(reply)
                    }
                    Err(error) => {
                        let error = request.redactor().redact_error(error);
                        is_refreshed = may_refresh && authorizer.refused(&request, &error);
                        Err(error)
                    }
                }
            };
            let error = match attempt.await {
                Ok(reply) => return Ok(reply),
                Err(error) => request.redactor().redact_error(error),
            };
            if is_refreshed {
                may_refresh = false;
                continue;
            }
            match trying.next_wait(&error) {
                Some(wait) => tokio::time::sleep(wait).await,
                None => return Err(error),
            }
        }
    }

    async fn attempt(
        &self,
        parts: &RequestParts,
        read_error: ErrorReader,
        end: Instant,
    ) -> Result<Reply, ProviderError> {
        let mut reply = match &self.hooks {
            None => self.sent(parts, end).await?,
            // Apart, since calls without hooks would carry its room.
            Some(hooks) => Box::pin(self.hooked(hooks, parts, end)).await?,
        };
        if reply.status().is_success() {
            return match content_encoding(reply.headers()) {
                Some(_) => Err(ProviderError::new(
                    ErrorKind::Malformed,
                    "the server encoded its reply in a way that was not asked for",
                )),
                None => Ok(reply),
            };
        }
        // Apart, since every call would carry the room for what few need.
        let (status, mut headers) = (reply.status(), reply.headers().clone());
        parts.mask_secrets(&mut headers);
        let sent = reply.sent();
        let body = Box::pin(reply.excerpt(BODY_LIMIT, ERROR_TIME)).await;
        let error = read_error(&ErrorResponse::redacted(status, headers, &body, &parts.redactor()));
        Err(match sent {
            Some(sent) => sent.redact_error(error),
            None => error,
        })
    }

    /// Sends a request once.
    async fn sent(&self, parts: &RequestParts, end: Instant) -> Result<Reply, ProviderError> {
        let mut request = parts.to_http()?;
        let reply = self.exchange_within(&self.limits(parts), &mut request, end).await;
        reply.map_err(|error| match error {
            Unanswered::Failed(error) => error,
            Unanswered::Broken(broken) => broken.to_error(&parts.url, self.proxy(&parts.url)),
        })
    }

    /// The same with hooks, one of which may answer.
    async fn hooked(
        &self,
        hooks: &Hooks,
        parts: &RequestParts,
        end: Instant,
    ) -> Result<Reply, ProviderError> {
        let mut listener = Box::new(hooks.listener(parts));
        let parts = match hooks.dressed(parts) {
            Ok(parts) => parts,
            Err(error) => {
                listener.failed(&error);
                return Err(error);
            }
        };
        listener.sends(&parts);
        let outcome = match hooks.answer(&parts) {
            Some(answer) => {
                answer.map(|answer| Reply::given(answer, Deadline::new(&self.limits(&parts), end)))
            }
            None => self.sent(&parts, end).await,
        };
        match outcome {
            Ok(reply) => {
                let mut reply = reply.with_listener(listener);
                reply.mask_secrets(&parts);
                Ok(reply)
            }
            Err(error) => {
                listener.failed(&error);
                Err(parts.redactor().redact_error(error))
            }
        }
    }

    fn limits(&self, parts: &RequestParts) -> Timeouts {
        let timeouts = self.timeouts;
        if parts.whole { timeouts.with_first_byte(timeouts.total) } else { timeouts }
    }

    /// Sends `request` once and takes whatever answer comes, which ends by `end`.
    pub(crate) async fn exchange(
        &self,
        mut request: Request<EncodedBody>,
        end: Instant,
    ) -> Result<Reply, Unanswered> {
        self.exchange_within(&self.timeouts, &mut request, end).await
    }

    async fn exchange_within(
        &self,
        timeouts: &Timeouts,
        request: &mut Request<EncodedBody>,
        end: Instant,
    ) -> Result<Reply, Unanswered> {
        let mut deadline = Deadline::new(timeouts, end);
        let mut answer = pin!(self.connections.answer(request));
        let answer = poll_fn(|context| match answer.as_mut().poll(context) {
            Poll::Ready(answer) => Poll::Ready(answer),
            Poll::Pending => deadline.poll(context).map(|error| Err(Unanswered::Failed(error))),
        })
        .await?;
        deadline.response_began(self.timeouts.idle);
        Ok(Reply::new(answer, deadline))
    }

    /// The proxy of the environment that a request to `url` goes through, as host and port; `None` if it goes straight,
    /// and for the proxies of a `reqwest::Client`, which it keeps to itself.
    pub fn proxy(&self, url: &str) -> Option<String> {
        self.connections.proxy(url)
    }
}

fn no_runtime() -> ProviderError {
    ProviderError::new(ErrorKind::Configuration, "a request must be sent inside a tokio runtime")
}

fn no_credentials() -> ProviderError {
    ProviderError::new(ErrorKind::Timeout, "the credentials did not come in time")
}

#[cfg(test)]
mod tests;

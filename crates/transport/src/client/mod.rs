//! The HTTP client.

mod connect;
mod deadline;
mod lanes;
mod proxies;
mod reply;
mod settings;
mod tap;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};
use std::task::Poll;
use std::time::Duration;

use attache_core::{ErrorKind, ProviderError};
use http::header::{CONTENT_ENCODING, PROXY_AUTHORIZATION, USER_AGENT};
use http::{HeaderValue, Request, Response, Uri};
use hyper::body::Incoming;
use hyper_util::client::legacy::connect::capture_connection;
use hyper_util::client::legacy::{Builder, Client, Error as ClientError};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::{Instant, timeout_at};

pub use self::reply::Reply;
pub use self::tap::Tap;

use self::connect::Connector;
use self::deadline::Deadline;
use self::lanes::{Origins, Place};
use self::proxies::Proxies;
use self::tap::Listener;
use crate::auth::Authorizer;
use crate::body::EncodedBody;
use crate::error::{ErrorReader, ErrorResponse};
use crate::fetch::Guard;
use crate::redact::host_of;
use crate::request::RequestParts;
use crate::retry::{RetryPolicy, Trying};

/// How long each part of a request may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// Until a connection stands, TLS included; 10 s.
    pub connect: Duration,
    /// From the start of an attempt until its response begins; 300 s. A response that comes whole begins when all of it
    /// is made, so it has until `total`.
    pub first_byte: Duration,
    /// Between two reads of the response; 300 s. Comments and pings count as life.
    pub idle: Duration,
    /// Everything, attempts and waits included; 60 min.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(300),
            idle: Duration::from_secs(300),
            total: Duration::from_secs(3600),
        }
    }
}

impl Timeouts {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the limit for connecting.
    #[must_use]
    pub fn with_connect(mut self, limit: Duration) -> Self {
        self.connect = limit;
        self
    }

    /// Sets the limit until the response begins.
    #[must_use]
    pub fn with_first_byte(mut self, limit: Duration) -> Self {
        self.first_byte = limit;
        self
    }

    /// Sets the limit between two reads.
    #[must_use]
    pub fn with_idle(mut self, limit: Duration) -> Self {
        self.idle = limit;
        self
    }

    /// Sets the limit of everything.
    #[must_use]
    pub fn with_total(mut self, limit: Duration) -> Self {
        self.total = limit;
        self
    }
}

/// Idle connections that are kept for one host, enough for thousands of runs at once, and for how long.
const IDLE_CONNECTIONS: usize = 4096;
const IDLE_CONNECTION: Duration = Duration::from_secs(90);

/// What a guarded client takes of headers, in bytes, and keeps of idle connections for one host.
const STRANGERS_HEADERS: usize = 64 << 10;
const STRANGERS_CONNECTIONS: usize = 4;

/// How often a silent HTTP/2 connection with a request on it is asked whether it lives, and how long it may take.
const PING_INTERVAL: Duration = Duration::from_secs(60);
const PING_ANSWER: Duration = Duration::from_secs(20);

/// A cheap handle on a connection pool: HTTP/1.1, and HTTP/2 over as many connections as a server's limit on calls for
/// each demands, proxies from the environment (`HTTPS_PROXY` and its like, `http://` proxies only; `NO_PROXY` and
/// loopback go past them), no redirects, no cookies, no content encodings. Servers are trusted as the operating system
/// trusts them (on Linux `SSL_CERT_FILE` and `SSL_CERT_DIR` say which certificates it does). The pool and TLS are set up
/// at their first use. It needs a tokio runtime with its clock and I/O enabled.
#[derive(Clone, Debug)]
pub struct HttpClient {
    timeouts: Timeouts,
    pool: Arc<Pool>,
    tap: Option<Arc<dyn Tap>>,
}

#[derive(Debug)]
struct Pool {
    connect: Duration,
    guard: Option<Guard>,
    /// True if the proxies of the environment are used.
    proxies: bool,
    open: OnceLock<Open>,
}

type Connections = Client<Connector, EncodedBody>;

/// The connections of a pool.
#[derive(Debug)]
struct Open {
    connector: Connector,
    /// Those of HTTP/1.1, and the first of HTTP/2 to each host.
    first: Connections,
    /// Of HTTP/2 the second to each host, the third, and so on.
    more: Mutex<Vec<Connections>>,
    builder: Builder,
    /// The hosts. Strangers, who are asked once, are not among them.
    origins: Option<Origins>,
}

/// Why no answer came.
pub(crate) enum Unanswered {
    /// A time limit passed.
    Late(ProviderError),
    /// No connection stood, or it broke.
    Broken(ClientError),
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

    /// A client that connects to what `guard` permits and nothing else. Through a proxy, if those of the environment
    /// are used, it is the proxy that connects.
    pub(crate) fn guarded(timeouts: Timeouts, guard: Guard, proxies: bool) -> Self {
        Self::with_pool(timeouts, Some(guard), proxies)
    }

    fn with_pool(timeouts: Timeouts, guard: Option<Guard>, proxies: bool) -> Self {
        let pool = Pool { connect: timeouts.connect, guard, proxies, open: OnceLock::new() };
        Self { timeouts, pool: Arc::new(pool), tap: None }
    }

    /// The time limits.
    pub fn timeouts(&self) -> Timeouts {
        self.timeouts
    }

    /// A handle with other time limits on the same pool, or on a new one if the limit for connecting differs.
    #[must_use]
    pub fn with_timeouts(&self, timeouts: Timeouts) -> Self {
        let tap = self.tap.clone();
        if timeouts.connect == self.pool.connect {
            Self { timeouts, pool: Arc::clone(&self.pool), tap }
        } else {
            Self { tap, ..Self::with_pool(timeouts, self.pool.guard.clone(), self.pool.proxies) }
        }
    }

    /// A handle on the same pool to which `tap` listens, or in whose place it answers.
    #[must_use]
    pub fn with_tap(&self, tap: impl Tap) -> Self {
        Self { tap: Some(Arc::new(tap)), ..self.clone() }
    }

    /// Sends `request` until it is answered with a success status or `retry` gives up.
    ///
    /// # Errors
    /// What `read_error` makes of an error status; [`ErrorKind::Configuration`] for a request that cannot be sent,
    /// [`ErrorKind::Network`] and [`ErrorKind::Timeout`]. None of them contains a secret of the request.
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
            let message = "a request must be sent inside a tokio runtime";
            return Err(ProviderError::new(ErrorKind::Configuration, message));
        }
        // An agent asks again as soon as a reply is read. The task that puts its connection back has to run first, or
        // this request would open another.
        tokio::task::yield_now().await;
        let mut may_refresh = true;
        loop {
            let attempt = async {
                let Some(authorizer) = authorizer else {
                    return self.attempt(request, read_error, trying.end()).await;
                };
                let mut request = request.clone();
                timeout_at(trying.end(), authorizer.authorize(&mut request))
                    .await
                    .map_err(|_| no_credentials())??;
                let outcome = self.attempt(&request, read_error, trying.end()).await;
                outcome.map_err(|error| request.redactor().redact_error(error))
            };
            let error = match attempt.await {
                Ok(reply) => return Ok(reply),
                Err(error) => request.redactor().redact_error(error),
            };
            if may_refresh && authorizer.is_some_and(|authorizer| authorizer.refused(&error)) {
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
        let mut timeouts = self.timeouts;
        if parts.whole {
            timeouts.first_byte = timeouts.total;
        }
        let given = self.tap.as_ref().and_then(|tap| tap.answer(parts));
        let reply = match given {
            Some(answer) => Reply::given(answer?, Deadline::new(&timeouts, end)),
            None => {
                let reply = self.exchange_within(&timeouts, parts.to_http()?, end).await;
                let reply = reply.map_err(|error| match error {
                    Unanswered::Late(error) => error,
                    Unanswered::Broken(error) => send_error(&error, &parts.url, self.proxy(&parts.url)),
                })?;
                self.listened(reply, parts)
            }
        };
        if reply.status().is_success() {
            return match reply.headers().get(CONTENT_ENCODING) {
                Some(encoding) if encoding != "identity" => Err(ProviderError::new(
                    ErrorKind::Malformed,
                    "the server encoded its reply in a way that was not asked for",
                )),
                _ => Ok(reply),
            };
        }
        // Apart, since every call would carry the room for what few need.
        let response = Box::pin(ErrorResponse::read(reply, &parts.redactor())).await;
        Err(read_error(&response))
    }

    fn listened(&self, reply: Reply, parts: &RequestParts) -> Reply {
        let Some(tap) = &self.tap else { return reply };
        let answer = tap.answered(parts, reply.status(), reply.headers());
        reply.with_listener(Listener { tap: Arc::clone(tap), answer })
    }

    /// Sends `request` once and takes whatever answer comes, which ends by `end`.
    pub(crate) async fn exchange(
        &self,
        request: Request<EncodedBody>,
        end: Instant,
    ) -> Result<Reply, Unanswered> {
        self.exchange_within(&self.timeouts, request, end).await
    }

    async fn exchange_within(
        &self,
        timeouts: &Timeouts,
        mut request: Request<EncodedBody>,
        end: Instant,
    ) -> Result<Reply, Unanswered> {
        let open = self.prepare(&mut request);
        let mut deadline = Deadline::new(timeouts, end);
        let mut response = pin!(open.answer(request, self.pool.connect));
        let (response, place) = poll_fn(|context| match response.as_mut().poll(context) {
            Poll::Ready(response) => Poll::Ready(response.map_err(Unanswered::Broken)),
            Poll::Pending => deadline.poll(context).map(|error| Err(Unanswered::Late(error))),
        })
        .await?;
        deadline.response_began(self.timeouts.idle);
        Ok(Reply::new(response, deadline, place))
    }

    /// The proxy of the environment that a request to `url` goes through, as host and port; `None` if it goes straight.
    pub fn proxy(&self, url: &str) -> Option<String> {
        self.open().connector.proxy(&url.parse::<Uri>().ok()?)
    }

    fn open(&self) -> &Open {
        self.pool.open.get_or_init(|| {
            let read = |name: &str| std::env::var(name).ok();
            let proxies = if self.pool.proxies { Proxies::from_environment(read) } else { Proxies::none() };
            open(self.pool.connect, proxies, self.pool.guard.clone())
        })
    }

    /// The pool, and what it adds to a request.
    fn prepare(&self, request: &mut Request<EncodedBody>) -> &Open {
        let open = self.open();
        let authorization = open.connector.proxy_authorization(request.uri());
        let headers = request.headers_mut();
        let agent = HeaderValue::from_static(concat!("attache/", env!("CARGO_PKG_VERSION")));
        headers.entry(USER_AGENT).or_insert(agent);
        if let Some(authorization) = authorization {
            headers.insert(PROXY_AUTHORIZATION, authorization);
        }
        open
    }
}

impl Open {
    /// The answer to a request, and the place that it has on its connection for as long as it is read. `patience` is
    /// how long it may wait for another to find out what the host speaks.
    async fn answer(
        &self,
        request: Request<EncodedBody>,
        patience: Duration,
    ) -> Result<(Response<Incoming>, Option<Place>), ClientError> {
        let Some(origin) = self.origins.as_ref().and_then(|origins| origins.of(request.uri())) else {
            return Ok((self.first.request(request).await?, None));
        };
        let place = origin.place(patience).await;
        let response = if place.leads() {
            // Apart, since every call would carry the room for what the first of a host needs.
            Box::pin(self.first_answer(request, &place)).await?
        } else {
            match place.lane().checked_sub(1) {
                None => self.first.request(request).await?,
                Some(at) => self.lane(at).request(request).await?,
            }
        };
        Ok((response, Some(place)))
    }

    /// The same for the first call to a host, which tells the others when its connection can be shared.
    async fn first_answer(
        &self,
        mut request: Request<EncodedBody>,
        place: &Place,
    ) -> Result<Response<Incoming>, ClientError> {
        let mut captured = capture_connection(&mut request);
        let mut stands = pin!(async {
            if let Some(connected) = captured.wait_for_connection_metadata().await.as_ref() {
                place.stands(connected.is_negotiated_h2());
            }
        });
        let mut response = pin!(self.first.request(request));
        let mut told = false;
        poll_fn(|context| {
            told = told || stands.as_mut().poll(context).is_ready();
            let response = response.as_mut().poll(context);
            // It may stand now.
            told = told || response.is_ready() && stands.as_mut().poll(context).is_ready();
            response
        })
        .await
    }

    /// Further connections of HTTP/2 to hosts that are known to speak it.
    fn lane(&self, at: usize) -> Connections {
        let mut more = self.more.lock().unwrap_or_else(PoisonError::into_inner);
        while more.len() <= at {
            more.push(self.builder.clone().http2_only(true).build(self.connector.clone()));
        }
        // It was made just now, if it was not there.
        more.get(at).unwrap_or(&self.first).clone()
    }
}

fn open(connect: Duration, proxies: Proxies, guard: Option<Guard>) -> Open {
    let mut builder = Client::builder(TokioExecutor::new());
    // Strangers have less to say in their headers than providers.
    if guard.is_some() {
        builder.http1_max_buf_size(STRANGERS_HEADERS).pool_max_idle_per_host(STRANGERS_CONNECTIONS);
    } else {
        builder.pool_max_idle_per_host(IDLE_CONNECTIONS);
    }
    let origins = guard.is_none().then(Origins::default);
    let connector = Connector::new(connect, proxies, guard, origins.clone());
    builder
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_CONNECTION)
        .http2_keep_alive_interval(PING_INTERVAL)
        .http2_keep_alive_timeout(PING_ANSWER);
    let first = builder.build(connector.clone());
    Open { connector, first, more: Mutex::default(), builder, origins }
}

fn no_credentials() -> ProviderError {
    ProviderError::new(ErrorKind::Timeout, "the credentials did not come in time")
}

/// What went wrong before an answer came. The causes of the client say nothing of the request but its host.
fn send_error(error: &ClientError, url: &str, proxy: Option<String>) -> ProviderError {
    let host = host_of(url);
    let way = proxy.map(|proxy| format!(" through the proxy {proxy}")).unwrap_or_default();
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |cause| cause.source());
    let root = causes.clone().last().map(ToString::to_string).unwrap_or_default();
    let is_slow = causes.clone().any(|cause| {
        cause.downcast_ref::<std::io::Error>().is_some_and(|io| io.kind() == std::io::ErrorKind::TimedOut)
    });
    let is_tls = causes.clone().any(is_tls);
    if error.is_connect() {
        let kind = if is_slow { ErrorKind::Timeout } else { ErrorKind::Network };
        // A certificate that is not trusted will not be trusted in a second.
        ProviderError::new(kind, format!("cannot connect to {host}{way}: {root}"))
            .with_retryable(is_tls.then_some(false))
    } else {
        ProviderError::new(
            ErrorKind::Network,
            format!("{host} broke the connection{way} before it answered: {root}"),
        )
    }
}

/// Whether TLS itself refused, which I/O errors hide inside them.
pub(crate) fn is_tls(error: &(dyn std::error::Error + 'static)) -> bool {
    let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    error.is::<rustls::Error>() || inner.is_some_and(|inner| is_tls(inner))
}

#[cfg(test)]
mod tests;

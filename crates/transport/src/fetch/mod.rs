//! Documents from addresses that anybody may have written.

mod headers;
mod target;

pub use self::headers::{media_type_of, named_file, said_media_type};
pub use self::target::redirected;

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use attache_core::fetcher::{FetchError, FetchErrorKind, Fetched, Fetcher};
use attache_core::{BoxFuture, ErrorKind, ProviderError};
use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_LENGTH, LOCATION};
use http::{HeaderValue, Request, StatusCode};
use tokio::time::Instant;

use self::target::Target;
use crate::body::EncodedBody;
use crate::client::{AddressGuard, HttpClient, NotPublic, Reply, Timeouts, Unanswered, Unknown};
use crate::error::content_encoding;
use crate::retry::{RetryPolicy, Trying};

/// Fetches documents from public `http` and `https` addresses.
///
/// Its guarantees, for the address asked for and for each that it leads to:
///
/// - The host is looked up, and only public addresses are connected to: nothing private, loopback, link-local, shared,
///   multicast, reserved or written in IPv6 to look otherwise. A connection goes to an address that was checked, so a
///   host that answers each look-up differently gains nothing.
/// - No credentials: an address with a user name is refused, and no cookies or headers of others are sent.
/// - Ports 80 and 443; at most 5 redirects, never from `https` to `http`.
/// - At most 32 MiB, whatever the server announces, and no content encodings, so that nothing can be inflated.
/// - 10 s to connect, 30 s until the answer begins, 15 s between two reads, 60 s in all, one second attempt where no
///   connection stood or the server was busy included.
///
/// Proxies of the environment are not used, since a proxy looks hosts up itself. With
/// [`with_proxies`](Self::with_proxies) they are; then hosts that are known here to be private are still refused, but
/// that a host is public is for the proxy to enforce.
///
/// Connections are pooled for each fetcher and its clones. It needs a tokio runtime with its clock and I/O enabled.
///
/// ```
/// use attache_transport::GuardedFetcher;
/// let fetcher = GuardedFetcher::new().with_max_bytes(8 << 20).with_hosts(["*.example.com"]);
/// # let _ = fetcher;
/// ```
#[derive(Clone, Debug)]
pub struct GuardedFetcher {
    max_bytes: usize,
    timeouts: Timeouts,
    redirects: u32,
    ports: Option<Arc<[u16]>>,
    allowed: Option<Arc<[String]>>,
    denied: Arc<[String]>,
    proxies: bool,
    guard: AddressGuard,
    client: OnceLock<HttpClient>,
}

impl Default for GuardedFetcher {
    fn default() -> Self {
        let timeouts = Timeouts::new()
            .with_first_byte(Duration::from_secs(30))
            .with_idle(Duration::from_secs(15))
            .with_total(Duration::from_secs(60));
        Self {
            max_bytes: 32 << 20,
            timeouts,
            redirects: 5,
            ports: Some(Arc::from([80, 443])),
            allowed: None,
            denied: Arc::from([]),
            proxies: false,
            guard: AddressGuard::new(),
            client: OnceLock::new(),
        }
    }
}

impl GuardedFetcher {
    /// A fetcher with the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the maximum number of bytes of one document; 32 MiB by default.
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets the time limits; `total` is that of all redirects and attempts.
    #[must_use]
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self.rebuilt()
    }

    /// Sets how many redirects are followed; 5 by default.
    #[must_use]
    pub fn with_redirects(mut self, redirects: u32) -> Self {
        self.redirects = redirects;
        self
    }

    /// Sets the ports that may be asked; 80 and 443 by default.
    #[must_use]
    pub fn with_ports(mut self, ports: impl IntoIterator<Item = u16>) -> Self {
        self.ports = Some(ports.into_iter().collect());
        self
    }

    /// Lets every port be asked.
    #[must_use]
    pub fn with_any_port(mut self) -> Self {
        self.ports = None;
        self
    }

    /// Lets only these hosts be asked: names, `*.example.com` for all names below one, or addresses as they are
    /// written in URLs. All by default. The addresses of a host are checked all the same.
    #[must_use]
    pub fn with_hosts(mut self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.allowed = Some(patterns(hosts));
        self
    }

    /// Forbids these hosts, written as for [`with_hosts`](Self::with_hosts), which they take precedence over.
    #[must_use]
    pub fn without_hosts(mut self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.denied = patterns(hosts);
        self
    }

    /// Sets whether private addresses may be reached too (loopback, the ranges of RFC 1918, unique local ones, those
    /// behind carriers); `false` by default. For intranets and tests: whoever can write an address into a tool's
    /// result then reads from the inside, so name the hosts as well. Link-local addresses and the metadata services of
    /// clouds stay out of reach.
    #[must_use]
    pub fn with_private_addresses(mut self, allowed: bool) -> Self {
        self.guard = self.guard.with_private_addresses(allowed);
        self.rebuilt()
    }

    /// Sets whether proxies of the environment are used; `false` by default. Then they look hosts up, and it is for
    /// them to keep what is private out of reach; what is known here to be private is refused as well.
    #[must_use]
    pub fn with_proxies(mut self, used: bool) -> Self {
        self.proxies = used;
        self.rebuilt()
    }

    /// Sets how hosts are looked up; as the operating system does by default. The addresses that are found are checked
    /// like that.
    #[must_use]
    pub fn with_lookup<L, F>(mut self, lookup: L) -> Self
    where
        L: Fn(String) -> F + Send + Sync + 'static,
        F: Future<Output = io::Result<Vec<IpAddr>>> + Send + 'static,
    {
        self.guard = self.guard.with_lookup(lookup);
        self.rebuilt()
    }

    /// A connection that was made under other rules must not be used under these.
    fn rebuilt(mut self) -> Self {
        self.client = OnceLock::new();
        self
    }

    fn client(&self) -> &HttpClient {
        self.client.get_or_init(|| HttpClient::guarded(self.timeouts, self.guard.clone(), self.proxies))
    }

    async fn persist(&self, url: &str) -> Result<Fetched, FetchError> {
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(unavailable("nothing can be fetched outside a tokio runtime"));
        }
        let first = Target::parse(url)?;
        let policy = RetryPolicy::new().with_attempts(2);
        let mut trying = Trying::new(&policy, self.timeouts.total);
        loop {
            let error = match self.follow(&first, trying.end()).await {
                Ok(fetched) => return Ok(fetched),
                Err(error) => error,
            };
            let again = error.kind() == FetchErrorKind::Unavailable;
            let asked = ProviderError::new(ErrorKind::Network, error.to_string()).with_retryable(again);
            match trying.next_wait(&asked) {
                Some(wait) => tokio::time::sleep(wait).await,
                None => {
                    tracing::debug!(host = first.host(), %error, "a document was not fetched");
                    return Err(error);
                }
            }
        }
    }

    /// One attempt, redirects included.
    async fn follow(&self, first: &Target, end: Instant) -> Result<Fetched, FetchError> {
        let mut target = first.clone();
        let mut left = self.redirects;
        loop {
            self.check(&target)?;
            let reply = self.client().exchange(request(&target), end).await.map_err(unanswered)?;
            let status = reply.status();
            match status {
                StatusCode::OK | StatusCode::NON_AUTHORITATIVE_INFORMATION => {
                    let fetched = headers::file_name(reply.headers(), [&target, first]);
                    let media_type = said_media_type(reply.headers());
                    let bytes = self.body(reply).await?;
                    return Ok(Fetched::new(bytes).with_media_type(media_type).with_file_name(fetched));
                }
                StatusCode::MOVED_PERMANENTLY
                | StatusCode::FOUND
                | StatusCode::SEE_OTHER
                | StatusCode::TEMPORARY_REDIRECT
                | StatusCode::PERMANENT_REDIRECT => {
                    let Some(location) = reply.headers().get(LOCATION) else {
                        return Err(malformed("its address leads elsewhere, but does not say where"));
                    };
                    if left == 0 {
                        let text = format!("its address leads on more than {} times", self.redirects);
                        return Err(FetchError::new(FetchErrorKind::Refused, text));
                    }
                    left -= 1;
                    target = target.redirected(location.as_bytes())?;
                }
                _ => return Err(of_status(status)),
            }
        }
    }

    /// The checks of an address before its host is looked up.
    fn check(&self, target: &Target) -> Result<(), FetchError> {
        let refused = |text: &str| Err(FetchError::new(FetchErrorKind::Refused, text));
        let host = target.host();
        let lists = |patterns: &[String]| patterns.iter().any(|pattern| covers(pattern, &host));
        if lists(&self.denied) || self.allowed.as_deref().is_some_and(|allowed| !lists(allowed)) {
            return refused("its host is not one that documents may be fetched from");
        }
        if self.ports.as_deref().is_some_and(|ports| !ports.contains(&target.port())) {
            return refused("its port is not one that documents may be fetched from");
        }
        match self.guard.check_literal(&host) {
            Ok(()) => Ok(()),
            Err(NotPublic) => refused(&NotPublic.to_string()),
        }
    }

    async fn body(&self, mut reply: Reply) -> Result<Bytes, FetchError> {
        if content_encoding(reply.headers()).is_some() {
            return Err(malformed("its server encodes it in a way that was not asked for"));
        }
        let announced =
            reply.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        if announced.is_some_and(|length: u64| length > self.max_bytes as u64) {
            return Err(self.too_large());
        }
        let mut body = BytesMut::new();
        while let Some(chunk) = reply.chunk().await.map_err(|error| broken(&error))? {
            if chunk.len() > self.max_bytes.saturating_sub(body.len()) {
                return Err(self.too_large());
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body.freeze())
    }

    fn too_large(&self) -> FetchError {
        let text = format!("it has more than the {} bytes that are fetched", self.max_bytes);
        FetchError::new(FetchErrorKind::TooLarge, text)
    }
}

impl Fetcher for GuardedFetcher {
    fn fetch<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Fetched, FetchError>> {
        Box::pin(self.persist(url))
    }
}

fn request(target: &Target) -> Request<EncodedBody> {
    let mut request = Request::new(EncodedBody::default());
    *request.uri_mut() = target.uri().clone();
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static("*/*"));
    request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    request
}

fn patterns(hosts: impl IntoIterator<Item = impl Into<String>>) -> Arc<[String]> {
    hosts.into_iter().map(|host| host.into().to_ascii_lowercase()).collect()
}

/// True if a pattern of hosts covers a host in lower case.
fn covers(pattern: &str, host: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(end) if end.starts_with('.') => host.len() > end.len() && host.ends_with(end),
        _ => pattern == host,
    }
}

fn unavailable(text: &str) -> FetchError {
    FetchError::new(FetchErrorKind::Unavailable, text)
}

fn malformed(text: &str) -> FetchError {
    FetchError::new(FetchErrorKind::Malformed, text)
}

fn of_status(status: StatusCode) -> FetchError {
    let kind = match status.as_u16() {
        404 | 410 => FetchErrorKind::NotFound,
        401 | 402 | 403 | 407 | 451 => FetchErrorKind::Denied,
        408 | 425 | 429 | 500..=599 => FetchErrorKind::Unavailable,
        _ => FetchErrorKind::Malformed,
    };
    FetchError::new(kind, format!("its server answers with status {}", status.as_u16()))
}

/// No answer came. The client's error may name the host, which is part of the address.
fn unanswered(error: Unanswered) -> FetchError {
    let broken = match error {
        Unanswered::Failed(error) => return self::broken(&error),
        Unanswered::Broken(broken) => broken,
    };
    if broken.any(|cause| cause.is::<NotPublic>()) {
        return FetchError::new(FetchErrorKind::Refused, NotPublic.to_string());
    }
    if broken.any(|cause| cause.is::<Unknown>()) {
        return unavailable(&Unknown.to_string());
    }
    if broken.is_slow {
        return FetchError::new(FetchErrorKind::Timeout, "its server cannot be reached in time");
    }
    if broken.is_tls() {
        return malformed("the certificate of its server is not trusted");
    }
    if broken.any(|cause| cause.downcast_ref().is_some_and(hyper::Error::is_parse)) {
        return malformed("its server does not answer in HTTP, or says too much in its headers");
    }
    match broken.is_connect {
        true => unavailable("its server cannot be reached"),
        false => unavailable("its server broke the connection"),
    }
}

fn broken(error: &ProviderError) -> FetchError {
    match error.kind() {
        ErrorKind::Timeout => FetchError::new(FetchErrorKind::Timeout, "its server takes too long"),
        _ => unavailable("its server broke the connection"),
    }
}

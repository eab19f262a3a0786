//! The built-in connections: hyper's, pooled.

use std::future::{Future, poll_fn};
use std::mem::take;
use std::pin::{Pin, pin};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use attache_core::BoxFuture;
use http::header::{PROXY_AUTHORIZATION, USER_AGENT};
use http::{HeaderValue, Request, Response, Uri};
use hyper::body::Incoming;
use hyper_util::client::legacy::connect::capture_connection;
use hyper_util::client::legacy::{Builder, Client, Error as ClientError, ResponseFuture};
use hyper_util::rt::TokioTimer;

use super::connect::Connector;
use super::failure::Broken;
use super::guard::AddressGuard;
use super::lanes::{Origins, Place};
use super::proxies::Proxies;
use super::put_back::{Idle, Tasks, holding};
use crate::body::EncodedBody;

/// Idle connections that are kept for one host, enough for thousands of runs at once, and for how long.
const IDLE_CONNECTIONS: usize = 4096;
const IDLE_CONNECTION: Duration = Duration::from_secs(90);

/// The maximum number of bytes of headers that a guarded client takes, and of idle connections that it keeps for one
/// host.
const STRANGERS_HEADERS: usize = 64 << 10;
const STRANGERS_CONNECTIONS: usize = 4;

/// The time after which a silent HTTP/2 connection with a request on it is asked whether it lives, and the time for
/// its answer.
const PING_INTERVAL: Duration = Duration::from_secs(60);
const PING_ANSWER: Duration = Duration::from_secs(20);

/// A pool, which is opened at its first use.
#[derive(Debug)]
pub(super) struct Pool {
    /// The limit for connecting.
    pub(super) connect: Duration,
    pub(super) guard: Option<AddressGuard>,
    /// True if the proxies of the environment are used.
    pub(super) proxies: bool,
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

/// An answer, the place that it has on its connection for as long as it is read, and what puts the connection back.
type Answered = (Response<Incoming>, Option<Place>, Option<Idle>);

impl Pool {
    pub(super) fn new(connect: Duration, guard: Option<AddressGuard>, proxies: bool) -> Self {
        Self { connect, guard, proxies, open: OnceLock::new() }
    }

    /// The answer to a request.
    pub(super) async fn answer(&self, request: &mut Request<EncodedBody>) -> Result<Answered, Broken> {
        let open = self.open();
        open.complete(request);
        open.answer(request, self.connect).await.map_err(|error| {
            let is_connect = error.is_connect();
            Broken::new(error, is_connect)
        })
    }

    /// The proxy of the environment that a request to `url` goes through, as host and port.
    pub(super) fn proxy(&self, url: &str) -> Option<String> {
        self.open().connector.proxy(&url.parse::<Uri>().ok()?)
    }

    fn open(&self) -> &Open {
        self.open.get_or_init(|| {
            let read = |name: &str| std::env::var(name).ok();
            let proxies = if self.proxies { Proxies::from_environment(read) } else { Proxies::none() };
            open(self.connect, proxies, self.guard.clone())
        })
    }

    /// Opens the pool with proxies that no environment names.
    #[cfg(test)]
    pub(super) fn open_with(&self, proxies: Proxies) {
        self.open.set(open(self.connect, proxies, self.guard.clone())).unwrap();
    }
}

impl Open {
    /// Adds what every request says.
    fn complete(&self, request: &mut Request<EncodedBody>) {
        let authorization = self.connector.proxy_authorization(request.uri());
        let headers = request.headers_mut();
        let agent = HeaderValue::from_static(concat!("attache/", env!("CARGO_PKG_VERSION")));
        headers.entry(USER_AGENT).or_insert(agent);
        if let Some(authorization) = authorization {
            headers.insert(PROXY_AUTHORIZATION, authorization);
        }
    }

    /// The answer to a request. `patience` is how long it may wait for another to find out what the host speaks.
    async fn answer(
        &self,
        request: &mut Request<EncodedBody>,
        patience: Duration,
    ) -> Result<Answered, ClientError> {
        let Some(origin) = self.origins.as_ref().and_then(|origins| origins.of(request.uri())) else {
            let (response, idle) = holding(sent(&self.first, take(request))).await;
            return Ok((response?, None, idle));
        };
        let place = origin.place(patience).await;
        let (response, idle) = if place.leads() {
            // Apart, since every call would carry the room for what the first of a host needs.
            holding(self.first_answer(take(request), &place)).await
        } else {
            let request = match place.lane().checked_sub(1) {
                None => sent(&self.first, take(request)),
                Some(at) => sent(&self.lane(at), take(request)),
            };
            holding(request).await
        };
        Ok((response?, Some(place), idle))
    }

    /// The same for the first call to a host, which tells the others when its connection can be shared.
    fn first_answer<'a>(
        &'a self,
        mut request: Request<EncodedBody>,
        place: &'a Place,
    ) -> BoxFuture<'a, Result<Response<Incoming>, ClientError>> {
        Box::pin(async move {
            let mut captured = capture_connection(&mut request);
            let mut stands = pin!(async {
                if let Some(connected) = captured.wait_for_connection_metadata().await.as_ref() {
                    place.stands(connected.is_negotiated_h2());
                }
            });
            let mut response = sent(&self.first, request);
            let mut told = false;
            poll_fn(|context| {
                told = told || stands.as_mut().poll(context).is_ready();
                let response = Pin::new(&mut response).poll(context);
                // It may stand now.
                told = told || response.is_ready() && stands.as_mut().poll(context).is_ready();
                response
            })
            .await
        })
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

/// Hands a request to hyper. As a function of its own, since each crate that awaits a call would compile hyper anew.
fn sent(connections: &Connections, request: Request<EncodedBody>) -> ResponseFuture {
    connections.request(request)
}

fn open(connect: Duration, proxies: Proxies, guard: Option<AddressGuard>) -> Open {
    let mut builder = Client::builder(Tasks);
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

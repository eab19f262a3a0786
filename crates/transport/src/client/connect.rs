//! Connections: TCP, proxies of the environment, TLS at first use.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{HeaderValue, Uri};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::Intercept;
use hyper_util::rt::TokioIo;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::net::TcpStream;
use tower_service::Service;

use super::failure::WrongProxy;
use super::guard::{AddressGuard, NotPublic, Resolver};
use super::http2_streams::Watched;
use super::lanes::Origins;
use super::proxies::Proxies;
use super::write_to_stream::write_to_stream;

/// The words for an answer of 407.
const NO_PASSWORD: &str = "proxy authorization required";

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Connecting<T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send>>;

/// Opens connections to `http` and `https` origins within a time limit.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    route: Route,
    tls: Arc<OnceLock<HttpsConnector<Route>>>,
    limit: Duration,
    /// The hosts, which are told how many calls a connection takes.
    origins: Option<Origins>,
}

impl Connector {
    pub(super) fn new(
        limit: Duration,
        proxies: Proxies,
        guard: Option<AddressGuard>,
        origins: Option<Origins>,
    ) -> Self {
        Self { route: Route::new(proxies, guard), tls: Arc::default(), limit, origins }
    }

    /// The header that a proxy wants with each plain request that it forwards.
    pub(super) fn proxy_authorization(&self, target: &Uri) -> Option<HeaderValue> {
        let is_plain = target.scheme_str() == Some("http");
        is_plain.then(|| self.route.proxies.of(target))??.basic_auth().cloned()
    }

    /// The proxy on the way to a target, as host and port.
    pub(super) fn proxy(&self, target: &Uri) -> Option<String> {
        Some(self.route.proxies.of(target)?.uri().authority()?.to_string())
    }

    fn tls(&self) -> Result<HttpsConnector<Route>, BoxError> {
        if let Some(connector) = self.tls.get() {
            return Ok(connector.clone());
        }
        // Two first connections may both come here; one result is kept.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_platform_verifier()?
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(self.tls.get_or_init(|| HttpsConnector::from((self.route.clone(), config))).clone())
    }
}

impl Service<Uri> for Connector {
    type Response = Watched<MaybeHttpsStream<Routed>>;
    type Error = BoxError;
    type Future = Connecting<Self::Response>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        let this = self.clone();
        Box::pin(async move {
            let origin = this.origins.as_ref().and_then(|origins| origins.of(&target));
            let connecting = async {
                if target.scheme_str() == Some("https") {
                    this.tls()?.call(target).await
                } else {
                    Ok(MaybeHttpsStream::Http(this.route.clone().connect(target).await?))
                }
            };
            match tokio::time::timeout(this.limit, connecting).await {
                Ok(connected) => connected.map(|stream| {
                    let origin = origin.filter(|_| stream.connected().is_negotiated_h2());
                    Watched::new(stream, origin)
                }),
                Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "connecting took too long").into()),
            }
        })
    }
}

/// TCP to the target, or to or through its proxy.
#[derive(Clone, Debug)]
struct Route {
    tcp: HttpConnector,
    guarded: Option<Guarded>,
    proxies: Arc<Proxies>,
}

impl Route {
    fn new(proxies: Proxies, guard: Option<AddressGuard>) -> Self {
        let guarded = guard.map(|guard| Guarded {
            tcp: settled(HttpConnector::new_with_resolver(Resolver(guard.clone()))),
            guard,
        });
        Self { tcp: settled(HttpConnector::new()), guarded, proxies: Arc::new(proxies) }
    }

    async fn connect(mut self, target: Uri) -> Result<Routed, BoxError> {
        let Some(proxy) = self.proxies.of(&target) else {
            let stream = match self.guarded {
                Some(guarded) => guarded.connect(target).await?,
                None => self.tcp.call(target).await?,
            };
            return Ok(Routed { stream, proxied: false });
        };
        if let Some(guarded) = &self.guarded {
            guarded.guard.check_known(target.host().unwrap_or_default()).await?;
        }
        if proxy.uri().scheme_str() != Some("http") {
            return Err(WrongProxy("only proxies with an http:// address are supported").into());
        }
        if target.scheme_str() == Some("https") {
            let stream = tunnel(&proxy, self.tcp).call(target).await.map_err(|error| {
                // The kinds of this error have no names, only words.
                let is_refused = error.to_string().ends_with(NO_PASSWORD);
                if is_refused { WrongProxy(NO_PASSWORD).into() } else { BoxError::from(error) }
            })?;
            Ok(Routed { stream, proxied: false })
        } else {
            Ok(Routed { stream: self.tcp.call(proxy.uri().clone()).await?, proxied: true })
        }
    }
}

fn settled<R>(mut tcp: HttpConnector<R>) -> HttpConnector<R> {
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_keepalive(Some(Duration::from_secs(60)));
    tcp
}

/// TCP to what a guard permits.
#[derive(Clone, Debug)]
struct Guarded {
    tcp: HttpConnector<Resolver>,
    guard: AddressGuard,
}

impl Guarded {
    async fn connect(mut self, target: Uri) -> Result<TokioIo<TcpStream>, BoxError> {
        // An address is not looked up, so the guard would not see it.
        self.guard.check_literal(target.host().unwrap_or_default())?;
        let stream = self.tcp.call(target).await?;
        // Whatever led here, nothing is said to anyone else.
        let peer = stream.inner().peer_addr()?;
        if self.guard.permits(peer.ip()) { Ok(stream) } else { Err(NotPublic.into()) }
    }
}

fn tunnel(proxy: &Intercept, tcp: HttpConnector) -> Tunnel<HttpConnector> {
    let tunnel = Tunnel::new(proxy.uri().clone(), tcp);
    match proxy.basic_auth() {
        Some(authorization) => tunnel.with_auth(authorization.clone()),
        None => tunnel,
    }
}

impl Service<Uri> for Route {
    type Response = Routed;
    type Error = BoxError;
    type Future = Connecting<Routed>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, target: Uri) -> Self::Future {
        Box::pin(self.clone().connect(target))
    }
}

/// A TCP stream that knows whether a forwarding proxy is at its other end, which wants whole URLs.
#[derive(Debug)]
pub(super) struct Routed {
    stream: TokioIo<TcpStream>,
    proxied: bool,
}

impl Connection for Routed {
    fn connected(&self) -> Connected {
        self.stream.connected().proxy(self.proxied)
    }
}

impl Read for Routed {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl Write for Routed {
    write_to_stream!();
}

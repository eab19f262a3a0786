//! A listener for MCP over HTTP of its own.

use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use attache_core::BoxFuture;
use http::{Request, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::http::{McpHttp, any, plain};
use super::stdio::McpServeError;

/// The path at which a listener serves.
const PATH: &str = "/mcp";
/// The time in which the head of a request must be there.
const HEAD: Duration = Duration::from_secs(10);
/// The wait after a connection that could not be accepted.
const BREATH: Duration = Duration::from_millis(50);

impl McpHttp {
    /// Listens at an address; port 0 is a free one.
    ///
    /// # Errors
    /// The address cannot be listened at.
    pub async fn bind(self, address: impl ToSocketAddrs) -> Result<McpListener, McpServeError> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        if !address.ip().is_loopback() && self.is_open() {
            tracing::warn!(%address, "an MCP server without tokens can be reached from elsewhere");
        }
        Ok(McpListener { http: self, listener, address })
    }

    /// Listens at an address and serves `/mcp` there.
    ///
    /// # Errors
    /// The address cannot be listened at.
    ///
    /// # Cancellation
    /// Dropping the future closes the connections, and cancels their calls.
    pub async fn serve(self, address: impl ToSocketAddrs) -> Result<(), McpServeError> {
        self.bind(address).await?.serve().await;
        Ok(())
    }
}

/// A server that listens at an address.
#[must_use]
pub struct McpListener {
    http: McpHttp,
    listener: TcpListener,
    address: SocketAddr,
}

impl McpListener {
    /// The address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves `/mcp`, for ever. Connections beyond the [limit](crate::McpServeLimits::connections) wait; one that does not
    /// send the head of a request within 10 s is closed.
    ///
    /// # Cancellation
    /// Dropping the future closes the connections, and cancels their calls.
    pub async fn serve(self) {
        self.serve_boxed().await;
    }

    /// A border: see ADR 0053.
    fn serve_boxed(self) -> BoxFuture<'static, ()> {
        Box::pin(self.accept())
    }

    async fn accept(self) {
        let most = self.http.most_connections().min(Semaphore::MAX_PERMITS);
        let free = Arc::new(Semaphore::new(most));
        let mut connections = JoinSet::new();
        loop {
            // It is never closed.
            let Ok(permit) = Arc::clone(&free).acquire_owned().await else { return };
            while connections.try_join_next().is_some() {}
            match self.listener.accept().await {
                Ok((socket, _)) => {
                    let http = self.http.clone();
                    connections.spawn(async move {
                        connection(http, socket).await;
                        drop(permit);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(BREATH).await;
                }
            }
        }
    }
}

async fn connection(http: McpHttp, socket: TcpStream) {
    let service = hyper::service::service_fn(move |request: Request<hyper::body::Incoming>| {
        let http = http.clone();
        async move {
            let is_here = request.uri().path().trim_end_matches('/') == PATH;
            Ok::<_, Infallible>(match is_here {
                true => http.answered(request.map(any)).await,
                false => plain(StatusCode::NOT_FOUND, "there is nothing here; the server is at /mcp"),
            })
        }
    });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .serve_connection(TokioIo::new(socket), service)
        .await;
    if let Err(error) = served {
        tracing::debug!(%error, "a connection broke");
    }
}

impl fmt::Debug for McpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpListener").field("address", &self.address).finish_non_exhaustive()
    }
}

//! Connections.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use attache_core::BoxFuture;
use axum::Router;
use axum::extract::Request;
use axum::response::IntoResponse as _;
use futures_util::future::{Either, select};
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, sleep};

use crate::app::App;
use crate::fault::Fault;
use crate::middleware::Peer;
use crate::resuming;
use crate::self_waking::SelfWaking;
use crate::write_time::Hurried;

/// A server cannot answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Other machines could reach a server that asks nobody for a key.
    #[error("{0} is open to other machines, and no keys are set: listen on 127.0.0.1, or set keys")]
    Open(SocketAddr),
    /// The listener failed.
    #[error("the listener failed")]
    Listener(#[source] std::io::Error),
}

/// The pause after a connection could not be taken: there may be no more files to open for now.
const PAUSE: Duration = Duration::from_millis(50);

/// The maximum number of bytes that a connection holds of what its client does not read yet, and of the head of a
/// request.
const UNREAD: usize = 64 << 10;

/// The time that connections have left once all runs have ended.
const CLOSING: Duration = Duration::from_secs(5);

/// Answers until `shutdown`, then drains. A border: see ADR 0053.
pub(crate) fn serve(
    router: Router,
    app: Arc<App>,
    listener: TcpListener,
    shutdown: BoxFuture<'_, ()>,
) -> BoxFuture<'_, Result<(), ServeError>> {
    Box::pin(serve_until(router, app, listener, shutdown))
}

async fn serve_until(
    router: Router,
    app: Arc<App>,
    listener: TcpListener,
    mut shutdown: BoxFuture<'_, ()>,
) -> Result<(), ServeError> {
    let cleaning: Vec<_> = app
        .agents
        .all()
        .into_iter()
        .map(|hosted| tokio::spawn(async move { hosted.sessions.keep_clean().await }))
        .collect();
    app.has_begun.store(true, Ordering::Relaxed);
    let taking_over = tokio::spawn(resuming::take_over(Arc::downgrade(&app)));
    let background: Vec<_> = cleaning.into_iter().chain([taking_over]).collect();
    let (closing, closed) = watch::channel(());
    let room = Arc::new(Semaphore::new(app.limits.connections));
    loop {
        let accept = pin!(async {
            let permit = Arc::clone(&room).acquire_owned().await;
            (permit, listener.accept().await)
        });
        match select(shutdown.as_mut(), accept).await {
            Either::Left(_) => break,
            Either::Right(((Ok(permit), Ok((stream, peer))), _)) => {
                // Each event goes out at once.
                let _ = stream.set_nodelay(true);
                let stream = Hurried::new(stream, app.limits.write_time);
                let connection = connect(stream, peer, router.clone(), app.limits.head_time, closed.clone());
                tokio::spawn(async move {
                    SelfWaking::new(pin!(connection)).await;
                    drop(permit);
                });
            }
            Either::Right(((_, Err(error)), _)) => {
                tracing::warn!(%error, "a connection could not be taken");
                sleep(PAUSE).await;
            }
            // Nobody closes the semaphore.
            Either::Right(((Err(_), _), _)) => break,
        }
    }
    drop(listener);
    tracing::info!(runs = app.runs.under_way(), "the server stops");
    // Connections without a request end now, the others once they are answered.
    let _ = closing.send(());
    drop(closed);
    let until = Instant::now() + app.limits.drain;
    app.runs.drain(until).await;
    // Other protocols beside the routes drive runs of the same sessions themselves.
    let are_under_way = || app.agents.all().iter().any(|hosted| hosted.sessions.under_way() > 0);
    while are_under_way() && Instant::now() < until {
        sleep(PAUSE).await;
    }
    let _ = tokio::time::timeout(CLOSING, closing.closed()).await;
    background.iter().for_each(tokio::task::JoinHandle::abort);
    Ok(())
}

/// Answers the requests of a connection.
async fn connect(
    stream: Hurried<TcpStream>,
    peer: SocketAddr,
    router: Router,
    head_time: Duration,
    mut closed: watch::Receiver<()>,
) {
    let service = tower_service_fn(router, peer);
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(head_time).max_buf_size(UNREAD);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let ended = match select(connection.as_mut(), pin!(closed.changed())).await {
        Either::Left((ended, _)) => ended,
        Either::Right(_) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// The routes for one connection: each request knows where it comes from.
fn tower_service_fn(
    router: Router,
    peer: SocketAddr,
) -> impl hyper::service::Service<
    http::Request<Incoming>,
    Response = axum::response::Response,
    Error = std::convert::Infallible,
    Future: Send,
> {
    let router = TowerToHyperService::new(router);
    hyper::service::service_fn(move |request: http::Request<Incoming>| {
        let mut request: Request = request.map(axum::body::Body::new);
        request.extensions_mut().insert(Peer(peer.ip()));
        // RFC 9112, 3.2: whoever stands in front may have looked at the other one.
        let hosts = request.headers().get_all(http::header::HOST).iter().count();
        if hosts > 1 || (hosts == 0 && request.version() >= http::Version::HTTP_11) {
            let refused = Fault::invalid("a request has one Host").into_response();
            return Either::Left(std::future::ready(Ok(refused)));
        }
        Either::Right(hyper::service::Service::call(&router, request))
    })
}

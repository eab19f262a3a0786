//! The way that requests go: over the network, or to a service in this process.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use attache_core::{BoxFuture, ErrorKind, ProviderError};
use attache_transport::{EncodedBody, HttpClient, Reply, RequestParts};
use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A body that is read piece by piece.
pub(crate) trait Pieces: Send {
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BoxError>>>;
}

/// A service in this process.
pub(crate) trait Service: Send + Sync {
    fn answer(
        &self,
        request: Request<EncodedBody>,
    ) -> BoxFuture<'static, Result<Response<Box<dyn Pieces>>, BoxError>>;
}

/// The way that requests go.
#[derive(Clone)]
pub(crate) enum Way {
    Network(HttpClient),
    #[cfg_attr(not(feature = "tower"), allow(dead_code, reason = "the feature makes them"))]
    Here(Arc<dyn Service>),
}

impl fmt::Debug for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Network(_) => "over the network",
            Self::Here(_) => "in this process",
        })
    }
}

/// An answer, its body not yet read.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: Body,
}

enum Body {
    Network(Box<Reply>),
    Here(Box<dyn Pieces>),
}

impl Way {
    /// The answer to a request, whatever it is.
    pub(crate) async fn answer(&self, parts: &RequestParts) -> Result<Answer, ProviderError> {
        match self {
            Self::Network(client) => {
                let reply = client.answer(parts).await?;
                let (status, headers) = (reply.status(), reply.headers().clone());
                Ok(Answer { status, headers, body: Body::Network(Box::new(reply)) })
            }
            Self::Here(service) => {
                let mut request = parts.to_http()?;
                // As a server reads it off the wire.
                let host = request.uri().authority().and_then(|authority| authority.as_str().parse().ok());
                let length = request.body().len();
                let headers = request.headers_mut();
                if let Some(host) = host {
                    headers.insert(http::header::HOST, host);
                }
                if length > 0 {
                    headers.insert(http::header::CONTENT_LENGTH, length.into());
                }
                let failed = |error: BoxError| {
                    ProviderError::new(ErrorKind::Network, "the service in this process failed")
                        .with_source(error)
                };
                let (head, body) = service.answer(request).await.map_err(failed)?.into_parts();
                Ok(Answer { status: head.status, headers: head.headers, body: Body::Here(body) })
            }
        }
    }
}

impl Answer {
    /// The next bytes of the body.
    pub(crate) async fn piece(&mut self) -> Result<Option<Bytes>, ProviderError> {
        match &mut self.body {
            Body::Network(reply) => reply.chunk().await,
            Body::Here(body) => {
                let piece = std::future::poll_fn(|context| body.poll_piece(context)).await.transpose();
                piece.map_err(|error| {
                    ProviderError::new(ErrorKind::StreamCut, "the answer ended before its end")
                        .with_source(error)
                })
            }
        }
    }
}

#[cfg(feature = "tower")]
mod of_tower {
    use std::pin::Pin;
    use std::sync::Mutex;

    use bytes::Buf;
    use http_body::Body;

    use super::{BoxError, BoxFuture, Bytes, Context, EncodedBody, Pieces, Poll, Request, Response, Service};

    /// A body, whatever it is made of.
    struct Erased<B>(Pin<Box<B>>);

    impl<B> Pieces for Erased<B>
    where
        B: Body + Send,
        B::Error: Into<BoxError>,
    {
        fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BoxError>>> {
            loop {
                return Poll::Ready(match std::task::ready!(self.0.as_mut().poll_frame(context)) {
                    Some(Ok(frame)) => match frame.into_data() {
                        Ok(mut data) => Some(Ok(data.copy_to_bytes(data.remaining()))),
                        // Trailers.
                        Err(_) => continue,
                    },
                    Some(Err(error)) => Some(Err(error.into())),
                    None => None,
                });
            }
        }
    }

    /// A service that is cloned for each call. The lock makes it one that threads share.
    pub(crate) struct OfTower<S>(pub(crate) Mutex<S>);

    impl<S, B> Service for OfTower<S>
    where
        S: tower_service::Service<Request<EncodedBody>, Response = Response<B>> + Clone + Send + 'static,
        S::Future: Send,
        S::Error: Into<BoxError>,
        B: Body + Send + 'static,
        B::Error: Into<BoxError>,
    {
        fn answer(
            &self,
            request: Request<EncodedBody>,
        ) -> BoxFuture<'static, Result<Response<Box<dyn Pieces>>, BoxError>> {
            let mut service = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
            Box::pin(async move {
                std::future::poll_fn(|context| service.poll_ready(context)).await.map_err(Into::into)?;
                let response = service.call(request).await.map_err(Into::into)?;
                Ok(response.map(|body| Box::new(Erased(Box::pin(body))) as Box<dyn Pieces>))
            })
        }
    }
}

#[cfg(feature = "tower")]
pub(crate) use self::of_tower::OfTower;

//! The bodies of answers, wherever they come from.

use std::pin::Pin;
use std::task::{Context, Poll};

use attache_core::{ErrorKind, ProviderError};
use bytes::Bytes;
use http_body::{Body, Frame};
use hyper::body::Incoming;

/// The source of a body.
#[derive(Debug)]
pub(super) enum Source {
    /// A built-in connection.
    Hyper(Incoming),
    /// A client of the user's own.
    #[cfg(feature = "reqwest")]
    Reqwest(reqwest::Body),
    /// A hook gave it.
    Given(Bytes),
}

impl Source {
    pub(super) fn has_ended(&self) -> bool {
        match self {
            Self::Hyper(body) => body.is_end_stream(),
            #[cfg(feature = "reqwest")]
            Self::Reqwest(body) => body.is_end_stream(),
            Self::Given(body) => body.is_empty(),
        }
    }

    pub(super) fn poll_frame(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ProviderError>>> {
        match self {
            Self::Hyper(body) => Pin::new(body).poll_frame(context).map_err(cut),
            #[cfg(feature = "reqwest")]
            Self::Reqwest(body) => Pin::new(body).poll_frame(context).map_err(|error| {
                let is_slow = error.is_timeout();
                let error = error.without_url();
                match is_slow {
                    true => ProviderError::new(ErrorKind::Timeout, "the client's own time limit passed")
                        .with_source(error),
                    false => cut(error),
                }
            }),
            Self::Given(body) if body.is_empty() => Poll::Ready(None),
            Self::Given(body) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(body))))),
        }
    }
}

fn cut(error: impl std::error::Error + Send + Sync + 'static) -> ProviderError {
    ProviderError::new(ErrorKind::StreamCut, "the connection broke before the reply ended").with_source(error)
}

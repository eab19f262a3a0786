//! Listening to a client, or answering in the network's place.

use std::fmt;
use std::sync::Arc;

use attache_core::ProviderError;
use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};

use crate::request::RequestParts;

/// Stands between a client and the network, for recordings: it listens to what is answered, or answers itself.
///
/// It is told of each attempt that a model makes, uploads and the like included, with all that the request carries,
/// credentials too. It is called while a request is made, so it must not wait.
pub trait Tap: fmt::Debug + Send + Sync + 'static {
    /// The answer to `request`, which then goes nowhere; `None` lets it go to the network.
    ///
    /// # Errors
    /// The error ends the attempt in the place of an answer.
    fn answer(&self, request: &RequestParts) -> Option<Result<Response<Bytes>, ProviderError>> {
        let _ = request;
        None
    }

    /// The network answers `request`. The number is handed back with each piece of the body.
    fn answered(&self, request: &RequestParts, status: StatusCode, headers: &HeaderMap) -> usize {
        let _ = (request, status, headers);
        0
    }

    /// The next piece of the body of the answer of that number, as it is read. What nobody reads is not told.
    fn read(&self, answer: usize, piece: &Bytes) {
        let _ = (answer, piece);
    }
}

/// An answer that somebody listens to.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) tap: Arc<dyn Tap>,
    pub(super) answer: usize,
}

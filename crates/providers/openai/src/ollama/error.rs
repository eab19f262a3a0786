//! Errors of Ollama's own API, which are words alone.

use attache_core::{ErrorKind, ProviderError};
use attache_transport::ErrorResponse;
use http::{HeaderMap, StatusCode};

use crate::error;

/// A failure that a line tells of. To one before the first line the server answers with status 500. (openai.md C.13)
pub(super) fn failed(line: &[u8]) -> ProviderError {
    let answer = ErrorResponse::new(StatusCode::INTERNAL_SERVER_ERROR, HeaderMap::new(), line);
    read(&answer).with_status(None)
}

/// Reads a response with an error status, which says in words what a model cannot do.
pub(super) fn read(response: &ErrorResponse) -> ProviderError {
    let common = error::read(response);
    if common.message().contains("does not support") {
        return response.error(ErrorKind::Unsupported, common.message());
    }
    common
}

//! From a [`ChatRequest`] to an HTTP request.

use attache_core::{ChatRequest, ErrorKind, ProviderConfig, ProviderError, Secret};
use attache_transport::EncodedRequest;

use super::ResponsesCodec;

impl ResponsesCodec {
    /// [`Codec::encode`](attache_transport::Codec::encode).
    pub(super) fn request(
        &self,
        request: &ChatRequest,
        config: &ProviderConfig,
        key: Option<&Secret>,
    ) -> Result<EncodedRequest, ProviderError> {
        let _ = (request, config, key);
        Err(ProviderError::new(ErrorKind::Unsupported, "requests are not encoded yet"))
    }
}

//! Requests that have an API count tokens.

use attache_core::{ErrorKind, ProviderError};
use serde_json::{Map, Value};

use crate::encoded::EncodedRequest;
use crate::request::RequestParts;

/// The maximum number of bytes of an answer with a number.
pub(crate) const ANSWER_LIMIT: usize = 64 << 10;

/// A request that has an API count what a model would read of another request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CountRequest {
    /// The HTTP request.
    pub parts: RequestParts,
    /// Where the answer has the number, as a JSON pointer.
    pub pointer: &'static str,
}

impl CountRequest {
    /// The count of `encoded`, which goes to `url` with what `change` makes of its members. The number stands in the
    /// answer where `pointer` points.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`] for a body that is no object.
    pub fn of(
        encoded: EncodedRequest,
        url: String,
        pointer: &'static str,
        change: impl FnOnce(Map<String, Value>) -> Value,
    ) -> Result<Self, ProviderError> {
        let mut parts = encoded.parts;
        let members = serde_json::from_slice(&parts.body.to_vec()).map_err(|cause| {
            ProviderError::new(ErrorKind::Configuration, "the request cannot be counted").with_source(cause)
        })?;
        parts.body = change(members).to_string().into();
        parts.url = url;
        parts.whole = true;
        Ok(Self { parts, pointer })
    }

    /// The number in an answer.
    pub(crate) fn read(&self, answer: &[u8]) -> Result<u64, ProviderError> {
        let value: Option<Value> = serde_json::from_slice(answer).ok();
        let count = value.as_ref().and_then(|value| value.pointer(self.pointer)?.as_u64());
        count.ok_or_else(|| ProviderError::new(ErrorKind::Malformed, "the answer holds no count of tokens"))
    }
}

//! A request as a codec makes it.

use attache_core::Degradation;

use crate::request::RequestParts;
use crate::strict::StrictForms;

/// A request as a codec makes it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EncodedRequest {
    /// The HTTP request.
    pub parts: RequestParts,
    /// Options that were left out or changed because the caller allowed it.
    pub degradations: Vec<Degradation>,
    /// The schemas of the request in a subset that the API enforces. The reply is brought back from there.
    pub strict: Option<StrictForms>,
}

impl EncodedRequest {
    /// A request, and what it leaves out.
    pub fn new(parts: RequestParts, degradations: Vec<Degradation>) -> Self {
        Self { parts, degradations, strict: None }
    }

    /// Says what is said in a strict subset.
    #[must_use]
    pub fn with_strict(mut self, strict: Option<StrictForms>) -> Self {
        self.strict = strict;
        self
    }
}

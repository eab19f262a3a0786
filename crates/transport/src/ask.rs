//! One call, as a codec is asked to write it.

use attache_core::{ChatRequest, ModelSettings, Secret};

/// One call to be written: the request, the options that hold for it, the key, and the codec that writes it once there
/// is one ([`of`](Self::of)).
#[derive(Debug)]
#[non_exhaustive]
pub struct Ask<'a, C = ()> {
    /// The request, whose messages routing has looked at.
    pub request: &'a ChatRequest,
    /// The options: the provider's, overruled by the request's.
    pub settings: &'a ModelSettings,
    /// The key to the API, if it takes one.
    pub key: Option<&'a Secret>,
    /// The codec that writes the request.
    pub codec: &'a C,
}

impl<C> Clone for Ask<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Ask<'_, C> {}

impl<'a> Ask<'a> {
    /// Asks for `request` with `settings`, authorised by `key`.
    pub fn new(request: &'a ChatRequest, settings: &'a ModelSettings, key: Option<&'a Secret>) -> Self {
        Self { request, settings, key, codec: &() }
    }

    /// This call, written by `codec`.
    pub fn of<C>(self, codec: &'a C) -> Ask<'a, C> {
        let Self { request, settings, key, .. } = self;
        Ask { request, settings, key, codec }
    }
}

impl<'a, C> Ask<'a, C> {
    /// This call for another form of its request.
    #[must_use]
    pub fn with_request(self, request: &'a ChatRequest) -> Self {
        Self { request, ..self }
    }
}

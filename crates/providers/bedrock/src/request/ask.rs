//! One request, with all that encoding needs.

use attache_core::{ChatRequest, ModelSettings};

use crate::codec::ConverseCodec;

/// The request that is encoded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask<'a> {
    pub(super) request: &'a ChatRequest,
    pub(super) settings: &'a ModelSettings,
    pub(super) codec: &'a ConverseCodec,
}

//! One request, with all that encoding needs.

use attache_core::{ChatRequest, ModelSettings};

use crate::codec::GenerateCodec;

/// The request that is encoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask<'a> {
    pub(crate) request: &'a ChatRequest,
    pub(crate) settings: &'a ModelSettings,
    pub(crate) codec: &'a GenerateCodec,
}

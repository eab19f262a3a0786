//! What is asked for.

use attache_core::{ChatRequest, ModelSettings};

use crate::codec::GenerateCodec;

/// What is to be encoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask<'a> {
    pub(crate) request: &'a ChatRequest,
    pub(crate) settings: &'a ModelSettings,
    pub(crate) codec: &'a GenerateCodec,
}

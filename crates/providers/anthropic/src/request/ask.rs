//! What is asked for.

use attache_core::{ChatRequest, ModelSettings};

use crate::codec::MessagesCodec;

/// What is to be encoded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask<'a> {
    pub(super) request: &'a ChatRequest,
    pub(super) settings: &'a ModelSettings,
    pub(super) codec: &'a MessagesCodec,
}

//! One call, as this API writes it.

use crate::codec::ServerCodec;

/// The Responses API.
#[derive(Clone, Copy, Debug)]
pub struct Responses;

/// One call that the codec writes.
pub(super) type Ask<'a> = attache_transport::Ask<'a, ServerCodec<Responses>>;

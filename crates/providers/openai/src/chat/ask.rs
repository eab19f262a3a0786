//! One call, as this API writes it.

use crate::codec::ServerCodec;

/// Chat Completions.
#[derive(Clone, Copy, Debug)]
pub struct Chat;

/// One call that the codec writes.
pub(super) type Ask<'a> = attache_transport::Ask<'a, ServerCodec<Chat>>;

//! Where a conversation is cut: what stands before may be kept at the provider.

use std::sync::Arc;

use attache_core::Message;

use super::entries::Key;

/// A prefix that was looked at, so that it is rendered and hashed once.
#[derive(Debug)]
pub(crate) struct Prefix {
    pub(super) cut: Cut,
    pub(super) messages: Vec<Arc<Message>>,
    /// Of what stands before the contents, and of the credentials.
    pub(super) head: Key,
    pub(super) key: Key,
}

/// A cached content that holds a prefix of a request.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) name: String,
    /// The messages that it does not hold.
    pub(crate) rest: Vec<Arc<Message>>,
}

/// A place in a conversation: what stands before it may be kept. The rest begins with the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// The first message of the rest.
    pub(super) message: usize,
    /// The first part of it, where the parts before it are kept.
    pub(super) part: usize,
}

impl Cut {
    /// The number of messages that the prefix depends on.
    pub(super) fn until(self) -> usize {
        self.message + usize::from(self.part > 0)
    }
}

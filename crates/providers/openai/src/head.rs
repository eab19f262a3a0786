//! The part of a body before its messages.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use bytes::Bytes;
use serde_json::Value;

/// Model, tools, and instructions that are not part of the history.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) model: String,
    /// The tools of the server's own.
    pub(crate) hosted: Vec<Value>,
    pub(crate) system: String,
    /// Model and tools.
    pub(crate) before: String,
    /// With the instructions, up to the messages, and with a comma if messages follow.
    alone: Bytes,
    followed: Bytes,
    pub(crate) cache_key: String,
}

impl Head {
    /// `alone` is all of it; `ends_in_item` says that it ends in a message of its own.
    pub(crate) fn new(
        model: &str,
        hosted: &[&Value],
        system: String,
        before: String,
        alone: String,
        ends_in_item: bool,
    ) -> Self {
        let mut hasher = DefaultHasher::new();
        alone.hash(&mut hasher);
        let followed = if ends_in_item { format!("{alone},") } else { alone.clone() };
        Self {
            model: model.to_owned(),
            hosted: hosted.iter().copied().cloned().collect(),
            system,
            before,
            alone: alone.into(),
            followed: followed.into(),
            // The same for all conversations of an agent, whose common prefix it is.
            cache_key: format!("attache-{:016x}", hasher.finish()),
        }
    }

    /// True if it has these tools of the server's own.
    pub(crate) fn has(&self, hosted: &[&Value]) -> bool {
        self.hosted.iter().eq(hosted.iter().copied())
    }

    /// The part before the messages, or before their end where there are none.
    pub(crate) fn bytes(&self, has_items: bool) -> Bytes {
        if has_items { self.followed.clone() } else { self.alone.clone() }
    }
}

//! The part of a body before its messages.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use attache_core::{ModelCapabilities, ToolSet};
use attache_transport::{EncodedLog, Envelope, is_same, same_names};
use bytes::Bytes;
use serde_json::Value;

use crate::profile::Profile;
use crate::server::Server;

/// Every item is a message of its own, so that the roles make no difference.
static ENVELOPE: Envelope = Envelope::LIST;

/// The part of a conversation's state that both APIs keep between its requests.
#[derive(Debug)]
pub(crate) struct Kept {
    profile: Arc<Profile>,
    capabilities: Arc<ModelCapabilities>,
    /// The tools whose names the items use.
    tools: Arc<ToolSet>,
    pub(crate) log: EncodedLog,
    pub(crate) head: Option<Head>,
}

impl Kept {
    pub(crate) fn new(server: &Server, tools: &Arc<ToolSet>) -> Self {
        Self {
            profile: Arc::clone(&server.profile),
            capabilities: Arc::clone(&server.capabilities),
            tools: Arc::clone(tools),
            log: EncodedLog::new(&ENVELOPE),
            head: None,
        }
    }

    /// True if `server` would render the same with these tools.
    pub(crate) fn fits(&self, server: &Server, tools: &Arc<ToolSet>) -> bool {
        is_same(&self.profile, &server.profile)
            && is_same(&self.capabilities, &server.capabilities)
            && same_names(&self.tools, tools)
    }

    /// The head of the request before, if it has these tools; they are the ones from now on.
    pub(crate) fn known_head(&mut self, tools: &Arc<ToolSet>, hosted: &[&Value]) -> Option<Head> {
        let same_tools = Arc::ptr_eq(&self.tools, tools);
        self.tools = Arc::clone(tools);
        self.head.take().filter(|head| same_tools && head.hosted.iter().eq(hosted.iter().copied()))
    }
}

/// Model, tools, and instructions that are not part of the history.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) model: String,
    /// The tools of the server's own.
    hosted: Vec<Value>,
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

    /// The part before the messages, or before their end where there are none.
    pub(crate) fn bytes(&self, has_items: bool) -> Bytes {
        if has_items { self.followed.clone() } else { self.alone.clone() }
    }
}

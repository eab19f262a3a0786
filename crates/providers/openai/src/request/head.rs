//! The part of a body before its messages.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use attache_core::{ModelCapabilities, ToolSet};
use attache_transport::{EncodedBody, EncodedLog, Envelope, Marker, forbid, is_same, same_names, tail};
use bytes::Bytes;
use serde_json::{Map, Value};

use super::invalid;
use crate::error::Result;
use crate::profile::Profile;
use crate::server::Server;

/// Every item is a message of its own, so that the roles make no difference.
static ENVELOPE: Envelope = Envelope::LIST;

/// The part of a conversation's state that all these APIs keep between its requests.
#[derive(Debug)]
pub(crate) struct Kept {
    profile: Arc<Profile>,
    capabilities: Arc<ModelCapabilities>,
    /// The tools whose names the items use.
    tools: Arc<ToolSet>,
    pub(crate) log: EncodedLog,
    head: Option<Head>,
}

/// The things that a head is made for besides the tools of the request.
#[derive(Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) model: &'a str,
    /// The tools of the server's own.
    pub(crate) hosted: &'a [&'a Value],
    /// The instructions that are not part of the history.
    pub(crate) system: String,
    pub(crate) form: Form,
}

/// The form of a head, as far as it depends on the options of a request.
#[derive(Debug, PartialEq)]
pub(crate) struct Form {
    /// The tools that are offered.
    pub(crate) offered: Offered,
    /// The marker of a prefix that is kept.
    pub(crate) marker: Option<&'static str>,
    /// The instructions are an item.
    pub(crate) as_item: bool,
}

/// Which of a request's tools are offered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Offered {
    All,
    None,
    /// The one of this name.
    One(String),
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

    /// Makes the head of a request with these tools, out of that of the request before as far as it still holds.
    /// `before` writes model and tools, `add` the instructions behind them. Yields the key for the cache of prompts.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidHistory`](attache_core::ErrorKind::InvalidHistory) if there is neither a message nor an
    /// instruction in the place of one.
    pub(crate) fn renew_head(
        &mut self,
        tools: &Arc<ToolSet>,
        wanted: Wanted<'_>,
        before: impl FnOnce(&Form) -> Result<String>,
        add: impl FnOnce(&str, &mut String) -> Result<()>,
    ) -> Result<&str> {
        let same_tools = Arc::ptr_eq(&self.tools, tools);
        self.tools = Arc::clone(tools);
        let head = match self.head.take().filter(|head| same_tools && head.is_alike(&wanted)) {
            Some(head) if head.system == wanted.system => head,
            known => {
                let before = known.map_or_else(|| before(&wanted.form), |head| Ok(head.before))?;
                let mut alone = before.clone();
                add(&wanted.system, &mut alone)?;
                Head::new(wanted, before, alone)
            }
        };
        let ends_in_item = head.ends_in_item();
        let head = self.head.insert(head);
        match ends_in_item || self.log.first_role().is_some() {
            true => Ok(&head.cache_key),
            false => Err(invalid("there is no message to send")),
        }
    }

    /// The body: head, items, and behind them `members`, which cannot replace those that are `reserved`.
    pub(crate) fn body(
        &self,
        mut members: Map<String, Value>,
        reserved: &[&str],
        markers: &[Marker],
    ) -> Result<EncodedBody> {
        members.remove("model");
        forbid(&members, reserved)?;
        let has_items = self.log.first_role().is_some();
        let head = self.head.as_ref().map(|head| head.bytes(has_items)).unwrap_or_default();
        Ok(self.log.body(head, tail(&members)?, markers))
    }
}

/// Model, tools, and instructions that are not part of the history.
#[derive(Debug)]
struct Head {
    model: String,
    hosted: Vec<Value>,
    system: String,
    form: Form,
    /// Model and tools.
    before: String,
    /// With the instructions, up to the messages, and with a comma if messages follow.
    alone: Bytes,
    followed: Bytes,
    cache_key: String,
}

impl Head {
    fn new(wanted: Wanted<'_>, before: String, alone: String) -> Self {
        let mut hasher = DefaultHasher::new();
        alone.hash(&mut hasher);
        let ends_in_item = wanted.form.as_item && !wanted.system.is_empty();
        let followed = if ends_in_item { format!("{alone},") } else { alone.clone() };
        Self {
            model: wanted.model.to_owned(),
            hosted: wanted.hosted.iter().copied().cloned().collect(),
            system: wanted.system,
            form: wanted.form,
            before,
            alone: alone.into(),
            followed: followed.into(),
            // The same for all conversations of an agent, whose common prefix it is.
            cache_key: format!("attache-{:016x}", hasher.finish()),
        }
    }

    /// True if model and tools are written as they are wanted.
    fn is_alike(&self, wanted: &Wanted<'_>) -> bool {
        self.model == wanted.model
            && self.form == wanted.form
            && self.hosted.iter().eq(wanted.hosted.iter().copied())
    }

    /// True if it ends in a message of its own.
    fn ends_in_item(&self) -> bool {
        self.alone.len() < self.followed.len()
    }

    /// The part before the messages, or before their end where there are none.
    fn bytes(&self, has_items: bool) -> Bytes {
        if has_items { self.followed.clone() } else { self.alone.clone() }
    }
}

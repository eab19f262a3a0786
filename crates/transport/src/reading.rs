//! The request's part in reading its reply.

use std::sync::Arc;

use attache_core::message::ReplayData;
use attache_core::{Degradation, ToolSet};
use serde_json::value::RawValue;

/// A decoder's knowledge of the request whose reply it reads.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Reading {
    /// The tag of what goes back to where it came from.
    pub family: Arc<str>,
    /// The model that was asked, the other half of the tag.
    pub model: Arc<str>,
    /// They map wire names back.
    pub tools: Arc<ToolSet>,
    /// The options that were left out of the request.
    pub degradations: Vec<Degradation>,
}

impl Reading {
    /// The knowledge for a reply of `model`.
    pub fn new(
        family: impl Into<Arc<str>>,
        model: Arc<str>,
        tools: Arc<ToolSet>,
        degradations: Vec<Degradation>,
    ) -> Self {
        Self { family: family.into(), model, tools, degradations }
    }

    /// Data that goes back to where it came from.
    pub fn tag(&self, raw: Box<RawValue>) -> ReplayData {
        ReplayData::new(Arc::clone(&self.family), Arc::clone(&self.model), raw)
    }
}

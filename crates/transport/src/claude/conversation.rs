//! The state of a conversation that is kept between its requests.

use std::sync::Arc;

use attache_core::ToolSet;

use super::tools::WrittenTools;
use crate::encoded_log::{EncodedLog, Envelope};

/// The rendered messages, and what they were rendered for. `P` is the plan: what an API decides about a conversation
/// before any of it is rendered.
#[derive(Debug)]
#[non_exhaustive]
pub struct Conversation<P> {
    /// The rendered messages.
    pub log: EncodedLog,
    /// The plan.
    pub plan: P,
    /// The tools as they were written last.
    pub written_tools: WrittenTools,
    model: String,
    taken_for: String,
    tools: Arc<ToolSet>,
}

impl<P: Default> Conversation<P> {
    /// Nothing is rendered yet.
    pub fn new(envelope: &'static Envelope) -> Self {
        Self {
            log: EncodedLog::new(envelope),
            plan: P::default(),
            written_tools: WrittenTools::default(),
            model: String::new(),
            taken_for: String::new(),
            tools: Arc::default(),
        }
    }

    /// Takes the conversation up for a model, and what that is taken for, with these tools. If they are others than
    /// before, it must be planned anew: rendered messages stay, but their conditions are looked at again.
    pub fn take_up(&mut self, model: &str, taken_for: &str, tools: &Arc<ToolSet>) {
        let same_model = self.model == model && self.taken_for == taken_for;
        if same_model && Arc::ptr_eq(&self.tools, tools) {
            return;
        }
        self.plan = P::default();
        if !same_model || self.tools != *tools {
            self.written_tools = WrittenTools::default();
        }
        (self.model, self.taken_for) = (model.to_owned(), taken_for.to_owned());
        self.tools = Arc::clone(tools);
    }
}

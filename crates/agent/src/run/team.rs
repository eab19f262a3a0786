//! The agents of a run that hand its conversation over to one another, as the fold knows them.

use std::sync::Arc;

use attache_core::{Message, Role};

use crate::log::Transfer;

/// The metadata of a reply, and of instructions, of an agent to which the conversation was handed over: its name.
pub const AGENT: &str = "agent";

/// The agents of a run that hand its conversation over to one another.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Team {
    /// The hand-offs that the agent may make which has the conversation.
    pub(super) transfers: Vec<Transfer>,
    /// The hand-off that is to be made before the model is asked again.
    pub(super) next: Option<Transfer>,
    /// The names on the way to the agent which has the conversation.
    pub(super) path: Vec<String>,
    /// The number of hand-offs.
    pub(super) count: u32,
    /// The steps that came before that agent had the conversation.
    pub(super) since: u32,
    /// The number of times at which tools were offered before.
    pub(super) offered: usize,
}

impl Team {
    pub(super) fn is_transfer(&self, tool: &str) -> bool {
        self.transfers.iter().any(|transfer| transfer.tool == tool)
    }
}

/// The conversation without the instructions at its beginning.
pub(crate) fn without_instructions(history: &[Arc<Message>]) -> &[Arc<Message>] {
    let begin = history.iter().position(|message| message.role() != Role::System);
    history.get(begin.unwrap_or(history.len())..).unwrap_or_default()
}

//! Ids of calls, which must be unique in the whole input.

use std::collections::HashSet;
use std::sync::Arc;

use attache_core::{AssistantMessage, Message, ToolCall};
use attache_transport::wire_ids;

use crate::chat::legal;
use crate::profile::CallIds;

/// Which messages use ids that an earlier one has used. Servers that count their calls anew in each answer send such
/// ids, and so does a history with the answers of several servers. (openai.md B.2, D 12)
#[derive(Debug, Default)]
pub(super) struct Repeats {
    seen: Vec<Arc<Message>>,
    taken: HashSet<String>,
    repeats: HashSet<usize>,
}

impl Repeats {
    /// Looks at the messages that are new. Whether a message repeats ids depends on nothing behind it, so a history
    /// that grows stays as it was sent.
    pub(super) fn sync(&mut self, messages: &[Arc<Message>], rule: CallIds) {
        let same = self.seen.iter().zip(messages).take_while(|(seen, new)| Arc::ptr_eq(seen, new)).count();
        if same < self.seen.len() {
            *self = Self::default();
        }
        for (at, message) in messages.iter().enumerate().skip(self.seen.len()) {
            self.seen.push(Arc::clone(message));
            let Message::Assistant(assistant) = &**message else { continue };
            let mut ids = call_ids(assistant, false, rule);
            if ids.iter().any(|id| self.taken.contains(id)) {
                self.repeats.insert(at);
                ids = call_ids(assistant, true, rule);
            }
            self.taken.extend(ids);
        }
    }

    /// Whether the message at `index` repeats ids.
    pub(super) fn at(&self, index: usize) -> bool {
        self.repeats.contains(&index)
    }
}

/// The ids of a message's calls on the wire: the server's own, or ours where these `repeat` earlier ones.
pub(super) fn call_ids(message: &AssistantMessage, repeat: bool, rule: CallIds) -> Vec<String> {
    let legal = |id: &str| legal(id, rule);
    let calls: Vec<&ToolCall> = message.tool_calls().collect();
    if !repeat {
        return wire_ids(&calls, legal);
    }
    let ours: Vec<_> = calls.into_iter().map(|call| call.clone().with_provider_id(None)).collect();
    wire_ids(&ours.iter().collect::<Vec<_>>(), legal)
}

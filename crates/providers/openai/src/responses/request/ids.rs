//! Ids of calls, which must be unique in the whole input.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use attache_core::{AssistantMessage, Message, ToolCall};
use attache_transport::wire_ids;

use crate::chat::legal;
use crate::profile::CallIds;

/// The ids of calls on the wire: those of the server, or ours where an earlier message has the same. Servers that
/// number their calls anew in each answer send such ids, and so does a history with the answers of several servers.
/// (openai.md B.2, D 12)
#[derive(Debug, Default)]
pub(super) struct WireIds {
    seen: Vec<Arc<Message>>,
    taken: HashSet<String>,
    /// By the index of the message, the ids of those that would repeat some.
    renamed: HashMap<usize, Vec<String>>,
}

impl WireIds {
    /// Looks at the messages that are new. The ids of a message depend on nothing behind it, so a history that grows
    /// stays as it was sent.
    pub(super) fn sync(&mut self, messages: &[Arc<Message>], rule: CallIds) {
        let same = self.seen.iter().zip(messages).take_while(|(seen, new)| Arc::ptr_eq(seen, new)).count();
        if same < self.seen.len() {
            *self = Self::default();
        }
        for (at, message) in messages.iter().enumerate().skip(self.seen.len()) {
            self.seen.push(Arc::clone(message));
            let Message::Assistant(assistant) = &**message else { continue };
            let Some(repeats) = own(assistant, rule).into_iter().position(|id| !self.taken.insert(id)) else {
                continue;
            };
            let calls = assistant.tool_calls().zip(own(assistant, rule)).enumerate();
            let ids = calls.map(|(nth, (call, id))| match nth < repeats {
                true => id,
                false => self.free(call, id, rule),
            });
            let ids: Vec<_> = ids.collect();
            self.renamed.insert(at, ids);
        }
    }

    /// Takes `id`, or one that is free.
    fn free(&mut self, call: &ToolCall, mut id: String, rule: CallIds) -> String {
        let mut copy = 0;
        while !self.taken.insert(id.clone()) {
            copy += 1;
            id = match copy {
                1 => legal(call.id.as_str(), rule),
                _ => legal(&format!("{}_{copy}", call.id), rule),
            };
        }
        id
    }

    /// The ids of the calls of the message at `index`, in call order.
    pub(super) fn of(&self, index: usize, message: &AssistantMessage, rule: CallIds) -> Vec<String> {
        self.renamed(index).map_or_else(|| own(message, rule), <[_]>::to_vec)
    }

    /// The same if they are not those that the message would have by itself.
    pub(super) fn renamed(&self, index: usize) -> Option<&[String]> {
        self.renamed.get(&index).map(Vec::as_slice)
    }
}

fn own(message: &AssistantMessage, rule: CallIds) -> Vec<String> {
    let calls: Vec<&ToolCall> = message.tool_calls().collect();
    wire_ids(&calls, |id| legal(id, rule))
}

//! Repair of imported conversations, so that every provider accepts them.

mod kind;
mod numbered;
mod order;
mod pairing;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::id::MessageId;
use crate::message::Message;
pub use kind::{Repair, RepairKind};
use numbered::Numbered;

/// A conversation after [`repair`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Repaired {
    /// The messages in order. A message that needed no repair is the original `Arc`.
    pub messages: Vec<Arc<Message>>,
    /// The repairs, in no particular order; empty for a valid conversation.
    pub repairs: Vec<Repair>,
}

/// Repairs everything that some or all providers reject: calls without results and results without calls, duplicate or
/// misplaced results, duplicate ids, blank or empty content, instructions that do not come first, a conversation that
/// begins with the model.
///
/// It is a pure function. Nothing is lost: content that no longer has a place becomes a user-side event, with its
/// documents (except documents that a handler withholds from the model, and texts that are already there). Repairing
/// again changes nothing, and a valid conversation keeps its original messages.
///
/// Further rules for roles are handled by the codecs: they merge adjacent messages of the same role if their API
/// requires it, and several consecutive replies of the model may be one turn that the provider continued.
///
/// ```
/// use attache_core::{Arguments, AssistantMessage, Message, ToolCall};
/// use attache_core::repair::{RepairKind, repair};
///
/// let call = ToolCall::new("find", Arguments::new("{}"));
/// let asks = Message::Assistant(AssistantMessage::new([call.into()])).shared();
/// let repaired = repair(&[Message::user("Where is it?").shared(), asks, Message::user("Well?").shared()]);
/// assert_eq!(repaired.messages.len(), 4, "the result that was missing says that its outcome is not known");
/// assert_eq!(repaired.repairs[0].kind, RepairKind::MissingResult);
/// assert!(repair(&repaired.messages).repairs.is_empty());
/// ```
pub fn repair(messages: &[Arc<Message>]) -> Repaired {
    let mut repairs = Vec::new();
    let numbered =
        messages.iter().enumerate().map(|(at, message)| Numbered { at, message: Arc::clone(message) });
    let mut messages = pairing::paired(numbered.collect(), &mut repairs);
    messages = order::filled(messages, &mut repairs);
    order::anchored(&mut messages, &mut repairs);
    order::begun(&mut messages, &mut repairs);
    unique_ids(&mut messages, &mut repairs);
    Repaired { messages: messages.into_iter().map(|numbered| numbered.message).collect(), repairs }
}

/// Gives each message an id of its own: what was rendered of one is known by it.
fn unique_ids(messages: &mut [Numbered], repairs: &mut Vec<Repair>) {
    let mut taken: HashSet<MessageId> = HashSet::with_capacity(messages.len());
    let mut copies: HashMap<MessageId, u64> = HashMap::new();
    for numbered in messages {
        let own = numbered.message.id().clone();
        if taken.insert(own.clone()) {
            continue;
        }
        // Each id counts its copies, so that many of them do not try the same numbers again.
        let copy = copies.entry(own.clone()).or_insert(1);
        let id = loop {
            *copy += 1;
            let id = own.derived(&copy.to_string());
            if taken.insert(id.clone()) {
                break id;
            }
        };
        repairs.push(
            numbered
                .repair(RepairKind::DuplicateMessage, format!("it has the id of another; it is {id} now")),
        );
        *numbered = numbered.with((*numbered.message).clone().with_id(id));
    }
}

//! The places where turns begin in a conversation.

use std::sync::Arc;

use attache_core::Message;
use attache_core::message::{NOTICE, UserOrigin};

/// The metadata of a reply that the provider paused and that is continued.
pub(crate) const PAUSED: &str = "paused";
/// The metadata of results, or of a paused reply, after which the run ended without an answer.
pub(crate) const TURN_ENDED: &str = "turnEnded";
/// The metadata of a decision of the memory, which stands in the history as a message.
pub(crate) const MEMORY: &str = "memory";

/// Reads a conversation message by message, and says where a turn begins: a user message and all that follows up to
/// the next one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Turns {
    /// True if the last message belongs to the user's side at the beginning of a turn.
    opening: bool,
    /// True if the turn goes on after the last message.
    in_round: bool,
}

impl Turns {
    /// True if a message, which was read last, belongs to what its turn begins with: the words of its author, an event, and
    /// what was told beside them.
    pub(super) fn is_in_opening(&self, message: &Message) -> bool {
        self.opening
            && matches!(message, Message::User(user) if user.origin != UserOrigin::ToolCallDocuments
                && user.metadata.get(NOTICE).is_none() && user.metadata.get(MEMORY).is_none())
    }

    /// True if the next message opens a turn. `is_task` says that the newest input begins with it, which opens one
    /// whatever stands before it.
    pub(super) fn opens(&mut self, message: &Message, is_task: bool) -> bool {
        match message {
            Message::User(user) => {
                let says = user.origin != UserOrigin::ToolCallDocuments
                    && user.metadata.get(NOTICE).is_none()
                    && user.metadata.get(MEMORY).is_none();
                let opens = says && !self.opening && (!self.in_round || is_task);
                if opens {
                    (self.opening, self.in_round) = (true, false);
                }
                return opens;
            }
            Message::Assistant(reply) => {
                self.opening = false;
                self.in_round =
                    reply.metadata.get(PAUSED).is_some() && reply.metadata.get(TURN_ENDED).is_none();
            }
            Message::ToolResults(results) => {
                self.opening = false;
                self.in_round = results.metadata.get(TURN_ENDED).is_none();
            }
            _ => {}
        }
        false
    }
}

/// True if the message there, if it is a reply, goes on with a paused one: they are one reply to the provider, whose own
/// tools it may have called in the first part and answered in the second.
pub(super) fn goes_on(history: &[Arc<Message>], at: usize) -> bool {
    // A decision of the memory may stand between them.
    let mut before = history.get(..at).unwrap_or_default().iter().rev().map(|message| message.metadata());
    before
        .find(|metadata| metadata.get(MEMORY).is_none())
        .is_some_and(|metadata| metadata.get(PAUSED).is_some() && metadata.get(TURN_ENDED).is_none())
}

/// True if a message stays with its turn, whatever rounds leave.
pub(super) fn is_of_author(message: &Message) -> bool {
    match message {
        Message::System(_) => true,
        Message::User(user) => user.origin == UserOrigin::Author,
        _ => false,
    }
}

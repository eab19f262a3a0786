//! The content of messages, and their order.

use std::collections::HashSet;
use std::sync::Arc;

use crate::document::Document;
use crate::message::{Message, Metadata, Role, TOOL_CALL_DOCUMENTS, UserMessage, UserOrigin, UserPart};
use crate::repair::kind::{Repair, RepairKind};
use crate::repair::numbered::{Numbered, is_blank_content, is_blank_part, is_empty, role};

/// The user's words in a conversation that begins with the model.
const OPENING: &str = "(The assistant speaks first.)";

/// Leaves out parts that say nothing, and messages without parts.
pub(super) fn filled(messages: Vec<Numbered>, repairs: &mut Vec<Repair>) -> Vec<Numbered> {
    let mut filled = Vec::with_capacity(messages.len());
    for mut numbered in messages {
        if let Some((mended, count)) = without_blanks(&numbered.message) {
            repairs.push(numbered.repair(RepairKind::BlankPart, format!("{count} blank parts are left out")));
            numbered = numbered.with(mended);
        }
        if is_empty(&numbered.message) {
            repairs.push(numbered.repair(RepairKind::EmptyMessage, "it says nothing and is left out"));
        } else {
            filled.push(numbered);
        }
    }
    filled
}

fn without_blanks(message: &Message) -> Option<(Message, usize)> {
    match message {
        Message::User(user) if user.parts.iter().any(is_blank_content) => {
            let mut mended = user.clone();
            mended.parts.retain(|part| !is_blank_content(part));
            let count = user.parts.len() - mended.parts.len();
            Some((Message::User(mended), count))
        }
        Message::Assistant(assistant) if assistant.parts.iter().any(is_blank_part) => {
            let mut mended = assistant.clone();
            mended.parts.retain(|part| !is_blank_part(part));
            let count = assistant.parts.len() - mended.parts.len();
            Some((Message::Assistant(mended), count))
        }
        _ => None,
    }
}

/// Synthetic messages are projections of the results before them and hold nothing else. Other content becomes an event.
pub(super) fn anchored(messages: &mut [Numbered], repairs: &mut Vec<Repair>) {
    let mut results: Option<Arc<Message>> = None;
    for numbered in messages {
        match &*numbered.message {
            Message::ToolResults(_) => results = Some(Arc::clone(&numbered.message)),
            Message::User(user) if user.origin == UserOrigin::ToolCallDocuments => {
                if results.as_ref().is_some_and(|results| is_projection(&numbered.message, results)) {
                    continue;
                }
                let why = match results {
                    Some(_) => "it holds documents that the tool results before it do not hold",
                    None => "it follows no tool results",
                };
                repairs
                    .push(numbered.repair(RepairKind::OrphanDocuments, format!("{why}; it is an event now")));
                *numbered = numbered.with(Message::User(as_event(user)));
                results = None;
            }
            _ => results = None,
        }
    }
}

/// True if each document is one of the results, or inside one of them at whatever depth. Only ids tell: a model may have
/// been shown another form of the content.
fn is_projection(synthetic: &Message, results: &Message) -> bool {
    let known = results.documents();
    let ids: HashSet<_> = known.iter().map(|document| document.id()).collect();
    let roots: HashSet<_> = known.iter().map(|document| document.id().root()).collect();
    let is_known = |document: &&Document| {
        ids.contains(document.id()) || document.id().own_root().is_some_and(|root| roots.contains(&root))
    };
    synthetic.documents().iter().all(is_known)
}

fn as_event(user: &UserMessage) -> UserMessage {
    let mut event = user.clone();
    event.origin = UserOrigin::Event;
    if let Some(routed) = event.routed.take()
        && event.parts.is_empty()
    {
        event.parts = routed.content;
    }
    let mut metadata = event.metadata.entries().clone();
    metadata.shift_remove(TOOL_CALL_DOCUMENTS);
    event.metadata = Metadata::from(metadata);
    event
}

/// Puts instructions first, and a word of the user before a model that speaks first.
pub(super) fn begun(messages: &mut Vec<Numbered>, repairs: &mut Vec<Repair>) {
    let first_system = messages.iter().position(|numbered| role(numbered) == Role::System);
    if let Some(at) = first_system.filter(|at| *at > 0) {
        let system = messages.remove(at);
        repairs.push(system.repair(RepairKind::SystemNotFirst, "it stands first now"));
        messages.insert(0, system);
    }
    let start = messages.iter().take_while(|numbered| role(numbered) == Role::System).count();
    let Some(first) = messages.get(start).filter(|first| role(first) == Role::Assistant) else { return };
    let opening = UserMessage { origin: UserOrigin::Event, ..UserMessage::new([UserPart::text(OPENING)]) };
    let opening = Message::User(opening).with_id(first.message.id().derived("opening"));
    repairs.push(first.repair(RepairKind::BeginsWithAssistant, "a word of the user stands before it now"));
    let opening = first.with(opening);
    messages.insert(start, opening);
}

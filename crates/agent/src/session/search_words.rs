//! The words under which a session is found.

use attache_core::message::UserOrigin;
use attache_core::words::words;
use attache_core::{Message, UserPart};

use crate::log::{Entry, EntryKind};

/// The words under which a message of a session is found: those that its author wrote, the names of the documents that
/// are attached to it, and those that the model answered. For a [`SessionStore`](crate::SessionStore).
pub fn words_of_message(message: &Message) -> Vec<String> {
    match message {
        Message::User(user) if user.origin == UserOrigin::Author => {
            let texts = user.parts.iter().filter_map(|part| match part {
                UserPart::Text(part) => Some(part.text()),
                UserPart::Document(document) => document.file_name(),
                _ => None,
            });
            words(&texts.collect::<Vec<_>>().join("\n"))
        }
        Message::Assistant(assistant) => words(&assistant.text()),
        _ => Vec::new(),
    }
}

/// The words under which an entry of a run is found. The texts of a run become messages of its session only when another
/// run begins; until then they are found by their entries.
pub fn words_of_entry(entry: &Entry) -> Vec<String> {
    match &entry.kind {
        EntryKind::Reply(reply) => words_of_message(&reply.message),
        EntryKind::Inbox(messages) => messages.iter().flat_map(|message| words_of_message(message)).collect(),
        _ => Vec::new(),
    }
}

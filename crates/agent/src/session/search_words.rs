//! The words under which a session is found.

use attache_core::message::UserOrigin;
use attache_core::words::words;
use attache_core::{Message, UserPart};

use crate::input::is_read;
use crate::log::{Entry, EntryKind, Hooked};

/// The words under which a message of a session is found: those that its author wrote, the names of the documents that
/// are attached to it, and those that the model answered, unless [nobody reads it](crate::is_read). For a
/// [`SessionStore`](crate::SessionStore).
pub fn words_of_message(message: &Message) -> Vec<String> {
    match message {
        message if !is_read(message) => Vec::new(),
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

/// The words under which entries of a run are found, in their order. The texts of a run become messages of its session only
/// when another run begins; until then they are found by their entries. Those of runs inside tools were not said, nor were
/// replies that a hook took back: the verdict about a reply stands right behind it, so that both must be among the entries.
pub fn words_of_entries<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Vec<String> {
    let (mut said, mut replied) = (Vec::new(), 0);
    for entry in entries.into_iter().filter(|entry| entry.key.outer_scope().is_none()) {
        match &entry.kind {
            EntryKind::Hooked(Hooked::Retry(_) | Hooked::Reply(_)) => said.truncate(replied),
            EntryKind::Reply(reply) => {
                replied = said.len();
                said.extend(words_of_message(&reply.message));
                continue;
            }
            EntryKind::Inbox(messages) => {
                said.extend(messages.iter().flat_map(|message| words_of_message(message)));
            }
            EntryKind::Ended(ended) => said.extend(words(&ended.interrupted_text)),
            _ => {}
        }
        // A verdict that comes later is about another reply.
        replied = said.len();
    }
    said
}

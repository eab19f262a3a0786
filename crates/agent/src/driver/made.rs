//! Documents that the model made, and that go back to it with its replies.

use std::sync::Arc;

use attache_core::{AssistantPart, DocumentSource, Message};
use attache_documents::load;

use crate::driver::Driver;

impl Driver {
    /// Loads what the model made, where the store alone has it: a reply that comes from a log goes back as one that this
    /// process has heard. A model that takes nothing of the kind reads no more of it than a note.
    pub(super) async fn bring_made(&mut self, messages: &mut [Arc<Message>]) {
        let setup = Arc::clone(&self.setup);
        let taken = &setup.model.capabilities().user;
        let is_away = |part: &AssistantPart| match part {
            AssistantPart::Document(made) => {
                matches!(made.document.source(), DocumentSource::Stored)
                    && taken.accepts(made.document.media_type())
            }
            _ => false,
        };
        for message in messages {
            let Message::Assistant(reply) = &**message else { continue };
            if !reply.parts.iter().any(is_away) {
                continue;
            }
            if let Some(whole) = self.library.replaced(message) {
                *message = whole;
                continue;
            }
            let mut whole = reply.clone();
            for part in whole.parts.iter_mut().filter(|part| is_away(part)) {
                let AssistantPart::Document(made) = part else { continue };
                match load(&made.document, &*setup.store, None).await {
                    Ok(document) => made.document = document,
                    Err(why) => {
                        let kind = made.document.media_type();
                        tracing::warn!(document = %made.document.id(), %why, "a document that the model made is a note to it");
                        let note = format!("[You made a document of type {kind} here, but {why}.]");
                        if let Some(note) = AssistantPart::text(note) {
                            *part = note;
                        }
                    }
                }
            }
            let whole = Message::Assistant(whole).shared();
            self.library.replace(message, &whole);
            *message = whole;
        }
    }
}

//! Keeps what routing needs: bytes and texts of documents, shortened results.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use attache_core::{Document, DocumentId, Message, MessageId};
use attache_documents::{Materials, RoutingReport};

use crate::entry::Key;
use crate::tools;

/// What was loaded, converted and shortened in this run: each once.
#[derive(Default)]
pub(crate) struct Library {
    pub(crate) materials: Materials,
    shortened: HashMap<MessageId, Option<Arc<Message>>>,
    recorded: HashSet<Key>,
    pub(crate) reported: Option<Arc<RoutingReport>>,
}

impl Library {
    /// Lets go what belongs to documents that the window no longer shows.
    pub(crate) fn forget_unseen(&mut self, messages: &[Arc<Message>]) {
        let seen: HashSet<&DocumentId> =
            messages.iter().flat_map(|message| message.documents()).map(Document::id).collect();
        self.materials.retain(|id| seen.contains(id));
        self.shortened.retain(|id, _| messages.iter().any(|message| message.id() == id));
    }

    /// Whether a synthetic message is in the log already.
    pub(crate) fn is_recorded(&self, key: &Key) -> bool {
        self.recorded.contains(key)
    }

    pub(crate) fn mark_recorded(&mut self, key: Key) {
        self.recorded.insert(key);
    }

    /// The messages with results no longer than the model shall read. What is not too long stays the same pointer.
    pub(crate) fn shorten(&mut self, mut messages: Vec<Arc<Message>>, max_chars: usize) -> Vec<Arc<Message>> {
        for message in &mut messages {
            let Message::ToolResults(results) = &**message else { continue };
            // A character takes at least a byte, so most results need no closer look.
            if results.results.iter().all(|result| result.tree.json().len() <= max_chars) {
                continue;
            }
            let short = self.shortened.entry(message.id().clone()).or_insert_with(|| {
                tools::shortened(results, max_chars).map(|short| Message::ToolResults(short).shared())
            });
            if let Some(short) = short {
                *message = Arc::clone(short);
            }
        }
        messages
    }
}

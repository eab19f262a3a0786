//! Brings the bytes and texts that routing needs, and keeps what it brought.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use attache_core::{
    Converter, Document, DocumentId, DocumentSource, DocumentStore, Message, MessageId, ModelCapabilities,
    StoreError,
};
use attache_documents::{Materials, RouteOptions, RoutingReport, plan};

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
    /// Loads and converts what routing of `messages` needs and is not there yet. What cannot be had is noted.
    pub(crate) async fn prepare(
        &mut self,
        messages: &[Arc<Message>],
        capabilities: &ModelCapabilities,
        options: &RouteOptions,
        store: &dyn DocumentStore,
        converters: &[Arc<dyn Converter>],
    ) {
        // What a document is may show only in its bytes, so there may be something to convert after loading.
        loop {
            let wanted = plan(messages, capabilities, options, &self.materials);
            if wanted.is_empty() {
                return;
            }
            for document in &wanted.load {
                self.load(document, store).await;
            }
            for document in &wanted.convert {
                self.convert(document, converters).await;
            }
        }
    }

    /// Lets go what belongs to documents that the window no longer shows.
    pub(crate) fn forget_unseen(&mut self, messages: &[Arc<Message>]) {
        let seen: HashSet<&DocumentId> =
            messages.iter().flat_map(|message| message.documents()).map(Document::id).collect();
        self.materials.retain(|id| seen.contains(id));
        self.shortened.retain(|id, _| messages.iter().any(|message| message.id() == id));
    }

    async fn load(&mut self, document: &Document, store: &dyn DocumentStore) {
        if matches!(document.source(), DocumentSource::External { .. }) {
            self.materials.insert_missing(document, "it is at an address that is not fetched");
            return;
        }
        match store.get(document.id()).await {
            Ok(bytes) => self.materials.insert_bytes(document, bytes),
            Err(error) => {
                tracing::warn!(document = %document.id(), %error, "a document cannot be loaded");
                self.materials.insert_missing(document, "its content is not in the store any more");
            }
        }
    }

    async fn convert(&mut self, document: &Document, converters: &[Arc<dyn Converter>]) {
        let media_type = document.media_type();
        let converter = converters.iter().find(|converter| converter.converts(media_type));
        let (Some(converter), Some(bytes)) = (converter, document.bytes()) else {
            let reason = format!("there is no converter for {media_type}");
            self.materials.insert_unconvertible(document, reason);
            return;
        };
        match converter.convert(document, bytes).await {
            Ok(text) => self.materials.insert_converted(document, text),
            Err(reason) => self.materials.insert_unconvertible(document, reason),
        }
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

/// Puts the bytes of documents into the store, if they are in memory.
pub(crate) async fn keep(
    store: &dyn DocumentStore,
    documents: impl IntoIterator<Item = &Document>,
) -> Result<(), StoreError> {
    for document in documents {
        if matches!(document.source(), DocumentSource::Bytes(_)) {
            store.put(document).await?;
        }
    }
    Ok(())
}

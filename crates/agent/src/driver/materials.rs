//! Brings the bytes and texts that routing needs, and keeps what it brought.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use attache_core::{
    Content, Converter, Document, DocumentSource, DocumentStore, Message, MessageId, ModelCapabilities,
    StoreError,
};
use attache_documents::{Materials, RouteOptions, plan};

use crate::entry::Key;
use crate::tools;

/// What was loaded, converted and shortened in this run: each once.
#[derive(Default)]
pub(crate) struct Library {
    pub(crate) materials: Materials,
    shortened: HashMap<MessageId, Option<Arc<Message>>>,
    recorded: HashSet<Key>,
    pub(crate) reported: u64,
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
        let wanted = plan(messages, capabilities, options, &self.materials);
        for document in &wanted.load {
            match store.get(document.id()).await {
                Ok(bytes) => self.materials.add_bytes(document.id().clone(), bytes),
                Err(error) => {
                    tracing::warn!(document = %document.id(), %error, "a document cannot be loaded");
                    self.materials
                        .add_missing(document.id().clone(), "its content is not in the store any more");
                }
            }
        }
        for document in &wanted.convert {
            let bytes = document.bytes().or_else(|| self.materials.bytes(document.id()));
            let Some(bytes) = bytes else { continue };
            let converter = converters.iter().find(|converter| converter.converts(document.media_type()));
            let converted = match converter {
                Some(converter) => converter.convert(document, bytes).await,
                None => continue,
            };
            self.materials.add_converted(document.id().clone(), converted);
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
    pub(crate) fn shorten(&mut self, messages: Vec<Arc<Message>>, max_chars: usize) -> Vec<Arc<Message>> {
        let mut messages = messages;
        for message in &mut messages {
            let Message::ToolResults(results) = &**message else { continue };
            let known = self.shortened.entry(message.id().clone()).or_insert_with(|| {
                let short: Vec<_> =
                    results.results.iter().map(|result| tools::bounded(result, max_chars)).collect();
                short.iter().any(Option::is_some).then(|| {
                    let mut cut = results.clone();
                    for (result, short) in cut.results.iter_mut().zip(short) {
                        if let Some(short) = short {
                            *result = short;
                        }
                    }
                    Message::ToolResults(cut).shared()
                })
            });
            if let Some(short) = known {
                *message = Arc::clone(short);
            }
        }
        messages
    }
}

/// Puts the bytes of a message's documents into the store.
pub(crate) async fn store_message(store: &dyn DocumentStore, message: &Message) -> Result<(), StoreError> {
    let Message::User(user) = message else { return Ok(()) };
    for part in &user.parts {
        match part {
            Content::Document(document) => store_documents(store, std::slice::from_ref(document)).await?,
            Content::Object(tree) => store_documents(store, tree.documents()).await?,
            _ => {}
        }
    }
    Ok(())
}

/// Puts the bytes of documents into the store, if they are in memory.
pub(crate) async fn store_documents(
    store: &dyn DocumentStore,
    documents: &[Document],
) -> Result<(), StoreError> {
    for document in documents {
        if matches!(document.source(), DocumentSource::Bytes(_)) {
            store.put(document).await?;
        }
    }
    Ok(())
}

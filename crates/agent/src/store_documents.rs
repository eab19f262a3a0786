//! Puts the documents of messages and results into a store.

use std::sync::Arc;
use std::time::Duration;

use attache_core::{
    AssistantMessage, Document, DocumentSource, DocumentStore, Message, StoreError, ToolResult,
};

/// The waits before further attempts at storing what cannot be had again.
pub(crate) const ATTEMPTS: [Duration; 3] =
    [Duration::from_millis(50), Duration::from_millis(250), Duration::from_secs(1)];

/// Puts the documents of messages into the store, as far as their bytes are in memory.
pub(crate) async fn keep_of_messages(
    store: &dyn DocumentStore,
    messages: &[Arc<Message>],
) -> Result<(), StoreError> {
    for message in messages {
        keep(store, message.documents()).await?;
    }
    Ok(())
}

/// Puts the documents that a model made into the store, as far as their bytes are in memory.
pub(crate) async fn keep_of_reply(
    store: &dyn DocumentStore,
    reply: &AssistantMessage,
) -> Result<(), StoreError> {
    keep(store, reply.documents()).await
}

/// Puts the documents of a result into the store, withheld ones included, as far as their bytes are in memory.
pub(crate) async fn keep_of_result(store: &dyn DocumentStore, result: &ToolResult) -> Result<(), StoreError> {
    let captured = result.tree.documents();
    keep(store, captured).await?;
    for shown in &result.documents {
        if !captured.contains(shown) {
            keep(store, [shown]).await?;
        }
    }
    Ok(())
}

async fn keep(
    store: &dyn DocumentStore,
    documents: impl IntoIterator<Item = &Document>,
) -> Result<(), StoreError> {
    for document in documents {
        if !matches!(document.source(), DocumentSource::Bytes(_)) {
            continue;
        }
        let mut waits = ATTEMPTS.iter();
        while let Err(error) = store.put(document).await {
            match waits.next().filter(|_| error.is_retryable()) {
                Some(wait) => tokio::time::sleep(*wait).await,
                None => return Err(error),
            }
        }
    }
    Ok(())
}

/// The result with references in the place of bytes, which the store holds now.
pub(crate) fn released(mut result: ToolResult, store_id: &str) -> ToolResult {
    let release = |document: &Document| match document.source() {
        DocumentSource::Bytes(_) => document.clone().without_bytes().with_store_id(store_id),
        _ => document.clone(),
    };
    if result.tree.documents().iter().chain(&result.documents).any(|document| document.bytes().is_some()) {
        result.tree = result.tree.map_documents(release);
        result.documents = result.documents.iter().map(release).collect();
    }
    result
}
